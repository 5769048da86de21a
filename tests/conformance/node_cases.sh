#!/bin/sh
# SPDX-License-Identifier: MIT
# ONNX's node cases (of 1.16.2; tests/deps.sh) against the lists in tests/conformance/node_cases.
# UPDATE=1 rewrites the lists.
PITH=${PITH:-build/release/pith}
python=${PITH_VENV:-build/venv}/bin/python
cases=${PITH_NODE_CASES:-build/node-cases}
[ -x "$python" ] && [ -d "$cases" ] || { echo "no $python or no $cases: make deps-test"; exit 77; }
exec "$python" tests/conformance/node_cases.py --pith "$PITH" --cases "$cases" --lists tests/conformance/node_cases \
    ${UPDATE:+--update}
