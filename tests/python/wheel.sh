#!/bin/sh
# SPDX-License-Identifier: MIT
# `make wheel`, installed in a fresh environment: the tests of test_pith.py, the command, and equal bytes when made again.
case $PITH_O in */release) ;; *) echo "is no release"; exit 77 ;; esac
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT INT TERM
${MAKE:-make} -s wheel BUILD="$(dirname "$PITH_O")" >"$work/first" || exit 1
wheel=$(cat "$work/first")
sum=$(sha256sum <"$wheel")
${MAKE:-make} -s wheel BUILD="$(dirname "$PITH_O")" >/dev/null && [ "$(sha256sum <"$wheel")" = "$sum" ] ||
    { echo "the wheel has other bytes when made again"; exit 1; }
python3 -m venv "$work/venv" && "$work/venv/bin/pip" install -q numpy pytest >"$work/log" 2>&1 ||
    { tail -1 "$work/log"; echo "no numpy or pytest from PyPI"; exit 77; }
"$work/venv/bin/pip" install -q --no-index "$wheel" >"$work/log" 2>&1 || { cat "$work/log"; exit 1; }
tests/fresh_digits.sh "$work/digits.onnx" || exit 1
${CC:-gcc} -Iruntime tests/python/struct_offsets.c -o "$work/layout" && "$work/layout" >"$work/layout.txt" || exit 1
here=$PWD
cd "$work" || exit 1
python3 "$here/tests/cli/make_inputs.py" || exit 1
"$work/venv/bin/pith" version >/dev/null || { echo "the wheel installs no command"; exit 1; }
WORK=$work PYTHONDONTWRITEBYTECODE=1 "$work/venv/bin/python" -m pytest -q -p no:cacheprovider "$here/tests/python/test_pith.py" >"$work/log" 2>&1 ||
    { tail -40 "$work/log"; exit 1; }
