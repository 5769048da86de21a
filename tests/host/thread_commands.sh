#!/bin/sh
# SPDX-License-Identifier: MIT
# Commands on three threads that share a pool: runs by samples and by layers, decoding, calibration,
# quantization, a goal. What watches them stands in WATCH (make check-tsan, make check-helgrind): it ends
# them with a code of its own where it found a race. Answers are those of one thread, to the byte.
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT INT TERM
PITH=${PITH:?} PITH_O=${PITH_O:?}
PITH_CPU=avx2 # the most that valgrind knows
export PITH_CPU
cd "$work" || exit 1
"$PITH_O/samples/make_digits" digits 64 32 >/dev/null || exit 1
images=digits/train-images-idx3-ubyte
status=0

# both NAME ARGUMENTS...: on one thread as it is, on three and watched; writes NAME.
both() {
    name=$1
    shift
    "$PITH" "$@" -q -f -T 1 -o one.out || exit 1
    $WATCH "$PITH" "$@" -q -f -T 3 -o "$name" >watched.log 2>&1 || {
        echo "pith $*: exit $?"
        cat watched.log
        status=1
    }
    cmp one.out "$name" || status=1
}

"$PITH" init digits --preprocess scale=1/255 -q -o start.pith &&
    "$PITH" init lenet300 --preprocess scale=1/255 -q -o wide.pith &&
    "$PITH" cluster wide.pith --bits 5 -q -o clustered.pith || exit 1
for coder in huffman rans context; do
    both $coder.pith encode clustered.pith --coder $coder
    both $coder.npy run $coder.pith -d $images --range 0:4
done
both scores.npy run start.pith -d $images --range 0:32
both ranges.pith calibrate start.pith -d $images --samples 8
both integers.pith quantize start.pith -d $images --samples 8
both scores.npy run integers.pith -d $images --range 0:32
$WATCH "$PITH" bench start.pith --batch 32 -T 3 --time 10ms >watched.log 2>&1 || {
    echo "pith bench: exit $?"
    cat watched.log
    status=1
}
exit $status
