#!/bin/sh
# From a bug to its replay, with the tool: story.sh ASX LAB_BUGS.
set -u
asx=$1 program=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
bad=0

# expect NAME CODE PATTERN COMMAND...: exit status, and a line of the output.
expect() {
    name=$1 code=$2 pattern=$3
    shift 3
    "$@" >out 2>&1 </dev/null
    got=$?
    if [ $got -ne "$code" ]; then
        echo "$name: exit status $got, expected $code"
        cat out
        bad=1
    elif ! grep -q -e "$pattern" out; then
        echo "$name: no line like: $pattern"
        cat out
        bad=1
    fi
}

expect found 1 '^account_bad: schedule [0-9]*: failed: a == 5 ' "$asx" explore "$program" account_bad
expect found-too 1 '^account_bad: execution [0-9]*: failed: a == 5 ' \
    "$asx" explore --mode optimal "$program" account_bad
expect nothing-to-run 2 'usage: asx explore' "$asx" explore --mode optimal account_bad
expect lanes 1 '^1 deposit  *2 withdraw' "$asx" explore "$program" account_bad
expect where 1 '^load a -> 0 .*support_cells.c:[0-9]' "$asx" explore "$program" account_bad
expect shrunk 1 'shrunk from .* to 8 steps of 2 tasks with 2 switches' \
    "$asx" explore "$program" --seed 2 account_bad
expect packed 1 'crash pack written to asx-account_bad.pack' "$asx" explore "$program" account_bad
for word in program test mode seed clock faults verdict failure site version system compiler schedule trace; do
    grep -a -q "^$word " asx-account_bad.pack || { echo "pack: no $word"; bad=1; }
done
grep -a -q '^| load a -> 0' asx-account_bad.pack || { echo "pack: no interleaving"; bad=1; }
expect replayed 0 '^the same failure again$' "$asx" replay asx-account_bad.pack
sed 's/^failure .*/failure another one/' asx-account_bad.pack >other.pack
expect another 1 '^not the failure of the pack$' "$asx" replay other.pack
sed 's/^schedule .*/schedule 1 1 1 1/' asx-account_bad.pack >good.pack
expect harmless 1 '^not the failure of the pack$' "$asx" replay good.pack
sed 's/^schedule .*/schedule 7/' asx-account_bad.pack >none.pack
expect impossible 2 'account_bad' "$asx" replay none.pack
head -c "$(grep -a -b '^trace ' asx-account_bad.pack | sed 's/:.*//')" asx-account_bad.pack >whole-lines
for less in 1 3 9; do
    head -c -$less whole-lines >cut.pack
    expect "cut by $less" 2 'is damaged: its end is missing' "$asx" replay cut.pack
done
head -c -1 asx-account_bad.pack >cut.pack
expect cut-trace 2 'is damaged: its end is missing' "$asx" replay cut.pack
grep -a -v '^program' asx-account_bad.pack >nobody.pack
expect no-program 2 'names no program' "$asx" replay nobody.pack
sed '/^test/,$d' asx-account_bad.pack | head -c -3 >half.pack
expect half-a-program 2 'names no program' "$asx" replay half.pack
sed 's,^program .*,program ./no-such-program,' asx-account_bad.pack >gone.pack
expect program-gone 2 'no-such-program' "$asx" replay gone.pack
if command -v gdb >/dev/null 2>&1; then
    expect debugged 0 '^failed: a == 5 ' "$asx" replay asx-account_bad.pack --gdb
    expect debugged-too 0 '^ *#[1-9][0-9]* .* at .*support_.*[.]c:[0-9]' "$asx" replay --gdb asx-account_bad.pack
fi
expect kept 0 'the rest is in point; --resume point$' \
    "$asx" explore "$program" --max-executions 5 --checkpoint point philosophers_5_good
expect gone-on 0 '^philosophers_5_good: 30 executions, .* complete$' \
    "$asx" explore "$program" --resume point philosophers_5_good
expect sampled 0 '"mode":"search","executions":5,.*"complete":false' \
    "$asx" explore "$program" --json --max-executions 5 philosophers_5_good
expect deadlock 1 'deadlock: .*cycle: ' "$asx" explore "$program" --no-pack lock_order_bad
[ ! -e asx-lock_order_bad.pack ] || { echo "--no-pack: there is one"; bad=1; }
# One of each of the smaller objects, used wrongly: told, packed, replayed; and rightly.
story() {
    expect "$1-found" 1 "^$1_bad: .*$2" "$asx" explore "$program" "$1_bad"
    expect "$1-packed" 0 '^the same failure again$' "$asx" replay "asx-$1_bad.pack"
    expect "$1-lanes" 0 "$3" grep -a '^| ' "asx-$1_bad.pack"
    expect "$1-repaired" 0 "^$1_good: .* 0 deadlocks, 0 bugs, .* complete$" \
        "$asx" explore "$program" "$1_good"
}
story signal_is_lost 'deadlock: 1 waiter waits for condition' 'signal condition: nothing'
story barrier_with_too_few 'deadlock: [12] worker waits to go on' 'wait at barrier'
story initializer_is_cancelled 'failed: begun == 1' 'checkpoint: cancelled'
story receiver_lags 'failed: count == 2' 'receive broadcast reader x0: lagged '
story value_is_missed 'deadlock: 2 waiter waits for change' 'set watch level'
expect clean 0 '^account_good: 2 executions, 2 classes, 0 redundant, .* complete$' \
    "$asx" explore "$program" account_good
