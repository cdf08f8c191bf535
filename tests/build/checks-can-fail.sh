#!/bin/sh
# Each check of tools/ passes on a small good tree and fails on the same tree with
# one fault in it: checks-can-fail.sh SOURCE_TREE.
set -eu
tools=$1/tools
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failures=0
cases=0

# A tree in which every check passes.
good_tree() {
    rm -rf "$work/tree"
    mkdir -p "$work/tree/src/base" "$work/tree/src/kernel" "$work/tree/src/sched" \
        "$work/tree/include/asx" "$work/tree/tests/kernel"
    cd "$work/tree"
    cat >layers.txt <<'END'
base 0:
kernel 1: base
sched 3: base kernel
kernel-system: stdint.h
kernel-public: asx/status.h
kernel-base: base/assert.h
END
    printf '#pragma once\n#include <stdint.h>\nint asx_id(int x);\n' >include/asx/status.h
    printf '#pragma once\n#include <asx/status.h>\n' >include/asx/task.h
    printf '#pragma once\n' >src/base/assert.h
    printf '#pragma once\n' >src/base/list.h
    printf '#pragma once\n#include <asx/status.h>\n' >src/kernel/kernel.h
    printf '#include "kernel/kernel.h"\n\n#include "base/assert.h"\n' >src/kernel/id.c
    printf '\nint asx_id(int x)\n{\n    return x;\n}\n' >>src/kernel/id.c
    printf '#pragma once\n' >src/sched/task.h
    printf '#include "sched/task.h"\n\n#include <asx/task.h>\n' >src/sched/task.c
    printf '#include <stdio.h>\n#include "base/list.h"\n#include "kernel/kernel.h"\n' \
        >>src/sched/task.c
    printf 'int test_nothing;\n' >tests/kernel/test_id.c
}

run_check() {
    if [ "$1" = check-kernel ]; then
        sh "$tools/$1" "$work/tree" cc
    else
        sh "$tools/$1" "$work/tree"
    fi
}

# expect_failure CHECK TEXT: the tree as it is now must be refused with that text.
expect_failure() {
    cases=$((cases + 1))
    if run_check "$1" >"$work/out" 2>&1; then
        echo "$1 accepted a tree it should refuse: $2"
        failures=$((failures + 1))
    elif ! grep -qF -e "$2" "$work/out"; then
        echo "$1 did not say \"$2\" but:"
        cat "$work/out"
        failures=$((failures + 1))
    fi
}

lines() {
    awk -v n="$1" -v text="$2" 'BEGIN { for (i = 0; i < n; i++) print text }'
}

for check in check-layers check-tags check-tidy check-kernel check-headers; do
    good_tree
    cases=$((cases + 1))
    if ! run_check $check >"$work/out" 2>&1; then
        echo "$check refused the good tree:"
        cat "$work/out"
        failures=$((failures + 1))
    fi
done

# Layers.
good_tree
echo '#include "sched/task.h"' >>src/base/list.h
expect_failure check-layers "base may not include sched"
good_tree
echo '#include "time/wheel.h"' >>src/sched/task.c
expect_failure check-layers "sched may not include time"
good_tree
echo 'time 1: kernel' >>layers.txt
expect_failure check-layers "time may not list kernel"
good_tree
echo 'sched 3: sync' >>layers.txt
expect_failure check-layers "no rank is given for sync"
good_tree
mkdir src/extra
echo '#include <asx/task.h>' >src/extra/extra.c
expect_failure check-layers "module extra is not in layers.txt"
good_tree
echo '#include <stdlib.h>' >>src/kernel/id.c
expect_failure check-layers "the kernel may not include stdlib.h"
good_tree
echo '#include <asx/task.h>' >>src/kernel/id.c
expect_failure check-layers "the kernel may not include asx/task.h"
good_tree
echo '#include "base/list.h"' >>src/kernel/id.c
expect_failure check-layers "the kernel may not include base/list.h"
good_tree
echo '#include <stdio.h>' >>include/asx/status.h
expect_failure check-layers "open to the kernel may not include stdio.h"
good_tree
echo '#include "base/list.h"' >>include/asx/task.h
expect_failure check-layers "a public header includes only"
good_tree
echo '#include "../base/list.h"' >>src/sched/task.c
expect_failure check-layers "not by .."
good_tree
echo '#include "task.h"' >>src/sched/task.c
expect_failure check-layers 'write "sched/task.h"'
with_rooms() {
    good_tree
    printf 'lab 6: base\nlab/low 0:\nlab/high 1: low\n' >>layers.txt
    mkdir -p src/lab/low src/lab/high
    printf '#pragma once\n#include "base/list.h"\n' >src/lab/low/low.h
    printf '#include "lab/low/low.h"\n' >src/lab/high/high.c
}
with_rooms
cases=$((cases + 1))
run_check check-layers >"$work/out" 2>&1 || { cat "$work/out"; failures=$((failures + 1)); }
with_rooms
printf '#pragma once\n' >src/lab/high/high.h
echo '#include "lab/high/high.h"' >>src/lab/low/low.h
expect_failure check-layers "lab/low may not include lab/high"
with_rooms
echo 'lab/high 0: low' >>layers.txt
expect_failure check-layers "lab/high may not list lab/low"
with_rooms
printf '#include "base/list.h"\n' >src/lab/homeless.c
expect_failure check-layers "a source of lab lies in a room"
with_rooms
echo '#include "lab/low.h"' >>src/lab/high/high.c
expect_failure check-layers "lab/low.h lies in no room"
good_tree
rm -rf src include
mkdir -p src include/asx
expect_failure check-layers "nothing to check"

