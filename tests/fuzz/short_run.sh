#!/bin/sh
# SPDX-License-Identifier: MIT
# Runs each fuzz target for FUZZ_SECONDS from its committed corpus; fails on the first finding.
seconds=${FUZZ_SECONDS:-4}
folder=${FUZZ_O:-$PITH_O/../fuzz}
ls "$folder"/fuzz_* >/dev/null 2>&1 || exit 77
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT INT TERM
status=0
for target in "$folder"/fuzz_*; do
    name=$(basename "$target")
    case $name in *.o | *.d) continue ;; esac
    mkdir -p "$work/$name"
    corpus=tests/fuzz/corpus/$name
    [ -d "$corpus" ] || corpus=
    if "$target" -seed=1 -max_total_time="$seconds" -rss_limit_mb=1024 -timeout=10 -artifact_prefix="$work/" \
        "$work/$name" $corpus >"$work/log" 2>&1; then
        [ -n "$FUZZ_O" ] && echo "$name: $(grep -o 'Done.*' "$work/log" | tail -1)"
    else
        echo "$name found something:"
        tail -40 "$work/log"
        cp "$work"/crash-* "$work"/timeout-* "$work"/oom-* . 2>/dev/null
        status=1
    fi
done
exit $status
