# One executable per tests/<module>/test_<unit>.c, named <module>-<unit> (a folder
# in between adds its name), labelled by module. A line `ctest-labels: slow` in the
# head comment of a test adds labels:
#   slow   keeps it out of the quick runs
#   clock  says that something happens soon enough, on the real clock: the Makefile runs these
#          by themselves, and gives one that fails a second try
#   resident  says how much memory is resident: a sanitizer has books of its own, and it is left out
# And `pure`, given below: it explores or computes the same on every processor, on one thread.
# support_*.c in a test's folder is compiled once and linked into each test of that folder.
# tests/build is different: there the build itself is tested, by scripts.
add_library(asx_harness OBJECT "${PROJECT_SOURCE_DIR}/tests/harness/harness.c")
target_include_directories(asx_harness INTERFACE "${PROJECT_SOURCE_DIR}/tests/harness")
target_compile_definitions(asx_harness PRIVATE _GNU_SOURCE)
target_link_libraries(asx_harness PRIVATE asx_flags)

# asx_test_options: what tests and their support are compiled with.
add_library(asx_test_options INTERFACE)
target_include_directories(asx_test_options INTERFACE
  "${PROJECT_SOURCE_DIR}/tests/harness" "${PROJECT_SOURCE_DIR}/tests")
# Cross builds link statically.
target_compile_definitions(asx_test_options INTERFACE
  ASX_TEST_STATIC=$<BOOL:${CMAKE_CROSSCOMPILING}>)
if(ASX_LIBRARY_EXISTS)
  target_link_libraries(asx_test_options INTERFACE asx_lab_static)
  if(NOT ASX_LTO) # whose calls no longer have names that could be replaced
    target_compile_definitions(asx_test_options INTERFACE ASX_TEST_WRAPS)
    target_link_options(asx_test_options INTERFACE
      LINKER:--wrap=asx_runtime_create LINKER:--wrap=asx_main)
  endif()
endif()
target_link_libraries(asx_test_options INTERFACE asx_internal)
if(ASX_LIBRARY_EXISTS)
  add_library(asx_test_workers OBJECT "${PROJECT_SOURCE_DIR}/tests/harness/workers.c")
  target_link_libraries(asx_test_workers PRIVATE asx_test_options)
endif()

set(ASX_TEST_MODULES ".*" CACHE STRING "modules whose tests are built, as a regular expression")

file(GLOB test_sources CONFIGURE_DEPENDS
  "${PROJECT_SOURCE_DIR}/tests/*/test_*.c"
  "${PROJECT_SOURCE_DIR}/tests/*/*/test_*.c")

