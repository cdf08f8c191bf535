# Common part of the cross builds: Debian's cross gcc, static executables, and
# qemu-user in front of each test. The including file sets ASX_CROSS_ARCH.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR ${ASX_CROSS_ARCH})
set(CMAKE_C_COMPILER ${ASX_CROSS_ARCH}-linux-gnu-gcc)
set(CMAKE_ASM_COMPILER ${ASX_CROSS_ARCH}-linux-gnu-gcc)
find_program(CMAKE_CXX_COMPILER ${ASX_CROSS_ARCH}-linux-gnu-g++)
set(CMAKE_EXE_LINKER_FLAGS_INIT -static)
set(CMAKE_FIND_ROOT_PATH /usr/${ASX_CROSS_ARCH}-linux-gnu)
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)

find_program(asx_qemu NAMES qemu-${ASX_CROSS_ARCH}-static qemu-${ASX_CROSS_ARCH})
if(asx_qemu)
  set(CMAKE_CROSSCOMPILING_EMULATOR "${asx_qemu}")
endif()
