# asx_lab_main: the main of a lab test program (options, summary), apart from the library.
# lab-dpor: the published programs, to be explored from the command line.
if(NOT ASX_LIBRARY_EXISTS)
  return()
endif()
file(GLOB lab_main_sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/src/lab/main/*.c")
add_library(asx_lab_main STATIC ${lab_main_sources})
set_target_properties(asx_lab_main PROPERTIES EXPORT_NAME lab_main)
target_link_libraries(asx_lab_main PUBLIC asx_static PRIVATE $<BUILD_INTERFACE:asx_flags>)
target_include_directories(asx_lab_main PRIVATE "${PROJECT_SOURCE_DIR}/src")
target_compile_definitions(asx_lab_main PUBLIC ASX_LAB=1 PRIVATE _GNU_SOURCE)

set(lab_programs "${PROJECT_SOURCE_DIR}/tests/lab/dpor/support_programs.c")
if(ASX_TESTS AND EXISTS "${lab_programs}")
  add_executable(lab-dpor "${lab_programs}")
  set_target_properties(lab-dpor PROPERTIES
    RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/tests")
  target_link_libraries(lab-dpor PRIVATE asx_lab_main asx_flags)
  if(NOT CMAKE_CROSSCOMPILING)
    add_test(NAME lab-dpor-main
      COMMAND sh "${PROJECT_SOURCE_DIR}/tests/lab/dpor/main.sh" $<TARGET_FILE:lab-dpor>)
    set_tests_properties(lab-dpor-main PROPERTIES LABELS lab TIMEOUT 300)
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
  set_tests_properties(lab-bugs-story PROPERTIES LABELS lab TIMEOUT 300)
endif()
