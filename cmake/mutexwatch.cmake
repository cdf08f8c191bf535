# libasx-mutexwatch: the interposer behind asx_watchdog_options.mutexes. A sanitizer has interceptors
# of its own for the same functions, and the cross builds are static.
if(NOT ASX_LIBRARY_EXISTS OR ASX_SANITIZE OR CMAKE_CROSSCOMPILING)
  return()
endif()
add_library(asx_mutexwatch SHARED "${PROJECT_SOURCE_DIR}/src/see/mutexwatch/mutexwatch.c")
set_target_properties(asx_mutexwatch PROPERTIES
  OUTPUT_NAME asx-mutexwatch
  C_VISIBILITY_PRESET hidden
  INTERPROCEDURAL_OPTIMIZATION OFF)
target_compile_definitions(asx_mutexwatch PRIVATE _GNU_SOURCE)
target_include_directories(asx_mutexwatch PRIVATE "${PROJECT_SOURCE_DIR}/include")
target_link_libraries(asx_mutexwatch PRIVATE asx_flags Threads::Threads ${CMAKE_DL_LIBS})
