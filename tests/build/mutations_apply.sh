#!/bin/sh
# SPDX-License-Identifier: MIT
# Every change of tests/mutations.txt applies to exactly one place of the sources and names tests that
# there are: else tests/mutate.sh would study what is gone.
cd "$(dirname "$0")/../.." || exit 1
command -v python3 >/dev/null || exit 77
python3 tests/plant_mutations.py --check
