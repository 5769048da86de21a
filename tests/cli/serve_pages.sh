#!/bin/sh
# SPDX-License-Identifier: MIT
# The page of pith serve in headless Chromium (serve_pages.py).
command -v chromium >/dev/null || { echo "no chromium"; exit 77; }
"$PITH_VENV/bin/python" -c 'import aiohttp' 2>/dev/null || { echo "no aiohttp, which tritonclient brings"; exit 77; }
. "$(dirname "$0")/sandbox.inc"
"$PITH_O/samples/make_digits" digits 300 60 || exit 1
expect 0 pith import digits.onnx --preprocess scale=1/255 -q -o digits.pith
cp digits.pith plain.pith
pith serve digits.pith plain.pith --port 0 -q -T 1 >address &
server=$!
while [ ! -s address ] && kill -0 $server; do sleep 0.1; done
url=$(cat address)
"$PITH_VENV/bin/python" "$here/serve_pages.py" "$url" >pages.txt || complain "$(cat pages.txt)"
kill $server
wait $server || complain "the server ended with $?"
finish
