# Each example is compiled as a user would, against the public headers only, and
# run by ctest. Where <name>.expected exists its standard output must equal it.
file(GLOB example_sources CONFIGURE_DEPENDS
  "${PROJECT_SOURCE_DIR}/examples/*.c" "${PROJECT_SOURCE_DIR}/examples/*.cpp")
if(NOT ASX_LIBRARY_EXISTS)
  set(example_sources)
endif()

foreach(source IN LISTS example_sources)
  cmake_path(GET source STEM unit)
  cmake_path(GET source EXTENSION extension)
  if(extension STREQUAL ".cpp")
    include(CheckLanguage)
    # Never the machine's own compiler in a cross build; the toolchain file names one.
    if(NOT CMAKE_CROSSCOMPILING)
      check_language(CXX)
    endif()
    if(NOT CMAKE_CXX_COMPILER)
      continue()
    endif()
    enable_language(CXX)
  endif()

  set(name "example-${unit}")
  add_executable(${name} "${source}")
  set_target_properties(${name} PROPERTIES
    OUTPUT_NAME "${unit}"
    C_EXTENSIONS ON
    CXX_STANDARD 11
    RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/examples")
  target_link_libraries(${name} PRIVATE asx_static asx_flags)

  set(expected "${PROJECT_SOURCE_DIR}/examples/${unit}.expected")
  if(NOT EXISTS "${expected}")
    set(expected "")
  endif()
  set(launcher ${ASX_TEST_LAUNCHER})
  if(CMAKE_CROSSCOMPILING)
    set(launcher ${CMAKE_CROSSCOMPILING_EMULATOR})
  endif()
  add_test(NAME ${name}
    COMMAND sh "${PROJECT_SOURCE_DIR}/tools/run-example" "${expected}"
      ${launcher} $<TARGET_FILE:${name}>)
  set(timing)
  file(STRINGS "${source}" timed REGEX "ASX_(US|MS|SEC)" LIMIT_COUNT 1)
  if(timed)
    set(timing clock) # what it prints depends on who is late
  endif()
  set_tests_properties(${name} PROPERTIES LABELS "example;${timing}" TIMEOUT 300)

  # And while memory or the system fails it at every place in turn. In C, and where a function can be
  # put before that of the C library; gcov would get it, too, and does not look whether it has memory.
  if(extension STREQUAL ".c" AND NOT ASX_LTO AND NOT ASX_TEST_LAUNCHER AND NOT CMAKE_CROSSCOMPILING
      AND NOT ASX_COVERAGE)
    add_library(torture-${unit} OBJECT "${source}")
    set_target_properties(torture-${unit} PROPERTIES C_EXTENSIONS ON)
    target_compile_definitions(torture-${unit} PRIVATE main=example_main
      $<$<STREQUAL:${unit},cores>:NUMBERS=30000>)
    target_link_libraries(torture-${unit} PRIVATE asx_static asx_flags)
    add_executable(torture-example-${unit} "${PROJECT_SOURCE_DIR}/tests/torture/example.c"
      $<TARGET_OBJECTS:torture-${unit}>)
    set_target_properties(torture-example-${unit} PROPERTIES
      C_EXTENSIONS ON
      OUTPUT_NAME "torture-example-${unit}"
      RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/tests")
    target_link_libraries(torture-example-${unit} PRIVATE asx_static asx_flags)
    target_link_options(torture-example-${unit} PRIVATE LINKER:--wrap=malloc LINKER:--wrap=mmap
      LINKER:--wrap=madvise LINKER:--wrap=mprotect LINKER:--wrap=pthread_create)
    add_test(NAME torture-example-${unit} COMMAND torture-example-${unit})
    set_tests_properties(torture-example-${unit} PROPERTIES LABELS "torture" TIMEOUT 900)
  endif()

  # The same on several workers, which may print in another order: see tests/harness/workers.c. What
  # says itself how many it wants, or has a static block, would only be run again; hello and
  # pool have a counter without a guard, and poll tells how often it was resumed.
  file(STRINGS "${source}" own_way REGEX "\\.memory =|\\.workers =" LIMIT_COUNT 1)
  if(own_way OR unit MATCHES "^(hello|poll|pool)$" OR extension STREQUAL ".cpp" OR ASX_LTO OR ASX_TEST_LAUNCHER OR CMAKE_CROSSCOMPILING)
    continue()
  endif()
  add_executable(${name}-workers "${source}" "${PROJECT_SOURCE_DIR}/tests/harness/workers.c")
  set_target_properties(${name}-workers PROPERTIES
    OUTPUT_NAME "${unit}-workers"
    C_EXTENSIONS ON
    RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/tests")
  target_include_directories(${name}-workers PRIVATE "${PROJECT_SOURCE_DIR}/tests/harness")
  target_compile_definitions(${name}-workers PRIVATE ASX_TEST_WRAPS)
  target_link_libraries(${name}-workers PRIVATE asx_static asx_flags)
  target_link_options(${name}-workers PRIVATE
    LINKER:--wrap=asx_runtime_create LINKER:--wrap=asx_main)
  foreach(workers IN LISTS ASX_TEST_WORKERS)
    add_test(NAME ${name}@${workers}
      COMMAND sh "${PROJECT_SOURCE_DIR}/tools/run-example" --sorted "${expected}"
        $<TARGET_FILE:${name}-workers>)
    set_tests_properties(${name}@${workers} PROPERTIES LABELS "workers;${timing}" TIMEOUT 300
      ENVIRONMENT "ASX_WORKERS=${workers}")
  endforeach()
endforeach()
