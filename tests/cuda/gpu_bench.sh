#!/bin/sh
# SPDX-License-Identifier: MIT
# bench/gpu.sh with the fake driver: what is packed runs without this tree, and no figures are reported of an emulator.
[ -d "$PITH_DATA/models" ] || { echo "no $PITH_DATA/models"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT INT TERM
status=0
PITH=$PITH_O/pith DATA=$PITH_DATA GPU=$work/gpu NETWORKS="mnist_lenet5_caffe tiny_kws_dscnn" sh bench/gpu.sh pack >"$work/said" || { cat "$work/said"; exit 1; }
(cd "$work" && SECONDS_EACH=0.1 sh gpu/gpu.sh run "$work/out") >"$work/said" 2>&1 || { cat "$work/said"; status=1; }
[ "$(grep -c '"off":' "$work/out/gpu.jsonl")" -eq 3 ] || { echo "not three networks"; cat "$work/out/gpu.jsonl"; status=1; }
grep '"name":"mnist_lenet5_caffe.int8.pith"' "$work/out/gpu.jsonl" | grep -q '"off":0,' || { echo "integers are off"; status=1; }
sh bench/gpu.sh report "$work/out" 2>"$work/said" && { echo "reports an emulator"; status=1; }
grep -q 'no GPU' "$work/said" || { echo "does not say why"; status=1; }
ldd "$work/gpu/bench_gpu" | grep -vE 'linux-vdso|libc\.|libm\.|libpthread|libdl|ld-linux' && { echo "bench_gpu needs more than libc"; status=1; }
exit $status
