#!/bin/sh
# SPDX-License-Identifier: MIT
# Every stage that looks at samples writes the same file on every instruction set and for every number
# of threads: ranges, which layers stay float, roundings and what a goal finds are decided from sums
# of one order (pith_opts.ordered). Stages without samples: same_bytes.sh. What trains is alike for
# every number of threads, not on every instruction set (docs/arithmetic.md).
. "$(dirname "$0")/sandbox.inc"
PYTHONPATH=$here PYTHONDONTWRITEBYTECODE=1 python3 "$here/make_own_inputs.py" || exit 1
[ -x "$PITH_O/samples/make_digits" ] || { echo "samples/make_digits is missing"; exit 1; }
"$PITH_O/samples/make_digits" digits 256 64 >/dev/null || exit 1
images=digits/train-images-idx3-ubyte
pith import photos.onnx --preprocess imagenet -q -o net.pith || exit 1
pith train --init digits --preprocess scale=1/255 -d $images --epochs 1 -T 1 -q -o conv.pith || exit 1

# stages FOLDER THREADS: PITH_CPU from the caller
stages() {
    mkdir -p "$1"
    for net in conv net; do
        data=val.tar
        [ $net = conv ] && data=$images
        on="$net.pith -d $data --samples 16 -q -f -T $2"
        pith calibrate $on -o "$1/$net.auto.pith" &&
            pith calibrate $on --method max --per channel -o "$1/$net.max.pith" &&
            pith quantize $on -o "$1/$net.int8.pith" &&
            pith quantize $on --weights 4 --rounding adaptive -o "$1/$net.adaptive.pith" || complain "stages of $net failed: $1"
        pith encode "$1/$net.int8.pith" --for size -q -f -T "$2" -o "$1/$net.enc.pith" &&
            pith quantize "$1/$net.auto.pith" -q -f -T "$2" -o "$1/$net.blind.pith" ||
            complain "stages of $net failed: $1"
    done
    pith compress photos.onnx -d val.tar --preprocess imagenet --max-drop 2% -q -f -T "$2" \
        -o "$1/goal.pith" || complain "compress under a goal failed: $1"
}

stages first 1
stages threads 3
for f in first/*.pith; do same "$f" "threads/$(basename "$f")"; done
for cpu in ref avx2 avx512; do # where there is no AVX-512 the last would be AVX2's again
    [ $cpu != avx512 ] || grep -q avx512f /proc/cpuinfo || continue
    PITH_CPU=$cpu
    export PITH_CPU
    stages cpu 2
    for f in first/*.pith; do same "$f" "cpu/$(basename "$f")"; done
done
finish
