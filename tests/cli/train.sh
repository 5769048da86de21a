#!/bin/sh
# SPDX-License-Identifier: MIT
# pith train from scratch, and after prune and cluster: it wins back what they lost, support and grid
# hold, threads do not change a byte, and what cannot be trained on is refused with nothing written.
# Training as a stage of a recipe and between the steps of a prune.
. "$(dirname "$0")/sandbox.inc"
"$PITH_O/samples/make_digits" digits 1 2000 || exit 1
"$PITH_O/samples/make_digits" others 2 1000 || exit 1
data=digits/test-images-idx3-ubyte
others=others/test-images-idx3-ubyte
right() { # answers of 1,000 others
    pith eval "$1" -d $others --json | sed 's/.*"correct1":\([0-9]*\).*/\1/'
}

expect 0 pith train --init digits --preprocess scale=1/255 -d $data --hold 0::10 --epochs 5 --lr 0.003 \
    -T 1 -q -o dense.pith
[ "$(right dense.pith)" -ge 950 ] || complain "from scratch: $(right dense.pith) of 1000 right"
expect 0 pith init digits --preprocess scale=1/255 -q -o fresh.pith
expect 0 pith train fresh.pith -d $data --hold 0::10 --epochs 5 --lr 0.003 -T 1 -q -o same.pith
same dense.pith same.pith
expect 0 pith prune dense.pith --sparsity 0.85 -q -o pruned.pith
expect 0 pith cluster pruned.pith --bits 2 -q -o grid.pith
expect 0 pith train grid.pith -d $data --hold 0::10 --epochs 4 --lr 0.003 -T 1 --log log.csv -q -o tuned.pith
before=$(right grid.pith)
after=$(right tuned.pith)
[ "$after" -gt "$((before + 100))" ] || complain "training: $before of 1000 right before, $after after"
[ "$(pith info grid.pith --json | grep -o '"nonzeros":[0-9]*')" = \
    "$(pith info tuned.pith --json | grep -o '"nonzeros":[0-9]*')" ] || complain "the support moved"
pith info tuned.pith --history | grep -q '"epochs":4' || complain "no history of the training"
[ "$(head -1 log.csv)" = epoch,step,loss,top1,val_loss,val_top1,lr,seconds,kept,bytes ] ||
    complain "log.csv begins with $(head -1 log.csv)"
[ "$(wc -l <log.csv)" -eq 5 ] || complain "log.csv has not a line for each epoch"

for threads in 2 3; do
    expect 0 pith train grid.pith -d $data --hold 0::10 --epochs 4 --lr 0.003 -T $threads -q -f -o again.pith
    same tuned.pith again.pith
done
expect 0 pith train grid.pith -d $data --epochs 1 --teacher dense.pith --loss distill -q -o taught.pith

# until the loss of accuracy is made up for
expect 0 pith train pruned.pith -d $data --hold 0::10 --epochs 40 --lr 0.003 --until-drop 5% --teacher dense.pith \
    -q -o enough.pith --json
epochs=$(sed 's/.*"epochs":\([0-9]*\).*/\1/' "$work/.out")
[ "$epochs" -lt 40 ] || complain "--until-drop 5% trained all 40 epochs"

# step by step: better than at once, and as sparse
expect 0 pith prune dense.pith --sparsity 0.95 -q -o once.pith
expect 0 pith prune dense.pith --sparsity 0.95 --steps 4 --train -d $data --hold 0::10 --lr 0.003 \
    --teacher start -q -o steps.pith
once=$(right once.pith)
steps=$(right steps.pith)
[ "$steps" -gt "$((once + 100))" ] || complain "prune: $once of 1000 right at once, $steps in steps"
[ "$(pith info once.pith --json | grep -o '"nonzeros":[0-9]*')" = \
    "$(pith info steps.pith --json | grep -o '"nonzeros":[0-9]*')" ] || complain "steps end elsewhere"

expect 0 pith train pruned.pith -d $data --epochs 1 --set norms=fold -o none.pith
grep -q "^folded no normalization" "$work/.err" || complain "nothing says that there was nothing to fold"

# batch normalization becomes part of fc1 in the end, and is validated so: as eval does, encoded or not
expect 0 pith init normed.onnx --preprocess scale=1/255 -q -o normed.pith
expect 0 pith train normed.pith -d $data --val $others --epochs 6 --lr 0.003 --levels 7 --set bias_levels=31 \
    --sparsity 0.8 --set prune_every=10 --set norms=fold -f -o folded.pith
grep -q "^folded 1 normalizations  held out: loss" "$work/.err" || complain "nothing says that it was folded"
held=$(sed -n 's/^folded.*  \([0-9.]*\)%.*/\1/p' "$work/.err")
pith info folded.pith | grep -q "^fc1  *32x784" || complain "no fc1 in folded.pith"
expect 0 pith encode folded.pith --for size -q -o folded.small.pith
[ "$(right folded.pith)" -ge 900 ] || complain "folded: $(right folded.pith) of 1000 right"
[ "$(right folded.pith)" = "$(right folded.small.pith)" ] || complain "encoding a folded network changed it"
[ "$held" = "$(right folded.pith | sed 's/\(.\)$/.\10/')" ] || complain "validated $held%, $(right folded.pith) right"
bytes=$(stat -c %s folded.small.pith)
[ "$bytes" -lt 4500 ] || complain "$bytes bytes of 5,082 weights"
[ "$(pith compare folded.pith folded.small.pith -d $others | grep -c "equal bits")" -eq 1 ] ||
    complain "a folded network is not the same when encoded"

# a recipe that trains; the one of its result repeats it from the beginning
cat >recipe.json <<EOF
{ "pith": 1, "stages": [
  { "do": "prune", "sparsity": 0.7, "scope": "global", "steps": 3, "train": { "lr": 0.003, "epochs": 1 } },
  { "do": "cluster", "bits": 4 },
  { "do": "train", "epochs": 2, "lr": 0.002, "teacher": "start" },
  { "do": "encode", "for": "size", "keep_history": true } ] }
EOF
expect 0 pith compress dense.pith -r recipe.json -d $data --hold 0::10 --max-drop 10% -q -o small.pith
pith recipe show small.pith >again.json || complain "no recipe in small.pith"
expect 0 pith compress fresh.pith -r again.json -d $data --hold 0::10 --seed 9 -T 3 -q -o small2.pith
same small.pith small2.pith

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
refuse 2 "give adam, adamw, sgd or nesterov" -d $data --optimizer lion
refuse 2 "less than one batch" -d $data --range 0:64
refuse 1 "not finite at step" -d $data --optimizer sgd --lr 1e30
refuse 3 "nowhere" -d nowhere.npy

finish
