#!/bin/sh
# SPDX-License-Identifier: MIT
# bench/gpu.sh with the fake driver: what is packed runs without this tree, and no figures are reported of an emulator.
[ -d "$PITH_DATA/models" ] || { echo "no $PITH_DATA/models"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT INT TERM
status=0
PITH=$PITH_O/pith DATA=$PITH_DATA GPU=$work/gpu NETWORKS="mnist_lenet5_caffe tiny_kws_dscnn" sh bench/gpu.sh pack >"$work/said" || { cat "$work/said"; exit 1; }
(cd "$work" && SECONDS_EACH=0.1 sh gpu/gpu.sh run "$work/out") >"$work/table" 2>"$work/said" || { cat "$work/said" "$work/table"; status=1; }
[ "$(grep -c '"part":"network".*"off":' "$work/out/gpu.jsonl")" -eq 6 ] || { echo "not six networks"; cat "$work/out/gpu.jsonl"; status=1; }
for name in mnist_lenet5_caffe tiny_kws_dscnn; do
    [ -s "$work/gpu/nets/$name.f16.pith" ] || { echo "no f16 of $name"; status=1; }
    grep "\"name\":\"$name.int8.pith\"" "$work/out/gpu.jsonl" | grep -q '"off":0,' || { echo "integers of $name are off"; status=1; }
done
[ "$(grep -c '"part":"batch".*"us":' "$work/out/gpu.jsonl")" -eq 6 ] && [ "$(grep -c 'f16\.pith+mma".*"us":' "$work/out/gpu.jsonl")" -eq 3 ] ||
    { echo "not at three batches, as it is and by tensor cores"; status=1; }
grep -q '"part":"torch"' "$work/out/gpu.jsonl" && grep -q '^torch: no peer, for want of ' "$work/table" || { echo "no word of torch"; status=1; }
grep -q '"part":"decode","weights":1,"there_ms":[0-9.]*,"here_ms":[0-9.]' "$work/out/gpu.jsonl" && grep -q '^Plan of a network with Huffman codes: ' "$work/table" ||
    { echo "no codes decoded"; status=1; }
# the cases of the kernels: all pass, and a device that fails is told
[ "$(grep -c '"part":"cases".*"launches":[1-9]' "$work/out/gpu.jsonl")" -eq 7 ] && grep -q '^Cases of tests/cuda, ops: all pass, [1-9][0-9]* launches' "$work/table" ||
    { echo "cases do not pass"; grep cases "$work/out/gpu.jsonl"; status=1; }
LD_LIBRARY_PATH=$work/gpu/fake FAKE_CUDA=0,0,9 "$work/gpu/bench_gpu" cases ops >/dev/null 2>"$work/said" && { echo "cases pass on a device that fails"; status=1; }
# products by tensor cores, beside both peers
[ "$(grep -cE '"part":"product".*"mma_us":.*"tiles_f32_us":.*"cublaslt_f32_us":.*"cublaslt_f16_us":.*"off":' "$work/out/gpu.jsonl")" -eq 4 ] &&
    grep -qE '^\| 10 128 128 \|( [0-9.e+-]+ \|){5}$' "$work/table" || { echo "not all products"; grep product "$work/out/gpu.jsonl"; cat "$work/table"; status=1; }
# more than fits is refused
PITH=$PITH_O/pith DATA=$PITH_DATA GPU=$work/small NETWORKS=tiny_kws_dscnn MOST_KIB=1000 sh bench/gpu.sh pack >/dev/null 2>"$work/said" && { echo "a pack of any size passes"; status=1; }
grep -q 'KiB, more than 1000$' "$work/said" || { echo "not told how large"; cat "$work/said"; status=1; }
# a tool of the sanitizer that finds something is told, and fails the run
grep -q '^compute-sanitizer .*: none -1$' "$work/table" || { echo "no word of compute-sanitizer"; status=1; }
mkdir "$work/bin"
printf '#!/bin/sh\n[ "$1 $3" = "--tool --error-exitcode" ] || exit 8\n[ "$2" = racecheck ] && exit "$4"\nshift 4\nexec "$@"\n' >"$work/bin/compute-sanitizer"
chmod +x "$work/bin/compute-sanitizer"
(cd "$work" && PATH=$work/bin:$PATH SECONDS_EACH=0.1 sh gpu/gpu.sh run "$work/again") >"$work/said" 2>&1 && { echo "races pass"; status=1; }
grep -q ': memcheck 0 racecheck 9 initcheck 0 synccheck 0$' "$work/said" && grep -q '^failed: racecheck' "$work/said" || { cat "$work/said"; status=1; }
sh bench/gpu.sh report "$work/out" 2>"$work/said" && { echo "reports an emulator"; status=1; }
grep -q 'no GPU' "$work/said" || { echo "does not say why"; status=1; }
[ "$(grep -cE '"part":"(layer|density)".*"compressed":.*"off":.*"dense_f32":.*"dense_f16":' "$work/out/gpu.jsonl")" -eq 15 ] ||
    { echo "not all matrices"; grep -E '"part":"(layer|density)"' "$work/out/gpu.jsonl"; status=1; }
grep -qE '"part":"constants","copy_gb_s":[0-9.]+,"l2_copy_gb_s":[0-9.]+,"copy_node_us":[0-9.]+,"kernel_node_us":[0-9.]+' "$work/out/gpu.jsonl" ||
    { echo "no constants"; status=1; }
for peer in '"cublaslt_f32":{"kernel":"cublasLtMatmul"' '"cublaslt_f16":{"kernel":"cublasLtMatmul"' '"cusparse_f32":{"kernel":"cusparseSpMV"'; do
    [ "$(grep -c "$peer" "$work/out/gpu.jsonl")" -eq 15 ] || { echo "not asked each time: $peer"; status=1; }
done
# without cuSPARSE it is left out, with a line; without time matrices are
rm "$work/gpu/fake/libcusparse.so.12"
LD_LIBRARY_PATH=$work/gpu/fake "$work/gpu/bench_gpu" layers 0.1 0 >"$work/said" || { echo "no matrices without cuSPARSE"; status=1; }
grep -q '"part":"missing","name":"cuSPARSE"' "$work/said" && grep -q '"part":"left_out","matrices":15' "$work/said" || { echo "not told what was left out"; cat "$work/said"; status=1; }
grep -q '^| Alex-6 .*| spmv_' "$work/table" && [ "$(wc -l <"$work/table")" -le 61 ] || { echo "no table"; cat "$work/table"; status=1; }
ldd "$work/gpu/bench_gpu" | grep -v ':$' | grep -vE 'linux-vdso|libc\.|libm\.|libpthread|libdl|ld-linux' && { echo "a bench needs more than libc"; status=1; }
exit $status
