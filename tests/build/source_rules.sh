#!/bin/sh
# SPDX-License-Identifier: MIT
# Rules a compiler does not check: SPDX lines, includes that stay in their folder, unique file names,
# libraries that never print or exit, no open ends.
status=0
modules="runtime base numeric huffman model data onnx pack load measure prune quantize calibrate train compress"
complain() { echo "$1:"; echo "$2"; status=1; }
files=$(find $modules cli mpi tests samples bench -name '*.[ch]')
found=$(grep -L 'SPDX-License-Identifier: MIT' $files Makefile */module.mk)
[ -n "$found" ] && complain "no SPDX line" "$found"
found=$(grep -n '#include "\.\./' $files)
[ -n "$found" ] && complain "include reaches out of its folder" "$found"
found=$(for f in $files; do basename "$f"; done | sort | uniq -d)
[ -n "$found" ] && complain "file name used twice" "$found"
found=$(find $modules -name '*.[ch]' |
    xargs grep -nE '(^|[^a-z_])(printf|fprintf|puts|perror|exit|abort)\(' | grep -v ': \* ')
[ -n "$found" ] && complain "a library prints or exits" "$found"
found=$(grep -nE '(^|[^a-z_])getenv\(' $(find $modules cli mpi samples -name '*.[ch]'))
[ -n "$found" ] && complain "reads the environment other than by secure_getenv, which a program with more rights needs" "$found"
found=$(grep -nE 'TODO|FIXME|#if 0' $files | grep -v 'source_rules')
[ -n "$found" ] && complain "left open" "$found"
found=$(grep -rnE -e '-ffast-math|-march=native' Makefile */module.mk)
[ -n "$found" ] && complain "changes arithmetic" "$found"
found=$(find . -path ./build -prune -o \( -name '*.c' -o -name '*.h' \) -print | xargs wc -l |
    awk '$2 != "total" && $1 > 800 {print}')
[ -n "$found" ] && complain "longer than 800 lines" "$found"
exit $status
