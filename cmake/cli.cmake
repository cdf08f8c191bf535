# The tool. Everything but main.c is an object library, so that tests can link it too. The
# conformance suite is part of it: scenario texts embedded as bytes, fixtures in C compiled in.
file(GLOB cli_sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/src/cli/*.c")
file(GLOB scenario_files CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/tests/conformance/*.scn")
file(GLOB fixture_sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/tests/conformance/fixture_*.c")
if(NOT cli_sources OR NOT ASX_LIBRARY_EXISTS)
  return()
endif()
list(REMOVE_ITEM cli_sources "${PROJECT_SOURCE_DIR}/src/cli/main.c")

set(embedded_files "${PROJECT_SOURCE_DIR}/tests/conformance/ids.txt" ${scenario_files}
  "${PROJECT_SOURCE_DIR}/tools/asx-gdb.py")
string(REPLACE ";" "|" embedded_list "${embedded_files}")
set(embedded "${PROJECT_BINARY_DIR}/embedded.c")
add_custom_command(OUTPUT "${embedded}"
  COMMAND "${CMAKE_COMMAND}" "-DOUT=${embedded}" "-DFILES=${embedded_list}"
    -P "${PROJECT_SOURCE_DIR}/cmake/embed.cmake"
  DEPENDS ${embedded_files} "${PROJECT_SOURCE_DIR}/cmake/embed.cmake"
  COMMENT "Embedding the conformance scenarios and the gdb script" VERBATIM)

add_library(asx_cli_objects OBJECT ${cli_sources} ${fixture_sources} "${embedded}")
target_link_libraries(asx_cli_objects PRIVATE asx_internal)
target_include_directories(asx_cli_objects PRIVATE "${PROJECT_SOURCE_DIR}/tests/conformance")

add_executable(asx_tool "${PROJECT_SOURCE_DIR}/src/cli/main.c" $<TARGET_OBJECTS:asx_cli_objects>)
set_target_properties(asx_tool PROPERTIES
  OUTPUT_NAME asx
  RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}")
target_link_libraries(asx_tool PRIVATE asx_lab_static asx_internal)

# Scenarios beside the identifiers of the specification.
add_test(NAME scenarios COMMAND asx_tool conformance --timeout 120
  --dir "${PROJECT_SOURCE_DIR}/tests/scenarios")
set_tests_properties(scenarios PROPERTIES LABELS cli TIMEOUT 900)

# All of it on several workers; the conformance suite on one is a test of tests/cli.
if(NOT ASX_TEST_LAUNCHER AND NOT CMAKE_CROSSCOMPILING)
  foreach(workers IN LISTS ASX_TEST_WORKERS)
    add_test(NAME conformance@${workers}
      COMMAND asx_tool conformance --workers ${workers} --timeout 120)
    add_test(NAME scenarios@${workers}
      COMMAND asx_tool conformance --workers ${workers} --timeout 120
        --dir "${PROJECT_SOURCE_DIR}/tests/scenarios")
    set_tests_properties(conformance@${workers} scenarios@${workers} PROPERTIES
      LABELS workers TIMEOUT 900)
  endforeach()
endif()
