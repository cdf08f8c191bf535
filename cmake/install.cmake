# Headers, the libraries of both kinds, the main of lab tests, the tool, the pkg-config files and the
# CMake package. Every path in them is relative to where they lie, so a tree may be moved.
if(NOT ASX_LIBRARY_EXISTS)
  return()
endif()
include(CMakePackageConfigHelpers)

set(package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/asx")
set(targets asx_static asx_lab_static asx_lab_main)
set(pc_files asx asx-lab asx-lab-main)
if(ASX_SHARED)
  list(APPEND targets asx_shared asx_lab_shared)
endif()
if(TARGET asx_tls_static)
  list(APPEND targets asx_tls_static)
  list(APPEND pc_files asx-tls)
  if(ASX_SHARED)
    list(APPEND targets asx_tls_shared)
  endif()
endif()
install(TARGETS ${targets} EXPORT asxTargets)
install(EXPORT asxTargets NAMESPACE asx:: DESTINATION "${package_dir}")
if(TARGET asx_tool)
  install(TARGETS asx_tool)
endif()
if(TARGET asx_mutexwatch)
  install(TARGETS asx_mutexwatch)
endif()
install(FILES tools/asx-gdb.py DESTINATION "${CMAKE_INSTALL_DATADIR}/asx")
install(FILES ${public_headers} DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}/asx")

configure_package_config_file(cmake/asxConfig.cmake.in
  "${PROJECT_BINARY_DIR}/cmake/asxConfig.cmake" INSTALL_DESTINATION "${package_dir}")
write_basic_package_version_file("${PROJECT_BINARY_DIR}/cmake/asxConfigVersion.cmake"
  COMPATIBILITY SameMinorVersion)
install(FILES
  "${PROJECT_BINARY_DIR}/cmake/asxConfig.cmake"
  "${PROJECT_BINARY_DIR}/cmake/asxConfigVersion.cmake"
  DESTINATION "${package_dir}")

cmake_path(RELATIVE_PATH CMAKE_INSTALL_FULL_LIBDIR
  BASE_DIRECTORY "${CMAKE_INSTALL_PREFIX}" OUTPUT_VARIABLE lib_below)
file(RELATIVE_PATH pc_up "/p/${lib_below}/pkgconfig" "/p")
string(REGEX REPLACE "/$" "" pc_up "${pc_up}")
foreach(name IN LISTS pc_files)
  configure_file(cmake/${name}.pc.in "${PROJECT_BINARY_DIR}/cmake/${name}.pc" @ONLY)
  install(FILES "${PROJECT_BINARY_DIR}/cmake/${name}.pc"
    DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig")
endforeach()
