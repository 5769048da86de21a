#!/bin/sh
# SPDX-License-Identifier: MIT
# A compact file's names and recipe lie beside it (small.pith.json); a tiny network's file is no larger than what
# import writes, its recipe lies beside it, too. info counts zeros that are stored.
. "$(dirname "$0")/sandbox.inc"
size() { wc -c <"$1"; }
expect 0 pith compress digits.onnx --sparsity 0.9 --bits 4 --for size -q -o small.pith
expect 0 pith recipe show small.pith -o small.recipe
expect 0 pith compress digits.onnx -r small.recipe -q -o again.pith
same small.pith again.pith
layers() { pith info "$1" --json | python3 -c 'import json, sys
for l in json.load(sys.stdin)["layers"]: print(l["name"], round(l["density"], 3))'; }
layers digits.onnx | cut -d' ' -f1 >names
layers small.pith | cut -d' ' -f1 | cmp -s - names || complain "other names: $(layers small.pith)"
expect 0 pith encode small.pith --for size -q -f -o twice.pith
expect 0 pith compress digits.onnx --sparsity 0.8 --bits 3 --for size -q -o other.pith
layers twice.pith | cut -d' ' -f1 | cmp -s - names || complain "names are lost on the way: $(layers twice.pith)"
expect 0 pith recipe show twice.pith

# inputs and outputs, too, as those who call the network know them
ends() { pith info "$1" | grep -E '^(in|out)put'; }
ends digits.onnx >ends
grep -q ' f32' ends && ends small.pith | cmp -s - ends || complain "other inputs and outputs: $(ends small.pith)"
expect 0 pith decode twice.pith --to onnx -q -o twice.onnx
ends twice.onnx | cmp -s - ends || complain "decode loses names: $(ends twice.onnx)"

# another file's, a broken one, none: no names, and nothing else changes
run_all() { expect 0 pith info small.pith && expect 2 pith recipe show small.pith && grep -q 'FILE.json' .err; }
cp small.pith.json kept
cp other.pith.json small.pith.json
run_all || complain "the text of another file is taken"
head -c 90 kept >small.pith.json
run_all || complain "a broken text is taken"
rm small.pith.json
run_all || complain "without: $(cat .out .err)"
cp kept small.pith.json
sed 's/"layers":\[/"layers":[1,2,/' kept >small.pith.json
expect 0 pith info small.pith
# what is there and is no such text stays
echo mine >mine.pith.json
expect 0 pith encode digits.onnx --for size -q -o mine.pith
grep -q 'mine.pith.json: names and recipe are not kept: it exists' .err && [ "$(cat mine.pith.json)" = mine ] || complain "somebody's file: $(cat .err)"
# standard output and full files have none beside them
pith encode digits.onnx --for size -q >out.pith
expect 0 pith encode digits.onnx -q -o full.pith
absent out.pith.json full.pith.json

# zeros that are stored
expect 0 pith compress digits.onnx --sparsity 0.9 --bits 4 -q -o pruned.pith
expect 0 pith decode pruned.pith --to onnx -q -o pruned.onnx
layers pruned.pith >masked
expect 0 pith import pruned.onnx -q -o dense.pith
expect 0 pith import --no-grids pruned.onnx -q -o plain.pith
for net in dense plain; do
    layers $net.pith | cmp -s - masked || complain "$net.pith: $(layers $net.pith), of masks: $(cat masked)"
done

# tiny networks
for net in good odd escape; do
    expect 0 pith import $net.onnx -q -f -o tiny.pith
    for command in 'encode' 'encode --for size' 'encode --lossless' 'compress --bits 8' 'compress --sparsity .5 --bits 4'; do
        # shellcheck disable=SC2086
        expect 0 pith $command $net.onnx -f -o tiny.out
        [ "$(size tiny.out)" -le "$(size tiny.pith)" ] ||
            complain "$command $net.onnx: $(size tiny.out) bytes, import $(size tiny.pith)"
        grep -q ' 0\.[0-9]x smaller' .err && complain "$(cat .err)"
        expect 0 pith recipe show tiny.out
    done
done
finish
