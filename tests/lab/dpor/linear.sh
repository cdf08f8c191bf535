#!/bin/sh
# One more step costs the same however many an execution has, and one of twelve steps costs no more than it
# did: linear.sh PROGRAM [KIND]. Instructions are counted, so that it does not matter what else the machine
# does.
set -eu
program=$1
only=${2:-}
lengths="48 192 768"
# An execution of twelve steps, in thousands: a little more than when this was written.
most="steps=29 messages=46 receives=53 locks=47 permits=42 sleeps=51 cancels=61 joins=31 tries=43 any=51
naps=55 waits=64 choices=45"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# shellcheck disable=SC2086
valgrind -q --tool=callgrind --callgrind-out-file="$work/out" "$program" $only $lengths \
    >"$work/log" 2>&1 || { cat "$work/log"; exit 1; }
# `desc: Trigger: Client Request: KIND STEPS EXECUTIONS`, `totals: INSTRUCTIONS`; of an execution,
# without what the set-up and the first ones cost. If a step cost in proportion to how many there
# are, one more would cost four times as much between 192 and 768 as between 48 and 192.
cat "$work"/out.* | awk -v lengths="$lengths" -v most="$(echo $most)" '
    /^desc: Trigger: Client Request:/ { kind = $5; steps = $6; executions = $7 }
    /^totals:/ {
        if (!(kind in seen) && executions != "") { seen[kind] = 1; order[++kinds] = kind }
        count[kind, steps, executions] = $2
    }
    function cost(kind, steps)
    {
        return (count[kind, steps, 60] - count[kind, steps, 20]) / 40
    }
    END {
        n = split(lengths, len, " ")
        for (i = split(most, bound, " "); i > 0; i--) {
            split(bound[i], pair, "=")
            dear[pair[1]] = 1000 * pair[2]
        }
        for (k = 1; k <= kinds; k++) {
            line = sprintf("%-12s", order[k])
            for (i = 2; i <= n; i++) {
                more[i] = (cost(order[k], len[i]) - cost(order[k], len[i - 1])) / (len[i] - len[i - 1])
                line = line sprintf(" %d..%d steps: %.0f;", len[i - 1], len[i], more[i])
            }
            ok = more[n] > 0 && more[n] <= 1.75 * more[2]
            bad += !ok
            print line " instructions for each more" (ok ? "" : "  FAIL: not linear")
            if (order[k] in dear) {
                twelve = cost(order[k], 12)
                ok = twelve > 0 && twelve <= dear[order[k]]
                bad += !ok
                printf "%-12s %.0f instructions for 12 steps, at most %d%s\n", "", twelve,
                       dear[order[k]], ok ? "" : "  FAIL: too dear"
            }
        }
        if (kinds == 0)
            print "FAIL: nothing was counted"
        exit bad > 0 || kinds == 0
    }'