# Tags.
good_tree
echo 'struct asx__pool { int x; };' >>src/base/list.h
echo 'typedef struct asx__pool { /* { */ long y; } asx__pool;' >>src/sched/task.c
expect_failure check-tags "src/sched/task.c:7: asx__pool is another type at src/base/list.h:2"
good_tree
echo 'enum asx__clock { A };' >>src/base/list.h
echo 'typedef unsigned asx__clock;' >>src/sched/task.c
expect_failure check-tags "asx__clock is another type"
good_tree
echo 'typedef int asx__row;' >>src/base/list.h
echo 'typedef unsigned asx__row;' >>src/sched/task.c
expect_failure check-tags "asx__row is another type"
good_tree
echo 'typedef unsigned long long ull;' | tee -a src/base/list.h >>src/sched/task.c
echo '/* struct asx__x { */ struct asx__x;' | tee -a src/base/list.h >>src/sched/task.c
cases=$((cases + 1))
run_check check-tags >"$work/out" 2>&1 || { cat "$work/out"; failures=$((failures + 1)); }

# Tidy.
good_tree
lines 1001 '/**/' >src/sched/long.c
expect_failure check-tidy "long.c:1001: file of 1001 lines"
good_tree
{ printf 'static int f(int x,\n             int y)\n{\n'; lines 67 '    x++;'; echo '}'; } \
    >tests/kernel/test_long.c
expect_failure check-tidy "test_long.c:1: function of 71 lines"
good_tree
lines 1 "/*$(lines 99 x | tr -d '\n')" >include/asx/wide.h
expect_failure check-tidy "wide.h:1: line of 101 columns"
good_tree
printf 'int x;\tint y;\n' >src/base/tab.h
expect_failure check-tidy "tab.h:1: tab"
good_tree
printf 'int x; \n' >src/base/space.h
expect_failure check-tidy "space.h:1: space at the end"
good_tree
printf 'int x;\r\n' >src/base/return.h
expect_failure check-tidy "return.h:1: carriage return"
good_tree
printf 'int x;' >src/base/end.h
expect_failure check-tidy "end.h:0: no newline"
good_tree
printf 'int f(void) {\n}\n' >src/base/brace.h
expect_failure check-tidy "brace.h:1: the brace of a function"
for operator in '&&' '||'; do
    good_tree
    printf 'int f(int x, int y)\n{\n    return x\n           %s y;\n}\n' "$operator" >src/base/begin.h
    expect_failure check-tidy "begin.h:4: && and || stand at the end"
done
good_tree
printf '#include <stdio.h>\n#include "sched/task.h"\n' >src/sched/task.c
expect_failure check-tidy 'task.c:1: own header first: "sched/task.h"'
good_tree
printf '#include <stdio.h>\n' >src/sched/other.c
expect_failure check-tidy "other.c:1: own header first: one of sched/"
for word in 'TO''DO' 'FIX''ME' 'XX''X' 'HA''CK'; do
    good_tree
    printf '/* %s: later */\n' $word >src/base/later.h
    expect_failure check-tidy "later.h:1: a word that promises"
done
good_tree
rm -rf src include tests
expect_failure check-tidy "nothing to check"

# The freestanding kernel.
good_tree
printf 'void *malloc(unsigned long n);\nvoid *f(void);\nvoid *f(void)\n' >>src/kernel/id.c
printf '{\n    return malloc(1);\n}\n' >>src/kernel/id.c
expect_failure check-kernel "src/kernel needs malloc"
good_tree
printf '#if ASX_ASSERT_LEVEL == 2\nint g(void);\nint h(void);\nint h(void)\n' >>src/kernel/id.c
printf '{\n    return g();\n}\n#endif\n' >>src/kernel/id.c
expect_failure check-kernel "src/kernel needs g (assertion level 2)"
good_tree
rm src/kernel/id.c
expect_failure check-kernel "no sources"

