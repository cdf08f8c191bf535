set(ASX_CROSS_ARCH riscv64)
include("${CMAKE_CURRENT_LIST_DIR}/cross.cmake")
