# The manual, made from the headers by tools/man (target `man`, part of `all`), and
# the tests of the documents.
if(NOT PROJECT_IS_TOP_LEVEL)
  return()
endif()
set(man_dir "${PROJECT_BINARY_DIR}/man")
set(man_stamp "${PROJECT_BINARY_DIR}/man.stamp")
file(GLOB man_sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/docs/man/*")
add_custom_command(OUTPUT "${man_stamp}"
  COMMAND sh "${PROJECT_SOURCE_DIR}/tools/man" "${PROJECT_SOURCE_DIR}" "${man_dir}"
  COMMAND "${CMAKE_COMMAND}" -E touch "${man_stamp}"
  DEPENDS "${PROJECT_SOURCE_DIR}/tools/man" ${man_sources} ${public_headers}
  COMMENT "Making the manual" VERBATIM)
add_custom_target(man ALL DEPENDS "${man_stamp}")
install(DIRECTORY "${man_dir}/" DESTINATION "${CMAKE_INSTALL_MANDIR}")

if(ASX_TESTS)
  add_subdirectory("${PROJECT_SOURCE_DIR}/tests/docs" "${PROJECT_BINARY_DIR}/tests/docs")
endif()
