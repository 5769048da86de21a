#!/bin/sh
# SPDX-License-Identifier: MIT
# pith serve: metadata, inference of every datatype, pictures, errors, limits, tokens, and the end. Clients are
# Python's own (serve.py) and, where it is installed, Triton's (tritonclient).
. "$(dirname "$0")/sandbox.inc"
python=python3
"$PITH_VENV/bin/python" -c 'import tritonclient.http' 2>/dev/null && python=$PITH_VENV/bin/python
printf 'secret\n' >token
printf 'two words\n' >words
printf 'zero\none\ntwo\nthree\nfour\nfive\nsix\nseven\neight\nnine\n' >names.txt
expect 0 pith import digits.onnx --preprocess scale=1/255 --class-names names.txt -q -o digits.pith
expect 0 pith import digits.onnx -q -o plain.pith

expect 4 pith serve digits.pith --token-file words
expect 2 pith serve digits.pith --listen 0.0.0.0 --port 0
grep -q 'needs a token' .err || complain "$(cat .err)"
expect 2 pith serve digits.pith --listen localhost --port 0
expect 2 pith serve digits.pith digits.pith --port 0
grep -q "two networks are called 'digits'" .err || complain "$(cat .err)"
expect 3 pith serve none.pith

PYTHONPATH=$here PYTHONDONTWRITEBYTECODE=1 "$python" "$here/serve.py" || complain "serve.py"
finish
