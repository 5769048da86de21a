#!/bin/sh
# SPDX-License-Identifier: MIT
# distill.sh - makes a network of the data folder smaller without labels, from what samples there are:
# the figures of docs/results/distillation.md.
#
#     bench/distill.sh dscnn|vww|gru|dnn_l OUT.pith [SEED]
#
# It learns from the even half of the samples (bench/distill_data.py makes many of them) and is judged
# by the odd half: the share of samples that both networks put into the same class. CHOOSE=1 learns
# from a quarter and is judged by another one: for choosing numbers; which ones were
# chosen so says docs/results/distillation.md. FIRST=1 learns from the odd half
# and is judged by the even one. Python needs numpy, onnx and
# onnxruntime (make deps-test); pictures also need Pillow.
set -e
pith=${PITH:-build/release/pith}
python=${PITH_VENV:-build/venv}/bin/python
data=${PITH_DATA:-../shared/data}
here=$(dirname "$0")
net=$1 out=$2 seed=${3:-1}
usage() {
    echo "usage: $0 dscnn|vww|gru|dnn_l OUT.pith [SEED]" >&2
    exit 2
}
[ -n "$out" ] || usage
first=${FIRST:-0} step=2
judge=$((1 - first))::2
[ -z "$CHOOSE" ] || step=4 judge=$((2 + first))::4
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT INT TERM
start=$(date +%s)

samples() { OMP_NUM_THREADS=1 "$python" "$here/distill_data.py" "$net" "$data" "$work/samples.npy" "$1" "$seed" $step "$first"; }
# taught PREPROCESS OPTIONS...: from $work/start.pith
taught() {
    spec=$1
    shift
    "$pith" train "$work/start.pith" -T "${THREADS:-1}" -d "$work/samples.npy" ${spec:+--preprocess $spec} --loss distill \
        --teacher "$work/original.pith" --seed "$seed" -q -f -o "$work/taught.pith" "$@"
}
# keyword MODEL FRAMES EXPONENT...: as they came, and with inputs of like size
keyword() {
    model=$data/models/$1.onnx judged=$data/kws/kws_mfcc$2_f32.npy
    shift 2
    "$pith" import "$model" -q -f -o "$work/original.pith"
    "$python" "$here/studies/scale_input.py" "$model" "$work/scaled.onnx" "$@"
    "$pith" import "$work/scaled.onnx" -q -f -o "$work/start.pith"
}

case $net in
dnn_l)
    keyword kws_DNN_L 250 4 1 0
    samples 8192
    taught "" --levels 127 --set first_step=1 --set step_power=.5 --set step_init=fisher-row --set bias_levels=127 --set gptq_samples=4096 \
        --set gptq_fisher_share=.5 --epochs 15 --lr 7e-4
    ;;
gru)
    keyword kws_GRU_L 490 6 1 0
    samples 2048
    taught "" --levels 127 --set first_step=.89 --set step_power=.3 --set bias_levels=127 --set gptq_samples=1024 \
        --batch 32 --epochs 6 --lr 5e-4
    ;;
dscnn)
    judged=raw:i8:490:$data/kws/kws01_mfcc_int8.bin.gz
    "$pith" import "$data/models/tiny_kws_dscnn.onnx" -q -f -o "$work/original.pith" \
        --preprocess scale=0.5847029089927673,mean=48.530341441079246
    cp "$work/original.pith" "$work/start.pith"
    samples 4096 # training behind feedback would win nothing on commands of others: docs/results/distillation-ablation.md
    taught scale=1 --levels 127 --set first_step=1.155 --set step_power=.5 --set step_init=fisher-row --set bias_levels=31 --set gptq_samples=2048 \
        --set gptq_fisher_share=.7 --batch 64 --epochs 1 --lr 1e-12
    ;;
vww)
    judged=$data/imagenet/imagenet_a500.tar
    "$pith" import "$data/models/tiny_vww_mbv1.onnx" -q -f -o "$work/original.pith" --preprocess resize=96,scale=1/255
    "$pith" prune "$work/original.pith" --scope global --sparsity .845 -q -f -o "$work/start.pith"
    samples 1024
    taught scale=1/255 --levels 127 --set first_step=.06 --set bias_levels=127 --epochs 2 --lr 5e-5 --batch 64
    ;;
*) usage ;;
esac

# The compact header is for files below 64 KiB.
"$pith" encode "$work/taught.pith" --for size -q -f -o "$out" 2>/dev/null ||
    "$pith" encode "$work/taught.pith" --coder adaptive -q -f -o "$out"
case $net in dscnn) floats=22610 ;; vww) floats=210852 ;; gru) floats=498418 ;; dnn_l) floats=495744 ;; esac
agree=$("$pith" compare "$work/original.pith" "$out" -d "$judged" --range $judge --json |
    sed -E 's/.*"agreement":([0-9.]+).*/\1/')
bytes=$(wc -c <"$out")
echo "$bytes $floats $agree" | awk -v net="$net" -v seed="$seed" -v s=$(($(date +%s) - start)) \
    '{printf "| %s | %s | %d | %.1f | %.1f | %d s |\n", net, seed, $1, 4 * $2 / $1, 100 * $3, s}'
