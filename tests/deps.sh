#!/bin/sh
# SPDX-License-Identifier: MIT
# Installs what the build and the demonstration need, or what all tests need too: Debian packages (as
# root or through sudo), and for tests, from PyPI, onnx and onnxruntime into BUILD/venv and the node
# cases of ONNX into BUILD/node-cases. usage: deps.sh build|test BUILD
# The names are those of Debian 12 and 13 and of Ubuntu 22.04 and 24.04. NO_PYPI=1 does without PyPI:
# the tests that need it are skipped, and say so.
build="gcc libc6-dev make libprotobuf-c-dev protobuf-c-compiler libjansson-dev libpng-dev libjpeg-dev
 zlib1g-dev libarchive-dev nettle-dev liblzma-dev libzstd-dev libbz2-dev libsndfile1-dev libmicrohttpd-dev"
tests="g++ libcmocka-dev libopenmpi-dev openmpi-bin python3 python3-venv clang strace mandoc procps
 gcc-arm-none-eabi libnewlib-arm-none-eabi qemu-system-arm gcc-aarch64-linux-gnu libc6-dev-arm64-cross qemu-user
 gcc-s390x-linux-gnu libc6-dev-s390x-cross gcc-i686-linux-gnu libc6-dev-i386-cross
 gcc-riscv64-linux-gnu libc6-dev-riscv64-cross gcc-riscv64-unknown-elf gcc-arm-linux-gnueabihf libc6-dev-armhf-cross
 cmake python3-yaml lld llvm wasi-libc nodejs util-linux
 cppcheck clang-tidy patch"
where_known="libclang-rt-dev libclang-rt-dev-wasm32 chromium lintian zsh fish" # not in every release, or a part of another package
what=$1
folder=$2
packages=$build
if [ "$what" = test ]; then packages="$build $tests"; else where_known=; fi

not_installed() {
    for p in "$@"; do
        dpkg-query -W -f '${Status}\n' "$p" 2>/dev/null | grep -q 'install ok installed' || printf '%s ' "$p"
    done
}
known() {
    for p in "$@"; do
        apt-cache -o Dir::Cache::pkgcache= -o Dir::Cache::srcpkgcache= show "$p" >/dev/null 2>&1 && printf '%s ' "$p"
    done
}

# Runs a command as root, without which these packages cannot be had.
as_root() {
    if [ "$(id -u)" -eq 0 ]; then
        "$@"
    elif command -v sudo >/dev/null; then
        sudo "$@"
    else
        false
    fi || {
        echo "deps: cannot install packages: this needs root, or sudo, and the network. Install:" >&2
        echo "    apt-get install --no-install-recommends $missing" >&2
        exit 1
    }
}

# Nothing is left but what the packages hold: neither downloads nor apt's index of everything.
apt() {
    as_root env DEBIAN_FRONTEND=noninteractive apt-get -qq -o Dir::Cache::pkgcache= -o Dir::Cache::srcpkgcache= \
        -o APT::Keep-Downloaded-Packages=false "$@" >/dev/null
}

install_packages() {
    missing=$(not_installed $packages)
    [ -z "$missing" ] || apt update
    missing=$missing$(known $(not_installed $where_known))
    [ -n "$missing" ] || return 0
    echo "deps: installing $missing"
    apt install -y --no-install-recommends $missing
}

no_pypi() {
    echo "deps: no $1 from PyPI. Without them no answer is compared with onnxruntime's and ONNX's own" >&2
    echo "node cases are not run. NO_PYPI=1 does without them: make deps check NO_PYPI=1" >&2
    exit 1
}

install_onnxruntime() {
    "$folder/venv/bin/python" -c 'import onnxruntime, onnx, numpy, clang_format, tritonclient.http' 2>/dev/null && return
    echo "deps: installing onnx, onnxruntime, numpy, clang-format and tritonclient into $folder/venv"
    python3 -m venv "$folder/venv" && "$folder/venv/bin/pip" install -q onnx onnxruntime numpy clang-format==14.0.6 'tritonclient[http]' ||
        no_pypi "onnx, onnxruntime and numpy"
}

# The cases lie in the wheel of onnx 1.16.2; later ones leave them out, and it is for no newer Python
# than 3.12. They are data: a wheel for any Python has them.
install_node_cases() {
    [ ! -d "$folder/node-cases" ] || return 0
    echo "deps: taking ONNX's node cases from the wheel of onnx 1.16.2 to $folder/node-cases"
    wheel=$folder/node-cases.wheel
    rm -rf "$wheel"
    "$folder/venv/bin/pip" download -q --no-deps --only-binary=:all: --python-version 3.11 --implementation cp \
        --platform manylinux2014_x86_64 -d "$wheel" onnx==1.16.2 &&
        "$folder/venv/bin/python" -m zipfile -e "$wheel"/onnx-1.16.2-*.whl "$wheel" &&
        mkdir "$folder/node-cases" && mv "$wheel/onnx/backend/test/data/node" "$folder/node-cases/" ||
        { rm -rf "$wheel" "$folder/node-cases"; no_pypi "node cases of onnx 1.16.2"; }
    rm -rf "$wheel"
}

# What tests of the kernels' machine code read it with; of use only beside nvcc, which may lack it.
install_disassembler() {
    nvcc=$(command -v nvcc || ls /usr/local/cuda/bin/nvcc 2>/dev/null) || return 0
    ! command -v nvdisasm >/dev/null && [ ! -e "$(dirname "$nvcc")/nvdisasm" ] || return 0
    ! ls "$folder"/venv/lib/python3*/site-packages/nvidia/*/bin/nvdisasm >/dev/null 2>&1 || return 0
    echo "deps: installing nvdisasm into $folder/venv"
    "$folder/venv/bin/pip" install -q nvidia-cuda-nvdisasm==13.2.51 || echo "deps: no nvdisasm from PyPI; its test is left out" >&2
}

if ! command -v apt-get >/dev/null || ! command -v dpkg-query >/dev/null; then
    echo "deps: not a Debian system, so nothing is installed. The counterparts of these are needed:"
    echo $packages $where_known
else
    install_packages
fi
if [ "$what" != test ]; then
    command -v mpicc >/dev/null || echo "deps: what only tests need, and MPI, is left out; \"make deps-test\" installs it"
    exit 0
fi
[ -z "$NO_PYPI" ] || exit 0
mkdir -p "$folder"
install_onnxruntime
install_node_cases
install_disassembler
