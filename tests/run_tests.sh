#!/bin/sh
# SPDX-License-Identifier: MIT
# Runs cmocka programs and shell tests (exit 0 pass, 77 skip); prints failures whole and ends with
# the counts: "N passed, N failed, N skipped".
passed=0 failed=0 skipped=0
log=$(mktemp)
trap 'rm -f "$log"' EXIT INT TERM
for t in "$@"; do
    case $t in
    *.sh)
        sh "$t" >"$log" 2>&1
        rc=$?
        case $rc in
        0) passed=$((passed + 1)) ;;
        77) skipped=$((skipped + 1)) ;;
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
        if [ "$bad" -ne 0 ]; then echo "FAILED $t (exit $rc)"; cat "$log"; fi
        ;;
    esac
done
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" -eq 0 ]
