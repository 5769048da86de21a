#!/bin/sh
# SPDX-License-Identifier: MIT
# What the table "What a release has" of docs/release.md promises is in the program: each row by what the
# linker or the compiler left there. And the same sources give the same bytes from any folder.
command -v readelf >/dev/null || { echo "no readelf"; exit 77; }
status=0
complain() { echo "$*"; status=1; }
knows() { ${CC:-gcc} -Werror "$1" -c -x c /dev/null -o /dev/null 2>/dev/null; }
case $PITH_O in */release) ;; *) echo "is no release"; exit 77 ;; esac

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT INT TERM
${MAKE:-make} -s install BUILD="$(dirname "$PITH_O")" PREFIX=/usr DESTDIR="$work/root" >/dev/null || complain "install fails"
# The linker keeps a mark of CET that all of its inputs have, the C library's start files among them.
marks=
if knows -fcf-protection; then
    marks=SHSTK
    readelf -Wn "$(${CC:-gcc} -print-file-name=crti.o)" | grep -q IBT && marks="IBT, SHSTK"
fi
linked() { # FILE: an executable or a shared object
    readelf -Wh "$1" | grep -q 'Type:.*DYN' || complain "$1: no PIE"
    readelf -Wl "$1" | grep -q GNU_RELRO || complain "$1: no RELRO"
    readelf -Wd "$1" | grep -q BIND_NOW || complain "$1: functions of libraries are bound late"
    readelf -Wl "$1" | grep GNU_STACK | grep -q 'RW ' || complain "$1: the stack is executable"
    readelf -Wl "$1" | grep LOAD | grep -q 'RWE' && complain "$1: a segment is writable and executable"
    readelf -Wn "$1" | grep -q "$marks" || complain "$1: no CET ($marks)"
    ! grep -qF "$(pwd)" "$1" || complain "$1: names the folder it was built in: $(pwd)"
}
find "$work/root" -type f >"$work/files"
n_linked=0
while read -r file; do
    case $(head -c 4 "$file" | tr '\177' E) in
    EELF) linked "$file"; n_linked=$((n_linked + 1)) ;;
    "!<ar")
        [ -z "$marks" ] || [ "$(readelf -Wn "$file" 2>/dev/null | grep -c 'IBT, SHSTK')" -eq "$(ar t "$file" | wc -l)" ] ||
            complain "$file: objects without CET" ;;
    esac
done <"$work/files"
[ -f "$PITH_O/pith-mpi.so" ] && expected=4 || expected=3
[ $n_linked -eq $expected ] || complain "install lays down $n_linked linked files, not $expected"
if knows -fstack-protector-strong; then
    nm -D "$PITH" | grep -q __stack_chk_fail || complain "no stack protector"
    for room in runtime/validate runtime/decode onnx/graph; do
        nm "$PITH_O/$room"/*.o | grep -q __stack_chk_fail || complain "no stack protector in $room"
    done
fi
nm -D "$PITH" | grep -q '__[a-z]*_chk' || complain "no checked library calls"
# ---- the same bytes from any folder, with blanks in its name, too. A few modules stand for all: one rule compiles them.
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