expect sampled 0 '^account_good: 1000 schedules sampled, none failed$' \
    "$asx" explore "$program" account_good
[ ! -e asx-account_good.pack ] || { echo "a good test has a pack"; bad=1; }
expect json 1 '^{"test":"account_bad","mode":"search","executions":[0-9]*,.*"bugs":1,"complete":false,"seconds":[0-9.]*}$' \
    "$asx" explore "$program" --json account_bad
expect clean-json 0 '^{"test":"account_good","mode":"optimal","executions":2,"classes":2,.*"complete":true,' \
    "$asx" explore "$program" --json account_good
if command -v gdb >/dev/null 2>&1; then
    "$program" --pack stuck.pack lock_order_bad >/dev/null 2>&1
    for task in account log; do
        expect "stuck-$task" 0 "^task [0-9]* \"$task\" .*parked" "$asx" replay stuck.pack --gdb
    done
    expect stuck-line 0 '#.* log_then_account at .*support_go_locks.c:[0-9]' \
        "$asx" replay stuck.pack --gdb
fi
expect table 0 '^| account_bad  *| *[0-9]*\.\.[0-9]* |' "$program" --table account_bad
expect table-good 0 '^| test ' "$program" --table account_good
! grep -q account_good out || { echo "table: lists a good one"; bad=1; }
expect trace 0 'task-spawn' "$asx" trace show asx-account_bad.pack
expect checked 0 '^the pack says: failed: a == 5' "$asx" trace check asx-account_bad.pack
expect foata 0 '^1 @0 0 run-begin' "$asx" trace foata asx-account_bad.pack
expect same 0 '^the same up to the order' "$asx" trace diff asx-account_bad.pack asx-account_bad.pack
"$program" --mode optimal --pack deadlock.pack lock_order_bad >/dev/null
expect differ 1 '^layer [0-9]*$' "$asx" trace diff asx-account_bad.pack deadlock.pack
expect clock 0 'complete$' "$program" --clock adversarial sender_loses_message_good
expect no-clock 2 'is not possible' "$program" --clock stopped account_good
for out in /dev/full closed; do
    [ $out = closed ] || [ -c $out ] || continue
    if [ $out = closed ]; then "$asx" help >&- 2>out; else "$asx" help >$out 2>out; fi
    [ $? -eq 2 ] || { echo "help to $out: is no help"; bad=1; }
    grep -q 'cannot write the result' out || { echo "help to $out: is not told"; bad=1; }
done
printf 'scenario s\nmain\nend\n' >one.scn
"$asx" run one.scn --trace open.trace >/dev/null
"$asx" run one.scn --trace closed.trace >&- 2>&- <&-
cmp -s open.trace closed.trace || { echo "a trace depends on the standard streams"; bad=1; }
expect no-lab-program 2 'is no lab test program' "$asx" explore /bin/true
sed 's,^program .*,program /bin/true,' asx-account_bad.pack >true.pack
expect no-lab-replay 2 'is no lab test program' "$asx" replay true.pack
expect usage 2 'usage: asx explore' "$asx" explore
expect explore-help 0 '^usage: asx explore' "$asx" explore --help
expect replay-help 0 '^usage: asx replay' "$asx" replay --help
# An interrupt goes to both: the program ends in its own way, and the tool with it.
cat >interrupted.py <<'EOF'
import os, signal, subprocess, sys, time
p = subprocess.Popen(sys.argv[1:], start_new_session=True, stdout=subprocess.PIPE, text=True)
time.sleep(0.5)
os.killpg(p.pid, signal.SIGINT)
out = p.communicate()[0]
print(out)
sys.exit(p.returncode if p.returncode >= 0 else 128 - p.returncode)
EOF
if command -v python3 >/dev/null 2>&1; then
    expect interrupted 0 '^{"test":"philosophers_7_good",.*"complete":false' python3 interrupted.py \
        "$asx" explore "$program" --json --mode dfs philosophers_7_good
fi
expect usage-option 2 'usage: asx explore' "$asx" explore --seed 1
expect no-such 2 'no-such-program' "$asx" explore ./no-such-program
expect usage-trace 2 'usage: asx trace' "$asx" trace diff one
printf "x" >no.trace
expect no-debug 2 "is not a crash pack" "$asx" replay no.trace --gdb
[ $bad -eq 0 ] && echo "story: all as expected"
exit $bad
