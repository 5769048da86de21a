#!/bin/sh
# SPDX-License-Identifier: MIT
# What the table "What a release has" of docs/release.md promises is in the program: each row by what the
# linker or the compiler left there. And the same sources give the same bytes from any folder.
command -v readelf >/dev/null || { echo "no readelf"; exit 77; }
status=0
complain() { echo "$*"; status=1; }
knows() { ${CC:-gcc} -Werror "$1" -c -x c /dev/null -o /dev/null 2>/dev/null; }
case $PITH_O in */release) ;; *) echo "is no release"; exit 77 ;; esac

! grep -qF "$(pwd)" "$PITH" || complain "names the folder it was built in: $(pwd)"
readelf -Wh "$PITH" | grep -q 'Type:.*DYN' || complain "no PIE"
readelf -Wl "$PITH" | grep -q GNU_RELRO || complain "no RELRO"
readelf -Wd "$PITH" | grep -q BIND_NOW || complain "functions of libraries are bound late"
readelf -Wl "$PITH" | grep GNU_STACK | grep -q 'RW ' || complain "the stack is executable"
readelf -Wl "$PITH" | grep LOAD | grep -q 'RWE' && complain "a segment is writable and executable"
if knows -fstack-protector-strong; then
    nm -D "$PITH" | grep -q __stack_chk_fail || complain "no stack protector"
    for room in runtime/gate runtime/decode onnx/graph; do
        nm "$PITH_O/$room"/*.o | grep -q __stack_chk_fail || complain "no stack protector in $room"
    done
fi
nm -D "$PITH" | grep -q '__[a-z]*_chk' || complain "no checked library calls"
if knows -fcf-protection; then
    for o in $(find "$PITH_O" -name '*.o' ! -path '*/tests/*' ! -path '*/bench/*'); do
        readelf -Wn "$o" | grep -q 'IBT, SHSTK' || complain "no CET: $o"
    done
fi
# ---- the same bytes from any folder, with blanks in its name, too. A few modules stand for all: one rule compiles them.
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT INT TERM
for folder in one "a much longer name"; do
    mkdir "$work/$folder"
    git ls-files 2>/dev/null | grep -q . || { echo "no git: not built again"; exit $status; }
    git ls-files -z Makefile '*/module.mk' base huffman runtime | tar --null -T - -c | tar -x -C "$work/$folder"
    env -u MAKEFLAGS -u MAKELEVEL -u MFLAGS ${MAKE:-make} -s -C "$work/$folder" CC="${CC:-gcc}" lib-base lib-huffman lib-host \
        >"$work/log" 2>&1 || { complain "does not build in a folder '$folder':"; tail -3 "$work/log"; }
done
for lib in base huffman host; do
    cmp "$work/one/build/release/lib/$lib.a" "$work/a much longer name/build/release/lib/$lib.a" || status=1
done
! grep -lF "$work" "$work"/*/build/release/lib/*.a || complain "names the folder it was built in"
exit $status
