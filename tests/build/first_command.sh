#!/bin/sh
# SPDX-License-Identifier: MIT
# `make deps GOAL` on a machine that has nothing, with a package manager that only pretends: packages
# first, each goal's own, then a make that sees the compiler; and what is said where something lacks.
# (tests/build/bare_root.sh does it on a bare system.)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT INT TERM
status=0
complain() { echo "$1:"; cat "$work/out"; status=1; }
# said WORDS: they are in what the last command printed
said() { grep -qF -- "$1" "$work/out" || complain "no '$1' in"; }
unsaid() { ! grep -qE -- "$1" "$work/out" || complain "'$1' in"; }
make=${MAKE:-make}
unset MAKEFLAGS MAKELEVEL MAKEOVERRIDES MFLAGS NO_PYPI CC

# ---- no compiler
"$make" CC=no-such-cc all >"$work/out" 2>&1 && complain "builds without a compiler"
said "no C compiler"
said "libc6-dev"
for goal in help "-n clean"; do
    "$make" CC=no-such-cc $goal >"$work/out" 2>&1 || complain "make $goal needs a compiler"
done

# ---- a machine with nothing: apt-get brings the compiler, which notes what it compiles
mkdir "$work/bin"
tool() { cat >"$work/bin/$1" && chmod +x "$work/bin/$1"; }
tool dpkg-query <<'END'
#!/bin/sh
exit 1
END
tool apt-cache <<'END'
#!/bin/sh
exit 0
END
cat >"$work/compiler" <<END
#!/bin/sh
echo "cc \$*" >>"$work/log"
[ "\$1" = -dumpmachine ] && { echo x86_64-linux-gnu; exit; }
while [ \$# -gt 0 ]; do
    case \$1 in
    -o) : >"\$2"; shift ;;
    esac
    shift
done
END
tool apt-get <<END
#!/bin/sh
echo "apt-get \$*" >>"$work/log"
case " \$* " in
*" install "*) cp "$work/compiler" "$work/bin/new-cc"; chmod +x "$work/bin/new-cc" ;;
esac
END
tool sudo <<'END'
#!/bin/sh
exec "$@"
END
tool protoc-c <<'END'
#!/bin/sh
for a in "$@"; do case $a in --c_out=*) : >"${a#--c_out=}/onnx.pb-c.c"; : >"${a#--c_out=}/onnx.pb-c.h" ;; esac; done
END
# (the compiler of CUDA's kernels would be the real one, for minutes)
PATH=$work/bin:$PATH "$make" deps all BUILD="$work/build" CC=new-cc MPICC=no-mpicc NVCC= AR=true >"$work/out" 2>&1 ||
    complain "make deps all failed"
said "compiling runtime/kernels/x86"
said "not built: pith-mpi.so"
[ "$(grep -cx 'compiling model' "$work/out")" -eq 1 ] || complain "not one line for a module"
grep 'apt-get.* install ' "$work/log" >"$work/out"
for name in gcc libc6-dev libjpeg-dev; do said " $name"; done
unsaid 'clang|qemu|aarch64|openmpi|cmocka|python|libonnx'
sed -n '/apt-get.* install /q; p' "$work/log" >"$work/out"
unsaid 'cc .*-c '
grep 'cc .*\.c ' "$work/log" >"$work/out"
said "-c runtime/kernels/x86/integer/gemm_i8_vnni.c"

# ---- what is generated comes before what includes it
"$make" -n -j1 BUILD="$work/new" all >"$work/order" 2>&1
generated=$(grep -n 'protoc-c' "$work/order" | head -1 | cut -d: -f1)
included=$(grep -n -e '-c onnx/' "$work/order" | head -1 | cut -d: -f1)
[ "${generated:-999999}" -lt "${included:-0}" ] || complain "onnx/ is compiled before its generated header is there"

# ---- which goals need what
for goal in check check-asan test-model fuzz lint; do
    "$make" -n deps $goal >"$work/out" 2>&1
    said "tests/deps.sh test"
done
for goal in demo all install; do
    "$make" -n deps $goal >"$work/out" 2>&1
    said "tests/deps.sh build"
done
"$make" -n deps demo CC=no-such-cc >"$work/out" 2>&1 || complain "make -n deps demo needs a compiler"
said "make demo"
"$make" -n -j3 check deps >"$work/out" 2>&1
head -1 "$work/out" | grep -q '^tests/deps.sh' || complain "deps does not come first in"

# ---- the tests' packages, and PyPI out of reach
tool python3 <<'END'
#!/bin/sh
mkdir -p "$3/bin"
for name in python pip; do
    printf '#!/bin/sh\necho "no network" >&2\nexit 1\n' >"$3/bin/$name"
    chmod +x "$3/bin/$name"
done
END
: >"$work/log"
PATH=$work/bin:$PATH tests/deps.sh test "$work/build" >"$work/out" 2>&1 && complain "hides that PyPI is out of reach"
said "no network"
said "NO_PYPI=1"
PATH=$work/bin:$PATH NO_PYPI=1 tests/deps.sh test "$work/build" >"$work/out" 2>&1 || complain "NO_PYPI=1 does not do without"
grep 'apt-get.* install ' "$work/log" >"$work/out"
for name in gcc clang libclang-rt-dev libcmocka-dev qemu-user gcc-s390x-linux-gnu; do said " $name"; done

# ---- neither root nor sudo; no Debian
tool id <<'END'
#!/bin/sh
echo 1000
END
rm "$work/bin/sudo"
for name in sh grep cat env mkdir rm; do ln -s "$(command -v $name)" "$work/bin/$name"; done
PATH=$work/bin tests/deps.sh build "$work/build" >"$work/out" 2>&1 && complain "exit 0 without packages and without root"
said "apt-get install --no-install-recommends gcc libc6-dev"
rm "$work/bin/apt-get"
PATH=$work/bin tests/deps.sh build "$work/build" >"$work/out" 2>&1 || complain "fails where Debian's tools are not"
said "gcc libc6-dev make libprotobuf-c-dev"

# ---- what was skipped is said last
printf 'echo "no such machine"\nexit 77\n' >"$work/skips.sh"
echo exit 0 >"$work/passes.sh"
printf '#!/bin/sh\necho "no such compiler"\nexit 77\n' >"$work/skips"
chmod +x "$work/skips"
tests/run_tests.sh "$work/skips.sh" "$work/passes.sh" "$work/skips" >"$work/out" 2>&1 || complain "skipping is no failure"
said "skips.sh: no such machine"
said "skips: no such compiler"
[ "$(tail -1 "$work/out")" = "1 passed, 0 failed, 2 skipped" ] || complain "the counts do not end"
exit $status
