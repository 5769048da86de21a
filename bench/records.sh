#!/bin/sh
# SPDX-License-Identifier: MIT
# records.sh - trains a small classic network and writes the smallest file of it that still answers
# as well as its point says: the figures of docs/results/records.md.
#
#     bench/records.sh lenet300|lenet5|resnet20 OUT.pith [SEED] [--point classic|small|smallest]
#
# classic: Deep Compression's way - prune, retrain, 6- (LeNet-300-100) or 8/5-bit codebooks trained
# too, Huffman. small, smallest: a uniform grid whose step is learned, and the rate in the loss.
# The LeNets are trained from scratch, on all training pictures; numbers below were chosen on pictures
# held out of them (HOLD=0::13 trains without those again and prints their accuracy). Nothing is chosen
# by test pictures. How many weights LeNet-5's points keep follows from bytes alone, whatever the seed:
# a file takes at most 6.2 % less when its weights are put onto the grid than in the end
# (docs/results/records-lenet.md), so 1,501 bytes for a file of 1,600 (small), 1,219 for one of 1,300 (smallest).
# WEIGHTS=N: of LeNet-300-100's small point. 4,200 are the fewest of 3,150, 3,600 and 4,200 by which at
# most 1.58 % of the digits held out are wrong, on the mean of seeds 1 and 2 (docs/results/records.md).
# ResNet-20 begins as its authors trained it and takes 30 epochs, and so does the float network beside
# it: a second line gives its error. Its teacher needs Python with onnx (PYTHON). The test pictures are looked at once, at
# the end. The same seed gives the same file on one ISA level.
set -e
pith=${PITH:-build/release/pith}
data=${PITH_DATA:-../shared/data}
python=${PYTHON:-build/venv/bin/python}
usage() {
    echo "usage: $0 lenet300|lenet5|resnet20 OUT.pith [SEED] [--point classic|small|smallest]" >&2
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
case $net:$point in lenet300:classic | lenet300:small | lenet300:smallest) ;;
lenet5:classic | lenet5:small | lenet5:smallest | resnet20:small | resnet20:smallest) ;; *) usage ;; esac
case $net in
resnet20)
    train=$data/cifar10/train_jpeg.tar.gz test=$data/cifar10/test_jpeg.tar.gz
    spec=scale=1/255,mean=0.485:0.456:0.406,std=0.229:0.224:0.225
    ;;
*)
    train=$data/mnist/train-images-idx3-ubyte.gz test=$data/mnist/t10k-images-idx3-ubyte.gz
    spec=scale=1/255
    ;;
esac

# RECORDS_WORK keeps what several points share (the dense networks, the sparser ones).
work=${RECORDS_WORK:-$(mktemp -d)}
mkdir -p "$work"
[ -n "$RECORDS_WORK" ] || trap 'rm -rf "$work"' EXIT INT TERM
start=$(date +%s)
fit= begin=sparse

# step NAME FROM OPTIONS...: one training stage, unless it has been done already
step() {
    to=$work/$1.$seed.pith from=$2
    shift 2
    [ -f "$to" ] && return
    echo "== $(basename "$to")" >&2
    # shellcheck disable=SC2086
    "$pith" train "$from" -d "$train" --preprocess $spec ${HOLD:+--hold $HOLD} --seed "$seed" --batch 128 -f \
        -o "$to" "$@"
}
at() { echo "$work/$1.$seed.pith"; }

bent=rotate=7,scale=.07,shear=.09,shift=1.2,elastic=1.5
# Half of them as they are: it is those that count. Many versions of the others: even a network of
# a thousand weights memorizes six of each.
many="--augment $bent,clean=.5 --set versions="
grid="--set bias_levels=15 --set remove_dead_channels=true --levels"

