#!/bin/sh
# SPDX-License-Identifier: MIT
# --device and PITH_DEVICE as users meet them: with the fake driver, without any, with none that is wanted.
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT INT TERM
unset LD_LIBRARY_PATH PITH_DEVICE
fake=$PITH_O/tests/cuda/fake
status=0
fail() { echo "$1"; cat "$work/said"; status=1; }
# with STATUS COMMAND...: what it says goes to $work/said
with() {
    want=$1; shift
    "$@" >"$work/out" 2>"$work/said"
    rc=$?
    [ $rc -eq "$want" ] || fail "status $rc, not $want: $*"
}
reported() { [ "$(wc -l <"$work/said")" -eq 1 ] && grep -q "$1" "$work/said" || fail "not reported in one line: $1"; }
silent() { [ ! -s "$work/said" ] || fail "said something"; }
on() { LD_LIBRARY_PATH=$fake "$@"; }

net=$work/net.pith
[ -d "$PITH_DATA/models" ] || { echo "no $PITH_DATA/models"; exit 77; }
"$PITH" import "$PITH_DATA/models/mnist_lenet5_caffe.onnx" -q -o "$net" || exit 1
head -c $((28 * 28 * 4)) /dev/zero >"$work/x.raw"

# nothing is requested: nothing is printed, whatever is there
with 0 "$PITH" run "$net" "$work/x.raw"; silent; cp "$work/out" "$work/cpu"
with 0 on "$PITH" run "$net" "$work/x.raw"; silent
# the fake device
with 0 on "$PITH" run "$net" "$work/x.raw" --device cuda:0; silent
cut -f1 "$work/cpu" >"$work/classes"
cut -f1 "$work/out" | cmp -s - "$work/classes" || fail "other classes"
with 0 on env PITH_DEVICE=cuda:0 "$PITH" run "$net" "$work/x.raw"; silent
with 0 on env PITH_DEVICE=auto "$PITH" run "$net" "$work/x.raw"; silent
# 16-bit factors where they are allowed, and there alone: other bits, the same classes
for device in cuda:0,f16 auto,f16; do
    with 0 on "$PITH" run "$net" "$work/x.raw" --device $device; silent
    cut -f1 "$work/out" | cmp -s - "$work/classes" || fail "other classes in f16"
done
with 0 on "$PITH" run "$net" "$work/x.raw" -f -o "$work/f32.npy" --device cuda:0
with 0 on env PITH_DEVICE=cuda:0,f16 "$PITH" run "$net" "$work/x.raw" -f -o "$work/f16.npy"; silent
cmp -s "$work/f32.npy" "$work/f16.npy" && fail "f16 changes nothing"
for rubbish in cuda:0,f8 cuda:0,f16x cuda:,f16 cuda:0f16 cpu,f16 auto, cuda:99999; do
    with 2 "$PITH" run "$net" "$work/x.raw" --device $rubbish; reported 'not a device'
done
with 0 on "$PITH" bench "$net" --time 0.01 --device cuda:0 --per-layer; silent
grep -q 'device emulator 0' "$work/out" && grep -q ' device ' "$work/out" || fail "bench does not print the device"
grep -q 'a copy on the device: ' "$work/out" || fail "bench does not print how fast the device copies"
with 0 on "$PITH" bench "$net" --time 0.01 --device cuda:0 --json; silent
with 0 on "$PITH" bench "$net" --time 0.01 --device cuda:0 --vs cpu --per-layer; silent
grep -q '^Gemm_6 .* device .*%$' "$work/out" && grep -q '^Gemm_6 .* gemv-f32 ' "$work/out" || fail "bench --vs cpu does not print both"
grep -q "on the CPU: median" "$work/out" && grep -q '^ratio ' "$work/out" || fail "bench --vs cpu does not print which is which"
# none: by name a failure, else a line
with 5 "$PITH" run "$net" "$work/x.raw" --device cuda:0; reported 'there is no NVIDIA driver'
with 0 env PITH_DEVICE=cuda:0 "$PITH" run "$net" "$work/x.raw"; reported 'no NVIDIA driver here .*; the CPU takes over'
cmp -s "$work/out" "$work/cpu" || fail "the CPU gives other answers"
with 0 "$PITH" run "$net" "$work/x.raw" --device auto; silent
with 5 on "$PITH" run "$net" "$work/x.raw" --device cuda:7; reported 'no device 7'
with 2 "$PITH" run "$net" "$work/x.raw" --device gpu; reported 'not a device'
with 2 env PITH_DEVICE=rubbish "$PITH" run "$net" "$work/x.raw"; reported 'PITH_DEVICE=rubbish: not a device'
# lost in a run: order, failing allocation, losing wait
with 5 on env FAKE_CUDA=0,0,1 "$PITH" run "$net" "$work/x.raw" --device cuda:0; reported 'LAUNCH_FAILED'
with 5 on env FAKE_CUDA=0,1 "$PITH" run "$net" "$work/x.raw" --device cuda:0; reported 'OUT_OF_MEMORY'
with 0 on env FAKE_CUDA=0,1 PITH_DEVICE=cuda:0 "$PITH" run "$net" "$work/x.raw"; reported 'the CPU takes over'
# integers: steps that have no kernel run on the CPU, with its bits
if "$PITH" quantize "$net" -d "$PITH_DATA/mnist/t10k-images-idx3-ubyte.gz" --range 0:32 --preprocess scale=1/256 -q -f -o "$work/int8.pith" 2>"$work/said"; then
    with 0 "$PITH" run "$work/int8.pith" "$work/x.raw" -f -o "$work/cpu.npy"
    with 0 on "$PITH" run "$work/int8.pith" "$work/x.raw" -f -o "$work/gpu.npy" --device cuda:0; silent
    cmp -s "$work/cpu.npy" "$work/gpu.npy" || fail "integers differ"
else
    fail "cannot quantize"
fi
# no CUDA library is linked
ldd "$PITH" | grep -Ei 'libcuda|libcublas|nvidia' && { echo "pith links a CUDA library"; status=1; }
# not a byte of it in the runtime's archive
ar t "$PITH_O/libpith-runtime.a" | grep -E 'cuda|device_|driver\.o' && { echo "the runtime holds device code"; status=1; }
exit $status
