#!/bin/sh
# Installs a build into a prefix, moves it, and uses it as a stranger would, by
# pkg-config and by find_package, in C and C++, static and shared:
# run.sh BUILD_DIR CC.
set -eu
build=$1
cc=$2
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

cxx=
for candidate in "${CXX:-}" g++ clang++; do
    [ -n "$candidate" ] && command -v "$candidate" >/dev/null 2>&1 && cxx=$candidate && break
done
[ -n "$cxx" ] || { echo "consumer: no C++ compiler" >&2; exit 1; }

cmake --install "$build" --prefix "$work/first" >"$work/install.log"
mv "$work/first" "$work/prefix"
cp "$here"/consumer.c "$here"/lab.c "$here"/consumer.cpp "$here"/CMakeLists.txt "$work"
cd "$work"
pc=$(find prefix -name asx.pc)
lib=$work/$(dirname "$(dirname "$pc")")
export PKG_CONFIG_PATH="$lib/pkgconfig"
version=$(pkg-config --modversion asx)

# expect PROGRAM shared|static: says 25 and the version, and is linked as named.
expect() {
    got=$(LD_LIBRARY_PATH=$lib "$1")
    [ "$got" = "$version 25" ] || { echo "$1 printed \"$got\", not \"$version 25\""; exit 1; }
    linked=static
    readelf -d "$1" | grep -q 'NEEDED.*\[libasx\.so\.[0-9]*\]' && linked=shared
    [ $linked = "$2" ] || { echo "$1 is linked $linked, not $2"; exit 1; }
    echo "ok $1"
}

pkg-config --static --libs asx | grep -q pthread || { echo "asx.pc: no pthread"; exit 1; }
# shellcheck disable=SC2046 # lists of words are wanted
"$cc" -std=c11 -Wall -Werror consumer.c -o pc-c-shared $(pkg-config --cflags --libs asx)
# shellcheck disable=SC2046
"$cc" -std=c11 consumer.c -o pc-c-static -static $(pkg-config --static --cflags --libs asx)
# shellcheck disable=SC2046
"$cxx" -std=c++11 -Wall -Werror consumer.cpp -o pc-cxx-shared $(pkg-config --cflags --libs asx)
# shellcheck disable=SC2046
"$cxx" -std=c++11 consumer.cpp -o pc-cxx-static -static \
    $(pkg-config --static --cflags --libs asx)
for program in pc-c-shared pc-cxx-shared; do expect ./$program shared; done
for program in pc-c-static pc-cxx-static; do expect ./$program static; done

cmake -S . -B cmake -DCMAKE_PREFIX_PATH="$work/prefix" -DCMAKE_C_COMPILER="$cc" \
    -DCMAKE_CXX_COMPILER="$cxx" >cmake.log || { cat cmake.log; exit 1; }
cmake --build cmake >cmake.log || { cat cmake.log; exit 1; }
for program in c-default c-shared cxx-shared; do expect ./cmake/$program shared; done
for program in c-static cxx-static; do expect ./cmake/$program static; done

# expect_lab PROGRAM: explores both orders of its one test.
expect_lab() {
    got=$(LD_LIBRARY_PATH=$lib "$1" --mode optimal --json)
    case $got in
    '{"test":"two_additions_make_two","mode":"optimal","executions":2,"classes":2,'*) ;;
    *)
        echo "$1 printed \"$got\""
        exit 1
        ;;
    esac
    echo "ok $1"
}

# shellcheck disable=SC2046
"$cc" -std=c11 -Wall -Werror lab.c -o pc-lab $(pkg-config --cflags --libs asx-lab)
# shellcheck disable=SC2046
"$cc" -std=c11 lab.c -o pc-lab-static -static $(pkg-config --static --cflags --libs asx-lab)
for program in ./pc-lab ./pc-lab-static ./cmake/lab-main; do expect_lab $program; done

# As the guide says: its command, and its lines for CMake.
guide=$here/../../../docs/guide/laboratory.md
mkdir guide
cp lab.c guide/t.c
command=$(sed -n 's/^cc \(.*asx-lab.*\)$/\1/p' "$guide")
[ -n "$command" ] || { echo "the guide does not say how a lab test is compiled"; exit 1; }
(cd guide && eval "$cc $command")
{
    echo 'cmake_minimum_required(VERSION 3.25)'
    echo 'project(guide C)'
    sed -n '/^```cmake$/,/^```$/p' "$guide" | grep -v '^```'
} >guide/CMakeLists.txt
cmake -S guide -B guide/build -DCMAKE_PREFIX_PATH="$work/prefix" -DCMAKE_C_COMPILER="$cc" \
    >cmake.log || { cat cmake.log; exit 1; }
cmake --build guide/build >cmake.log || { cat cmake.log; exit 1; }
for program in ./guide/t ./guide/build/t; do expect_lab $program; done

# The shared library shows the public names and nothing else.
strange=$(nm -D --defined-only "$lib/libasx.so" | awk '$NF !~ /^asx_[a-z0-9]/ { print $NF }')
[ -z "$strange" ] || { echo "libasx.so exports: $strange"; exit 1; }
nm -D --defined-only "$lib/libasx.so" | grep -q ' asx_main$' || {
    echo "asx_main is not exported"
    exit 1
}
if grep -rnF "$build" "$lib/cmake" "$lib/pkgconfig" || grep -rnF "$work/first" "$lib/cmake" "$lib/pkgconfig"; then
    echo "installed files name the place of the build"
    exit 1
fi
echo "ok libasx.so exports only asx_*"
