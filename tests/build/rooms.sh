#!/bin/sh
# SPDX-License-Identifier: MIT
# Folders of sources, who includes whom and who calls whom: rooms.py. It is tried first on a small
# tree that is in order, and on the same with one fault each, which it must report.
here=$(pwd)/tests/build
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT INT TERM
status=0

# Two modules, of two rooms and of one; runtime/top needs runtime/low, which needs nothing.
plant() {
    rm -rf "$work/tree"
    mkdir -p "$work/tree/runtime/low" "$work/tree/two" "$work/tree/tests" && cd "$work/tree" || exit 1
    printf 'ROOMS_runtime := runtime runtime/low\nUSES_runtime := runtime/low\nUSES_runtime/low :=\n' >runtime/module.mk
    printf 'ROOMS_two := two\nUSES_two := runtime\n' >two/module.mk
    echo 'int pith_top(int);' >runtime/pith_top.h
    echo 'int low(int);' >runtime/low/low.h
    printf '#include "low/low.h"\nint low(int x) { return x; }\n' >runtime/low/low.c
    printf '#include "pith_top.h"\n#include "low/low.h"\nint pith_top(int x) { return low(x); }\n' >runtime/top.c
    printf '#include "pith_top.h"\nint two(void);\nint two(void) { return pith_top(2); }\n' >two/two.c
    printf '#include "low/low.h"\n' >tests/test_top.c
}
# What rooms.py says of the planted tree.
check() {
    for c in $(find runtime two -name '*.c'); do
        mkdir -p "objects/$(dirname "$c")"
        ${CC:-cc} -w -Iruntime -c "$c" -o "objects/${c%.c}.o" || exit 1
    done
    python3 "$here/rooms.py" objects
}
# The fault just planted must be reported in these words.
expect() {
    said=$(check) && { echo "not noticed: $1"; status=1; }
    echo "$said" | grep -q "$1" || { echo "not reported: $1"; echo "$said"; status=1; }
}

plant
check >"$work/said" || { echo "in order, yet reported:"; cat "$work/said"; status=1; }

plant
sed -i '/^USES_two/s/runtime//' two/module.mk
expect '^two/two.c includes runtime/pith_top.h, which USES_two does not allow'

plant
sed -i '/^USES_runtime :=/s/runtime.low//' runtime/module.mk
expect '^runtime/top.c includes runtime/low/low.h, which USES_runtime does not allow'

plant
echo '#include "low.h"' >>runtime/low/low.c
expect '^runtime/low/low.c includes runtime/low/low.h by the name low.h'

plant
echo '#include "low/low.h"' >>runtime/pith_top.h
expect '^installed header runtime/pith_top.h includes runtime/low/low.h, which is not installed'

plant
printf '#include "pith_top.h"\nint back(int x) { return pith_top(x); }\n' >runtime/low/back.c
expect '^circle of rooms: runtime, runtime/low'

cd "$here/../.." && python3 tests/build/rooms.py "$PITH_O" || status=1
exit $status
