#!/bin/sh
# SPDX-License-Identifier: MIT
# bench/ keeps what makes a table of the documents: every page of docs/results has a row in bench/tables.txt,
# every row a page and files that are there, and every file of bench/ is named by a row or by one that is. What
# made one figure lies in bench/studies/. A table without a row, and a script without a table, are tried first.
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT INT TERM
status=0

check() { # in the current folder; prints what is wrong
    rows=$(grep -v '^#' bench/tables.txt)
    for page in docs/results/*.md; do
        echo "$rows" | grep -q "| *$page *|" || echo "$page: no row in bench/tables.txt"
    done
    echo "$rows" | while IFS='|' read -r name page command; do
        page=$(echo "$page" | tr -d ' ')
        [ -f "$page" ] || echo "$name: no page $page"
        for file in $(echo "$command" | grep -oE '(bench|tests)/[a-z0-9_/]+\.(py|sh)'); do
            [ -f "$file" ] || echo "$name: no $file"
        done
        for program in $(echo "$command" | grep -oE '\$BIN/[a-z0-9_]+'); do
            [ -f "bench/${program#*/}.c" ] || echo "$name: no $program"
        done
    done
    for file in bench/*.sh; do # what scripts call beside them
        for called in $(grep -oE '\$(here|HERE)"?/[a-z0-9_/]+\.(py|sh)' "$file" | sed 's|^[^/]*/||'); do
            [ -f "bench/$called" ] || echo "$file: no bench/$called"
        done
    done
    for file in bench/*.py bench/*.sh bench/bench_*.c; do
        base=$(basename "$file")
        stem=${base%.*}
        [ "$base" = run.sh ] && continue
        echo "$rows" | grep -q "$stem" && continue
        grep -qE "(^|[^a-z_])$stem([^a-z_]|\$)" $(find bench -maxdepth 1 -type f ! -name "$base") && continue
        echo "$file makes no table: bench/studies/, or a row in bench/tables.txt"
    done
}

mkdir -p "$work/docs/results" "$work/bench" && cd "$work" || exit 1
touch docs/results/one.md docs/results/two.md bench/one.sh bench/lonely.py
echo '"$here/gone.py" x' >bench/one.sh
echo 'one | docs/results/one.md | bench/one.sh; $BIN/bench_gone' >bench/tables.txt
check >said
for text in "two.md: no row" "lonely.py makes no table" "one.sh: no bench/gone.py" 'no \$BIN/bench_gone'; do
    grep -q "$text" said || { echo "not told: $text"; status=1; }
done
cd - >/dev/null || exit 1
check >"$work/said"
[ -s "$work/said" ] && { cat "$work/said"; status=1; }
[ "$(bench/run.sh | wc -l)" = "$(grep -vc '^#' bench/tables.txt)" ] || { echo "bench/run.sh lists other rows"; status=1; }
bench/run.sh no-such-table 2>/dev/null && { echo "bench/run.sh runs what is not there"; status=1; }
exit $status
