#!/bin/sh
# SPDX-License-Identifier: MIT
# bench/gpu.sh with the fake driver: what is packed runs without this tree, and no figures of an emulator are reported.
[ -d "$PITH_DATA/models" ] || { echo "no $PITH_DATA/models"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT INT TERM
status=0
lines=$work/out/gpu.jsonl
PITH=$PITH_O/pith DATA=$PITH_DATA GPU=$work/gpu NETWORKS="mnist_lenet5_caffe tiny_kws_dscnn" sh bench/gpu.sh pack >"$work/said" || { cat "$work/said"; exit 1; }
(cd "$work" && SECONDS_EACH=0.1 sh gpu/gpu.sh run "$work/out") >"$work/table" 2>"$work/said" || { cat "$work/said" "$work/table"; status=1; }
[ "$(grep -c '"part":"network".*"off":' "$lines")" -eq 6 ] || { echo "not six networks"; cat "$lines"; status=1; }
for name in mnist_lenet5_caffe tiny_kws_dscnn; do
    [ -s "$work/gpu/nets/$name.f16.pith" ] || { echo "no f16 of $name"; status=1; }
    grep "\"name\":\"$name.int8.pith\"" "$lines" | grep -q '"off":0,' || { echo "integers of $name are off"; status=1; }
    grep -q "^| $name | " "$work/table" || { echo "$name is not in the table"; cat "$work/table"; status=1; }
done
[ "$(grep -c '"part":"batch".*"us":' "$lines")" -eq 6 ] && [ "$(grep -c 'f16\.pith+mma".*"us":' "$lines")" -eq 3 ] ||
    { echo "not at three batches, as it is and by tensor cores"; status=1; }
grep -q '"part":"torch"' "$lines" && grep -q '^torch: no peer, for want of ' "$work/table" || { echo "no word of torch"; status=1; }
# each peer whose package is absent has a line, too, where torch is there
mkdir -p "$work/stub/torch"
printf 'import sys, unittest.mock\nsys.modules["torch"] = unittest.mock.MagicMock(__version__="0")\nsys.modules["torch.nn"] = sys.modules["torch"].nn\n' >"$work/stub/torch/__init__.py"
PYTHONPATH=$work/stub python3 bench/gpu_peers.py 0.01 >"$work/said"
for peer in "nvCOMP ANS" "cuSPARSELt 2:4" "torchao int4" "gemlite int8" "humming int4"; do
    grep "\"type\":\"$peer\"" "$work/said" | grep -q '"missing":"' || { echo "no word of $peer"; cat "$work/said"; status=1; }
done
# the cases of the kernels: all pass, and a device that fails is reported
[ "$(grep -c '"part":"cases".*"launches":[1-9]' "$lines")" -eq 7 ] && grep -q '^Cases of tests/cuda that pass: ops ([1-9][0-9]* launches), ' "$work/table" ||
    { echo "cases do not pass"; grep cases "$lines"; status=1; }
LD_LIBRARY_PATH=$work/gpu/fake FAKE_CUDA=0,0,9 "$work/gpu/bench_gpu" cases ops >/dev/null 2>"$work/said" && { echo "cases pass on a device that fails"; status=1; }
# more than fits is refused
PITH=$PITH_O/pith DATA=$PITH_DATA GPU=$work/small NETWORKS=tiny_kws_dscnn MOST_KIB=1000 sh bench/gpu.sh pack >/dev/null 2>"$work/said" && { echo "a pack of any size passes"; status=1; }
grep -q 'KiB, more than 1000$' "$work/said" || { echo "no word of its size"; cat "$work/said"; status=1; }
# a tool of the sanitizer that finds something is reported, and fails the run
grep -q '^compute-sanitizer .*: none -1\.$' "$work/table" || { echo "no word of compute-sanitizer"; status=1; }
mkdir "$work/bin"
printf '#!/bin/sh\n[ "$1 $3" = "--tool --error-exitcode" ] || exit 8\n[ "$2" = racecheck ] && exit "$4"\nshift 4\nexec "$@"\n' >"$work/bin/compute-sanitizer"
chmod +x "$work/bin/compute-sanitizer"
(cd "$work" && PATH=$work/bin:$PATH SECONDS_EACH=0.1 sh gpu/gpu.sh run "$work/again") >"$work/said" 2>&1 && { echo "races pass"; status=1; }
grep -q ': memcheck 0, racecheck 9, initcheck 0, synccheck 0\.$' "$work/said" && grep -q '^failed: racecheck' "$work/said" || { cat "$work/said"; status=1; }
sh bench/gpu.sh report "$work/out" 2>"$work/said" && { echo "reports an emulator"; status=1; }
grep -q 'no GPU' "$work/said" || { echo "does not say why"; status=1; }
# matrices beside all peers, some at several batches; without cuSPARSE it is left out, with a line; without time matrices are
beside() {
    [ "$(grep '"part":"layer"' "$lines" | grep -c "$2")" -eq "$1" ] || { echo "not beside each matrix: $2"; grep '"part":"layer"' "$lines"; status=1; }
}
beside 24 '"compressed":{"kernel":"' # others take less time expanded
beside 27 '"compressed_f16":{"kernel":"'
for peer in '"cublaslt_f32":{"kernel":"cublasLtMatmul"' '"cublaslt_f16":{"kernel":"cublasLtMatmul"'; do
    beside 28 "$peer"
done
beside 28 '"dense_i8":{"kernel":"gem[mv]_[pc][ao][cd]..*_i8'
beside 20 '"codes_i8":{"kernel":"gemv_codes_i8' # of up to 8 rows
beside 18 '"cublaslt_i8":{"kernel":"cublasLtMatmul"' # rows of whole slices
for batch in 4 16 64; do beside 4 "\"batch\":$batch,"; done
beside 16 '"dense_f16":'
beside 14 '"cusparse_f32":{"kernel":"cusparseSpMV"'
beside 1 '"cols":512,"density":1,"batch":64,.*"kernel":"codes_mma"'
rm "$work/gpu/fake/libcusparse.so.12"
LD_LIBRARY_PATH=$work/gpu/fake "$work/gpu/bench_gpu" layers 0.1 0 >"$work/said" || { echo "no matrices without cuSPARSE"; status=1; }
grep -q '"part":"missing","name":"cuSPARSE"' "$work/said" && grep -q '"part":"left_out","matrices":16' "$work/said" || { echo "no word of what was left out"; cat "$work/said"; status=1; }
grep -q '^| Alex-6 .*| 1 | spmv_' "$work/table" || { echo "no table of matrices"; cat "$work/table"; status=1; }
ldd "$work/gpu/bench_gpu" | grep -v ':$' | grep -vE 'linux-vdso|libc\.|libm\.|libpthread|libdl|ld-linux' && { echo "a bench needs more than libc"; status=1; }
exit $status
