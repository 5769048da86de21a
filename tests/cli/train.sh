#!/bin/sh
# SPDX-License-Identifier: MIT
# pith train after prune and cluster: it wins back what they lost, support and grid hold, threads do
# not change a byte, and what cannot be trained on is refused with nothing written.
. "$(dirname "$0")/sandbox.inc"
"$PITH_O/samples/make_digits" digits 1 2000 || exit 1
"$PITH_O/samples/make_digits" others 2 1000 || exit 1
data=digits/test-images-idx3-ubyte
others=others/test-images-idx3-ubyte
right() { # answers of 1,000 others
    pith eval "$1" -d $others --json | sed 's/.*"correct1":\([0-9]*\).*/\1/'
}

expect 0 pith import digits.onnx --preprocess scale=1/255 -q -o dense.pith
expect 0 pith prune dense.pith --sparsity 0.85 -q -o pruned.pith
expect 0 pith cluster pruned.pith --bits 2 -q -o grid.pith
expect 0 pith train grid.pith -d $data --hold 0::10 --epochs 4 --lr 0.003 -T 1 --log log.csv -q -o tuned.pith
before=$(right grid.pith)
after=$(right tuned.pith)
[ "$after" -gt "$((before + 100))" ] || complain "training: $before of 1000 right before, $after after"
[ "$(pith info grid.pith --json | grep -o '"nonzeros":[0-9]*')" = \
    "$(pith info tuned.pith --json | grep -o '"nonzeros":[0-9]*')" ] || complain "the support moved"
pith info tuned.pith --history | grep -q '"epochs":4' || complain "no history of the training"
[ "$(wc -l <log.csv)" -eq 5 ] || complain "log.csv has not a line for each epoch"

for threads in 2 3; do
    expect 0 pith train grid.pith -d $data --hold 0::10 --epochs 4 --lr 0.003 -T $threads -q -f -o again.pith
    same tuned.pith again.pith
done
expect 0 pith train grid.pith -d $data --epochs 1 --teacher dense.pith --loss distill -q -o taught.pith

# refuse CODE WORDS OPTIONS...
refuse() {
    wanted=$1
    words=$2
    shift 2
    expect "$wanted" pith train pruned.pith -q -o refused.pith "$@"
    grep -q "$words" "$work/.err" || complain "$*: no '$words' in: $(cat "$work/.err")"
    absent refused.pith
}
refuse 2 "no data"
refuse 2 "multiple of 8" -d $data --batch 12
refuse 2 "pith help train" -d $data --optimizer lion
refuse 2 "less than one batch" -d $data --range 0:64
refuse 1 "not finite at step" -d $data --optimizer sgd --lr 1e30
refuse 3 "nowhere" -d nowhere.npy
finish