# Headers.
good_tree
printf 'size_t asx_size(void);\n' >include/asx/alone.h
expect_failure check-headers "alone.h: not clean with gcc"
good_tree
printf '#pragma once\nint asx_new(int new);\n' >include/asx/cxx.h
expect_failure check-headers "cxx.h: not clean with g++"
umbrellas() {
    good_tree
    printf '#pragma once\n#include <asx/task.h>\n' >include/asx/asx.h
    printf '#pragma once\n#include <asx/task.h>\nint asx_lab(void);\n' >include/asx/lab.h
    printf '#pragma once\n#include <asx/asx.h>\n#include <asx/lab.h>\n' >include/asx/asx_lab.h
}
umbrellas
cases=$((cases + 1))
run_check check-headers >"$work/out" 2>&1 || { cat "$work/out"; failures=$((failures + 1)); }
echo '#pragma once' >include/asx/lonely.h
expect_failure check-headers "lonely.h: not reached from asx_lab.h"
umbrellas
echo '#include <asx/lab.h>' >>include/asx/task.h
expect_failure check-headers "asx.h: reaches lab.h, which is of the laboratory"
good_tree
echo '#define asx_place(x) asx_place_at((x), "here")' >>include/asx/task.h
echo 'ASX_API int asx_place_at(int x, const char *site);' >>include/asx/task.h
expect_failure check-headers "the macro asx_place is no function"
good_tree
rm -rf include/asx/*
expect_failure check-headers "no headers"

# Interface: the good tree has one call of each sort.
interface_tree() {
    good_tree
    mkdir -p docs/design
    cat >docs/design/22-interface.md <<'END'
## `const`
| resolving | `asx_ack_commit` |
## What must be used
| a message | `asx_channel_recv`, `asx_join` |
END
    cat >include/asx/status.h <<'END'
/* status.h */
typedef struct asx_thing_options {
    bool keeps; /* Zero: does not. */
} asx_thing_options;
/* Makes one. */
ASX_API asx_status asx_thing_create(const asx_region *region, unsigned size,
                                    const asx_thing_options *options, asx_thing *ret_thing);
/* Takes one.
 * ASX_E_EMPTY. */
ASX_API ASX_MUST_USE asx_status asx_channel_recv(asx_cx *cx, const asx_channel_receiver *receiver,
                                                 void *ret_message);
ASX_API asx_status asx_ack_commit(asx_ack *ack); /* shares the comment above */

/* Writes the text. */
ASX_API unsigned asx_thing_text(const asx_thing *thing, char *ret_text, unsigned size);
/* With a place. */
ASX_API ASX_MUST_USE asx_status asx_join_at(asx_cx *cx, unsigned n, const char *site);
END
}
# seed SCRIPT TEXT: the good tree, changed by the sed script, must be refused with the text.
seed() {
    interface_tree
    sed -i "$1" include/asx/status.h docs/design/22-interface.md
    expect_failure check-interface "$2"
}
interface_tree
cases=$((cases + 1))
run_check check-interface >"$work/out" 2>&1 || { cat "$work/out"; failures=$((failures + 1)); }
seed 's/(asx_cx \*cx, unsigned n,/(unsigned n, asx_cx *cx,/' "the context stands first"
seed 's/asx_channel_recv(asx_cx \*cx, /asx_channel_recv(/' "it takes the context"
seed 's/char \*ret_text/char *text, unsigned by/' "text is written, so it is to be named ret_text"
seed 's/asx_cx \*cx, unsigned n,/asx_cx *cx, int *ret_n, unsigned n,/' "outputs stand last, and n does not"
seed 's/unsigned n,/unsigned ret_n,/' "ret_n is no output"
seed 's/unsigned size,$/const asx_thing_options *options, unsigned size,/' \
    "options stand before the outputs, and behind size"
seed 's/_options \*options/_options *settings/' "settings is to be named options"
seed 's/const asx_thing_options \*options/asx_thing_options *options/' \
    "options are a pointer to a const struct"
seed 's/const asx_thing_options \*options, //' "created in one style"
seed 's/asx_thing_create/asx_thing_create_with/' "created in one style"
seed 's/unsigned size,$/const char *name,/' "the name is in the options"
seed 's/const asx_channel_receiver/asx_channel_receiver/' "receiver is not used up, so it is const"
seed 's/(asx_ack /(const asx_ack /' "it uses up a handle, so that is not const"
seed 's/ASX_MUST_USE asx_status asx_join/asx_status asx_join/' "its result must be used"
seed 's/asx_status asx_thing_create/ASX_MUST_USE asx_status asx_thing_create/' \
    "must be used, and is not in the table"
seed 's/, `asx_join`/, `asx_join`, `asx_jion`/' "no such function: asx_jion"
seed 's/`asx_ack_commit`/`asx_ack_commit`, `asx_nack`/' "no such function: asx_nack"
seed 's/bool keeps/bool no_drop/' "the boolean no_drop says what is not"
seed 's/unsigned n,/bool dont_wait,/' "the boolean dont_wait says what is not"
seed 's/unsigned n, const char \*site/const char *site, unsigned n/' "the site stands last"
seed 's/, const char \*site//' "ends in _at and takes no site"
seed '/^\/\* Writes the text/d' "asx_thing_text: no comment"
seed '/^ASX_API/,$d' "no such function: asx_join"
interface_tree
rm docs/design/22-interface.md
expect_failure check-interface "no docs/design/22-interface.md"

echo "$cases cases, $failures failed"
[ $failures -eq 0 ]
