#!/bin/sh
# SPDX-License-Identifier: MIT
# What a GPU makes of the networks of the data folder, in three steps, of which the middle one needs nothing but a driver:
#
#     bench/gpu.sh pack             here: .gpu/, with bench_gpu and bench_gpu_layers, networks in f32 and INT8, their inputs and the CPU's outputs
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
    for program in bench_gpu bench_gpu_layers; do
        ${CC:-cc} -std=c11 -O2 -D_GNU_SOURCE -Iruntime $(printf ' -I%s' runtime/*/) bench/$program.c "$built/libpith-cuda.a" \
            "$built/libpith-runtime.a" -lm -lpthread -ldl -o "$gpu/$program" || fail "cannot build $program"
    done
    cp "$built/tests/cuda/fake/libcuda.so.1" "$built/tests/cuda/fake_blas/libcublasLt.so.13" "$gpu/fake/" && cp "$here/gpu.sh" "$gpu/" || fail "build first: make all and tests"
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

# The smallest network under each tool of compute-sanitizer, where it is installed.
sanitize() {
    command -v compute-sanitizer >/dev/null || { echo '{"part":"sanitizer","tool":"none","status":-1}'; return; }
    smallest=$(ls -S "$here"/nets/*.pith | tail -1)
    for tool in memcheck racecheck initcheck synccheck; do
        timeout 60 compute-sanitizer --tool $tool --error-exitcode 9 "$here/bench_gpu" run 0.01 "$smallest" >"$out/$tool.txt" 2>&1
        rc=$?
        echo "{\"part\":\"sanitizer\",\"tool\":\"$tool\",\"status\":$rc}"
        [ $rc -eq 0 ] || echo "$tool" >>"$out/failed"
    done
}

run() {
    out=${1:-$here/out}
    mkdir -p "$out" && rm -f "$out/failed" || exit 1
    ldconfig -p 2>/dev/null | grep -q 'libcuda.so.1' || { export LD_LIBRARY_PATH="$here/fake"; echo "no driver: on the emulator"; }
    { echo "{\"part\":\"machine\",\"date\":\"$(date +%F)\",\"driver\":\"$(cat /sys/module/nvidia/version 2>/dev/null)\"}"
      timeout "${SECONDS_MOST:-200}" "$here/bench_gpu_layers" "${SECONDS_EACH:-1}" || echo layers >"$out/failed"
      timeout "${SECONDS_MOST:-150}" "$here/bench_gpu" run "${SECONDS_EACH:-4}" "$here"/nets/*.pith || echo networks >>"$out/failed"
      sanitize
    } >"$out/gpu.jsonl"
    rc=0
    [ ! -s "$out/failed" ] || { rc=1; echo "failed: $(tr '\n' ' ' <"$out/failed")"; }
    { layers "$out/gpu.jsonl"; table "$out/gpu.jsonl"; sanitized "$out/gpu.jsonl"; } | head -60
    return $rc
}

# of one of the contenders of a layer: inside FIELD:{...}
within() { sed -nE "s/.*\"$1\":\{([^}]*)\}.*/\1/p"; }
layers() {
    grep '"part":"constants"' "$1" | while read -r line; do
        echo "Copies: $(echo "$line" | value copy_gb_s) GB/s from memory, $(echo "$line" | value l2_copy_gb_s) GB/s of 8 MiB, both directions counted;"
        echo "a node of a graph: $(echo "$line" | value copy_node_us) us a copy, $(echo "$line" | value kernel_node_us) us a kernel."
    done
    echo
    echo "| matrix | nonzeros | kernel | cold us | hot us | f32 cold, hot | f16 cold, hot | cuBLASLt f32 cold, hot | off |"
    echo "| --- | --- | --- | --- | --- | --- | --- | --- | --- |"
    grep -E '"part":"(layer|density)"' "$1" | while read -r line; do
        own=$(echo "$line" | within compressed)
        printf '| %s %sx%s | %s | %s | %s | %s |' "$(echo "$line" | value name)" "$(echo "$line" | value rows)" "$(echo "$line" | value cols)" \
            "$(echo "$line" | value density)" "$(echo "$own" | value kernel)" "$(echo "$own" | value cold_us)" "$(echo "$own" | value hot_us)"
        for peer in dense_f32 dense_f16 cublaslt_f32; do
            other=$(echo "$line" | within $peer)
            printf ' %s, %s |' "$(echo "$other" | value cold_us)" "$(echo "$other" | value hot_us)"
        done
        echo " $(echo "$line" | value off) |"
    done
    echo
}

sanitized() {
    echo "compute-sanitizer (0: clean, -1: not here):$(grep '"part":"sanitizer"' "$1" | while read -r line; do
        printf ' %s %s' "$(echo "$line" | value tool)" "$(echo "$line" | value status)"; done)"
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
      echo; table "$list"; echo; echo "# Matrices with codebooks on a GPU"; echo
      echo "Medians of graph replays: on copies of the matrix that exceed the L2 four times (cold), and on one (hot). bench/bench_gpu_layers.c."
      echo; layers "$list"; } >"$page"
    echo "$page: add it to bench/tables.txt"
}

case $1 in
pack) pack ;;
run) run "$2" ;;
report) report "$2" ;;
*) fail "pack, run or report" ;;
esac
