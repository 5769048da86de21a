#!/bin/sh
# SPDX-License-Identifier: MIT
# Every function of the installed headers called with NULL and with uninitialised options,
# from C and from C++: PITH_ERR_ARGUMENT, never a crash (null_arguments.py).
[ -n "$HEADERS" ] || { echo "no HEADERS"; exit 1; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT INT TERM
for header in $HEADERS; do
    ln -s "$PWD/$header" "$work/"
    echo "#include \"$(basename "$header")\"" >>"$work/all_headers.h"
done
python3 tests/build/null_arguments.py $HEADERS >"$work/calls.c" || exit 1
status=0
for language in "c -std=gnu11" "c++ -std=gnu++17"; do
    ${CC:-gcc} -x $language -I"$work" -Itests/build -c "$work/calls.c" -o "$work/calls.o" &&
        ${CC:-gcc} "$work/calls.o" "$PITH_O/libpith-cuda.a" "$PITH_O/libpith.a" "$PITH_O/libpith-runtime.a" \
            $PITH_LIBS -ldl -lstdc++ -lm -lpthread -o "$work/calls" &&
        "$work/calls" 2>/dev/null || { echo "called as ${language%% *}"; status=1; }
done
exit $status