foreach(source IN LISTS test_sources)
  cmake_path(GET source PARENT_PATH folder)
  cmake_path(GET source STEM unit)
  string(REGEX REPLACE "^test_" "" unit "${unit}")
  cmake_path(RELATIVE_PATH folder BASE_DIRECTORY "${PROJECT_SOURCE_DIR}/tests"
    OUTPUT_VARIABLE place)
  string(REGEX REPLACE "/.*" "" module "${place}")
  string(REPLACE "/" "-" prefix "${place}")
  set(needs_tls FALSE)
  if(module STREQUAL "tls" OR unit STREQUAL "misuse_tls")
    set(needs_tls TRUE)
  endif()
  if((NOT ASX_LIBRARY_EXISTS AND NOT module STREQUAL "harness")
      OR (needs_tls AND NOT TARGET asx_tls_static)
      OR NOT module MATCHES "${ASX_TEST_MODULES}")
    continue()
  endif()

  if(needs_tls AND NOT TARGET tls-support)
    add_library(tls-support OBJECT "${PROJECT_SOURCE_DIR}/tests/tls/support_tls.c")
    target_link_libraries(tls-support PRIVATE asx_test_options OpenSSL::SSL)
  endif()
  set(name "${prefix}-${unit}")
  file(GLOB support CONFIGURE_DEPENDS "${folder}/support_*.c")
  if(support AND NOT TARGET ${prefix}-support)
    add_library(${prefix}-support OBJECT ${support})
    target_link_libraries(${prefix}-support PRIVATE asx_test_options)
  endif()
  add_executable(${name} "${source}" $<TARGET_OBJECTS:asx_harness>
    $<$<TARGET_EXISTS:${prefix}-support>:$<TARGET_OBJECTS:${prefix}-support>>
    $<$<TARGET_EXISTS:asx_test_workers>:$<TARGET_OBJECTS:asx_test_workers>>)
  set_target_properties(${name} PROPERTIES
    RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/tests")
  target_link_libraries(${name} PRIVATE asx_test_options)
  if(name STREQUAL "see-mutexes" AND TARGET asx_mutexwatch)
    target_link_libraries(${name} PRIVATE asx_mutexwatch)
    target_compile_definitions(${name} PRIVATE SEE_MUTEXWATCH=1)
  endif()
  if(needs_tls)
    target_link_libraries(${name} PRIVATE asx_tls_static OpenSSL::SSL)
  endif()
  if(needs_tls AND NOT module STREQUAL "tls") # with the certificates of those
    target_sources(${name} PRIVATE $<TARGET_OBJECTS:tls-support>)
  endif()
  if(module STREQUAL "cli" AND TARGET asx_cli_objects)
    target_sources(${name} PRIVATE $<TARGET_OBJECTS:asx_cli_objects>)
  endif()

  file(STRINGS "${source}" label_line REGEX "ctest-labels:" LIMIT_COUNT 1)
  set(labels ${module})
  if(label_line)
    string(REGEX REPLACE "^.*ctest-labels:" "" extra "${label_line}")
    string(REGEX MATCHALL "[a-z][a-z0-9_-]*" extra "${extra}")
    list(APPEND labels ${extra})
  endif()
  set(pure_dpor "engine|explore|jobs|mixed|modes|published|tasks|timers")
  if(name MATCHES "^(model-.*|lab-bugs-bugs|lab-classes-.*|lab-dpor-(${pure_dpor}))$")
    list(APPEND labels pure)
  endif()
  set(cost 0)
  if(name MATCHES "^lab-dpor-(engine|jobs)$")
    set(cost 20)
  endif()
  # A target as the command: CMake puts the emulator of a cross build before it.
  if(ASX_TEST_LAUNCHER)
    add_test(NAME ${name} COMMAND ${ASX_TEST_LAUNCHER} $<TARGET_FILE:${name}>)
  else()
    add_test(NAME ${name} COMMAND ${name})
  endif()
  set_tests_properties(${name} PROPERTIES LABELS "${labels}" TIMEOUT 900 COST ${cost})

  # The same with io_uring, on one worker and on four, where it can be had.
  if(module STREQUAL "io")
    set_tests_properties(${name} PROPERTIES ENVIRONMENT "ASX_IO=epoll")
    if(ASX_HAVE_URING AND NOT ASX_TEST_LAUNCHER AND NOT CMAKE_CROSSCOMPILING)
      add_test(NAME ${name}-uring COMMAND ${name})
      set_tests_properties(${name}-uring PROPERTIES LABELS "${labels}" TIMEOUT 900
        ENVIRONMENT "ASX_IO=uring")
      if(NOT "own-workers" IN_LIST labels AND NOT ASX_LTO)
        set(labels_uring workers ${labels})
        list(REMOVE_ITEM labels_uring io)
        add_test(NAME ${name}-uring@4 COMMAND ${name})
        set_tests_properties(${name}-uring@4 PROPERTIES LABELS "${labels_uring}" TIMEOUT 900
          ENVIRONMENT "ASX_IO=uring;ASX_WORKERS=4")
      endif()
    endif()
  endif()

  # The same on several workers: see tests/harness/workers.c. Not what says itself how many
  # (label `own-workers`).
  if(module MATCHES "^(api|flow|http|io|sched|sync|tls)$" AND ASX_LIBRARY_EXISTS AND NOT ASX_LTO
      AND NOT ASX_TEST_LAUNCHER AND NOT "own-workers" IN_LIST labels)
    set(labels_again workers)
    if("clock" IN_LIST labels)
      list(APPEND labels_again clock)
    endif()
    foreach(workers IN LISTS ASX_TEST_WORKERS)
      add_test(NAME ${name}@${workers} COMMAND ${name})
      set_tests_properties(${name}@${workers} PROPERTIES LABELS "${labels_again}" TIMEOUT 900
        ENVIRONMENT "ASX_WORKERS=${workers}")
    endforeach()
  endif()
endforeach()

# They draw some programs in every run, and many of them here.
if(TARGET lab-classes-reference AND NOT CMAKE_CROSSCOMPILING)
  add_test(NAME lab-classes-all CONFIGURATIONS all COMMAND lab-classes-reference)
  add_test(NAME lab-objects-all CONFIGURATIONS all COMMAND lab-classes-objects)
  add_test(NAME lab-regions-all CONFIGURATIONS all COMMAND lab-classes-regions)
  add_test(NAME lab-dense-all CONFIGURATIONS all COMMAND lab-dpor-engine --filter dense)
  add_test(NAME lab-work-all CONFIGURATIONS all
    COMMAND lab-dpor-work --filter visit_every_class_once)
  set_tests_properties(lab-classes-all lab-objects-all lab-regions-all lab-dense-all lab-work-all
    PROPERTIES LABELS "lab;seeds" TIMEOUT 3600)
  set_tests_properties(lab-classes-all PROPERTIES
    ENVIRONMENT "ASX_CLASSES_SEED=1000000;ASX_CLASSES_PROGRAMS=60000")
  set_tests_properties(lab-objects-all lab-regions-all PROPERTIES
    ENVIRONMENT "ASX_CLASSES_SEED=1000000;ASX_CLASSES_PROGRAMS=20000")
  set_tests_properties(lab-dense-all PROPERTIES
    ENVIRONMENT "ASX_DENSE_SEED=1000000;ASX_DENSE_PROGRAMS=150000")
  set_tests_properties(lab-work-all PROPERTIES
    ENVIRONMENT "ASX_WORK_SEED=1000000;ASX_WORK_PROGRAMS=400000")
endif()

# Engines that always do what they else do only where executions are long or tasks are many, so that
# programs whose classes can be counted show if it is wrong.
# asx_add_engine_test(NAME SOURCE SUPPORT FILTER DEFINITIONS ENGINE_SOURCE...)
function(asx_add_engine_test name source support filter definitions)
  add_executable(${name} "${PROJECT_SOURCE_DIR}/tests/lab/${source}" ${ARGN}
    $<TARGET_OBJECTS:asx_harness> $<TARGET_OBJECTS:${support}> $<TARGET_OBJECTS:asx_test_workers>)
  set_target_properties(${name} PROPERTIES
    RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/tests")
  target_compile_definitions(${name} PRIVATE ${definitions})
  target_link_libraries(${name} PRIVATE asx_test_options)
  add_test(NAME ${name} COMMAND ${name} --filter ${filter})
  set_tests_properties(${name} PROPERTIES LABELS "lab;pure" TIMEOUT 900)
endfunction()
if(TARGET lab-classes-reference AND NOT CMAKE_CROSSCOMPILING AND NOT ASX_LTO
    AND NOT ASX_TEST_LAUNCHER)
  # What becomes of a sequence is remembered (src/lab/dpor/seen.c): the first of these programs shows
  # if nobody looks whether anything else is left.
  asx_add_engine_test(lab-classes-seen classes/test_reference.c lab-classes-support random_programs
    ASX__SEEN_FROM=0 "${PROJECT_SOURCE_DIR}/src/lab/dpor/seen.c")
  asx_add_engine_test(lab-dpor-seen dpor/test_engine.c lab-dpor-support rests_on
    ASX__SEEN_FROM=0 "${PROJECT_SOURCE_DIR}/src/lab/dpor/seen.c")
  # What could have been otherwise is looked for as it is where much was before (src/lab/dpor/find.c),
  # where a step is in a sequence as if it were long (src/lab/dpor/tree.c); clocks are trees
  # (src/lab/dpor/clocks.h), which makes who sleeps a matter of the explorer.
  file(GLOB engine_sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/src/lab/dpor/*.c")
  set(engine_rare ASX__WALK_MOST=0 ASX__SEEN_FROM=0 ASX__SHARE_FROM=0 ASX__FIND_FROM=0)
  asx_add_engine_test(lab-dpor-rare dpor/test_engine.c lab-dpor-support dense_programs
    "${engine_rare}" ${engine_sources})
  asx_add_engine_test(lab-classes-trees classes/test_reference.c lab-classes-support random_programs
    "${engine_rare};ASX__CLOCK_LANES=2u;ASX__CLOCK_FAN_BITS=1u" ${engine_sources})
  # What trees have in common is looked for after each execution (src/lab/dpor/branch.h).
  asx_add_engine_test(lab-dpor-shared dpor/test_work.c lab-dpor-support several_engines
    "ASX__SHARE_FROM=0;ASX__TOLD_MOST=1" ${engine_sources} "${PROJECT_SOURCE_DIR}/src/lab/jobs/backlog.c")
  set_tests_properties(lab-classes-seen lab-classes-trees PROPERTIES
    ENVIRONMENT "ASX_CLASSES_SEED=8653;ASX_CLASSES_PROGRAMS=600")
  set_tests_properties(lab-dpor-rare PROPERTIES ENVIRONMENT "ASX_DENSE_PROGRAMS=3000")
endif()

# Everything at once, at random, on several workers.
set(ASX_STRESS_SECONDS 5 CACHE STRING "how long the stress test runs on four workers")
if(ASX_LIBRARY_EXISTS)
  add_executable(stress "${PROJECT_SOURCE_DIR}/tests/stress/stress.c")
  set_target_properties(stress PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/tests")
  target_link_libraries(stress PRIVATE asx_static asx_internal)
  set(stress ${ASX_TEST_LAUNCHER} $<TARGET_FILE:stress>)
  if(CMAKE_CROSSCOMPILING)
    set(stress ${CMAKE_CROSSCOMPILING_EMULATOR} $<TARGET_FILE:stress>)
  endif()
  add_test(NAME stress-1 COMMAND ${stress} --seconds 5 --workers 1)
  add_test(NAME stress-4 COMMAND ${stress} --seconds ${ASX_STRESS_SECONDS} --workers 4)
  # COST: what takes long begins first, else one core waits for the other at the end.
  set_tests_properties(stress-1 stress-4 PROPERTIES LABELS "stress" TIMEOUT 900 COST 60)
endif()

include(cmake/locals.cmake)
include(cmake/fuzz.cmake)
include(cmake/http.cmake)
include(cmake/tls.cmake)

if(EXISTS "${PROJECT_SOURCE_DIR}/tests/build/CMakeLists.txt")
  add_subdirectory("${PROJECT_SOURCE_DIR}/tests/build" "${PROJECT_BINARY_DIR}/tests/build")
endif()
