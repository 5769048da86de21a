#!/bin/sh
# SPDX-License-Identifier: MIT
# ONNX's node cases against the lists in tests/conformance/node_cases. UPDATE=1 rewrites the lists.
# `node_cases.sh deps VENV` makes the environment they need: the wheel of onnx 1.16.2, since later
# ones leave the cases out.
if [ "$1" = deps ]; then
    "$2/bin/python" -c 'import onnx, numpy; assert onnx.__version__ == "1.16.2"' 2>/dev/null && exit
    python3 -m venv "$2" && "$2/bin/pip" install -q onnx==1.16.2 'numpy<2' && exit
    echo "no onnx 1.16.2 from PyPI: its node cases will be skipped"
    exit
fi
PITH=${PITH:-build/release/pith}
python=${PITH_NODES_VENV:-build/venv-nodes}/bin/python
[ -x "$python" ] || exit 77
exec "$python" tests/conformance/node_cases.py --pith "$PITH" --lists tests/conformance/node_cases \
    ${UPDATE:+--update}
