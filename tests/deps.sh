#!/bin/sh
# SPDX-License-Identifier: MIT
# Installs what building and testing need: Debian packages (as root or through sudo) and, for the
# agreement tests, onnx and onnxruntime into a virtual environment. usage: deps.sh VENV
build="build-essential pkg-config libprotobuf-c-dev protobuf-c-compiler libonnx-dev libjansson-dev
 libpng-dev libjpeg62-turbo-dev zlib1g-dev libdnnl-dev
 libopenmpi-dev"
tests="libcmocka-dev openmpi-bin python3 python3-venv clang libclang-rt-14-dev strace mandoc
 gcc-arm-none-eabi libnewlib-arm-none-eabi qemu-system-arm gcc-aarch64-linux-gnu libc6-dev-arm64-cross qemu-user
 gcc-s390x-linux-gnu libc6-dev-s390x-cross gcc-i686-linux-gnu libc6-dev-i386-cross util-linux
 cppcheck clang-tidy"
if ! command -v apt-get >/dev/null; then
    echo "not a Debian system; install the counterparts of:"
    echo "$build" "$tests"
    exit 0
fi
root=
[ "$(id -u)" -eq 0 ] || root=sudo
missing=
for p in $build $tests; do
    dpkg-query -W -f '${Status}' "$p" 2>/dev/null | grep -q 'install ok installed' || missing="$missing $p"
done
if [ -n "$missing" ]; then
    $root apt-get update -qq &&
        DEBIAN_FRONTEND=noninteractive $root apt-get install -y -qq --no-install-recommends $missing \
            >/dev/null || exit 1
fi
if [ ! -x "$1/bin/python" ] || ! "$1/bin/python" -c 'import onnxruntime, onnx, numpy' 2>/dev/null; then
    python3 -m venv "$1" && "$1/bin/pip" install -q onnx onnxruntime numpy mkl ||
        echo "no onnxruntime from PyPI: the agreement tests will be skipped"
fi
tests/conformance/node_cases.sh deps "$1-nodes"
