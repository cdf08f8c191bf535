# Tests of TLS against the openssl tool, which is skipped where that is missing.
if(NOT TARGET asx_tls_static OR CMAKE_CROSSCOMPILING OR ASX_TEST_LAUNCHER
    OR NOT "tls" MATCHES "${ASX_TEST_MODULES}")
  return()
endif()
add_executable(tls-peer "${PROJECT_SOURCE_DIR}/tests/tls/peer.c")
set_target_properties(tls-peer PROPERTIES
  RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/tests")
target_link_libraries(tls-peer PRIVATE asx_flags asx_tls_static)
add_test(NAME tls-peers COMMAND sh "${PROJECT_SOURCE_DIR}/tests/tls/peers.sh"
  $<TARGET_FILE:tls-peer>)
set_tests_properties(tls-peers PROPERTIES LABELS tls SKIP_RETURN_CODE 77 TIMEOUT 120)
