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
    grep -q "load order -> 2 .*support_dying.c:" out || fail "$test: the interleaving is missing"
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
grep -q "^is_slow: 1 execution,.*bounded" out || fail "there is not one slow execution"

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

# A debugger stops before the frames of who panics are left.
"$program" panics > out 2>&1 && fail "panics ends with success"
grep -q '^panics: schedule .*: failed: panicked: it is 2' out || fail "it does not say why"
if command -v gdb > /dev/null 2>&1; then
    "$asx" replay asx-panics.pack --gdb > out 2>&1 < /dev/null
    grep -q '^failed: panicked: it is 2' out || fail "the debugger does not stop"
    grep -q '^ *#[0-9]* *panics_at_two at .*support_dying.c:' out || fail "the frames of who panics are gone"
fi

sed 's/^failure .*/failure SIGSEGV/' asx-exits.pack > other
"$program" --replay other --same > out 2>&1 && fail "another death is taken for the same"

# Of who ends the process without a word another one tells; and the tests behind it are run.
for one in "leaves _exit(0)" "is_killed SIGKILL" "ends_thread pthread_exit()"; do
    test=${one%% *}
    how=${one#* }
    for jobs in 1 2; do
        for mode in search optimal; do
            set -- --jobs $jobs lives "$test" lives_on
            [ "$mode" = search ] || set -- --mode "$mode" "$@"
            "$program" "$@" > out 2>&1
            [ $? = 1 ] || fail "$test: it ends with success, or with trouble"
            grep -q -x -F "$test: died: the process ended by $how" out ||
                fail "$test: it is not told how it ends"
            [ "$(grep -c "^lives.* complete\$" out)" = 2 ] || fail "$test: takes others along"
            "$program" --json "$@" > out 2> err
            [ $? = 1 ] || fail "$test: it ends with success, or with trouble"
            [ "$(grep -c '^{"test".*}$' out)" = 3 ] || fail "$test: there are not three results"
            grep -q "^{\"test\":\"$test\",.*\"bugs\":1,\"complete\":false,\"seconds\"" out ||
                fail "$test: it is no bug"
        done
    done
done
# How the first one ended, not those that are ended because of it; on one processor they are late.
if command -v taskset > /dev/null 2>&1; then
    one=$(taskset -pc $$ | sed 's/.*: //; s/[-,].*//')
    left=150
    while [ $left != 0 ]; do
        taskset -c "$one" "$program" --jobs 2 leaves > out 2>&1
        grep -q '^leaves: died: .* _exit(0)$' out || fail "leaves: it is told how another one ends"
        left=$((left - 1))
    done
fi
"$program" --mode optimal faults leaves lives_on aborts is_killed > out 2>&1
[ $? = 1 ] || fail "who dies one after the other does not fail"
[ "$(grep -c ': died: ' out)" = 4 ] || fail "not everyone who dies is told of"
grep -q '^lives_on: .* complete$' out || fail "who dies takes the next one along"

# It does not hear an interrupt; a later one ends it.
"$program" --mode optimal stays > out 2>&1 &
stuck=$!
sleep 0.5
kill -INT $stuck
sleep 0.1
kill -INT $stuck
sleep 0.2
kill -0 $stuck 2> /dev/null || fail "stays: an interrupt that comes twice ends the process"
sleep 1
kill -INT $stuck
wait $stuck
[ $? = 130 ] || fail "stays: a later interrupt does not end the process"

# Who goes round for ever is named, and counted.
"$program" --json --max-steps 200 turns > out 2>&1
[ $? = 1 ] || fail "turns: it ends with success, or with trouble"
grep -q '"bugs":1,"complete":false' out || fail "turns: is no bug"
"$program" --mode optimal --max-steps 200 turns > out 2>&1
grep -q '^turns: execution .*: too long: .* 3 reader' out || fail "turns: it does not say who"

# What has not become smaller was not shrunk; what does not repeat either.
"$program" panics > out 2>&1
grep -q 'shrunk from \(.*\) to \1$' out && fail "panics: is shrunk to what it was"
"$program" fails_once > out 2>&1
grep -q 'the failure does not repeat' out || fail "fails_once: it does"
grep -q 'shrunk' out && fail "fails_once: it was shrunk"

# Who shares variables plainly is told that nothing was explored.
"$program" shares_plainly > out 2>&1 && fail "shares_plainly: a run without operations is a success"
grep -q '^shares_plainly: nothing was explored: its tasks do nothing that another one could see; ' out ||
    fail "shares_plainly: it is not told that nothing was explored"
"$program" lives > out 2>&1
grep -q 'its tasks do nothing' out && fail "lives: its tasks do something"

# A table has the rows of the tests that live, and says which one has died.
"$program" --table aborts panics > out 2> err && fail "--table: a test dies and it is a success"
grep -q '^aborts: died: the process ended by SIGABRT$' err || fail "--table: it does not say what died"
grep -q '^| panics ' out || fail "--table: a row is missing"

# What was found before is not lost, and one object is printed for who dies.
"$program" --json --mode optimal lives exits > out 2> err && fail "the two end with success"
[ "$(grep -c '"test"' out)" = 2 ] || fail "there are not two results"
grep -q '"test":"exits".*"bugs":1,"complete":false' out || fail "it is no bug"
"$program" --mode optimal lives > out 2>&1 || fail "the good one fails"
