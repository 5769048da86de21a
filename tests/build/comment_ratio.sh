#!/bin/sh
# SPDX-License-Identifier: MIT
# Comments say why: in the rooms whose mathematics and bounds want reasons there is a line of comment for each
# five of code (comment_ratio.py). The counting is tried first on a file whose lines are known.
command -v python3 >/dev/null || exit 77
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT INT TERM
mkdir "$work/m"
cat >"$work/m/m.c" <<'END'
/* SPDX-License-Identifier: MIT */
/* one
 * two */
int a; /* three */
// four
char *b = "/* no comment */";

/* ----- */
END
said=$(python3 tests/build/comment_ratio.py "$work/m")
echo "$said" | grep -q ' 4 /  *2 = 2.000' || { echo "counted: $said"; exit 1; }
python3 tests/build/comment_ratio.py "$work/m:2.1" >/dev/null && { echo "too few comments are not told"; exit 1; }
exec python3 tests/build/comment_ratio.py runtime:0.2 numeric:0.2 rd:0.2