# classic NET DENSE SHARES BITS: Han's kept shares of each layer, in six steps of 2 epochs
classic() {
    name=$1-classic
    [ -f "$(at "$name-pruned")" ] ||
        "$pith" prune "$(at "$2")" $3 --steps 6 --train --epochs 2 --lr 1e-3 -d "$train" \
            --preprocess $spec ${HOLD:+--hold $HOLD} --augment $bent --seed "$seed" -f -o "$(at "$name-pruned")"
    step "$name-retrained" "$(at "$name-pruned")" --epochs 8 --lr 1e-3 --augment $bent,clean=.5
    "$pith" cluster "$(at "$name-retrained")" $4 -q -f -o "$(at "$name-clustered")"
    step "$name" "$(at "$name-clustered")" --epochs 4 --lr 2e-4 --augment $bent,clean=.5
}

# narrower WEIGHTS SHARES: first whole units go, these shares of each layer, and what read them: WEIGHTS are left and learn
# on. Half of a small file says where weights stand, less in a narrow network; 16,000 of LeNet-5's answer nearly as well as all.
narrower() {
    [ -f "$(at "$net-rows")" ] ||
        "$pith" prune "$(at "$net-dense")" --pattern row --sparsity 0 $2 -q -f -o "$(at "$net-rows")"
    step "$net-narrow" "$(at "$net-rows")" $learn --epochs 4 --lr 2e-3 --set keep_weights="$1" --set prune_until=.1 \
        --set remove_dead_channels=true ${many}4
    step "$net-sparse" "$(at "$net-narrow")" $learn --epochs 40 --lr 3e-3 $many$versions
}
# bytes_on_grid NETWORK: of its file, were its weights put onto the grid as they are; what is learned there adds a twentieth
bytes_on_grid() {
    "$pith" train "$1" -d "$train" --preprocess $spec --range 0:1024 --epochs 1 --lr 1e-9 $grid $levels -q -f \
        -o "$(at "$net-try")"
    "$pith" encode "$(at "$net-try")" --for size -q -f -o "$(at "$net-try-encoded")"
    wc -c <"$(at "$net-try-encoded")"
}
# smaller NAME WEIGHTS EPOCHS GRID_EPOCHS OPTIONS...: from stage $begin down to so many weights, then onto the grid of $levels. Where $fit
# bytes on the grid are asked for and it would be others, down again, to more weights or fewer (3/4 byte each).
smaller() {
    name=$1 weights=$2 epochs=$3 on_grid=$4 pruned=$1-fewer
    shift 4
    fewer="$learn --epochs $epochs --lr 4e-3 --schedule constant $many$versions $*"
    step "$pruned" "$(at "$net-$begin")" $fewer --set keep_weights=$weights
    over=0
    if [ -n "$fit" ]; then
        bytes=$(bytes_on_grid "$(at "$pruned")")
        over=$((bytes - fit))
    fi
    if [ ${over#-} -gt 10 ]; then
        pruned=$name-fitted
        step "$pruned" "$(at "$net-$begin")" $fewer --set keep_weights=$((weights - over * 4 / 3))
    fi
    step "$name" "$(at "$pruned")" $learn --epochs $on_grid --lr 2e-3 $grid $levels $many$versions
}

lenet5_dense() {
    "$pith" init lenet5 --seed "$seed" -q -f -o "$(at lenet5-init)"
    step lenet5-dense "$(at lenet5-init)" --epochs 14 --lr 1.5e-3 --augment $bent
    learn="--teacher $(at lenet5-dense) --set teacher_part=.7"
}
lenet5() {
    lenet5_dense
    [ "$point" != classic ] || {
        classic lenet5 lenet5-dense "--sparsity .95 --layer conv1=.34 --layer conv2=.88 --layer ip2=.81" \
            "--bits 5 --layer conv*=8"
        return
    }
    versions=20 levels=3
    narrower 16000 "--layer conv1=.6 --layer conv2=.68 --layer ip1=.904" # 8, 16 and 48 units
    case $point in
    small) fit=1501 && smaller lenet5-small 2025 48 60 --set regrow=.1 ;;
    smallest) fit=1219 && smaller lenet5-smallest 1510 48 60 --set regrow=.1 ;;
    esac
}
# LeNet-5 is the teacher.
lenet300() {
    lenet5_dense
    "$pith" init lenet300 --seed "$seed" -q -f -o "$(at lenet300-init)"
    step lenet300-dense "$(at lenet300-init)" $learn --epochs 10 --lr 1.5e-3 --augment $bent --set versions=10
    [ "$point" != classic ] || {
        classic lenet300 lenet300-dense "--sparsity .94 --layer ip2=.91 --layer ip3=.74" "--bits 6"
        return
    }
    versions=30 levels=3
    narrower 20000 "--layer ip1=.7 --layer ip2=.6" # 90 and 40 units
    step lenet300-fewer "$(at lenet300-sparse)" $learn --epochs 24 --lr 3e-3 --schedule constant --set keep_weights=5000 \
        $many$versions --set remove_dead_channels=true
    begin=fewer
    case $point in
    small) smaller lenet300-small ${WEIGHTS:-4200} 80 100 --set remove_dead_channels=true ;;
    smallest) smaller lenet300-smallest 2140 80 100 --set remove_dead_channels=true ;;
    esac
}
# resnet20_teacher MEMBERS: so many networks from the same start, by SGD on pictures with a square cut out, together
resnet20_teacher() {
    learn="--teacher $(at resnet20-teacher$1) --set teacher_part=.9 --set temperature=4"
    [ -f "$(at resnet20-teacher$1)" ] && return
    members=
    for member in $(seq "$1"); do
        name=$work/resnet20-member$member.$seed
        [ -f "$name.pith" ] || "$pith" train "$(at resnet20-start)" -d "$train" --preprocess $spec ${HOLD:+--hold $HOLD} \
            --seed $((seed + member - 1)) --epochs 25 --batch 128 --optimizer nesterov --lr .05 --weight-decay 5e-4 \
            --augment crop=4,flip,cutout=8 -f -o "$name.pith"
        "$pith" encode "$name.pith" --coder none -q -f -o "$name.folded"
        "$pith" decode "$name.folded" --to onnx -q -f -o "$name.onnx"
        members="$members $name.onnx"
    done
    "$python" "$(dirname "$0")/committee.py" "$work/resnet20-teacher$1.$seed.onnx" $members
    "$pith" import "$work/resnet20-teacher$1.$seed.onnx" --preprocess $spec -q -f -o "$(at resnet20-teacher$1)"
}
resnet20() {
    "$pith" import "$data/models/cifar10_resnet20.onnx" --preprocess $spec -q -f -o "$(at resnet20-start)"
    moved="--augment crop=4,flip" levels="--levels 3 --set bias_levels=127"
    step resnet20-float "$(at resnet20-start)" --epochs 30 --lr 1.5e-3 $moved
    case $point in
    small)
        resnet20_teacher 3
        step resnet20-folded "$(at resnet20-start)" --epochs 28 --lr 1.5e-3 $moved $learn --set versions=6 $levels \
            --set first_step=1.2 --set score=fisher --sparsity .67 --set prune_until=.5 --set norms=fold
        # what the fold has rounded is learned back, from other pictures
        step resnet20-small "$(at resnet20-folded)" --epochs 2 --lr 1e-4 $moved $learn --set versions=2 $levels \
            --seed $((seed + 1))
        ;;
    smallest)
        resnet20_teacher 2
        step resnet20-smallest "$(at resnet20-start)" --epochs 30 --lr 1.5e-3 $moved $learn --set versions=6 $levels \
            --set first_step=1.2 --sparsity .803 --set prune_until=.5 --set norms=fold
        ;;
    esac
}

"$net"
coder=
[ "$point" != classic ] || coder="--coder huffman"
"$pith" encode "$(at "$net-$point")" --for size $coder -q -f -o "$out"
top1() { "$pith" eval "$1" -d "$2" --preprocess $spec $3 --json | sed -E 's/.*"top1":([0-9.]+).*/\1/'; }
[ -z "$HOLD" ] || held=$(top1 "$out" "$train" "--range $HOLD")
# row POINT FILE
row() {
    error=$(top1 "$2" "$test" | awk '{printf "%.2f", 100 - 100 * $1}')
    echo "| $net | $1 | $seed | $(wc -c <"$2") | $error |${held:+ held out $held |} $(($(date +%s) - start)) s |"
}
row "$point" "$out"
[ "$net" != resnet20 ] || row "float, fine-tuned alike" "$(at resnet20-float)"
