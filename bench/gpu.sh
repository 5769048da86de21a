#!/bin/sh
# SPDX-License-Identifier: MIT
# What a GPU makes of the networks of the data folder, in three steps; the second needs nothing but a driver:
#
#     bench/gpu.sh pack             here: .gpu/, with bench_gpu, networks in f32, f16 and INT8, inputs, the CPU's outputs
#     sh .gpu/gpu.sh run [OUT]      there: OUT/gpu.jsonl and tables; without a driver on the emulator, which tests this
#     bench/gpu.sh report OUT       here: docs/results/gpu.md, of a device that is one
#
# PITH, DATA, PYTHON as in bench/run.sh; NETWORKS (all), GPU (.gpu) and MOST_KIB (61440) choose what is packed, where,
# and how much at most. A run takes 600 s at most: each part has its share, and reports what it left out. With
# SECONDS_PEERS=1200 torch may compile networks, too.
here=$(cd "$(dirname "$0")" && pwd)
most_kib=${MOST_KIB:-61440} # 60 MiB
cases="ops weights half attention huffman integers rows"
fail() { echo "gpu.sh: $1" >&2; exit 1; }

# NAME DATA PREPROCESS: in f16 and INT8, ranges of the data; without data those of seeded samples, good for times
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

# bench_gpu with the cases of tests/cuda, each with a main() of another name
build() {
    flags="-std=c11 -O2 -D_GNU_SOURCE -DGUARD_DEVICE -DGPU_CASES -Itests/embedded/shim -Itests -Itests/cuda -iquote . -Iruntime -Icuda/kernels -I$built/include/pith"
    mkdir -p "$gpu/o"
    for part in $cases; do
        ${CC:-cc} $flags -Dmain=main_$part -c "tests/cuda/test_device_$part.c" -o "$gpu/o/$part.o" || return 1
    done
    ${CC:-cc} $flags -s bench/bench_gpu.c bench/gpu_cases.c "$gpu"/o/*.o "$built/libpith-cuda.a" "$built/libpith.a" \
        "$built/libpith-runtime.a" -lm -lpthread -ldl -o "$gpu/bench_gpu" && rm -r "$gpu/o"
}

pack() {
    pith=${PITH:-build/release/pith} data=${DATA:-../shared/data} gpu=${GPU:-.gpu} built=$(dirname "${PITH:-build/release/pith}")
    rm -rf "$gpu" && mkdir -p "$gpu/nets" "$gpu/fake" || exit 1
    build || fail "cannot build the benches"
    cp "$built/tests/cuda/fake/libcuda.so.1" "$built/tests/cuda/fake_blas/libcublasLt.so.13" "$built/tests/cuda/fake_blas/libcusparse.so.12" \
        "$gpu/fake/" && cp "$built/bench/bench_gpu_pack" "$here/gpu.sh" "$here"/gpu_*.py "$gpu/" ||
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
        initcheck) set -- steps "$smallest" ;; # it looks at copies of a graph before the graph has run
        *) set -- cases half ;;
        esac
        timeout 20 compute-sanitizer --tool $tool --error-exitcode 9 "$here/bench_gpu" "$@" >"$out/$tool.txt" 2>&1
        rc=$?
        echo "{\"part\":\"sanitizer\",\"tool\":\"$tool\",\"status\":$rc}"
        [ $rc -eq 0 ] || echo "$tool" >>"$out/failed"
    done
}

# cuBLASLt and cuSPARSE are often there only as torch brought them
find_libraries() {
    for folder in $(python3 -c 'import glob, site
for s in site.getsitepackages(): print(*glob.glob(s + "/nvidia/*/lib"))' 2>/dev/null); do
        LD_LIBRARY_PATH=${LD_LIBRARY_PATH:+$LD_LIBRARY_PATH:}$folder
    done
    export LD_LIBRARY_PATH
}

# The networks that gpu_peers.py has; on the emulator the first one
batched() {
    [ -z "$emulated" ] && ls "$here"/nets/imagenet_squeezenet_v1_1*.pith "$here"/nets/imagenet_mobilenet_v2*.pith 2>/dev/null || ls "$here"/nets/*.pith | head -1
}

# A part that takes longer than its seconds is ended, and fails; an emulator's may be slow.
part() { # NAME SECONDS COMMAND...
    name=$1 seconds=$2; shift 2
    [ -z "$emulated" ] || seconds=$((seconds * 10))
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
      for name in $cases; do part "$name" 10 "$here/bench_gpu" cases $name; done
      part layers 220 "$here/bench_gpu" layers "${each:-0.4}" 180
      part networks 110 "$here/bench_gpu" run "${each:-4}" 90 "$here"/nets/*.pith
      part batch 60 "$here/bench_gpu" batch "${each:-1}" $(batched)
      part torch "${SECONDS_PEERS:-60}" python3 "$here/gpu_peers.py" "${each:-2}"
      sanitize
    } >"$out/gpu.jsonl"
    rc=0
    [ ! -s "$out/failed" ] || { rc=1; echo "failed: $(tr '\n' ' ' <"$out/failed")"; }
    python3 "$here/gpu_report.py" "$out/gpu.jsonl"
    return $rc
}

report() {
    page=docs/results/gpu.md
    python3 "$here/gpu_report.py" "$1/gpu.jsonl" --page >"$1/page.md" && mv "$1/page.md" $page && echo "$page"
}

case $1 in
pack) pack ;;
run) run "$2" ;;
report) report "$2" ;;
*) fail "pack, run or report" ;;
esac
