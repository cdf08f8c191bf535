# Tests of HTTP against programs that are not ours. Where one is missing the test is skipped and says
# so.
if(NOT TARGET http-support OR CMAKE_CROSSCOMPILING OR ASX_TEST_LAUNCHER)
  return()
endif()
# The one that the Debian packages are for, if there are several.
find_program(ASX_PYTHON3 python3 PATHS /usr/bin NO_DEFAULT_PATH)
find_program(ASX_PYTHON3 python3)
if(NOT ASX_PYTHON3)
  message(STATUS "python3 is not there: HTTP is not compared with h11")
  return()
endif()

# A program with checks that has a main of its own.
add_library(asx_checks OBJECT "${PROJECT_SOURCE_DIR}/tests/harness/harness.c")
target_compile_definitions(asx_checks PRIVATE _GNU_SOURCE main=asx_test_unused_main)
target_link_libraries(asx_checks PRIVATE asx_flags)
set(h11_folder "${PROJECT_SOURCE_DIR}/tests/http/h11")
add_executable(http-h11-print "${h11_folder}/print.c" $<TARGET_OBJECTS:http-support>
  $<TARGET_OBJECTS:asx_checks>)
set_target_properties(http-h11-print PROPERTIES
  RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/tests")
target_link_libraries(http-h11-print PRIVATE asx_test_options)
add_test(NAME http-h11 COMMAND "${ASX_PYTHON3}" "${h11_folder}/compare.py"
  $<TARGET_FILE:http-h11-print> "${PROJECT_SOURCE_DIR}/tests/fuzz/seeds/http1")
set_tests_properties(http-h11 PROPERTIES LABELS http SKIP_RETURN_CODE 77 TIMEOUT 300)
