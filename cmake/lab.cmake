# asx_lab_main: the main of a lab test program (options, summary), apart from libasx-lab.
# lab-dpor: the published programs, to be explored from the command line.
if(NOT ASX_LIBRARY_EXISTS)
  return()
endif()
file(GLOB lab_main_sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/src/lab/main/*.c")
add_library(asx_lab_main STATIC ${lab_main_sources})
add_library(asx::lab_main ALIAS asx_lab_main)
set_target_properties(asx_lab_main PROPERTIES OUTPUT_NAME asx-lab-main EXPORT_NAME lab_main)
target_link_libraries(asx_lab_main PUBLIC asx_lab_static PRIVATE $<BUILD_INTERFACE:asx_flags>)
target_include_directories(asx_lab_main PRIVATE "${PROJECT_SOURCE_DIR}/src")
target_compile_definitions(asx_lab_main PUBLIC ASX_LAB=1 PRIVATE _GNU_SOURCE)
# What a program calls is bound before it begins. Bound when it is first called it costs a task a
# page more of its stack, and its time is that of the exploration.
target_link_options(asx_lab_main INTERFACE LINKER:-z,now)

file(GLOB lab_programs CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/tests/lab/dpor/support_programs.c"
  "${PROJECT_SOURCE_DIR}/tests/lab/dpor/support_kinds.c")
if(ASX_TESTS AND lab_programs)
  add_executable(lab-dpor ${lab_programs})
  set_target_properties(lab-dpor PROPERTIES
    RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/tests")
  target_link_libraries(lab-dpor PRIVATE asx_lab_main asx_flags)
  if(NOT CMAKE_CROSSCOMPILING)
    add_test(NAME lab-dpor-main
      COMMAND sh "${PROJECT_SOURCE_DIR}/tests/lab/dpor/main.sh" $<TARGET_FILE:lab-dpor>)
    set_tests_properties(lab-dpor-main PROPERTIES LABELS lab TIMEOUT 300)
  endif()
  # Instructions are counted in what is released. Debian's Valgrind cannot read clang's debug info.
  find_program(ASX_VALGRIND valgrind)
  if(ASX_VALGRIND AND ASX_HAVE_VALGRIND_H AND CMAKE_BUILD_TYPE STREQUAL "Release"
      AND CMAKE_C_COMPILER_ID STREQUAL "GNU" AND NOT ASX_SANITIZE AND NOT ASX_COVERAGE AND NOT ASX_TEST_LAUNCHER AND NOT CMAKE_CROSSCOMPILING)
    add_executable(lab-linear "${PROJECT_SOURCE_DIR}/tests/lab/dpor/linear.c"
      "${PROJECT_SOURCE_DIR}/tests/lab/dpor/support_kinds.c"
      "${PROJECT_SOURCE_DIR}/tests/lab/dpor/support_sync_kinds.c"
      "${PROJECT_SOURCE_DIR}/tests/lab/dpor/support_task_kinds.c"
      "${PROJECT_SOURCE_DIR}/tests/lab/dpor/support_registry.c")
    set_target_properties(lab-linear PROPERTIES
      RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/tests")
    target_link_libraries(lab-linear PRIVATE asx_lab_static asx_internal asx_flags)
    add_test(NAME lab-dpor-linear
      COMMAND sh "${PROJECT_SOURCE_DIR}/tests/lab/dpor/linear.sh" $<TARGET_FILE:lab-linear>)
    set_tests_properties(lab-dpor-linear PROPERTIES LABELS "lab;pure" TIMEOUT 900)
  endif()
endif()

# lab-bugs: known bugs and their repairs, to be searched from the command line.
file(GLOB lab_bugs CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/tests/lab/bugs/support_*.c")
list(FILTER lab_bugs EXCLUDE REGEX "/support_registry\\.c$")
if(ASX_TESTS AND lab_bugs)
  add_executable(lab-bugs ${lab_bugs})
  set_target_properties(lab-bugs PROPERTIES
    RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/tests")
  target_link_libraries(lab-bugs PRIVATE asx_lab_main asx_flags)
endif()
if(TARGET lab-bugs AND TARGET asx_tool AND NOT CMAKE_CROSSCOMPILING)
  add_test(NAME lab-bugs-story COMMAND sh "${PROJECT_SOURCE_DIR}/tests/lab/bugs/story.sh"
    $<TARGET_FILE:asx_tool> $<TARGET_FILE:lab-bugs>)
  # TSan may lose an interrupt: a fiber hears of it when it next calls the C library, if it does.
  set_tests_properties(lab-bugs-story PROPERTIES LABELS "lab;pure" TIMEOUT 300)
endif()

# lab-dying: tests that end their process, and what is told of them.
if(ASX_TESTS)
  add_executable(lab-dying "${PROJECT_SOURCE_DIR}/tests/lab/dying/support_dying.c")
  set_target_properties(lab-dying PROPERTIES
    RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/tests")
  target_link_libraries(lab-dying PRIVATE asx_lab_main asx_flags)
  # ThreadSanitizer keeps signals back, and counts what is done in one as a failure.
  if(NOT CMAKE_CROSSCOMPILING AND NOT "${ASX_SANITIZE}" MATCHES "thread")
    add_test(NAME lab-dying COMMAND sh "${PROJECT_SOURCE_DIR}/tests/lab/dying/dying.sh"
      $<TARGET_FILE:lab-dying> $<TARGET_FILE:asx_tool>)
    set_tests_properties(lab-dying PROPERTIES LABELS lab TIMEOUT 300)
  endif()
endif()

# lab-seeds: a program of a hundred tasks and the examples, over many seeds with faults on.
if(ASX_TESTS AND EXISTS "${PROJECT_SOURCE_DIR}/tests/lab/seeds/seeds_main.c")
  set(seeds_folder "${PROJECT_SOURCE_DIR}/tests/lab/seeds")
  add_executable(lab-seeds "${seeds_folder}/seeds_main.c" "${seeds_folder}/hundred.c")
  target_include_directories(lab-seeds PRIVATE "${seeds_folder}")
  set_target_properties(lab-seeds PROPERTIES
    RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/tests")
  target_link_libraries(lab-seeds PRIVATE asx_lab_static asx_internal asx_flags)
  file(STRINGS "${seeds_folder}/examples.inc" seeds_examples REGEX "^EXAMPLE")
  foreach(line IN LISTS seeds_examples)
    string(REGEX REPLACE "^EXAMPLE\\((.*)\\)$" "\\1" example "${line}")
    set(source "${PROJECT_SOURCE_DIR}/examples/${example}.c")
    if(NOT EXISTS "${source}")
      include(CheckLanguage)
      if(NOT CMAKE_CROSSCOMPILING)
        check_language(CXX)
      endif()
      if(NOT CMAKE_CXX_COMPILER)
        continue()
      endif()
      enable_language(CXX)
      set(source "${PROJECT_SOURCE_DIR}/examples/${example}.cpp")
      target_compile_definitions(lab-seeds PRIVATE SEEDS_CPP)
    endif()
    add_library(seeds-${example} OBJECT "${source}")
    set_target_properties(seeds-${example} PROPERTIES C_EXTENSIONS ON CXX_STANDARD 11)
    target_include_directories(seeds-${example} PRIVATE "${PROJECT_SOURCE_DIR}/include"
      "${seeds_folder}")
    target_compile_options(seeds-${example} PRIVATE -include seeds.h)
    target_compile_definitions(seeds-${example} PRIVATE main=${example}_example_main
      asx_main=seeds_asx_main asx_runtime_create=seeds_runtime_create
      asx_runtime_destroy=seeds_runtime_destroy sigtimedwait=seeds_sigtimedwait
      asx_watchdog_start=seeds_watchdog_start asx_watchdog_stop=seeds_watchdog_stop
      asx_dump_on_signal=seeds_dump_on_signal SEEDS_CPP
      $<$<STREQUAL:${example},cores>:NUMBERS=30000>)
    target_sources(lab-seeds PRIVATE $<TARGET_OBJECTS:seeds-${example}>)
  endforeach()
  if(NOT CMAKE_CROSSCOMPILING)
    add_test(NAME lab-seeds COMMAND sh "${seeds_folder}/seeds.sh" $<TARGET_FILE:lab-seeds> 150)
    add_test(NAME lab-seeds-all CONFIGURATIONS all # ctest -C all
      COMMAND sh "${seeds_folder}/seeds.sh" $<TARGET_FILE:lab-seeds> 10000)
    set_tests_properties(lab-seeds PROPERTIES LABELS lab TIMEOUT 600)
    set_tests_properties(lab-seeds-all PROPERTIES LABELS "lab;seeds" TIMEOUT 3600)
  endif()
endif()

# Cells as C++, in the laboratory and without it; there they need no libasx-lab.
if(ASX_TESTS AND NOT CMAKE_CROSSCOMPILING)
  include(CheckLanguage)
  check_language(CXX)
  if(CMAKE_CXX_COMPILER)
    enable_language(CXX)
    foreach(kind lab plain)
      add_executable(lab-cells-cpp-${kind} "${PROJECT_SOURCE_DIR}/tests/lab/cells.cpp")
      set_target_properties(lab-cells-cpp-${kind} PROPERTIES CXX_STANDARD 11
        RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/tests")
      target_include_directories(lab-cells-cpp-${kind} PRIVATE "${PROJECT_SOURCE_DIR}/tests")
      target_compile_definitions(lab-cells-cpp-${kind}
        PRIVATE $<$<STREQUAL:${kind},lab>:ASX_LAB>)
      target_link_libraries(lab-cells-cpp-${kind} PRIVATE asx_flags
        $<IF:$<STREQUAL:${kind},lab>,asx_lab_static,asx_static>)
      add_test(NAME lab-cells-cpp-${kind} COMMAND lab-cells-cpp-${kind})
      set_tests_properties(lab-cells-cpp-${kind} PROPERTIES LABELS lab TIMEOUT 60)
    endforeach()
  endif()
endif()

# Lab test programs among the examples: build/examples/lab/<name>.
file(GLOB lab_examples CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/examples/lab/*.c")
foreach(source IN LISTS lab_examples)
  if(ASX_TESTS)
    cmake_path(GET source STEM unit)
    add_executable(lab-example-${unit} "${source}")
    set_target_properties(lab-example-${unit} PROPERTIES OUTPUT_NAME "${unit}"
      RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/examples/lab")
    target_link_libraries(lab-example-${unit} PRIVATE asx_lab_main asx_flags)
  endif()
endforeach()
