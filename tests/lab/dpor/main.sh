#!/bin/sh
# The main of a lab test program, from outside: main.sh PROGRAM, where PROGRAM is lab-dpor.
set -u
program=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
bad=0

# expect NAME CODE PATTERN ARGUMENTS...: exit status, and a line of the output.
expect() {
    name=$1 code=$2 pattern=$3
    shift 3
    "$program" "$@" >"$work/out" 2>&1
    got=$?
    if [ $got -ne "$code" ]; then
        echo "$name: exit status $got, expected $code"
        bad=1
    elif ! grep -q -e "$pattern" "$work/out"; then
        echo "$name: no line like: $pattern"
        cat "$work/out"
        bad=1
    fi
}

expect list 0 '^readers_8$' --list
expect help 0 '--max-executions' --help
expect json 0 '^{"test":"readers_8","mode":"optimal","executions":256,"classes":256,"redundant":0,"blocked":0,"deadlocks":0,"bugs":0,"complete":true,"seconds":[0-9.]*}$' \
    --explore --json readers_8
expect verbose 0 ',"steps":[0-9]*,"compared":256,.*"status":"ASX_OK"}$' --json --verbose readers_8
expect seed 0 '"executions":256,.*"complete":true' --json --seed 7 readers_8
expect dfs 0 '"mode":"dfs","executions":6,"classes":4,"redundant":2' --json --mode dfs readers_2
expect bounded 0 '"executions":3,.*"complete":false' --json --max-executions 3 readers_8
expect two-tests 0 '^branch: 5 executions, 5 classes' casrot_3 branch
expect pct 0 'a bug of depth 2 is found with probability 1/(n k^(d-1)) = 0.0312 .*(n = 4 tasks, k = 8 steps, d = 2)' --mode pct --depth 2 --seed 4 fib_1
expect pos 0 '"mode":"pos","executions":1000,"classes":11,' --json --mode pos fib_1
expect deadlock 1 '"deadlocks":1,' --json --save "$work/schedule" philosophers_3
expect saved 1 '^philosophers_3: execution 1: deadlock: .*cycle: ' --replay "$work/schedule"
expect lanes 1 '^lock forks\[i\] x0 .*support_programs.c:[0-9]' --replay "$work/schedule"
expect pack 1 'crash pack written to' --pack "$work/pack" philosophers_3
head -n 2 "$work/pack" | tail -n 1 | grep -q "^program /.*lab-dpor$" || { echo "pack: program"; bad=1; }
expect packed 1 '^philosophers_3: execution 1: deadlock: .*cycle: ' --replay "$work/pack"
expect packed-other 2 'is of another test' --replay "$work/pack" readers_2
printf 'test philosophers_3\nschedule 1 2 1 2 2\n' >"$work/other"
expect diverged 2 '^philosophers_3: the schedule is none of this test: step [0-9]*: task ' --replay "$work/other"
expect diverged-json 2 '^philosophers_3: ' --json --replay "$work/other"
printf 'test nobody\nschedule 1\n' >"$work/nobody"
expect nobody 2 'there is no such test' --replay "$work/nobody"
echo 'something else' >"$work/else"
expect no-schedule 2 'is not a schedule' --replay "$work/else"
expect no-file 2 'cannot be read' --replay "$work/none"
expect no-test 2 'there is no such test' no_such_test
expect no-option 2 'no such option' --nothing
expect no-mode 2 'nothing is not possible; there are optimal, ' --mode nothing readers_2
expect bound 0 '"executions":6,"classes":6,.*"complete":false' --json --bound 0 fib_1
expect no-bound 0 '"classes":11,.*"complete":true' --json --bound 9 fib_1
expect preempt 0 '"executions":6,"classes":6,.*"complete":false' --json --bound preempt:0 fib_1
expect delay 0 '"executions":1,"classes":1,.*"complete":false' --json --bound delay:0 fib_1
expect no-delay 0 '"classes":11,.*"complete":true' --json --bound delay:20 fib_1
expect left-out 0 'bounded: the bound leaves schedules out; at most 1 delay; [1-9][0-9]* steps to another task left out$' --bound delay:1 fib_1
expect stopped 0 'bounded: as many executions as allowed; [1-9][0-9]* executions* with alternatives that were not run$' --max-executions 3 readers_8
expect bad-delay 2 'not possible' --bound delay: readers_2
expect bad-bound 2 'not possible' --bound many readers_2
expect clock 0 '"executions":4,.*"complete":true' --json --mode optimal --clock adversarial readers_2
expect faults 0 '"executions":4,.*"complete":true' --json --mode optimal --faults cancel,timeout readers_2
expect bad-faults 2 'not possible' --faults cancel,rain readers_2
expect bad-clock 2 'not possible' --clock sundial readers_2
expect jobs 0 '"executions":19605,"classes":19605,"redundant":0,"blocked":0,.*"complete":true' --json --mode optimal --jobs 2 fib_4
expect all-cores 0 '"executions":256,.*"complete":true' --json --mode optimal --jobs 0 readers_8
expect bad-jobs 2 'not possible' --jobs many readers_2
expect estimate 0 ', about [0-9.e+]* in all, bounded$' --max-executions 500 fib_4
expect json-estimate 0 ',"estimate":256,' --json --verbose readers_8
expect stops 0 "the rest is in $work/point; --resume $work/point" --mode optimal --max-executions 100 --checkpoint "$work/point" readers_8
expect resumes 0 '"executions":256,"classes":256,"redundant":0,.*"complete":true' --json --mode optimal --resume "$work/point" --checkpoint "$work/point" readers_8
[ -e "$work/point" ] && { echo "a checkpoint is left of what is complete"; bad=1; }
"$program" --mode optimal --max-executions 100 --checkpoint "$work/point" readers_8 >/dev/null
expect searches-on 0 '"mode":"optimal","executions":256,.*"complete":true' --json --resume "$work/point" readers_8
expect other-test 2 "cannot be resumed: it is of another test" --mode optimal --resume "$work/point" fib_1
expect other-test-json 2 "cannot be resumed: it is of another test" --json --mode optimal --resume "$work/point" fib_1
expect other-seed 2 "cannot be resumed: it was made with another seed" --mode optimal --seed 3 --resume "$work/point" readers_8
echo damaged >>"$work/point"
expect damaged 2 "cannot be resumed: it is damaged" --mode optimal --resume "$work/point" readers_8
expect no-checkpoint 2 "cannot be resumed: it is not a checkpoint" --mode optimal --resume "$work/schedule" readers_8
expect no-resume 2 "cannot be read" --mode optimal --resume "$work/none" readers_8
expect which-test 2 "is for one test" --checkpoint "$work/point"
# What cannot be kept is told after the result, which is there.
expect no-room 2 "^$work/none/point: the checkpoint cannot be written: " --mode optimal --max-executions 9 --checkpoint "$work/none/point" readers_8
grep -q '^readers_8: 9 executions' "$work/out" || { echo "no checkpoint: no summary"; bad=1; }
expect no-room-json 2 '"executions":9,' --json --mode random --max-executions 9 --checkpoint "$work/none/point" readers_8
expect no-room-soon 2 '"complete":false' --json --mode optimal --checkpoint-every 0.01 --checkpoint "$work/none/point" lastzero_15
expect where 2 "not where" --checkpoint-every 3 readers_8
# Of samples there are always more.
expect sampled 0 "the rest is in $work/point; --resume $work/point" --mode random --max-executions 100 --checkpoint "$work/point" fib_2
"$program" --json --mode random --max-executions 300 fib_2 | sed 's/,"seconds.*//' >"$work/once"
expect more-samples 0 "^$(cat "$work/once")" --json --mode random --max-executions 200 --resume "$work/point" fib_2
expect bound-of-pct 2 '^--bound: is for optimal and dfs' --bound 1 --mode pct readers_2
expect bound-of-source 2 '^--bound: is for optimal and dfs' --mode source --bound delay:1 readers_2
# An interrupt ends it, and what is left is kept.
"$program" --json --mode optimal --checkpoint "$work/point" lastzero_15 >"$work/first" 2>&1 &
child=$!
sleep 0.3
kill -INT $child
wait $child
if grep -q '"complete":false' "$work/first"; then
    expect interrupted 0 '"executions":147456,"classes":147456,"redundant":0,.*"complete":true' --json --mode optimal --jobs 2 --resume "$work/point" lastzero_15
