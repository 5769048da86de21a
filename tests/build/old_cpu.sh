#!/bin/sh
# SPDX-License-Identifier: MIT
# No newer instruction leaks into a lower level: the whole command and the kernel tests run on an
# emulated CPU without AVX, and with AVX2 but no AVX-512; the compressed bytes are the same.
command -v qemu-x86_64 >/dev/null || { echo "no qemu-x86_64"; exit 77; }
[ "$(uname -m)" = x86_64 ] || { echo "not on x86_64"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT INT TERM
status=0
tests/fresh_digits.sh "$work/digits.onnx" &&
    "$PITH" compress "$work/digits.onnx" --sparsity 0.5 --bits 4 -q -o "$work/native.pith" || exit 1
for cpu in Nehalem Haswell; do
    qemu-x86_64 -cpu $cpu "$PITH" compress "$work/digits.onnx" --sparsity 0.5 --bits 4 -T 1 -q -f -o "$work/net.pith" 2>"$work/log" ||
        { echo "compress fails on $cpu"; status=1; }
    cmp "$work/native.pith" "$work/net.pith" || status=1
    head -c 3136 /dev/zero >"$work/x"
    qemu-x86_64 -cpu $cpu "$PITH" run -T 1 "$work/net.pith" "$work/x" >"$work/$cpu" 2>"$work/log" ||
        { echo "run fails on $cpu"; status=1; }
    # QEMU 7.2 reads masked-off lanes of vmaskmov, so kernels that end at a guard page fault under it
    # (not on a real CPU): with AVX2 the run above stands for the dense kernels.
    dense=test_kernels_dense
    if [ $cpu = Haswell ]; then
        dense=
        export PITH_TEST_MASKED_LANES_ARE_READ=1
    fi
    for t in $dense test_kernels_sparse test_cpu; do
        qemu-x86_64 -cpu $cpu "$PITH_O/tests/runtime/$t" >"$work/log" 2>&1 ||
            { echo "$t fails on $cpu"; tail -5 "$work/log"; status=1; }
    done
done
exit $status
