#!/bin/sh
# SPDX-License-Identifier: MIT
# Tails of latency: LeNet-5 (untrained, pruned to a tenth, 5 bits) 100,000 times on one thread, beside a
# loop of arithmetic of the same length: alone; with as many other such processes as makes twice the cores;
# and on two threads with them. RUNS: how many runs. WITH: words in front of the measured process, such
# as "chrt -f 40", which needs root.
#
#     make bench-build && bench/tail.sh && WITH="chrt -f 40" bench/tail.sh
cd "$(dirname "$0")/.." || exit 1
: "${PITH:=build/release/pith}" "${BIN:=build/release/bench}" "${RUNS:=100000}"
work=$(mktemp -d)
others=
trap 'kill $others 2>/dev/null; rm -rf "$work"' EXIT INT TERM
"$PITH" init lenet5 --seed 1 -q -o "$work/net.pith" && "$PITH" prune "$work/net.pith" --sparsity .9 -q -o "$work/less.pith" &&
    "$PITH" cluster "$work/less.pith" --bits 5 -q -o "$work/few.pith" && "$PITH" encode "$work/few.pith" -q -o "$work/lenet5.pith" || exit 1
measure() { # WHAT THREADS
    echo "$1"
    $WITH "$BIN/bench_tail" "$work/lenet5.pith" "$RUNS" "$2"
}
measure "alone" 1
n=$(($(nproc) * 2 - 1))
while [ "$n" -gt 0 ]; do
    "$BIN/bench_tail" "$work/lenet5.pith" 20000000 >/dev/null &
    others="$others $!"
    n=$((n - 1))
done
measure "$(($(nproc) * 2)) processes on $(nproc) cores" 1
measure "the same, on two threads" 2
