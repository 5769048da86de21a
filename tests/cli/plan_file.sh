#!/bin/sh
# SPDX-License-Identifier: MIT
# pith plan and run --plan: the same output by the plan of a file; another CPU, model, number of threads, a
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
