#!/bin/sh
# SPDX-License-Identifier: MIT
# records.sh - trains a LeNet from scratch and writes a small file of it (docs/results/records.md).
#
#     bench/records.sh lenet300|lenet5 OUT.pith [SEED] [--point classic|small|smallest]
#
# classic: prune, retrain, codebooks of 5 to 8 bits, Huffman codes (Han et al., 2016). small, smallest: whole units
# first, then single weights, then a uniform grid; the bits of a weight are part of the loss. All training pictures
# are used; options were chosen on pictures held out of them (HOLD=0::13 holds them out and prints their accuracy).
# The same seed gives the same file on one instruction set. RECORDS_WORK keeps what several points share.
set -e
pith=${PITH:-build/release/pith}
data=${PITH_DATA:-../shared/data}
usage() {
    echo "usage: $0 lenet300|lenet5 OUT.pith [SEED] [--point classic|small|smallest]" >&2
    exit 2
}
net= out= seed= point=small
while [ $# -gt 0 ]; do
    case $1 in
    --point) point=$2 && shift ;;
    -*) usage ;;
    *) if [ -z "$net" ]; then net=$1; elif [ -z "$out" ]; then out=$1; else seed=$1; fi ;;
    esac
    shift
done
seed=${seed:-1}
[ -n "$out" ] || usage
case $net in lenet300 | lenet5) ;; *) usage ;; esac
case $point in classic | small | smallest) ;; *) usage ;; esac
train=$data/mnist/train-images-idx3-ubyte.gz test=$data/mnist/t10k-images-idx3-ubyte.gz
spec=scale=1/255
work=${RECORDS_WORK:-$(mktemp -d)}
mkdir -p "$work"
[ -n "$RECORDS_WORK" ] || trap 'rm -rf "$work"' EXIT INT TERM
start=$(date +%s)
at() { echo "$work/$1.$seed.pith"; }

# step NAME FROM OPTIONS...: one training stage, unless it has been done already
step() {
    to=$(at "$1") from=$2
    shift 2
    [ -f "$to" ] && return
    echo "== $(basename "$to")" >&2
    # shellcheck disable=SC2086
    "$pith" train "$from" -d "$train" --preprocess $spec ${HOLD:+--hold $HOLD} --seed "$seed" --batch 128 -f \
        -o "$to" "$@"
}
bent=rotate=7,scale=.07,shear=.09,shift=1.2,elastic=1.5
many="--augment $bent,clean=.5 --set versions=" # half of the pictures unchanged, many versions of the others
grid="--levels 3 --set bias_levels=15 --set remove_dead_channels=true"

