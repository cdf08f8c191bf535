# Libraries: asx, the runtime; asx-lab, the laboratory, and asx-tls, if there is an OpenSSL, which
# stand on it. The objects of each
# are compiled once, position independent, and linked twice: as the static library asx_static or
# asx_lab_static (tests, tool, benchmarks) and as the shared one asx_shared or asx_lab_shared.
# asx::asx and asx::lab are the shared ones if they are built, as in an installed tree.
include(CheckCCompilerFlag)
set(ASX_MODULES base kernel fiber time trace sched see sync io flow actor http)

set(sources)
foreach(module IN LISTS ASX_MODULES)
  file(GLOB found CONFIGURE_DEPENDS
    "${PROJECT_SOURCE_DIR}/src/${module}/*.c"
    "${PROJECT_SOURCE_DIR}/src/${module}/*.S"
    "${PROJECT_SOURCE_DIR}/src/${module}/*/*.c") # the rooms of a module
  list(APPEND sources ${found})
endforeach()
list(FILTER sources EXCLUDE REGEX "/src/see/mutexwatch/") # a library of its own
# All below src/lab but main/, the program around lab tests.
file(GLOB_RECURSE lab_sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/src/lab/*.c")
list(FILTER lab_sources EXCLUDE REGEX "/src/lab/main/")
file(GLOB public_headers CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/include/asx/*.h")

# Records are cleared by a few wide stores: a `rep stos`, which GCC would take from 100 bytes on,
# takes longer to begin than that.
set(clearing -mmemset-strategy=vector_loop:512:noalign,libcall:-1:noalign)
check_c_compiler_flag(${clearing} ASX_HAVE_MEMSET_STRATEGY)

# asx_add_library(TARGET OUTPUT EXPORT_PREFIX REQUIRES SOURCE...): TARGET_objects, TARGET_static and
# TARGET_shared, which is linked with cmake/OUTPUT.map.in. REQUIRES: such a TARGET, or nothing.
function(asx_add_library target output prefix requires)
  add_library(${target}_objects OBJECT ${ARGN})
  # No call of the library to itself goes to a function of that name elsewhere; so calls are direct,
  # and may be inlined, also those of functions that are shown.
  set_target_properties(${target}_objects PROPERTIES
    POSITION_INDEPENDENT_CODE ON
    C_VISIBILITY_PRESET hidden)
  target_compile_definitions(${target}_objects PRIVATE ASX_BUILDING)
  target_compile_options(${target}_objects PRIVATE
    "$<$<COMPILE_LANGUAGE:C>:-fno-semantic-interposition>"
    "$<$<AND:$<COMPILE_LANGUAGE:C>,$<BOOL:${ASX_HAVE_MEMSET_STRATEGY}>>:${clearing}>")
  target_link_libraries(${target}_objects PRIVATE asx_internal)

  set(kinds STATIC)
  if(ASX_SHARED)
    list(APPEND kinds SHARED)
  endif()
  foreach(kind IN LISTS kinds)
    string(TOLOWER ${kind} name)
    add_library(${target}_${name} ${kind} $<TARGET_OBJECTS:${target}_objects>)
    add_library(asx::${prefix}${name} ALIAS ${target}_${name})
    set_target_properties(${target}_${name} PROPERTIES
      OUTPUT_NAME ${output}
      EXPORT_NAME ${prefix}${name}
      LINKER_LANGUAGE C
      VERSION ${PROJECT_VERSION}
      SOVERSION ${PROJECT_VERSION_MAJOR})
    target_include_directories(${target}_${name} INTERFACE
      "$<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>"
      "$<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>")
    target_link_libraries(${target}_${name} PUBLIC Threads::Threads)
    if(requires)
      target_link_libraries(${target}_${name} PUBLIC ${requires}_${name})
    else()
      target_link_libraries(${target}_${name} PRIVATE ${ASX_NEEDED_LIBS})
    endif()
    # Only the options of the link matter here; the objects are compiled already.
    target_link_options(${target}_${name} PRIVATE
      "$<TARGET_PROPERTY:asx_flags,INTERFACE_LINK_OPTIONS>")
  endforeach()
  if(ASX_SHARED)
    set(map "${PROJECT_BINARY_DIR}/cmake/${output}.map")
    configure_file("cmake/${output}.map.in" "${map}" @ONLY)
    target_link_options(${target}_shared PRIVATE
      LINKER:-Bsymbolic-functions "LINKER:--version-script=${map}")
    set_target_properties(${target}_shared PROPERTIES LINK_DEPENDS "${map}")
    # A sanitizer's symbols come from the executable, so its builds cannot ask for this.
    if(NOT ASX_SANITIZE)
      target_link_options(${target}_shared PRIVATE LINKER:--no-undefined)
    endif()
  endif()
endfunction()

set(ASX_LIBRARY_EXISTS FALSE)
if(sources)
  set(ASX_LIBRARY_EXISTS TRUE)
  asx_add_library(asx asx "" "" ${sources})
  asx_add_library(asx_lab asx-lab lab_ asx ${lab_sources})
  # An exploration takes as long as it takes: what this costs in size it gains in time.
  target_compile_options(asx_lab_objects PRIVATE "$<$<CONFIG:Release>:-O3>")
  set(kind static)
  if(ASX_SHARED)
    set(kind shared)
  endif()
  add_library(asx::asx ALIAS asx_${kind})
  add_library(asx::lab ALIAS asx_lab_${kind})
  if(ASX_TLS AND NOT CMAKE_CROSSCOMPILING)
    find_package(OpenSSL 3.0 QUIET)
  endif()
  if(OPENSSL_FOUND)
    file(GLOB tls_sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/src/tls/*.c")
    asx_add_library(asx_tls asx-tls tls_ asx ${tls_sources})
    target_link_libraries(asx_tls_objects PRIVATE OpenSSL::SSL)
    target_link_libraries(asx_tls_static PRIVATE OpenSSL::SSL)
    if(ASX_SHARED)
      target_link_libraries(asx_tls_shared PRIVATE OpenSSL::SSL)
    endif()
    add_library(asx::tls ALIAS asx_tls_${kind})
  else()
    message(STATUS "no OpenSSL 3: no asx-tls")
    list(REMOVE_ITEM public_headers "${PROJECT_SOURCE_DIR}/include/asx/tls.h")
  endif()
endif()

include(cmake/cli.cmake)