else
    grep -q '"complete":true' "$work/first" || { echo "interrupt: neither complete nor not"; cat "$work/first"; bad=1; }
fi
# Who sends it twice at once, as timeout does to a process and then to its group, means one.
if command -v timeout >/dev/null 2>&1; then
    for try in 1 2 3 4 5; do
        rm -f "$work/point"
        timeout -s TERM 0.3 "$program" --mode dfs --checkpoint "$work/point" lastzero_15 >"$work/out" 2>&1
        [ -s "$work/point" ] || { echo "an interrupt that comes twice: nothing is kept"; cat "$work/out"; bad=1; }
    done
fi
expect source 0 '"classes":256,.*"complete":true' --json --mode source readers_8
expect pack-of-many 2 '^--pack: is for one test' --pack "$work/many" readers_2 readers_8
expect save-of-many 2 '^--save: is for one test' --save "$work/many"
expect same-as-what 2 '^--same: is for --replay' --same readers_2
expect record-what 2 '^--record: is for --replay' --record "$work/trace" readers_2
expect no-steps 2 'is not possible' --max-steps 0 readers_2
printf 'test readers_2\nschedule 1 x\n' >"$work/words"
expect bad-schedule 2 ': its schedule is none$' --replay "$work/words"
expect no-number 2 'is not possible' --seed x readers_2
expect huge-number 2 'is not possible' --seed 99999999999999999999 readers_2
expect with-equals 0 '"mode":"source",.*"classes":4,' --mode=source --seed=3 --json readers_2
expect bad-equals 2 '^--seed: x is not possible' --seed=x readers_2
expect no-equals 2 '^--list: there is no such option' --list=x
expect any-order 0 '^{"test":"readers_2",' readers_2 --json
printf 'test readers_2\nclock sundial\nschedule 1\n' >"$work/sundial"
expect pack-clock 2 'there is no such clock' --replay "$work/sundial"
printf 'test readers_2\nfaults rain\nschedule 1\n' >"$work/rain"
expect pack-faults 2 'there are no such faults' --replay "$work/rain"
printf 'test readers_2\nfaults 16\nschedule 1\n' >"$work/snow"
expect pack-other-faults 2 'there are no such faults' --replay "$work/snow"
if [ -c /dev/full ]; then
    expect not-saved 2 '^/dev/full: ' --save /dev/full philosophers_3
    expect not-packed 2 '^/dev/full: the crash pack cannot be written' --pack /dev/full philosophers_3
    "$program" --list >/dev/full 2>"$work/out"
    [ $? -eq 2 ] || { echo "a list that nobody got is none"; bad=1; }
fi
"$program" --list >&- 2>"$work/out"
[ $? -eq 2 ] || { echo "a list without a standard output is none"; bad=1; }
"$program" --pack "$work/closed" philosophers_3 >&- 2>"$work/out"
head -n 1 "$work/closed" | grep -q '^asx-crash-pack 1$' || { echo "closed output: pack"; bad=1; }
[ $bad -eq 0 ] && echo "lab main: all as expected"
exit $bad
