#!/bin/sh
# SPDX-License-Identifier: MIT
# The pages of pith serve in headless Chromium (serve_pages.py).
command -v chromium >/dev/null || { echo "no chromium"; exit 77; }
"$PITH_VENV/bin/python" -c 'import aiohttp' 2>/dev/null || { echo "no aiohttp, which tritonclient brings"; exit 77; }
. "$(dirname "$0")/sandbox.inc"
"$PITH_O/samples/make_digits" digits 300 60 && mkdir runs || exit 1
expect 0 pith import digits.onnx --preprocess scale=1/255 -q -o digits.pith
cp digits.pith plain.pith
data=digits/train-images-idx3-ubyte
expect 0 pith train digits.pith -d $data --hold 0::10 --epochs 3 --log runs/train.jsonl -q -o trained.pith
sed 3q runs/train.jsonl >runs/now.jsonl
printf '{"pith":1,"stages":[{"do":"cluster"}],"sweep":{"stages.0.bits":[2,3,4]}}' >grid.json
expect 0 pith sweep grid.json digits.pith -d $data --append results.jsonl --log runs/sweep.jsonl -q
printf 'no log\n{"event":\n' >runs/other.jsonl
pith serve digits.pith plain.pith --port 0 --runs runs -q -T 1 >address &
server=$!
while [ ! -s address ] && kill -0 $server; do sleep 0.1; done
url=$(cat address)
"$PITH_VENV/bin/python" "$here/serve_pages.py" "$url" >pages.txt || complain "$(cat pages.txt)"
for path in /runs/../address/loss.svg /runs/..%2faddress/loss.svg /runs/other.jsonl/loss.svg /runs//loss.svg \
    /runs/none.jsonl/loss.svg /runs/train.jsonl/bytes.svg /runs/train.jsonl; do
    python3 -c 'import http.client, sys
c = http.client.HTTPConnection(sys.argv[1].removeprefix("http://"))
c.request("GET", sys.argv[2])
sys.exit(c.getresponse().status != 404)' "$url" "$path" || complain "$path is found"
done
kill $server
wait $server || complain "the server ended with $?"
finish
