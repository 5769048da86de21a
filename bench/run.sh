#!/bin/sh
# SPDX-License-Identifier: MIT
# The tables of figures and what makes them anew (bench/tables.txt).
#
#     bench/run.sh              name, page, command of each
#     bench/run.sh NAME...      runs the commands of these tables; words in capitals (NET.pith) are for
#                               you to fill in: such a command is printed and not run
cd "$(dirname "$0")/.." || exit 1
: "${PITH:=build/release/pith}" "${BIN:=build/release/bench}" "${DATA:=../shared/data}"
: "${MODELS:=$DATA/models}" "${PYTHON:=build/venv/bin/python}"
export PITH BIN DATA MODELS PYTHON
rows() { grep -v '^#' bench/tables.txt | sed 's/ *| */|/; s/ *| */|/'; }

if [ $# = 0 ]; then
    rows | while IFS='|' read -r name page command; do
        printf '%-22s %-40s %s\n' "$name" "$page" "$command"
    done
    exit 0
fi
for name; do
    row=$(rows | grep "^$name|") || { echo "$name: no such table; bench/run.sh lists them" >&2; exit 2; }
    command=${row#*|}
    command=${command#*|}
    case $command in
    *NET.* | *NETWORK*)
        echo "$name: $command" >&2
        exit 3
        ;;
    esac
    make -s bench-build || exit 1
    echo "== $name: $command"
    sh -c "$command" || exit 1
done
