#!/bin/sh
# SPDX-License-Identifier: MIT
# Runs cmocka programs and shell tests (exit 77: skipped), as many at a time as there are cores or
# TEST_JOBS says; prints failures whole and ends with what was skipped, why, and the counts: "N passed,
# N failed, N skipped". TEST_TIMES=FILE notes the seconds of each test, and after them those of a processor, which other
# work on the machine changes less.

# count PASSED FAILED SKIPPED of the test that runs
count() { echo "$1 $2 $3" >"$mine.counts"; }

failed() { # WHAT
    { echo "FAILED $1"; cat "$mine.log"; } >"$mine.failed"
    cat "$mine.failed"
}

could_not_run() { # WHAT: its last line says why
    count 0 0 1
    echo "skipped $1: $(tail -1 "$mine.log")" >"$mine.skips"
}

run_script() {
    sh "$1" >"$mine.log" 2>&1
    case $? in
    0) count 1 0 0 ;;
    77) could_not_run "$1" ;;
    *) count 0 1 0; failed "$1" ;;
    esac
}

run_program() {
    CMOCKA_MESSAGE_OUTPUT=TAP "$1" >"$mine.log" 2>&1
    rc=$?
    if [ $rc -eq 77 ] && ! grep -qE "^(not )?ok " "$mine.log"; then
        could_not_run "$1"
        return
    fi
    # cmocka reports a skipped test as "not ok N # SKIP name"
    skip=$(grep -cE '^(not )?ok .*# SKIP' "$mine.log")
    ok=$(grep '^ok ' "$mine.log" | grep -vc '# SKIP')
    bad=$(grep '^not ok ' "$mine.log" | grep -vc '# SKIP')
    if [ $rc -ne 0 ] && [ "$bad" -eq 0 ]; then bad=1; fi
    if [ $((ok + bad + skip)) -eq 0 ]; then bad=1; fi
    count "$ok" "$bad" "$skip"
    if [ "$skip" -ne 0 ]; then
        echo "skipped in $(basename "$1"): $(sed -nE 's/^(not )?ok .*# SKIP //p' "$mine.log" | paste -sd ' ')" >"$mine.skips"
    fi
    if [ "$bad" -ne 0 ]; then failed "$1 (exit $rc)"; fi
}

if [ "$1" = --one ]; then # FOLDER TEST: its counts, what it skipped and why, in files of FOLDER
    mine=$2/$(echo "$3" | tr / _)
    began=$(date +%s)
    case $3 in
    *.sh) run_script "$3" ;;
    *) run_program "$3" ;;
    esac
    if [ -n "$TEST_TIMES" ]; then
        times >"$mine.times"
        echo "$(($(date +%s) - began)) $(awk -F '[ms ]+' 'NR == 2 {printf "%d", $1 * 60 + $2 + $3 * 60 + $4}' "$mine.times") $3" >>"$TEST_TIMES"
    fi
    exit 0
fi

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT INT TERM
if [ $# -gt 0 ]; then
    printf '%s\0' "$@" | xargs -0 -n 1 -P "${TEST_JOBS:-$(nproc 2>/dev/null || echo 1)}" sh "$0" --one "$work"
fi
: >"$work/none.counts"
: >"$work/none.skips"
cat "$work"/*.skips
set -- $(cat "$work"/*.counts | awk '{p += $1; f += $2; s += $3} END {print p + 0, f + 0, s + 0, NR}') $#
if [ "$3" -gt 0 ] && [ ! -d "$PITH_DATA" ]; then
    echo "(there is no folder PITH_DATA=$PITH_DATA: tests that read its files were skipped)"
fi
if [ "$4" -ne "$5" ]; then echo "$(($5 - $4)) tests left no count"; fi
echo "$1 passed, $2 failed, $3 skipped"
[ "$2" -eq 0 ] && [ "$4" -eq "$5" ]
