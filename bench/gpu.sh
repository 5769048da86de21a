#!/bin/sh
# SPDX-License-Identifier: MIT
# What a GPU makes of the networks of the data folder, in three steps, of which the middle one needs nothing but a driver:
#
#     bench/gpu.sh pack             here: .gpu/, with the benches, networks in f32, f16 and INT8, their inputs and the CPU's outputs
#     sh .gpu/gpu.sh run [OUT]      there: OUT/gpu.jsonl and a table; without a driver on the emulator, which tests this script
#     bench/gpu.sh report OUT       here: docs/results/gpu.md, of a device that is one
#
# PITH, DATA, PYTHON as bench/run.sh; NETWORKS (all), GPU (.gpu) and MOST_KIB (61440) choose what is packed, where, and how much at most.
# A run takes 600 s at most: each part has its share, and says what it left out.
here=$(cd "$(dirname "$0")" && pwd)
most_kib=${MOST_KIB:-61440} # 60 MiB
fail() { echo "gpu.sh: $1" >&2; exit 1; }

# in f16, too, and in INT8: NAME DATA PREPROCESS, ranges of the data; without data those of seeded samples, good for bits and times
add() {
    "$gpu/bench_gpu_pack" half "$gpu/nets/$1.pith" "$gpu/nets/$1.f16.pith" || fail "cannot make f16 of $1"
    if [ -n "$2" ]; then
        set -- "$1" -d "$2" --range 0:8 --preprocess "$3"
    else
        "$gpu/bench_gpu_pack" samples "$gpu/nets/$1.pith" "$gpu/samples" || fail "cannot make samples of $1"
        set -- "$1"
        for sample in "$gpu"/samples.*.npy; do
            input=${sample#"$gpu/samples."}
            set -- "$@" -d "${input%.npy}=$sample"
        done
    fi
    name=$1; shift
    "$pith" quantize "$gpu/nets/$name.pith" --all-integers "$@" -q -f -o "$gpu/nets/$name.int8.pith" 2>"$gpu/said" || echo "$name: not in INT8: $(cat "$gpu/said")"
    rm -f "$gpu"/samples.*.npy "$gpu/said"
    for file in "$gpu/nets/$name.pith" "$gpu/nets/$name.int8.pith"; do # what is coded as f32 would be f32 on the device: f16 stays
        [ ! -f "$file" ] || { "$pith" encode "$file" -q -f -o "$gpu/coded" && mv "$gpu/coded" "$file"; } || fail "cannot encode $file"
    done
}

# A network whose first dimension is written down as 1, with an open batch, where Python has onnx; else as it is.
open_batch() { # FROM TO
    ${PYTHON:-build/venv/bin/python} - "$1" "$2" 2>/dev/null <<'PY' || cp "$1" "$2"
import sys, onnx
model = onnx.load(sys.argv[1])
for value in [*model.graph.input, *model.graph.output]:
    value.type.tensor_type.shape.dim[0].dim_param = "N"
del model.graph.value_info[:]
onnx.save(model, sys.argv[2])
PY
}

# The benches and the cases of tests/cuda, each with a main() of another name, as one program: the kernels' code is most of it.
build() {
    flags="-std=c11 -O2 -D_GNU_SOURCE -DGUARD_DEVICE -Itests/embedded/shim -Itests -Itests/cuda -Iruntime $(printf ' -I%s' runtime/*/ runtime/cuda/kernels/ huffman model base)"
    mkdir -p "$gpu/o"
    for part in bench/bench_gpu:networks bench/bench_gpu_layers:layers bench/bench_gpu_batch:batch bench/bench_gpu_products:products tests/cuda/test_device_ops:ops \
        tests/cuda/test_device_weights:weights tests/cuda/test_device_half:half tests/cuda/test_device_attention:attention tests/cuda/test_device_huffman:huffman \
        tests/cuda/test_device_integers:integers tests/cuda/test_device_rows:rows; do
        ${CC:-cc} $flags -Dmain=main_${part#*:} -c "${part%:*}.c" -o "$gpu/o/${part#*:}.o" || return 1
    done
    ${CC:-cc} $flags -s bench/gpu_cases/gpu_*.c "$gpu"/o/*.o "$built/libpith-cuda.a" "$built/libpith.a" "$built/libpith-runtime.a" \
        -lm -lpthread -ldl -o "$gpu/bench_gpu" && rm -r "$gpu/o"
}

pack() {
    pith=${PITH:-build/release/pith} data=${DATA:-../shared/data} gpu=${GPU:-.gpu} built=$(dirname "${PITH:-build/release/pith}")
    rm -rf "$gpu" && mkdir -p "$gpu/nets" "$gpu/fake" || exit 1
    build || fail "cannot build the benches"
    cp "$built/tests/cuda/fake/libcuda.so.1" "$built/tests/cuda/fake_blas/libcublasLt.so.13" "$built/tests/cuda/fake_blas/libcusparse.so.12" \
        "$gpu/fake/" && cp "$built/bench/bench_gpu_pack" "$here/gpu.sh" "$here/gpu_peers.py" "$gpu/" ||
        fail "build first: make all bench-build and tests"
    strip "$gpu"/fake/*.so.* # a fourth is left
    for model in "$data"/models/*.onnx; do
        name=$(basename "$model" .onnx)
        case " ${NETWORKS:-$name} " in *" $name "*) ;; *) continue ;; esac
        case $name in imagenet_squeezenet_v1_1) open_batch "$model" "$gpu/open.onnx" && model=$gpu/open.onnx ;; esac
        "$pith" import "$model" -q -f -o "$gpu/nets/$name.pith" || fail "cannot import $name"
        case $name in
        mnist_*) add "$name" "$data/mnist/t10k-images-idx3-ubyte.gz" scale=1/256 ;;
        cifar10_*) add "$name" "$data/cifar10/test_jpeg.tar.gz" 'scale=1/255,mean=0.485:0.456:0.406,std=0.229:0.224:0.225' ;;
        imagenet_squeezenet_v1_dc) add "$name" "$data/imagenet/imagenet_a500.tar" 'scale=1/255,mean=0.485:0.456:0.406,std=0.229:0.224:0.225,resize=259,crop=227' ;;
        imagenet_*) add "$name" "$data/imagenet/imagenet_a500.tar" imagenet,crop=224 ;;
        *) add "$name" ;;
        esac
    done
    coded="$gpu/nets/imagenet_mobilenet_v2.pith" # whose codes the device decodes; or the first network's
    [ -f "$coded" ] || coded=$(ls "$gpu"/nets/*.pith | head -1)
    "$pith" cluster "$coded" --bits 4 -q -f -o "$gpu/coded" && "$pith" encode "$gpu/coded" --coder huffman -q -f -o "$gpu/decode.pith" &&
        rm "$gpu/coded" || fail "cannot code $coded"
    rm -f "$gpu/open.onnx" "$gpu/bench_gpu_pack" # it needs more than libc
    "$gpu/bench_gpu" make "$gpu"/nets/*.pith || fail "cannot run the networks here"
    kib=$(du -sk "$gpu" | cut -f1)
    [ "$kib" -le $most_kib ] || fail "$gpu has $kib KiB, more than $most_kib"
    echo "$gpu: $kib KiB"
}

# The smallest network, or the cases, under each tool of compute-sanitizer, where it is installed.
sanitize() {
    command -v compute-sanitizer >/dev/null || { echo '{"part":"sanitizer","tool":"none","status":-1}'; return; }
    smallest=$(ls -S "$here"/nets/*.pith | tail -1)
    for tool in memcheck racecheck initcheck synccheck; do
        case $tool in # memory, shared or not, and barriers are the cases' matter
        racecheck) set -- cases weights ;;
        initcheck) set -- steps "$smallest" ;; # it looks at copies of a graph before that has run
        *) set -- cases half ;;
        esac
        timeout 25 compute-sanitizer --tool $tool --error-exitcode 9 "$here/bench_gpu" "$@" >"$out/$tool.txt" 2>&1
        rc=$?
        echo "{\"part\":\"sanitizer\",\"tool\":\"$tool\",\"status\":$rc}"
        [ $rc -eq 0 ] || echo "$tool" >>"$out/failed"
    done
}

# cuBLASLt and cuSPARSE are often there as torch brought them alone: libraries that are in its environment are found, too.
find_libraries() {
    for folder in $(python3 -c 'import glob, site
for s in site.getsitepackages(): print(*glob.glob(s + "/nvidia/*/lib"))' 2>/dev/null); do
        LD_LIBRARY_PATH=${LD_LIBRARY_PATH:+$LD_LIBRARY_PATH:}$folder
    done
    export LD_LIBRARY_PATH
}

# The networks that torch has, too (gpu_peers.py), or else, and on the emulator, the first one.
batched() {
    [ -z "$emulated" ] && ls "$here"/nets/imagenet_squeezenet_v1_1*.pith "$here"/nets/imagenet_mobilenet_v2*.pith 2>/dev/null || ls "$here"/nets/*.pith | head -1
}

# bash gives no part more than its seconds: a part that is ended early fails, but those that count them themselves leave out and say so.
part() { # NAME SECONDS COMMAND...
    name=$1 seconds=$2; shift 2
    timeout "$seconds" "$@" || echo "$name" >>"$out/failed"
}

run() {
    out=${1:-$here/out} each=$SECONDS_EACH emulated=
    mkdir -p "$out" && rm -f "$out/failed" || exit 1
    if ldconfig -p 2>/dev/null | grep -q 'libcuda.so.1'; then find_libraries; else
        export LD_LIBRARY_PATH="$here/fake" emulated=1
        echo "no driver: on the emulator"
    fi
    { echo "{\"part\":\"machine\",\"date\":\"$(date +%F)\",\"driver\":\"$(cat /sys/module/nvidia/version 2>/dev/null)\"}"
      for cases in ops weights half attention huffman integers rows; do part "$cases" 10 "$here/bench_gpu" cases $cases; done
      part products 20 "$here/bench_gpu" products "${each:-0.5}"
      part layers 180 "$here/bench_gpu" layers "${each:-1}" 140
      part networks 120 "$here/bench_gpu" run "${each:-4}" 95 "$here"/nets/*.pith
      part decode 20 "$here/bench_gpu" decode "$here/decode.pith"
      part batch 60 "$here/bench_gpu" batch "${each:-1}" $(batched)
      part torch 80 python3 "$here/gpu_peers.py" "${each:-2}"
      sanitize
    } >"$out/gpu.jsonl"
    rc=0
    [ ! -s "$out/failed" ] || { rc=1; echo "failed: $(tr '\n' ' ' <"$out/failed")"; }
    { layers "$out/gpu.jsonl"; products "$out/gpu.jsonl"; table "$out/gpu.jsonl"; batches "$out/gpu.jsonl"; decoded "$out/gpu.jsonl"; cases "$out/gpu.jsonl"; sanitized "$out/gpu.jsonl"; } | head -60
    return $rc
}

# of one of the contenders of a layer: inside FIELD:{...}
within() { sed -nE "s/.*\"$1\":\{([^}]*)\}.*/\1/p"; }
layers() {
    grep '"part":"constants"' "$1" | while read -r line; do
        echo "Copies: $(echo "$line" | value copy_gb_s) GB/s from memory, $(echo "$line" | value l2_copy_gb_s) GB/s of 8 MiB, both directions counted;"
        echo "a node of a graph: $(echo "$line" | value copy_node_us) us a copy, $(echo "$line" | value kernel_node_us) us a kernel."
    done
    grep '"part":"missing"' "$1" | while read -r line; do echo "Not here: $(echo "$line" | value name)."; done
    grep '"part":"left_out","matrices"' "$1" | while read -r line; do echo "Left out, for want of time: $(echo "$line" | value matrices) matrices."; done
    echo
    echo "| matrix | nonzeros | kernel | cold, hot us | f32 | f16 | cuBLASLt f32 | cuBLASLt f16 | cuSPARSE | off |"
    echo "| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |"
    grep -E '"part":"(layer|density)"' "$1" | while read -r line; do
        own=$(echo "$line" | within compressed)
        printf '| %s %sx%s | %s | %s | %s, %s |' "$(echo "$line" | value name)" "$(echo "$line" | value rows)" "$(echo "$line" | value cols)" \
            "$(echo "$line" | value density)" "$(echo "$own" | value kernel)" "$(echo "$own" | value cold_us)" "$(echo "$own" | value hot_us)"
        for peer in dense_f32 dense_f16 cublaslt_f32 cublaslt_f16 cusparse_f32; do
            other=$(echo "$line" | within $peer)
            printf ' %s, %s |' "$(echo "$other" | value cold_us)" "$(echo "$other" | value hot_us)"
        done
        echo " $(echo "$line" | value off) |"
    done
    echo
}

# Products of dense matrices by tensor cores and their peers.
products() {
    grep -q '"part":"product"' "$1" || return
    echo "| product m n k | mma f16 | tiles f32 | cuBLASLt f32 | cuBLASLt f16 | off |"
    echo "| --- | --- | --- | --- | --- | --- |"
    grep '"part":"product"' "$1" | while read -r line; do
        printf '|'
        for key in m n k; do printf ' %s' "$(echo "$line" | value $key)"; done
        for key in mma_us tiles_f32_us cublaslt_f32_us cublaslt_f16_us off; do printf ' | %s' "$(echo "$line" | value $key)"; done
        echo ' |'
    done
}

# Networks at several batches, pith's and torch's, from input to output on the device.
batches() {
    grep '"part":"torch","name":"none"' "$1" | while read -r line; do echo; echo "torch: no peer, for want of $(echo "$line" | value missing)."; done
    echo
    echo "| network | batch 1, 8, 64: us |"
    echo "| --- | --- |"
    for program in batch torch; do
        for name in $(grep "\"part\":\"$program\"" "$1" | value name | grep -v '^none$' | uniq); do
            printf '| %s %s |' "$([ $program = torch ] && echo "torch f16:")" "$name"
            grep "\"part\":\"$program\",\"name\":\"$name\"" "$1" | value us | paste -sd ' ' | sed 's/$/ |/; s/^/ /'
        done
    done
    echo
}

decoded() {
    grep '"part":"decode"' "$1" | while read -r line; do
        echo "Plan of a network with Huffman codes: $(echo "$line" | value there_ms) ms with the codes of $(echo "$line" | value weights) weights decoded on the device, $(echo "$line" | value here_ms) ms without."
    done
}

cases() {
    grep '"part":"cases"' "$1" | while read -r line; do
        echo "Cases of tests/cuda, $(echo "$line" | value name): all pass, $(echo "$line" | value launches) launches."
    done
}

sanitized() {
    echo "compute-sanitizer (0: clean, -1: not here):$(grep '"part":"sanitizer"' "$1" | while read -r line; do
        printf ' %s %s' "$(echo "$line" | value tool)" "$(echo "$line" | value status)"; done)"
}

value() { sed -nE "s/.*\"$1\":\"?([^\",}]*).*/\1/p"; }
# A line for each network: GPU and CPU, in f32, f16 and INT8, and how far the GPU is off.
table() {
    echo "| network | f32: GPU, CPU us, off | f16 | INT8 | launches | steps on the CPU |"
    echo "| --- | --- | --- | --- | --- | --- |"
    for name in $(grep '"part":"network"' "$1" | value name | sed -E 's/(\.f16|\.int8)?\.pith$//' | sort -u); do
        launches='' cpu=''
        printf '| %s |' "$name"
        for form in .pith .f16.pith .int8.pith; do
            line=$(grep "\"part\":\"network\",\"name\":\"$name$form\"" "$1")
            printf ' %s, %s, %s |' "$(echo "$line" | value gpu_us)" "$(echo "$line" | value cpu_us)" "$(echo "$line" | value off)"
            launches="$launches $(echo "$line" | value launches)" cpu="$cpu $(echo "$line" | value cpu_steps)"
        done
        echo "$launches |$cpu |"
    done
    grep '"part":"left_out","networks"' "$1" | while read -r line; do echo "Left out, for want of time: $(echo "$line" | value networks) networks."; done
}

report() {
    list=$1/gpu.jsonl page=docs/results/gpu.md
    [ -s "$list" ] || fail "no $list"
    device=$(grep '"part":"device"' "$list" | value name)
    case $device in "" | emulator*) fail "that was no GPU ('$device'): no figures" ;; esac
    { echo "# Networks on a GPU"; echo
      echo "$device, driver $(grep '"part":"machine"' "$list" | value driver), $(grep '"part":"machine"' "$list" | value date)."
      echo "Medians of runs from host memory to host memory, one sample; off: from the CPU's outputs, as a share of the largest value."
      echo; table "$list"; echo
      echo "# Batches, beside torch"; echo; echo "From input to output on the device, medians of graph replays; bench/bench_gpu_batch.c, bench/gpu_peers.py."; batches "$list"; decoded "$list"
      echo "# Matrices with codebooks on a GPU"; echo
      echo "Medians of graph replays: on copies of the matrix that exceed the L2 four times (cold), and on one (hot). bench/bench_gpu_layers.c."
      echo; layers "$list"; echo "# Products by tensor cores"; echo; echo "Microseconds, medians of graph replays; bench/bench_gpu_products.c."; echo; products "$list"; echo; cases "$list"; echo; sanitized "$list"; } >"$page"
    echo "$page: add it to bench/tables.txt"
}

case $1 in
pack) pack ;;
run) run "$2" ;;
report) report "$2" ;;
*) fail "pack, run or report" ;;
esac
