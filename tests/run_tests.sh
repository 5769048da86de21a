#!/bin/sh
# SPDX-License-Identifier: MIT
# Runs cmocka programs and shell tests (exit 0 pass, 77 skip); prints failures whole and ends with what
# was skipped, why, and the counts: "N passed, N failed, N skipped".
passed=0 failed=0 skipped=0
log=$(mktemp)
skips=$(mktemp)
trap 'rm -f "$log" "$skips"' EXIT INT TERM
for t in "$@"; do
    case $t in
    *.sh)
        sh "$t" >"$log" 2>&1
        rc=$?
        case $rc in
        0) passed=$((passed + 1)) ;;
        77) skipped=$((skipped + 1)); echo "skipped $t: $(tail -1 "$log")" >>"$skips" ;;
        *) failed=$((failed + 1)); echo "FAILED $t"; cat "$log" ;;
        esac
        ;;
    *)
        CMOCKA_MESSAGE_OUTPUT=TAP "$t" >"$log" 2>&1
        rc=$?
        # cmocka reports a skipped test as "not ok N # SKIP name"
        skip=$(grep -cE '^(not )?ok .*# SKIP' "$log")
        ok=$(grep '^ok ' "$log" | grep -vc '# SKIP')
        bad=$(grep '^not ok ' "$log" | grep -vc '# SKIP')
        if [ $rc -ne 0 ] && [ "$bad" -eq 0 ]; then bad=1; fi
        if [ $((ok + bad + skip)) -eq 0 ]; then bad=1; fi
        passed=$((passed + ok)) skipped=$((skipped + skip)) failed=$((failed + bad))
        if [ "$skip" -ne 0 ]; then
            echo "skipped in $(basename "$t"): $(sed -nE 's/^(not )?ok .*# SKIP //p' "$log" | paste -sd ' ')" >>"$skips"
        fi
        if [ "$bad" -ne 0 ]; then echo "FAILED $t (exit $rc)"; cat "$log"; fi
        ;;
    esac
done
cat "$skips"
if [ "$skipped" -gt 0 ] && [ ! -d "$PITH_DATA" ]; then
    echo "(there is no folder PITH_DATA=$PITH_DATA: tests that read its files were skipped)"
fi
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" -eq 0 ]
