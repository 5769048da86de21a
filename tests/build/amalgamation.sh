#!/bin/sh
# SPDX-License-Identifier: MIT
# The runtime as one file (make amalgamation) compiles alone with gcc and clang; a compressed network has the output
# bits of the library's reference kernels, also where the compiler could fuse sums with products. The tests
# samples/mcu.sh and samples/wasm.sh run the same file on other machines.
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT INT TERM
here=tests/embedded
. $here/objects.inc
tests/fresh_digits.sh "$work/digits.onnx" &&
    "$PITH" compress "$work/digits.onnx" --sparsity 0.6 --bits 4 --for size -q -o "$work/net.pith" &&
    image_of "$work/net.pith" >"$work/image.c" && ${MAKE:-make} -s amalgamation BUILD="$work" || exit 1
hash() { # folder of the header, library
    ${CC:-cc} -O1 -I"$1" "$work/image.c" $here/output_hash.c $here/hosted_print.c "$2" -lm -lpthread \
        -o "$work/run" && "$work/run"
}
fma=
[ "$(uname -m)" = x86_64 ] && grep -qw fma /proc/cpuinfo && fma="-mfma -fexpensive-optimizations"
${CC:-cc} -O1 $fma -Wall -Wextra -Werror -c "$work/amalgamation/pith_runtime.c" -o "$work/runtime.o" &&
    one=$(hash "$work/amalgamation" "$work/runtime.o") &&
    many=$(hash runtime "$PITH_O/libpith-runtime.a") || exit 1
[ "$one" = "$many" ] || { echo "output hash '$one', the library's is '$many'"; exit 1; }
names=$(nm -g --defined-only "$work/runtime.o" | awk '$3 !~ /^_?pith_/ { print $3 }')
[ -z "$names" ] || { echo "names without pith_: $names"; exit 1; }
command -v clang >/dev/null || exit 0
clang -O0 -Wall -Wextra -Werror -c "$work/amalgamation/pith_runtime.c" -o "$work/clang.o"
