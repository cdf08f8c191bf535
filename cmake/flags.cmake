# asx_flags: what every C file of this tree is compiled with.
# asx_internal: what the library and its tests need on top.
include(CheckCSourceCompiles)

set(CMAKE_C_STANDARD 11)
set(CMAKE_C_STANDARD_REQUIRED ON)
set(CMAKE_C_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(THREADS_PREFER_PTHREAD_FLAG ON)
find_package(Threads REQUIRED)

add_library(asx_flags INTERFACE)
set(c_only -Wstrict-prototypes)
target_compile_options(asx_flags INTERFACE
  "$<$<COMPILE_LANGUAGE:C,CXX>:-Wall;-Wextra;-Wconversion;-Wshadow>"
  "$<$<COMPILE_LANGUAGE:C>:${c_only}>")
# What dumps of call chains read (docs/design/14-seeing.md); on some processors not the default.
target_compile_options(asx_flags INTERFACE
  "$<$<COMPILE_LANGUAGE:C,CXX>:-fasynchronous-unwind-tables>")
if(ASX_WERROR)
  target_compile_options(asx_flags INTERFACE "$<$<COMPILE_LANGUAGE:C,CXX>:-Werror>")
endif()
if(ASX_SANITIZE)
  set(san "-fsanitize=${ASX_SANITIZE}" -fno-sanitize-recover=all -fno-omit-frame-pointer)
  target_compile_options(asx_flags INTERFACE "$<$<COMPILE_LANGUAGE:C,CXX>:${san}>")
  target_link_options(asx_flags INTERFACE "-fsanitize=${ASX_SANITIZE}")
endif()
if(ASX_COVERAGE)
  # Several threads count: without atomic counters some lines end up below zero.
  target_compile_options(asx_flags INTERFACE
    "$<$<COMPILE_LANGUAGE:C>:--coverage;-fprofile-update=atomic>")
  target_link_options(asx_flags INTERFACE --coverage)
endif()
if(ASX_LTO)
  set(CMAKE_INTERPROCEDURAL_OPTIMIZATION ON)
endif()

# The client requests of valgrind are a header and a few instructions, no library. On a
# processor it does not know, the header switches itself off.
check_c_source_compiles("#include <valgrind/valgrind.h>
#ifdef NVALGRIND
#error not for this processor
#endif
int main(void) { return 0; }" ASX_HAVE_VALGRIND_H)

# A test program has to link with it, so that a cross build does not take that of this machine.
set(ASX_HAVE_URING FALSE)
if(ASX_URING)
  set(CMAKE_REQUIRED_LIBRARIES uring)
  check_c_source_compiles("#include <liburing.h>
int main(void) { struct io_uring ring; return io_uring_submit_and_get_events(&ring); }"
    ASX_LIBURING)
  unset(CMAKE_REQUIRED_LIBRARIES)
  set(ASX_HAVE_URING ${ASX_LIBURING})
endif()
set(ASX_HAVE_CARES FALSE)
if(ASX_CARES)
  set(CMAKE_REQUIRED_LIBRARIES cares)
  check_c_source_compiles("#include <sys/select.h>
#include <ares.h>
int main(void) { ares_getaddrinfo(0, \"\", \"\", 0, 0, 0); return 0; }" ASX_LIBCARES)
  unset(CMAKE_REQUIRED_LIBRARIES)
  set(ASX_HAVE_CARES ${ASX_LIBCARES})
endif()
# What the library needs besides, and what users link statically, in asx.pc.
set(ASX_NEEDED_LIBS)
if(ASX_HAVE_URING)
  list(APPEND ASX_NEEDED_LIBS uring)
endif()
if(ASX_HAVE_CARES)
  list(APPEND ASX_NEEDED_LIBS cares)
endif()
set(ASX_PRIVATE_LIBS "-pthread")
foreach(library IN LISTS ASX_NEEDED_LIBS)
  string(APPEND ASX_PRIVATE_LIBS " -l${library}")
endforeach()

add_library(asx_internal INTERFACE)
target_link_libraries(asx_internal INTERFACE asx_flags Threads::Threads)
target_include_directories(asx_internal INTERFACE
  "${PROJECT_SOURCE_DIR}/include" "${PROJECT_SOURCE_DIR}/src")
target_compile_definitions(asx_internal INTERFACE
  _GNU_SOURCE
  ASX_ASSERT_LEVEL=${ASX_ASSERT_LEVEL}
  $<$<BOOL:${ASX_FIBER_UCONTEXT}>:ASX_FIBER_UCONTEXT=1> # C and assembly must agree
  $<$<BOOL:${ASX_HAVE_URING}>:ASX_HAVE_URING=1>
  $<$<BOOL:${ASX_HAVE_CARES}>:ASX_HAVE_CARES=1>
  $<$<BOOL:${ASX_HAVE_VALGRIND_H}>:ASX_HAVE_VALGRIND=1>)
