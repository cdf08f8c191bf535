#!/bin/sh
# dying.sh PROGRAM ASX - a lab test that ends the process is told of with its schedule, and its pack
# ends it again.
set -u
program=$1 asx=$2
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder" || exit 1

fail() {
    echo "$1"
    cat out
    exit 1
}

# The end of the pack of this test is what a replay of it records.
has_trace() {
    size=$(sed -n 's/^trace \([0-9]*\)$/\1/p' "asx-$1.pack" | head -n 1)
    [ "${size:-0}" -gt 200 ] || fail "$1: there is no trace in its pack"
    "$program" --replay "asx-$1.pack" --record trace --time 0.1 > out 2>&1
    tail -c "$size" "asx-$1.pack" | cmp -s - trace || fail "$1: the trace is another one"
    [ ! -e "asx-$1.pack.trace" ] || fail "$1: a file is left over"
}

for one in "faults SIGSEGV" "overflows SIGSEGV" "aborts SIGABRT" "exits exit() was called" \
    "stays a task runs and comes to no operation" "sleeps a task waits in the operating system" \
    "waits a task waits in the operating system"; do
    test=${one%% *}
    why=${one#* }
    "$program" --time 0.1 "$test" > out 2>&1 && fail "$test ends with success"
    grep -q "^$test: execution .*: died: $why\$" out || fail "$test: it does not say why"
    grep -q "load x0 -> 2 .*support_dying.c:" out || fail "$test: the interleaving is missing"
    "$program" --replay "asx-$test.pack" --same --time 0.1 > out 2>&1 ||
        fail "$test: the pack does not end like this"
    grep -q "^the same failure again\$" out || fail "$test: it is not the same"
    has_trace "$test"
    case $test in stays | sleeps | waits) continue ;; esac
    "$asx" explore "$program" --time 0.1 "$test" > out 2>&1
    [ $? = 1 ] || fail "$test: the tool takes it for something else than a failure"
    "$program" --mode optimal --save saved "$test" > out 2>&1 &&
        fail "$test ends with success"
    grep -q "^schedule .*3" saved || fail "$test: no schedule was saved"
done

# An execution that lasts longer than the time, and does not wait, comes to its end.
"$program" --mode random --time 0.1 is_slow > out 2>&1 || fail "who is slow is not good"
grep -q "^is_slow: 1 executions.*bounded" out || fail "there is not one slow execution"

# In a worker: whoever it is tells of it, once, and the others do not go on for ever.
for one in "faults SIGSEGV" "exits exit() was called" \
    "stays a task runs and comes to no operation" "sleeps a task waits in the operating system"; do
    test=${one%% *}
    why=${one#* }
    rm -f "asx-$test.pack"
    for mode in search optimal; do
        set -- --jobs 2 --time 0.1 "$test"
        [ "$mode" = search ] || set -- --mode "$mode" "$@"
        "$program" "$@" > out 2>&1
        [ $? = 1 ] || fail "$test: a worker dies and it is no failure of the test"
        [ "$(grep -c "^$test: execution .*: died: $why\$" out)" = 1 ] ||
            fail "$test: no worker says why, or two do"
        grep -q "refused" out && fail "$test: somebody takes it for something else"
    done
    "$program" --replay "asx-$test.pack" --same --time 0.1 > out 2>&1 ||
        fail "$test: the pack of a worker does not end like this"
    has_trace "$test"
done

sed 's/^failure .*/failure SIGSEGV/' asx-exits.pack > other
"$program" --replay other --same > out 2>&1 && fail "another death is taken for the same"

# What was found before is not lost, and one object is printed for who dies.
"$program" --json --mode optimal lives exits > out 2> err && fail "the two end with success"
[ "$(grep -c '"test"' out)" = 2 ] || fail "there are not two results"
grep -q '"test":"exits".*"bugs":1,"complete":false' out || fail "it is no bug"
"$program" --mode optimal lives > out 2>&1 || fail "the good one fails"
