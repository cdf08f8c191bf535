# asx_objects is compiled once, position independent, and linked twice: as the
# static library (tests, tool, benchmarks) and as the shared one (installed).
include(CheckCCompilerFlag)
set(ASX_MODULES base kernel fiber time trace sched see sync flow lab)

set(sources)
foreach(module IN LISTS ASX_MODULES)
  file(GLOB found CONFIGURE_DEPENDS
    "${PROJECT_SOURCE_DIR}/src/${module}/*.c"
    "${PROJECT_SOURCE_DIR}/src/${module}/*.S"
    "${PROJECT_SOURCE_DIR}/src/${module}/*/*.c") # the rooms of a module
  list(APPEND sources ${found})
endforeach()
list(FILTER sources EXCLUDE REGEX "/src/(lab/main|see/mutexwatch)/") # libraries of their own
file(GLOB public_headers CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/include/asx/*.h")

set(ASX_LIBRARY_EXISTS FALSE)
if(sources)
  set(ASX_LIBRARY_EXISTS TRUE)
  add_library(asx_objects OBJECT ${sources})
  set_target_properties(asx_objects PROPERTIES
    POSITION_INDEPENDENT_CODE ON
    C_VISIBILITY_PRESET hidden)
  target_compile_definitions(asx_objects PRIVATE ASX_BUILDING)
  target_link_libraries(asx_objects PRIVATE asx_internal)
  # Whoever explores waits for it: what it takes in size it gains in time.
  set(lab_sources ${sources})
  list(FILTER lab_sources INCLUDE REGEX "/src/lab/")
  set_source_files_properties(${lab_sources} PROPERTIES
    COMPILE_OPTIONS "$<$<CONFIG:Release>:-O3>")
  # Records are cleared by a few wide stores: a `rep stos`, which GCC would take from 100 bytes on,
  # takes longer to begin than that.
  set(clearing -mmemset-strategy=vector_loop:512:noalign,libcall:-1:noalign)
  check_c_compiler_flag(${clearing} ASX_HAVE_MEMSET_STRATEGY)
  if(ASX_HAVE_MEMSET_STRATEGY)
    target_compile_options(asx_objects PRIVATE "$<$<COMPILE_LANGUAGE:C>:${clearing}>")
  endif()

  set(kinds STATIC)
  if(ASX_SHARED)
    list(APPEND kinds SHARED)
  endif()
  foreach(kind IN LISTS kinds)
    string(TOLOWER ${kind} name)
    add_library(asx_${name} ${kind} $<TARGET_OBJECTS:asx_objects>)
    add_library(asx::${name} ALIAS asx_${name})
    set_target_properties(asx_${name} PROPERTIES
      OUTPUT_NAME asx
      EXPORT_NAME ${name}
      LINKER_LANGUAGE C
      VERSION ${PROJECT_VERSION}
      SOVERSION ${PROJECT_VERSION_MAJOR})
    target_include_directories(asx_${name} INTERFACE
      "$<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>"
      "$<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>")
    target_link_libraries(asx_${name} PUBLIC Threads::Threads)
    # Only the options of the link matter here; the objects are compiled already.
    target_link_options(asx_${name} PRIVATE
      "$<TARGET_PROPERTY:asx_flags,INTERFACE_LINK_OPTIONS>")
  endforeach()
  if(ASX_SHARED)
    # A sanitizer's symbols come from the executable, so its builds cannot ask for this.
    if(NOT ASX_SANITIZE)
      target_link_options(asx_shared PRIVATE -Wl,--no-undefined)
    endif()
  endif()
endif()

include(cmake/cli.cmake)
