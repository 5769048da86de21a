#!/bin/sh
# SPDX-License-Identifier: MIT
# Folders of sources, who includes whom and who calls whom: rooms.py. It is tried first on a small
# tree that is in order, and on the same with one fault each, which it must tell.
here=$(pwd)/tests/build
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT INT TERM
rooms=$(sed -n 's/^ROOMS_[a-z]* := //p' -- */module.mk)
status=0

# Two modules of two rooms; one/top needs one/low, which needs nothing.
plant() {
    rm -rf "$work/tree"
    mkdir -p "$work/tree/one/low" "$work/tree/two" "$work/tree/tests/one" && cd "$work/tree" || exit 1
    echo 'int pith_top(int);' >one/pith_one.h
    echo 'int low(int);' >one/low/low.h
    printf '#include "low.h"\nint low(int x) { return x; }\n' >one/low/low.c
    printf '#include "pith_one.h"\n#include "low.h"\nint pith_top(int x) { return low(x); }\n' >one/top.c
    printf '#include "low.h"\n' >one/low/test_low.h
    printf '#include "pith_one.h"\nint two(void);\nint two(void) { return pith_top(2); }\n' >two/two.c
    printf '#include "test_low.h"\n' >tests/one/test_top.c
}
# What rooms.py says of the planted tree.
judge() {
    for c in $(find one two -name '*.c'); do
        mkdir -p "objects/$(dirname "$c")"
        ${CC:-cc} -w -Ione -Ione/low -Itwo -c "$c" -o "objects/${c%.c}.o" || exit 1
    done
    python3 "$here/rooms.py" objects one one/low two
}
# The fault just planted must be told in these words.
told() {
    said=$(judge) && { echo "not noticed: $1"; status=1; }
    echo "$said" | grep -q "$1" || { echo "not told: $1"; echo "$said"; status=1; }
}

plant
judge >"$work/said" || { echo "in order, yet told:"; cat "$work/said"; status=1; }

plant
echo '#include "low.h"' >>two/two.c
told '^two/two.c includes one/low/low.h, a private header of another module'

plant
echo '#include "low.h"' >>one/pith_one.h
told '^interface one/pith_one.h includes one/low/low.h, which is none'

plant
printf '#include "pith_one.h"\nint back(int x) { return pith_top(x); }\n' >one/low/back.c
told '^circle of rooms: one, one/low'

plant
echo '#include "low.h"' >>tests/one/test_top.c
told '^tests/one/test_top.c includes one/low/low.h, a private header: name it in a test_'

plant
echo '#include "test_low.h"' >>one/top.c
told '^one/top.c includes one/low/test_low.h, which is for tests'

cd "$here/../.." && python3 tests/build/rooms.py "$PITH_O" $rooms || status=1
exit $status
