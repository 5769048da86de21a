#!/bin/sh
# SPDX-License-Identifier: MIT
# `make wasm`: in node, and where it is installed in headless Chromium, LeNet-5 in integers has the output bits of the
# native reference kernels; of floats its classes, and scores within 1e-5.
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
const [wasm, file, pictures, native] = process.argv.slice(2).map((name) => readFileSync(name));
const lines = await classify(wasm, file, pictures);
process.stdout.write(lines);
const words = lines.split('\n').flatMap((line) => line.split(' ').slice(1).map((bits) => parseInt(bits, 16)));
const scores = new Float32Array(Uint32Array.from(words).buffer);
const expected = new Float32Array(new Uint8Array(native).slice(-4 * words.length).buffer);
if (!scores.every((score, i) => Math.abs(score - expected[i]) < 1e-5)) process.exit(2);
const fails = async (action) => action().then(() => false, (error) => error.message.startsWith('pith: '));
const network = await open(wasm, file);
if (!(await fails(() => open(wasm, pictures))) || !(await fails(async () => network.run(new Float32Array(1)))))
    process.exit(1);
END
"$PITH" quantize "$work/trained.pith" -d "$work/digits.idx3" --all-integers -q -o "$work/integers.pith" || exit 1
for net in integers lenet5; do
    PITH_CPU=ref "$PITH" run "$work/$net.pith" -d "$work/digits.idx3" -q -f -o "$work/native.npy" &&
        node "$work/run.mjs" "$work/pith.wasm" "$work/$net.pith" "$work/digits.idx3" "$work/native.npy" >"$work/lines" ||
        { echo "in node: $net, other scores"; exit 1; }
    [ $net = lenet5 ] || tail -c 800 "$work/native.npy" | od -An -v -tx4 -w40 | sed 's/^ //' >"$work/native"
    [ $net = lenet5 ] || sed 's/^. //' "$work/lines" | diff - "$work/native" || { echo "in node: other bits"; exit 1; }
done
node samples/wasm/time.mjs "$work/lenet5.pith" 3 "$work/pith.wasm" | grep -Eq 'pith.wasm [0-9.]+ [0-9.]+$' || { echo "no times"; exit 1; }
command -v chromium >/dev/null || exit 0
# Chromium's clock runs ahead while the page waits for the compiler of WebAssembly, so the budget of time is large.
HOME=$work timeout 120 chromium --headless --no-sandbox --disable-gpu --virtual-time-budget=100000000 \
    --allow-file-access-from-files --dump-dom "file://$work/index.html" 2>/dev/null |
    sed -n 's/.*<pre id="lines">//; /^[0-9] /p' | diff - "$work/lines" || { echo "in Chromium: other lines"; exit 1; }
