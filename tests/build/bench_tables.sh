#!/bin/sh
# SPDX-License-Identifier: MIT
# bench/ keeps what measures a table of the documents: each page of docs/results has a row in bench/tables.txt, each
# row a page and files that exist, each file of bench/ a row or a file with a row that names it, and each
# `bench/run.sh NAME` of the documents, like each NAME of docs/speed.md, is a row. A folder with one of each fault
# is checked first.
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT INT TERM
status=0

check() { # in the current folder; prints the faults
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
    for file in bench/*.py bench/*.sh bench/*.[ch]; do
        base=$(basename "$file")
        [ "$base" = run.sh ] && continue
        echo "$rows" | grep -q "${base%.*}" && continue
        grep -qE "(^|[^a-z_])${base%.*}([^a-z_]|\$)" $(find bench -type f ! -name "$base") && continue
        echo "$file measures no table"
    done
    { grep -rohE 'bench/run\.sh [a-z0-9-]+' README.md docs | sed 's/.* //'
      awk -F'|' '/^\|/ {print $(NF - 1)}' docs/speed.md | grep -oE '`[a-z0-9-]+`' | tr -d '`'; } | sort -u |
        while read -r name; do
            echo "$rows" | grep -q "^$name " || echo "bench/run.sh $name: no such row"
        done
}

mkdir -p "$work/docs/results" "$work/bench" && cd "$work" || exit 1
touch docs/results/one.md docs/results/two.md bench/one.sh bench/lonely.py
echo '`bench/run.sh three`' >README.md
echo '| what | `four` |' >docs/speed.md
echo 'one | docs/results/one.md | bench/one.sh; bench/gone.py; $BIN/bench_gone' >bench/tables.txt
check >said
for text in "two.md: no row" "lonely.py measures" "no bench/gone.py" 'no \$BIN/bench_gone' "three: no such" "four: no such"; do
    grep -q "$text" said || { echo "not reported: $text"; status=1; }
done
cd - >/dev/null || exit 1
check >"$work/said"
[ -s "$work/said" ] && { cat "$work/said"; status=1; }
[ "$(bench/run.sh | wc -l)" = "$(grep -vc '^#' bench/tables.txt)" ] || { echo "bench/run.sh lists other rows"; status=1; }
bench/run.sh no-such-table 2>/dev/null && { echo "bench/run.sh runs a table that does not exist"; status=1; }
exit $status