# classic SHARES BITS: Han's kept share of each layer, in six steps of 2 epochs
classic() {
    [ -f "$(at "$net-pruned")" ] ||
        "$pith" prune "$(at "$net-dense")" $1 --steps 6 --train --epochs 2 --lr 1e-3 -d "$train" \
            --preprocess $spec ${HOLD:+--hold $HOLD} --augment $bent --seed "$seed" -f -o "$(at "$net-pruned")"
    step "$net-retrained" "$(at "$net-pruned")" --epochs 8 --lr 1e-3 --augment $bent,clean=.5
    "$pith" cluster "$(at "$net-retrained")" $2 -q -f -o "$(at "$net-clustered")"
    step "$net-classic" "$(at "$net-clustered")" --epochs 4 --lr 2e-4 --augment $bent,clean=.5
}
# narrower WEIGHTS SHARES: these shares of the units of each layer go, WEIGHTS are left and learn on
narrower() {
    [ -f "$(at "$net-rows")" ] ||
        "$pith" prune "$(at "$net-dense")" --pattern row --sparsity 0 $2 -q -f -o "$(at "$net-rows")"
    step "$net-narrow" "$(at "$net-rows")" $learn --epochs 4 --lr 2e-3 --set keep_weights="$1" --set prune_until=.1 \
        --set remove_dead_channels=true ${many}4
    step "$net-sparse" "$(at "$net-narrow")" $learn --epochs 40 --lr 3e-3 $many$versions
}
# bytes_on_grid NETWORK: of its file with the weights put onto the grid as they are; learning there adds a twentieth
bytes_on_grid() {
    "$pith" train "$1" -d "$train" --preprocess $spec --range 0:1024 --epochs 1 --lr 1e-9 $grid -q -f -o "$(at try)"
    "$pith" encode "$(at try)" --for size -q -f -o "$(at try-encoded)"
    wc -c <"$(at try-encoded)"
}
# smaller FROM WEIGHTS EPOCHS GRID_EPOCHS FIT OPTIONS...: down to so many weights, then onto the grid. Where FIT bytes
# on the grid are given and it would be others, down again, to more weights or fewer (3/4 byte each).
smaller() {
    from=$1 weights=$2 epochs=$3 on_grid=$4 fit=$5 pruned=$net-$point-fewer
    shift 5
    fewer="$learn --epochs $epochs --lr 4e-3 --schedule constant $many$versions $*"
    step "$pruned" "$(at "$from")" $fewer --set keep_weights=$weights
    over=0
    [ -z "$fit" ] || over=$(($(bytes_on_grid "$(at "$pruned")") - fit))
    if [ ${over#-} -gt 10 ]; then
        pruned=$net-$point-fitted
        step "$pruned" "$(at "$from")" $fewer --set keep_weights=$((weights - over * 4 / 3))
    fi
    step "$net-$point" "$(at "$pruned")" $learn --epochs $on_grid --lr 2e-3 $grid $many$versions
}
dense() { # NAME OPTIONS...
    "$pith" init "$1" --seed "$seed" -q -f -o "$(at "$1-init")"
    name=$1 && shift
    step "$name-dense" "$(at "$name-init")" --lr 1.5e-3 --augment $bent "$@"
}
lenet5() {
    versions=20
    case $point in
    classic) classic "--sparsity .95 --layer conv1=.34 --layer conv2=.88 --layer ip2=.81" "--bits 5 --layer conv*=8" ;;
    *) narrower 16000 "--layer conv1=.6 --layer conv2=.68 --layer ip1=.904" ;; # 8, 16 and 48 units
    esac
    case $point in
    small) smaller lenet5-sparse 2025 48 60 1501 ;; # for a file of 1,600 bytes
    smallest) smaller lenet5-sparse 1510 48 60 1219 ;;
    esac
}
lenet300() {
    versions=30
    dense lenet300 $learn --epochs 10 --set versions=10
    [ "$point" != classic ] || {
        classic "--sparsity .94 --layer ip2=.91 --layer ip3=.74" "--bits 6"
        return
    }
    narrower 20000 "--layer ip1=.7 --layer ip2=.6" # 90 and 40 units
    step lenet300-fewer "$(at lenet300-sparse)" $learn --epochs 24 --lr 3e-3 --schedule constant --set keep_weights=5000 \
        $many$versions --set remove_dead_channels=true
    weights=2140
    [ "$point" != small ] || weights=4200
    smaller lenet300-fewer $weights 80 100 "" --set remove_dead_channels=true
}

dense lenet5 --epochs 14 # the teacher of both
learn="--teacher $(at lenet5-dense) --set teacher_part=.7"
"$net"
coder=
[ "$point" != classic ] || coder="--coder huffman"
"$pith" encode "$(at "$net-$point")" --for size $coder -q -f -o "$out"
top1() { "$pith" eval "$1" -d "$2" --preprocess $spec $3 --json | sed -E 's/.*"top1":([0-9.]+).*/\1/'; }
[ -z "$HOLD" ] || held=$(top1 "$out" "$train" "--range $HOLD")
error=$(top1 "$out" "$test" | awk '{printf "%.2f", 100 - 100 * $1}')
echo "| $net | $point | $seed | $(wc -c <"$out") | $error |${held:+ held out $held |} $(($(date +%s) - start)) s |"
