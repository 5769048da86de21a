#!/bin/sh
# SPDX-License-Identifier: MIT
# pith plan, pith tune and run --plan: the same output by the plan of a file; another CPU, model, number of threads, a
# broken file are refused with the exit code that says so.
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT INT TERM
cd "$work" || exit 1
fail() { echo "$*"; exit 1; }
"$PITH" init lenet300 -q -o a.pith || exit 1
"$PITH" init lenet300 --seed 2 -q -o b.pith || exit 1
head -c 3136 /dev/zero >x.raw
PITH_CPU=ref "$PITH" plan a.pith -T 1 -q -o a.plan || fail "no plan"
"$PITH" plan a.pith -T 1 -q -o a.plan 2>/dev/null && fail "written over a file"
try() { # exit-code text options...
    want=$1 text=$2
    shift 2
    "$PITH" run "$@" x.raw >out 2>err
    rc=$?
    [ $rc = "$want" ] || fail "run $*: exit $rc, not $want: $(cat err)"
    grep -q "$text" err || [ -z "$text" ] || fail "run $*: no '$text' in $(cat err)"
}
export PITH_CPU=ref
try 0 "" a.pith -T 1
cp out plain
try 0 "" a.pith -T 1 --plan a.plan
cmp -s out plain || fail "another output by the plan of a file"
grep -q . a.plan || fail "empty"
"$PITH" info a.pith a.plan >shown || fail "info does not show the file"
grep -q gemv shown && grep -q 'writes at' shown || fail "no kernels or places in: $(cat shown)"
"$PITH" info a.pith --plan | cmp -s - shown || fail "the file's plan is another than the one of now"
"$PITH" info b.pith a.plan >/dev/null 2>err && fail "info shows a plan of another model"
grep -q "a.plan: it is the plan of another model" err || fail "not named: $(cat err)"
PITH_THREADS=2 "$PITH" plan a.pith -T 2 -q -o t.plan && "$PITH" info a.pith t.plan >/dev/null || fail "no plan with threads"
# ---- tuned: a plan file like others, of the batch it was tuned for
"$PITH" tune a.pith -T 1 --time 0.1 -o tuned.plan >printed || fail "tune: $(cat printed)"
grep -q '^a.pith: planned .* ms  tuned .* ms  ratio ' printed || fail "tune prints nothing: $(cat printed)"
try 0 "" a.pith -T 1 --plan tuned.plan
"$PITH" tune a.pith -T 1 --time 0.1 -q -o tuned.plan 2>err && fail "tuned over a file"
"$PITH" tune a.pith -T 1 --time 0.1 --batch 4 -q -o four.plan >printed || fail "no plan of four samples"
"$PITH" bench a.pith --plan four.plan --time 0.01 >printed || fail "bench by a plan: $(cat printed)"
grep -q '1 thread, batch 4' printed || fail "bench does not take the plan's batch: $(cat printed)"
try 2 "other options" a.pith -T 1 --plan four.plan
"$PITH" bench b.pith --plan four.plan --time 0.01 >printed 2>&1 && fail "bench by the plan of another model"
"$PITH" tune a.pith -T 1 --time 0.1 --batch auto --max-latency 1s --json >printed || fail "batch: $(cat printed)"
grep -qE '"batch": ?(1|2|4|8|16|32|64|128|256)\b' printed || fail "no batch in: $(cat printed)"
wrong() { # exit-code text options...
    want=$1 text=$2
    shift 2
    "$PITH" tune a.pith "$@" >printed 2>err
    rc=$?
    [ $rc = "$want" ] || fail "tune $*: exit $rc, not $want: $(cat err)"
    grep -qF -- "$text" err || fail "tune $*: no '$text' in $(cat err)"
}
wrong 1 "one sample takes longer than 1e-05 ms" --batch auto --max-latency 0.01us
wrong 2 "--batch '0'" --batch 0
wrong 2 "--max-latency '5': a time such as" --batch auto --max-latency 5
wrong 2 "--max-latency is for --batch auto" --max-latency 5ms

try 2 "a.plan: it is the plan of another model" b.pith -T 1 --plan a.plan
try 2 "other options" a.pith -T 2 --plan a.plan
try 4 "broken" a.pith -T 1 --plan x.raw
try 3 "" a.pith -T 1 --plan none.plan
head -c 100 a.plan >short.plan
try 4 "broken" a.pith -T 1 --plan short.plan
printf '\011' | dd of=a.plan bs=1 seek=8 conv=notrunc 2>/dev/null
try 5 "another version" a.pith -T 1 --plan a.plan
PITH_CPU=avx2
grep -qw avx2 /proc/cpuinfo || exit 0
PITH_CPU=ref "$PITH" plan a.pith -T 1 -q -f -o a.plan || exit 1
try 5 "other instruction sets" a.pith -T 1 --plan a.plan
exit 0
