#!/bin/sh
# valgrind sees what a task does on its own stack, and nothing that it does not do:
# valgrind.sh BUILD_DIR SOURCE_TREE CC.
set -eu
build=$1
tree=$2
cc=$3
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cat >"$work/task.c" <<'END'
#include <stdio.h>
#include <stdlib.h>

#include <asx/asx.h>

static asx_status body(asx_cx *cx, void *arg)
{
    const char *fault = arg;
    char *block = malloc(8);
    int unset, *seen = &unset;
    if (block == NULL || asx_yield(cx) < 0)
        return ASX_E_SYSTEM;
    volatile char beyond = block[*fault == 'r' ? 8 : 0];
    (void)beyond;
    if (*fault == 'u' && *(volatile int *)seen == 5)
        puts("five");
    free(block);
    return ASX_OK;
}

static asx_status app(asx_cx *cx, void *arg)
{
    asx_region region;
    (void)asx_region_open(cx, NULL, &region);
    (void)asx_spawn(&region, "task", body, arg);
    return asx_region_close(&region, ASX_OK);
}

int main(int argc, char **argv)
{
    return argc == 2 ? asx_main(app, argv[1]) : 2;
}
END
"$cc" -std=c11 -g -O0 -I"$tree/include" "$work/task.c" "$build/libasx.a" -o "$work/task" \
    $(sed -n 's/^Libs.private: //p' "$build/cmake/asx.pc")

failures=0
# expect FAULT CODE TEXT
expect() {
    code=0
    valgrind --error-exitcode=99 "$work/task" "$1" >"$work/out" 2>&1 || code=$?
    if [ $code -ne "$2" ] || ! grep -q "$3" "$work/out" || grep -q 'switching stacks' "$work/out"; then
        echo "fault '$1': exit code $code, wanted $2 and \"$3\""
        cat "$work/out"
        failures=$((failures + 1))
    fi
}
# block[0] of the good run is allocated but unset; it is read and not judged by.
expect none 0 'ERROR SUMMARY: 0 errors'
expect read 99 'Invalid read of size 1'
expect unset 99 'depends on uninitialised'
exit $failures
