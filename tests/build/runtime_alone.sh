#!/bin/sh
# SPDX-License-Identifier: MIT
# A copy of runtime/ builds by itself, as a subdirectory of a CMake project: a program with it opens and runs a network
# with this CPU's kernels. Compiled with -DPITH_BUILD_CPU=1 it holds kernels of AVX2 and no others, without it none;
# tests/embedded compile the core so, by one command.
command -v cmake >/dev/null || { echo "no cmake"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT INT TERM
cp -r runtime tests/embedded/resident.c "$work" && tests/fresh_digits.sh "$work/digits.onnx" &&
    "$PITH" compress "$work/digits.onnx" --sparsity 0.6 --bits 4 -q -o "$work/digits.pith" && cd "$work" || exit 1
cc=${CC:-cc}
cat >CMakeLists.txt <<'END'
cmake_minimum_required(VERSION 3.13)
project(product C CXX)
add_subdirectory(runtime)
add_executable(resident resident.c)
target_include_directories(resident PRIVATE runtime)
target_link_libraries(resident pith::runtime)
file(WRITE version.cc "#include <pith/pith_host.h>\n#include <pith/pith_runtime.h>\nint main() { return pith_version() == 0; }\n")
add_executable(version version.cc)
target_link_libraries(version pith::runtime)
END
case $cc in ccache\ *) launcher=ccache cc=${cc#ccache } ;; esac
cmake -S . -B build -DCMAKE_C_COMPILER="$cc" -DCMAKE_C_COMPILER_LAUNCHER="$launcher" >log 2>&1 &&
    MAKEFLAGS= cmake --build build -j "$(nproc)" >>log 2>&1 || { tail -20 log; exit 1; }
grep 'warning:' log | grep -v 'ignoring loop annotation' && exit 1 # of -O0
build/resident digits.pith && build/version || exit 1
grep -qw avx2 /proc/cpuinfo || exit 0
only() { # kernels that the program NAME compiled with OPTIONS... holds
    name=$1
    shift
    mkdir "$name"
    $launcher $cc -O1 -Iruntime "$@" -c $(grep -rl build_choice.h runtime --include='*.c') &&
        $cc -Iruntime resident.c ./*.o build/runtime/libpith_runtime.a -lm -lpthread -o "$name/run" && "$name/run" digits.pith || exit 1
    nm "$name/run" | grep -oE '_(avx2|avx512|vbmi|vnni|vbmivnni|avxvnni|amx)$' | sort -u
}
[ "$(nm build/resident | grep -c 'pith_gemm_f32_avx512$')" = 1 ] || { echo "kernels of AVX-512 are not in the program"; exit 1; }
only avx2 -DPITH_BUILD_CPU=1 >avx2.list
[ "$(sed '/ /d' avx2.list)" = _avx2 ] || { echo "with AVX2's kernels:"; cat avx2.list; exit 1; }
only none >none.list
[ -z "$(sed '/ /d' none.list)" ] || { echo "without kernels of the CPU:"; cat none.list; exit 1; }
