#!/bin/sh
# SPDX-License-Identifier: MIT
# eie_layers.sh - compressed fully connected layers beside their peers: a line of JSON a row.
#
#     make deps-test bench-build && build/venv/bin/pip install mkl
#     bench/eie_layers.sh [--threads N] [--batch B] [--f32] [--int8] [--balanced] [--weights B] [--turns N] \
#         [--cold] [--only NAME]...
#     PITH_CPU=avx2 bench/eie_layers.sh
#
# MKL: where the venv has it, or MKL=FOLDER. See bench/eie_layers.py.
export LD_LIBRARY_PATH="${MKL:-build/venv/lib}:$LD_LIBRARY_PATH"
exec "${PYTHON:-build/venv/bin/python}" bench/eie_layers.py "${BIN:-build/release/bench}/bench_eie" "$@"
