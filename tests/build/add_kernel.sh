#!/bin/sh
# SPDX-License-Identifier: MIT
# docs/add-a-kernel.md, followed: add_kernel.patch adds a dummy AVX2 kernel to a copy of the tree. It is
# one new file and one line, builds without a warning, and the tests of its table run it: they pass, and
# fail once it is broken.
case $(uname -m) in
x86_64) ;;
*) echo "AVX2 is of x86-64"; exit 77 ;;
esac
grep -qw avx2 /proc/cpuinfo || { echo "this CPU has no AVX2"; exit 77; }
command -v patch >/dev/null || { echo "no patch(1)"; exit 77; }
top=$PWD
patch=$PWD/tests/build/add_kernel.patch
test=build/release/tests/runtime/test_kernels_sparse
table=kernel_sparse.h
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT INT TERM

files=$(grep -c '^--- /dev/null' "$patch")
lines=$(awk '/^diff/ {new = 0} /^--- \/dev\/null/ {new = 1} !new && /^[-+][^-+]/' "$patch" | wc -l)
[ "$files $lines" = "1 1" ] || { echo "a kernel takes $files new files and $lines lines, not 1 and 1"; exit 1; }

# What is built of the runtime comes along: the new line of the header (-o) concerns two files; the flags (-o) name the folder
# that is compiled in, and so may .d files.
find . -maxdepth 1 ! -name . ! -name .git ! -name build -exec cp -a {} "$work" \; || exit 1
mkdir -p "$work/build/release" && cp -a "$PITH_O/runtime" "$PITH_O/flags" "$work/build/release" && cd "$work" || exit 1
find build -name '*.d' -exec sed -i "s|$top/||g" {} +
patch -s -p1 <"$patch" || { echo "the patch does not apply any more"; exit 1; }
make="${MAKE:-make} -s -j2 -o runtime/kernels/$table -o build/release/flags BUILD=build VARIANT=release"
touch runtime/kernels/kernels_sparse.c # where the list is compiled
build() { $make CC="${CC:-gcc}" $test >log 2>&1 || { cat log; exit 1; }; }
build
grep -E "\.[ch]:[0-9]+:.*warning" log && exit 1
$test >log 2>&1 || { echo "the new kernel is wrong:"; cat log; exit 1; }
sed -i 's/_mm256_fmadd_ps/_mm256_fnmadd_ps/' runtime/kernels/x86/gemv_codebook8_avx2.c
build
$test >log 2>&1 && { echo "no test runs the new kernel"; exit 1; }
exit 0
