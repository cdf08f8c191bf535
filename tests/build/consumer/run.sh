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
cp "$here"/consumer.c "$here"/lab.c "$here"/explores.c "$here"/consumer.cpp "$here"/CMakeLists.txt "$work"
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

# expect_explores PROGRAM shared|static: its own main explores, with the libraries as named.
expect_explores() {
    got=$(LD_LIBRARY_PATH=$lib "$1")
    [ "$got" = "ASX_OK 0 bugs in 2 classes" ] || { echo "$1 printed \"$got\""; exit 1; }
    linked=static
    readelf -d "$1" | grep -q 'NEEDED.*\[libasx-lab\.so\.[0-9]*\]' && linked=shared
    [ $linked = "$2" ] || { echo "$1 is linked $linked, not $2"; exit 1; }
    echo "ok $1"
}

# shellcheck disable=SC2046
"$cc" -std=c11 -Wall -Werror explores.c -o pc-explores $(pkg-config --cflags --libs asx-lab)
# shellcheck disable=SC2046
"$cc" -std=c11 explores.c -o pc-explores-static -static \
    $(pkg-config --static --cflags --libs asx-lab)
for program in ./pc-explores ./cmake/lab ./cmake/lab_shared; do expect_explores $program shared; done
for program in ./pc-explores-static ./cmake/lab_static; do expect_explores $program static; done

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
"$cc" -std=c11 -Wall -Werror lab.c -o pc-lab $(pkg-config --cflags --libs asx-lab-main)
# shellcheck disable=SC2046
"$cc" -std=c11 lab.c -o pc-lab-static -static \
    $(pkg-config --static --cflags --libs asx-lab-main)
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

# shown LIBRARY: the names that it exports, with their versions.
shown() {
    nm -D --defined-only "$lib/$1" | awk '$2 != "A" { print $NF }' | sort
}

# The shared libraries show the public names, libasx-lab.so is shown what it calls of the runtime
# beside them, and nothing else is.
for library in libasx libasx-lab; do
    strange=$(shown $library.so | grep -Ev '^(asx_[a-z0-9_]+@@ASX_(LAB_)?[0-9.]+|asx__.*@@ASX_PRIVATE_[0-9.]+)$') &&
        { echo "$library.so exports: $strange"; exit 1; }
done
shown libasx.so | grep -q '^asx_main@@ASX_' || { echo "asx_main is not exported"; exit 1; }
shown libasx-lab.so | grep -q '^asx_explore@@ASX_LAB_' || {
    echo "asx_explore is not exported"
    exit 1
}
for library in libasx libasx-lab; do
    shown $library.so
done | sed 's/@@.*//' >shown
for macro in $(sed -n 's/^#define \(asx_[a-z0-9_]*\)(.*/\1/p' prefix/include/asx/*.h | sort -u |
    grep -vE '^asx_lab_(load|store|read|write|cas|fetch_add|until)$'); do
    grep -qx "$macro" shown || { echo "the macro $macro is no exported function"; exit 1; }
done
shown libasx.so | sed -n 's/^\(asx__.*\)@@.*/\1/p' >seam-shown
nm -D --undefined-only "$lib/libasx-lab.so" | sed -n 's/.* \(asx__.*\)@ASX_PRIVATE_.*/\1/p' |
    sort >seam-called
[ -s seam-called ] && diff seam-shown seam-called || {
    echo "ASX__SEAM is not what the laboratory calls"
    exit 1
}
echo "ok the libraries export asx_* and the seam"

# Nothing of src/lab is in the runtime: neither a symbol of it nor its size.
nm -g --defined-only "$lib/libasx-lab.a" | awk '$2 ~ /[BDRTV]/ { print $3 }' | sort -u >lab-symbols
nm --defined-only "$lib/libasx.so" | awk '{ sub(/@.*/, "", $3); print $3 }' | sort -u >asx-symbols
[ -s lab-symbols ] || { echo "libasx-lab.a defines nothing"; exit 1; }
grep -q '^asx__wake$' asx-symbols || { echo "libasx.so has no symbols to be looked at"; exit 1; }
both=$(comm -12 lab-symbols asx-symbols)
[ -z "$both" ] || { echo "libasx.so has of the laboratory: $both"; exit 1; }
text_of() {
    size "$1" | awk 'NR == 2 { print $1 }'
}
"$cc" -shared -o together.so -Wl,--whole-archive "$lib/libasx.a" "$lib/libasx-lab.a" \
    -Wl,--no-whole-archive $(pkg-config --static --libs-only-l asx | sed 's/-lasx//') -lpthread
asx=$(text_of "$lib/libasx.so") lab=$(text_of "$lib/libasx-lab.so") together=$(text_of together.so)
[ $((asx + lab / 2)) -lt "$together" ] || {
    echo "libasx.so is no smaller without the laboratory: $asx bytes of text, together $together"
    exit 1
}
echo "ok libasx.so has nothing of the laboratory: $asx bytes of text, libasx-lab.so $lab"
if grep -rnF "$build" "$lib/cmake" "$lib/pkgconfig" || grep -rnF "$work/first" "$lib/cmake" "$lib/pkgconfig"; then
    echo "installed files name the place of the build"
    exit 1
fi
