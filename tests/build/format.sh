#!/bin/sh
# SPDX-License-Identifier: MIT
# Every C file is as clang-format 14 lays it out (`make format`); other versions differ in places.
format=clang-format
[ -x "$PITH_VENV/bin/clang-format" ] && format=$PITH_VENV/bin/clang-format
$format --version 2>/dev/null | grep -q 'version 14\.' || { echo "no clang-format 14"; exit 77; }
bad=$(find . -path ./build -prune -o -name '*.[ch]' -print | xargs "$format" --dry-run 2>&1 | grep -oE '^[^: ]+\.[ch]:' | sort -u)
[ -z "$bad" ] || { echo "not formatted: run make format"; echo "$bad"; exit 1; }
