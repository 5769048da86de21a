#!/bin/sh
# SPDX-License-Identifier: MIT
# Each preset trains, is smaller and answers nearly as well; requested options override it, on the command
# line and in recipes, which make the same file; what does not fit is refused.
. "$(dirname "$0")/sandbox.inc"
"$PITH_O/samples/make_digits" digits 2048 512 >/dev/null || exit 1
train=digits/train-images-idx3-ubyte val=digits/test-images-idx3-ubyte
expect 0 pith train --init digits --preprocess scale=1/255 -d $train --epochs 6 --lr 2e-3 -o net.pith

# reaches NAME BYTES OPTIONS...: 97 % of the answers were right; of the 16 steps an epoch has here, fewer do
reaches() {
    name=$1 bytes=$2
    shift 2
    expect 0 pith compress net.pith -d $train --val $val --preset "$name" --max-drop 2% -T 1 -f -o "$name.pith" "$@"
    [ "$(wc -c <"$name.pith")" -lt "$bytes" ] || complain "$name: $(wc -c <"$name.pith") bytes, more than $bytes"
}
[ "$(pith help presets | grep -c '^[a-z-]*: ')" = 3 ] || complain "pith help presets: $(pith help presets)"
reaches deep-compression 9000 --sparsity .6
reaches small 3000
reaches qat 12000

# The recipe that a preset stands for, the history, and the same said in a recipe make the same file.
few="--set train.epochs=1 --set prune.train.epochs=1 --bits 3"
# shellcheck disable=SC2086
{
    expect 0 pith compress net.pith -d $train --val $val --preset deep-compression $few -q -o requested.pith
    pith recipe write --preset deep-compression $few >written.json
}
echo '{"pith":1,"preset":"deep-compression","stages":[{"do":"prune","train":{"epochs":1}},{"do":"train","epochs":1},
       {"do":"cluster","bits":3}]}' >short.json
pith recipe lint short.json >linted.json
same written.json linted.json
[ "$(grep -c '"epochs": 1,' written.json)" = 3 ] || complain "not every training has one epoch: $(cat written.json)"
expect 0 pith compress net.pith -d $train --val $val -r short.json -q -o recipe.pith
same requested.pith recipe.pith

# What cannot go with a requested option gives way, too.
pith recipe write --preset deep-compression --set prune.sigma=1 >other.json
grep -q '"sigma": 1' other.json && ! grep -q -e sparsity other.json ||
    complain "sparsity stays beside the requested option: $(cat other.json)"

# Without a preset stages are those with requested options.
stages() { pith recipe write "$@" | sed -n 's/.*"do": "\(.*\)".*/\1/p' | tr '\n' ' '; }
[ "$(stages --set train.epochs=2 --sparsity .5)" = "prune train cluster encode " ] || complain "stages: $(stages --sparsity .5)"
[ "$(stages --set quantize.to=fixed:8)" = "quantize encode " ] || complain "stages: $(stages --set quantize.to=fixed:8)"

refused() { grep -q -e "$1" .err || complain "not reported '$1': $(cat .err)"; }
expect 2 pith compress net.pith -o out.pith --preset tiny
refused "no preset 'tiny': give deep-compression, small or qat"
expect 2 pith compress net.pith -o out.pith --preset small --bits 4
refused "preset small has no stage 'cluster'"
expect 2 pith compress net.pith -o out.pith --preset small -r short.json
refused "--recipe cannot go with --preset"
expect 2 pith compress net.pith -o out.pith --set cluster.lumps=4
refused "'cluster.lumps': no such key (see pith help cluster)"
expect 2 pith compress net.pith -o out.pith --set train.lr=fast
refused "train.lr='fast': not a number"
expect 2 pith compress net.pith -o out.pith --preset deep-compression
refused "no data: give -d DATA"

# A recipe refuses what a command refuses, and takes what it takes.
alike() { # CODE STAGE-AS-JSON COMMAND...
    code=$1 stage=$2
    shift 2
    echo "{\"pith\":1,\"stages\":[$stage]}" >one.json
    expect "$code" pith recipe lint one.json
    expect "$([ "$code" = 2 ] && echo 2 || echo 3)" pith "$@" # there is no such model
}
alike 2 '{"do":"prune","sparsity":0.5,"steps":3}' prune no.pith --sparsity .5 --steps 3
alike 2 '{"do":"prune","sparsity":0.5,"sigma":1}' prune no.pith --sparsity .5 --sigma 1
alike 2 '{"do":"prune","sparsity":0.5,"train":{"score":"fisher"}}' prune no.pith --sparsity .5 --train -d $train --set train.score=fisher
alike 0 '{"do":"prune","sparsity":0.5,"train":{}}' prune no.pith --sparsity .5 --train -d $train
alike 0 '{"do":"prune","sparsity":0.5,"train":{"optimizer":"sgd"}}' prune no.pith --sparsity .5 --train -d $train --set train.optimizer=sgd
alike 2 '{"do":"calibrate","method":"mse","percentile":99}' calibrate no.pith -d $train --method mse --percentile 99
alike 2 '{"do":"calibrate","data":"none","samples":9}' calibrate no.pith --samples 9
alike 2 '{"do":"calibrate","data":"none","method":"auto"}' calibrate no.pith --method auto
alike 0 '{"do":"calibrate","samples":9,"percentile":99}' calibrate no.pith -d $train --samples 9 --percentile 99
alike 2 '{"do":"train","first_step":0.5}' train no.pith -d $train --set first_step=.5

# Calibration is a stage of recipes, and the history repeats it.
expect 0 pith calibrate net.pith -d $train --samples 64 --method mse --bits 6 -q -o calibrated.pith
expect 0 pith calibrate calibrated.pith --method max --bits 6 -q -o max.pith
expect 0 pith quantize max.pith -d $train --activations 6 -q -o integers.pith
expect 0 pith encode integers.pith -q -o by_hand.pith
pith recipe show by_hand.pith >again.json
[ "$(sed -n 's/.*"do": "\(.*\)".*/\1/p' again.json | tr '\n' ' ')" = "train calibrate calibrate quantize encode " ] ||
    complain "not the stages there were: $(cat again.json)"
python3 -c 'import json
r = json.load(open("again.json"))
r["stages"] = r["stages"][1:]
json.dump(r, open("again2.json", "w"))'
expect 0 pith compress net.pith -d $train -r again2.json -q -f -o repeated.pith
same by_hand.pith repeated.pith
finish
