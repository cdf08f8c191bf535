#!/bin/sh
# The same seeds in two processes: clean, and the same digests. seeds.sh LAB_SEEDS COUNT.
set -u
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$1" --count "$2" >"$work/one" 2>"$work/errors" || { cat "$work/one" "$work/errors"; exit 1; }
"$1" --count "$2" >"$work/two" 2>>"$work/errors" || { cat "$work/two" "$work/errors"; exit 1; }
cat "$work/one"
cmp "$work/one" "$work/two" || { echo "another process has other digests"; cat "$work/two"; exit 1; }
grep -q 'hundred: .* [1-9][0-9]* allocations failed' "$work/one" || { echo "no faults"; exit 1; }
"$1" --count 20 --no-faults >"$work/none" || { cat "$work/none"; exit 1; }
grep -q 'hundred: .* 0 allocations failed' "$work/none" || { echo "faults nobody wanted"; exit 1; }
"$1" --from 2 --count "$2" hundred >"$work/other" || { cat "$work/other"; exit 1; }
grep -q "$(sed -n 's/.*digest //p' "$work/one" | head -n 1)" "$work/other" &&
    { echo "other seeds have the same digest"; exit 1; }
exit 0
