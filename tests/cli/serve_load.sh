#!/bin/sh
# SPDX-License-Identifier: MIT
# Some thousand requests, of which some are cut off or malformed: no wrong answer, and no growth of memory.
. "$(dirname "$0")/sandbox.inc"
expect 0 pith import digits.onnx -q -o digits.pith
python3 "$here/serve_load.py" digits.pith ${SERVE_REQUESTS:-20000} >load.txt || complain "$(cat load.txt)"
finish
