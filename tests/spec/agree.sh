#!/bin/sh
# SPDX-License-Identifier: MIT
# spec_decode, written from the documents of the format alone, and the library read the same from
# every file: networks that hold each coding there is, a pipeline's files, real networks. Both refuse
# damaged files; where only the checksums are mended, what one refuses the other does not take.
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
spec=$PITH_O/tests/spec/spec_decode
if [ ! -x "$spec" ] || [ ! -f "$PITH_O/libpith.a" ]; then
    echo "not built: $spec, libpith.a"
    exit 77
fi
CC=${CC:-gcc}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT INT TERM
LC_ALL=C
export LC_ALL
status=0
complain() {
    echo "$*"
    status=1
}

build() {
    # shellcheck disable=SC2086 # CC may hold options
    $CC -std=c11 -Wall -Wextra -O2 -Iruntime -iquote . -I"$PITH_O/include/pith" "$here/$1.c" \
        "$PITH_O/libpith.a" -lprotobuf-c -lz -lpng -ljpeg -larchive -ljansson -lm -lpthread -o "$work/$1" ||
        exit 1
}
for program in dump_model make_networks flip_bits; do build $program; done
mkdir "$work/files" && cd "$work/files" || exit 1

# agree FILE: both take it and print the same lines. Lines with a blank in front are spec_decode's.
agree() {
    "$spec" "$1" >"$work/spec.all" 2>"$work/err" || { complain "$1: refused: $(cat "$work/err")"; return; }
    "$work/dump_model" "$1" >"$work/model" 2>"$work/err" ||
        { complain "$1: the library: $(cat "$work/err")"; return; }
    grep -v '^ ' "$work/spec.all" >"$work/spec"
    grep '^ support' "$work/spec.all" >>"$work/codings"
    cmp -s "$work/spec" "$work/model" ||
        { complain "$1: read differently (<: spec_decode)"; diff "$work/spec" "$work/model" | head -20; }
}

# pipeline NETWORK NAME: what a user's commands write.
pipeline() {
    "$PITH" import "$1" -q -o "$2.import.pith" &&
        "$PITH" prune "$2.import.pith" --sparsity 0.8 -q -o "$2.prune.pith" &&
        "$PITH" cluster "$2.prune.pith" --bits 4 -q -o "$2.cluster.pith" &&
        "$PITH" encode "$2.cluster.pith" -q -o "$2.encode.pith" || complain "the pipeline failed: $1"
    for stage in import prune cluster encode; do agree "$2.$stage.pith"; done
    rm -f "$2".[ipc]*.pith
}

"$work/make_networks" . || exit 1
for f in *.pith; do agree "$f"; done
n=0
for f in *.pith; do n=$((n + 1)); done
[ $n -ge 12 ] || complain "only $n files were made"

"$root/tests/fresh_digits.sh" "$work/digits.onnx" || exit 1
pipeline "$work/digits.onnx" digits
"$PITH" encode digits.encode.pith --for size -q -o small.pith && agree small.pith
"$PITH" cluster "$work/digits.onnx" --bits 3 --per channel -q -o channel.pith &&
    agree channel.pith && "$PITH" encode channel.pith -q -o channels.pith && agree channels.pith
"$PITH" cluster "$work/digits.onnx" --bits 8 -q -o eight.pith &&
    "$PITH" encode eight.pith --coder adaptive -q -o many.pith && agree many.pith
for name in mnist_cntk tiny_kws_dscnn tiny_ic_resnet8 cifar10_resnet20 imagenet_squeezenet_v1_1; do
    network=$PITH_DATA/models/$name.onnx
    [ -r "$network" ] && pipeline "$network" "$name"
done

# every support, grid and code was met
for support in dense bitmap coded; do
    for grid in "plain code plain" "codebook code plain" "codebook code huffman" \
        "codebooks code plain" "codebooks code huffman" "codebook code rans"; do
        grep -q "support $support grid $grid" "$work/codings" || complain "no file: $support, $grid"
    done
done
for word in gaps patterns "dense grid plain code planes" "grid codebooks code rans" \
    "dense grid codebook code adaptive trellis" "sparse grid codebook code adaptive trellis" \
    "codebooks code adaptive trellis" "coded grid plain code adaptive" \
    "dense grid codebook code classes" "sparse grid codebook code classes" "dense grid codebooks code classes" \
    "dense grid codebook code classes trellis" "dense grid scaled code plain"; do grep -q "$word" "$work/codings" || complain "no file: $word"; done

# takes PROGRAM FILE: 0 taken, 1 refused; anything else ends the test
takes() {
    "$1" "$2" >"$work/lines" 2>"$work/err"
    case $? in
    0) return 0 ;;
    4) return 1 ;;
    *) complain "$1 $2: neither taken nor refused: $(cat "$work/err")"; return 1 ;;
    esac
}
seed=1
while [ $seed -le 200 ]; do
    for f in small.pith steps.pith trellis.pith alike.pith classes.pith planes.pith rans_compact.pith wiring.pith bodies.pith integers.pith scaled.pith; do
        "$work/flip_bits" $f $seed damaged || exit 1
        takes "$spec" damaged && complain "$f, flip_bits seed $seed: taken by spec_decode"
        takes "$work/dump_model" damaged && complain "$f, flip_bits seed $seed: taken by the library"
        "$work/flip_bits" $f $seed damaged mend || exit 1
        if takes "$work/dump_model" damaged; then
            cp "$work/lines" "$work/model"
            if takes "$spec" damaged; then
                grep -v '^ ' "$work/lines" | cmp -s - "$work/model" ||
                    complain "$f, flip_bits seed $seed mend: read differently"
            else
                complain "$f, flip_bits seed $seed mend: only spec_decode: $(cat "$work/err")"
            fi
        else
            takes "$spec" damaged
        fi
    done
    seed=$((seed + 1))
done
exit $status
