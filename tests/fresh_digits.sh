#!/bin/sh
# SPDX-License-Identifier: MIT
# fresh_digits.sh FILE.onnx: a small network for tests, the same bytes on every machine. It has not
# learned anything; tests that need right answers train it.
plain=$1.pith
"$PITH" init digits -q -f -o "$plain" && "$PITH" decode "$plain" --to onnx -q -f -o "$1"
rc=$?
rm -f "$plain"
exit $rc
