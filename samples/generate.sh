#!/bin/sh
# SPDX-License-Identifier: MIT
# generate.sh [TEXT]: a language model of characters, from a text to new text. A decoder is made, trained on nine tenths
# of the text, compressed without losing more than 0.5 points of its top-1, measured on the tenth that it has not seen,
# and continues a prompt. Without TEXT a small network learns sentences that are made here: half a minute on two cores.
# Environment: PITH (the command), PYTHON (with the package onnx), DEMO_DIR (where files go), SHAPE (layers, width,
# heads, length), EPOCHS, PROMPT.
set -e
pith=${PITH:-pith}
dir=${DEMO_DIR:-demo}
mkdir -p "$dir"
step() { printf '\n== %s\n' "$*"; }
text=$1
if [ -z "$text" ]; then
    text=$dir/sentences.txt
    awk 'BEGIN {
        split("cat dog bird child teacher", who); split("sees hears follows greets", does); split("old small happy", how)
        for (srand(1); n < 1200; n++)
            printf "the %s%s %s the %s.\n", rand() < .5 ? how[1 + int(3 * rand())] " " : "", who[1 + int(5 * rand())],
                does[1 + int(4 * rand())], who[1 + int(5 * rand())]
    }' >"$text"
    shape=${SHAPE:-2 32 2 64}
    epochs=${EPOCHS:-12}
    prompt=${PROMPT:-the old }
else
    shape=${SHAPE:-4 128 4 128}
    epochs=${EPOCHS:-4}
    prompt=${PROMPT:-$(head -c 16 "$text")}
fi
windows=text:${shape##* }:$text
step "1. Make a decoder for the characters of $text"
"${PYTHON:-python3}" "$(dirname "$0")/make_decoder.py" "$text" "$dir/decoder.onnx" "$dir/names.txt" $shape
"$pith" import "$dir/decoder.onnx" --class-names "$dir/names.txt" -f -o "$dir/decoder.pith"
step "2. Train it; every tenth window of the text is held out: writer.pith"
"$pith" train "$dir/decoder.pith" -d "$windows" --hold 0::10 --epochs "$epochs" --batch 16 --lr 2e-3 -f -o "$dir/writer.pith"
step "3. Compress it, on windows that were held out: small.pith"
"$pith" compress "$dir/writer.pith" --max-drop 0.5% -d "$windows" --range 0::10 -f -o "$dir/small.pith"
step "4. Perplexity on these windows, before and after"
for net in writer small; do
    printf '%s.pith %d bytes: ' $net "$(wc -c <"$dir/$net.pith")"
    "$pith" eval "$dir/$net.pith" -d "$windows" --range 0::10
done
step "5. Go on with: $prompt"
"$pith" generate "$dir/small.pith" --text "$prompt" -n 50 --temperature 0.8 --seed 1
