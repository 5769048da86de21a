#!/bin/sh
# SPDX-License-Identifier: MIT
# `make wasm`: in node, and where it is installed in headless Chromium, LeNet-5 has the output bits of the native
# reference kernels.
for program in clang wasm-ld node; do
    command -v $program >/dev/null || { echo "no $program"; exit 77; }
done
[ -d /usr/include/wasm32-wasi ] || { echo "no wasi-libc"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT INT TERM
${MAKE:-make} -s -C samples/wasm PITH="$PITH" MAKE_DIGITS="$PITH_O/samples/make_digits" O="$work" >"$work/log" 2>&1 ||
    { cat "$work/log"; exit 1; }
cat >"$work/run.mjs" <<'END'
import { readFileSync } from 'node:fs';
import { classify, open } from './pith.mjs';
const [wasm, file, pictures] = process.argv.slice(2).map((name) => readFileSync(name));
process.stdout.write(await classify(wasm, file, pictures));
const fails = async (action) => action().then(() => false, (error) => error.message.startsWith('pith: '));
const network = await open(wasm, file);
if (!(await fails(() => open(wasm, pictures))) || !(await fails(async () => network.run(new Float32Array(1)))))
    process.exit(1);
END
PITH_CPU=ref "$PITH" run "$work/lenet5.pith" -d "$work/digits.idx3" -q -o "$work/native.npy" &&
    tail -c 800 "$work/native.npy" | od -An -v -tx4 -w40 | sed 's/^ //' >"$work/native" &&
    node "$work/run.mjs" "$work/pith.wasm" "$work/lenet5.pith" "$work/digits.idx3" >"$work/lines" &&
    sed 's/^. //' "$work/lines" | diff - "$work/native" || { echo "in node: other bits"; exit 1; }
command -v chromium >/dev/null || exit 0
# Chromium's clock runs ahead while the page waits for the compiler of WebAssembly, so the budget of time is large.
HOME=$work timeout 120 chromium --headless --no-sandbox --disable-gpu --virtual-time-budget=100000000 \
    --allow-file-access-from-files --dump-dom "file://$work/index.html" 2>/dev/null |
    sed -n 's/.*<pre id="lines">//; /^[0-9] /p' | diff - "$work/lines" || { echo "in Chromium: other lines"; exit 1; }
