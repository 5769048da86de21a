#!/bin/sh
# SPDX-License-Identifier: MIT
# Plants the small changes of tests/mutations.txt one at a time in a copy of the tree and runs the
# tests of the changed module: a change that no test notices is a test that is missing.
#
#     tests/mutate.sh [--only PATTERN] [--jobs N]
#     tests/mutate.sh --draw N --seed S [--jobs N] [--tests PATTERN] [PATH...]
#
# Prints "killed by TEST" or "SURVIVED" for each change, then the counts, and fails where more than
# one in twenty survives, or a survivor has no explanation in the list, or an explained one is
# killed. --only takes the changes whose file, function or text matches the regular expression.
#
# --draw plants N changes that no list names: tests/draw_mutations.py draws them from the files under each
# PATH (default: where unchecked bytes are read), by rules: a condition left out, a bound moved by
# one, arguments exchanged, a status, a result or a release left out, a sign, a factor or a negation left
# out. A seed gives the same changes again. The tests that call the changed function run under
# AddressSanitizer, quick ones first: all test programs run once, which says what they call. --tests
# takes of them those whose MODULE/NAME matches the regular expression. A change that makes one hang is
# noticed, one that does not compile, or not to another program, is drawn again, and one of a function
# that no program calls is not noticed. Fails where less than 85 % are noticed.
#
# MUTATE_DIR (default: a temporary folder, removed at the end) holds the copy and what is built there;
# one that is kept makes the next run start sooner. CC and PITH_DATA are obeyed.
#
# All modules go into one shared object, which the test programs load: a change costs one compilation,
# one link and the tests up to the first that fails.
set -eu
top=$(cd "$(dirname "$0")/.." && pwd)
PITH_DATA=${PITH_DATA:-$top/../shared/data}
PITH_DATA=$(cd "$PITH_DATA" 2>/dev/null && pwd || echo "$PITH_DATA")
PITH_NODE_CASES=${PITH_NODE_CASES:-$top/build/node-cases}
export PITH_DATA PITH_NODE_CASES
if [ -n "${MUTATE_DIR:-}" ]; then
    dir=$MUTATE_DIR
else
    dir=$(mktemp -d)
    trap 'rm -rf "$dir"' EXIT
    trap 'exit 1' INT TERM HUP
fi
python3 "$top/tests/plant_mutations.py" --tree "$dir/tree" "$@"
