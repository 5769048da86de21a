#!/bin/sh
# SPDX-License-Identifier: MIT
# What a GPU makes of the networks of the data folder, in three steps, of which the middle one needs nothing but a driver:
#
#     bench/gpu.sh pack             here: .gpu/, with bench_gpu, networks in f32 and INT8, their inputs and the CPU's outputs
#     sh .gpu/gpu.sh run [OUT]      there: OUT/gpu.jsonl and a table; without a driver on the emulator, which tests this script
#     bench/gpu.sh report OUT       here: docs/results/gpu.md, of a device that is one
#
# PITH, DATA as bench/run.sh; NETWORKS (all) and GPU (.gpu) choose what is packed, and where.
here=$(cd "$(dirname "$0")" && pwd)
most_kib=61440 # 60 MiB
fail() { echo "gpu.sh: $1" >&2; exit 1; }

add() { # NAME DATA PREPROCESS: in INT8, too
    "$pith" quantize "$gpu/nets/$1.pith" --all-integers -d "$2" --range 0:8 --preprocess "$3" -q -f -o "$gpu/nets/$1.int8.pith"
}

pack() {
    pith=${PITH:-build/release/pith} data=${DATA:-../shared/data} gpu=${GPU:-.gpu} built=$(dirname "${PITH:-build/release/pith}")
    rm -rf "$gpu" && mkdir -p "$gpu/nets" "$gpu/fake" || exit 1
    ${CC:-cc} -std=c11 -O2 -D_GNU_SOURCE -Iruntime -Iruntime/host -Iruntime/cuda bench/bench_gpu.c "$built/libpith-cuda.a" \
        "$built/libpith-runtime.a" -lm -lpthread -ldl -o "$gpu/bench_gpu" || fail "cannot build bench_gpu"
    cp "$built/tests/cuda/fake/libcuda.so.1" "$gpu/fake/" && cp "$here/gpu.sh" "$gpu/" || fail "build first: make all and tests"
    for model in "$data"/models/*.onnx; do
        name=$(basename "$model" .onnx)
        case " ${NETWORKS:-$name} " in *" $name "*) ;; *) continue ;; esac
        "$pith" import "$model" -q -f -o "$gpu/nets/$name.pith" || fail "cannot import $name"
        case $name in
        mnist_*) add "$name" "$data/mnist/t10k-images-idx3-ubyte.gz" scale=1/256 ;;
        cifar10_*) add "$name" "$data/cifar10/test_jpeg.tar.gz" 'scale=1/255,mean=0.485:0.456:0.406,std=0.229:0.224:0.225' ;;
        imagenet_*) add "$name" "$data/imagenet/imagenet_a500.tar" imagenet,crop=224 ;;
        esac
    done
    "$gpu/bench_gpu" make "$gpu"/nets/*.pith || fail "cannot run the networks here"
    kib=$(du -sk "$gpu" | cut -f1)
    [ "$kib" -le $most_kib ] || fail "$gpu has $kib KiB, more than $most_kib"
    echo "$gpu: $kib KiB"
}

run() {
    out=${1:-$here/out}
    mkdir -p "$out" || exit 1
    ldconfig -p 2>/dev/null | grep -q 'libcuda.so.1' || { export LD_LIBRARY_PATH="$here/fake"; echo "no driver: on the emulator"; }
    { echo "{\"part\":\"machine\",\"date\":\"$(date +%F)\",\"driver\":\"$(cat /sys/module/nvidia/version 2>/dev/null)\"}"
      timeout "${SECONDS_MOST:-550}" "$here/bench_gpu" run "${SECONDS_EACH:-4}" "$here"/nets/*.pith; } >"$out/gpu.jsonl"
    rc=$?
    table "$out/gpu.jsonl" | head -60
    return $rc
}

value() { sed -nE "s/.*\"$1\":\"?([^\",}]*).*/\1/p"; }
table() {
    echo "| network | off | GPU us | CPU us | launches | steps on the CPU |"
    echo "| --- | --- | --- | --- | --- | --- |"
    grep '"part":"network"' "$1" | while read -r line; do
        echo "| $(for k in name off gpu_us cpu_us launches cpu_steps; do printf '%s | ' "$(echo "$line" | value $k)"; done)"
    done
}

report() {
    list=$1/gpu.jsonl page=docs/results/gpu.md
    [ -s "$list" ] || fail "no $list"
    device=$(grep '"part":"device"' "$list" | value name)
    case $device in "" | emulator*) fail "that was no GPU ('$device'): no figures" ;; esac
    { echo "# Networks on a GPU"; echo
      echo "$device, driver $(grep '"part":"machine"' "$list" | value driver), $(grep '"part":"machine"' "$list" | value date)."
      echo "Medians of runs from host memory to host memory, one sample; off: from the CPU's outputs, as a share of the largest value."
      echo; table "$list"; } >"$page"
    echo "$page: add it to bench/tables.txt"
}

case $1 in
pack) pack ;;
run) run "$2" ;;
report) report "$2" ;;
*) fail "pack, run or report" ;;
esac
