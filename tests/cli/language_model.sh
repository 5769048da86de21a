#!/bin/sh
# SPDX-License-Identifier: MIT
# A network that gives scores for each position of a text: evaluated by labels per position, trained, resumed,
# taught and compressed.
. "$(dirname "$0")/sandbox.inc"
PYTHONPATH=$here PYTHONDONTWRITEBYTECODE=1 python3 - <<'END' || exit 1
import math
import struct
import zipfile
from make_inputs import field, model, node, npy, tensor, value, write
V, D = 5, 8
number = lambda i: ((i * 37 + 11) % 17 - 8) / 16
table, head = [number(i) for i in range(V * D)], [number(3 * i + 1) for i in range(D * V)]
write("next.onnx", model(node("Gather", ["table", "ids"], ["x"], "embed") + node("MatMul", ["x", "head"], ["scores"], "head") +
                         field(2, "next") + tensor("table", [V, D], table) + tensor("head", [D, V], head) +
                         value(11, "ids", ["n", "s"], 7) + value(12, "scores", ["n", "s", V])))
open("names.txt", "w").write("a\nb\n\\n\n \nc\n")
text = "ab\nab c\n" * 40
open("play.txt", "w").write(text)
ids = ["ab\n c".index(c) for c in text]

def score(i):
    return [sum(table[i * D + k] * head[k * V + j] for k in range(D)) for j in range(V)]

def loss(i, j):
    return math.log(sum(map(math.exp, score(i)))) - score(i)[j]

pairs = [(ids[i], ids[i + 1]) for i in range(len(ids) - len(ids) % 7 - (len(ids) % 7 == 0) * 7)]
right = sum(max(range(V), key=lambda k: score(i)[k]) == j for i, j in pairs)
mean = sum(loss(i, j) for i, j in pairs) / len(pairs)
print(right, len(pairs), f"{mean:.9f}", f"{math.exp(mean):.9f}", file=open("wanted", "w"))
ints = lambda rows: npy("<i8", (len(rows), len(rows[0])), struct.pack(f"<{len(rows) * len(rows[0])}q", *sum(rows, [])))
with zipfile.ZipFile("padded.npz", "w") as z:
    z.writestr("ids.npy", ints([[0, 1, 2], [3, 4, 0]]))
    z.writestr("labels.npy", ints([[1, 2, -100], [4, -1, 3]]))
kept = [loss(0, 1), loss(1, 2), loss(3, 4), loss(0, 3)]
print(f"{sum(kept) / 4:.6f}", file=open("padded", "w"))
with zipfile.ZipFile("wrong.npz", "w") as z:
    z.writestr("ids.npy", ints([[0, 1, 2], [3, 4, 0]]))
    z.writestr("labels.npy", ints([[1, 2, -100], [4, -1, 5]]))
END
number() { sed "s/.*\"$1\":\([-0-9.e]*\).*/\1/" .out; }
near() { awk -v a="$1" -v b="$2" 'BEGIN { exit !(a - b < 1e-5 && b - a < 1e-5) }'; }

expect 0 pith import next.onnx --class-names names.txt -o net.pith
read -r right positions loss perplexity <wanted
expect 0 pith eval net.pith -d text:7:play.txt --json
[ "$(number correct1) $(number positions)" = "$right $positions" ] || complain "$(cat .out), not $right of $positions"
near "$(number loss)" "$loss" && near "$(number perplexity)" "$perplexity" || complain "$(cat .out), not a loss of $loss"
expect 0 pith eval net.pith -d text:7:play.txt
grep -q "perplexity .* on $positions positions of" .out || complain "$(cat .out)"
expect 0 pith eval net.pith -d padded.npz --json
near "$(number loss)" "$(cat padded)" || complain "padded: $(cat .out), not a loss of $(cat padded)"
[ "$(number positions)" = 4 ] || complain "padded: $(cat .out)"
expect 2 pith eval net.pith -d wrong.npz
grep -q 'sample 1 has label 5, the model.s classes are 0 to 4' .err || complain "$(cat .err)"
printf 'abz' >other.txt
expect 2 pith eval net.pith -d text:2:other.txt
grep -q "other.txt: line 1: no class is named by the character 'z', U+007A" .err || complain "$(cat .err)"
expect 2 pith eval next.onnx -d text:2:play.txt
grep -q 'text needs a model with class names of one character each' .err || complain "$(cat .err)"

# "ab\nab c\n": two of eight characters have two ways to go on, so 2 ln 2 / 8 = 0.173 nats is the least.
learn="-d text:7:play.txt --hold 0::5 --epochs 30 --batch 8 --lr 0.05"
expect 0 pith train net.pith $learn -o whole.pith
expect 0 pith eval whole.pith -d text:7:play.txt --json
awk -v l="$(number loss)" 'BEGIN { exit !(l > 0.17 && l < 0.3) }' || complain "trained: $(cat .out)"
expect 0 pith train net.pith $learn -o threads.pith -T 3
same whole.pith threads.pith
(timeout -s KILL 0.2 pith train net.pith $learn -q -o killed.pith --checkpoint part --set checkpoint_every=20) 2>/dev/null
expect 0 pith train net.pith $learn -f -o killed.pith --checkpoint part --set checkpoint_every=20 --resume
same whole.pith killed.pith
expect 0 pith train net.pith $learn --teacher whole.pith --loss distill -o taught.pith
expect 0 pith eval taught.pith -d text:7:play.txt --json
awk -v l="$(number loss)" 'BEGIN { exit !(l < 0.4) }' || complain "taught: $(cat .out)"
expect 2 pith train net.pith -d padded.npz --epochs 1 --batch 8 -o x.pith
grep -q '2 samples are less than one batch of 8' .err || complain "$(cat .err)"
expect 2 pith train net.pith -d text:7:play.txt --augment noise=0.1 -o x.pith
grep -q "augmentation is for numbers; input 'ids' has ids" .err || complain "$(cat .err)"

# 45 windows of 7 characters: 315 predictions, whose KL divergence is the mean over them
expect 0 pith compare whole.pith taught.pith -d text:7:play.txt
grep -q 'same prediction [0-9]* of 315' .out || complain "compare: $(cat .out)"
expect 0 pith compress whole.pith -d text:7:play.txt --max-drop 2% --time 5 -o small.pith
grep -q 'drop .* points (limit 2.00), KL' .err || complain "compress: $(cat .err)"
[ "$(wc -c <small.pith)" -lt "$(wc -c <whole.pith)" ] || complain "small.pith is not smaller"
finish
