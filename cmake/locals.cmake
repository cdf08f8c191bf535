# Thread-locals and C++ exceptions of tasks that migrate, against the static and the shared library.
# tests/locals/test_locals.c against the static one is among the other tests; the preset `lto` runs
# all of them optimised at link time.
if(NOT ASX_LIBRARY_EXISTS)
  return()
endif()
set(here "${PROJECT_SOURCE_DIR}/tests/locals")
set(kinds static)
if(ASX_SHARED AND NOT ASX_SANITIZE)
  list(APPEND kinds shared)
endif()

include(CheckLanguage)
# Never the machine's own compiler in a cross build; the toolchain file names one.
if(NOT CMAKE_CROSSCOMPILING)
  check_language(CXX)
endif()
if(CMAKE_CXX_COMPILER)
  enable_language(CXX)
endif()

foreach(kind IN LISTS kinds)
  set(names)
  if(kind STREQUAL "shared")
    list(APPEND names locals-locals-shared)
    add_executable(locals-locals-shared "${here}/test_locals.c" $<TARGET_OBJECTS:asx_harness>)
  endif()
  if(CMAKE_CXX_COMPILER)
    list(APPEND names locals-exceptions-${kind})
    add_executable(locals-exceptions-${kind} "${here}/exceptions.cpp"
      $<TARGET_OBJECTS:asx_harness>)
    set_target_properties(locals-exceptions-${kind} PROPERTIES CXX_STANDARD 17)
  endif()
  foreach(name IN LISTS names)
    set_target_properties(${name} PROPERTIES
      RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/tests")
    target_include_directories(${name} PRIVATE "${PROJECT_SOURCE_DIR}/tests/harness")
    target_compile_definitions(${name} PRIVATE _GNU_SOURCE)
    target_link_libraries(${name} PRIVATE asx_${kind} asx_flags Threads::Threads)
    add_test(NAME ${name} COMMAND ${ASX_TEST_LAUNCHER} ${CMAKE_CROSSCOMPILING_EMULATOR}
      $<TARGET_FILE:${name}>)
    set_tests_properties(${name} PROPERTIES LABELS "locals" TIMEOUT 900)
  endforeach()
endforeach()
