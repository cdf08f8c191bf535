set(ASX_CROSS_ARCH s390x)
include("${CMAKE_CURRENT_LIST_DIR}/cross.cmake")
