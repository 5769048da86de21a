#!/bin/sh
# SPDX-License-Identifier: MIT
# Every bench compiles and links: nothing else builds them, so a change of what they call would go unseen.
log=$(mktemp)
trap 'rm -f "$log"' EXIT INT TERM
"${MAKE:-make}" --no-print-directory -j"$(nproc)" bench-build >"$log" 2>&1 || { tail -20 "$log"; exit 1; }
for file in bench/bench_*.c; do
    [ -x "$PITH_O/bench/$(basename "$file" .c)" ] || { echo "no $PITH_O/bench/$(basename "$file" .c)"; exit 1; }
done
