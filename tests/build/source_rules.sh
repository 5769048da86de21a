#!/bin/sh
# SPDX-License-Identifier: MIT
# Rules a compiler does not check: SPDX lines, includes that stay in their folder, unique file names,
# libraries that never print or exit, no structs in files, no open ends.
status=0
modules="runtime cuda base numeric huffman model data onnx pack load measure prune quantize calibrate train compress report"
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
# A struct in a file differs between machines, and no check can detect a bad one: fields are stored one by one. A file
# function gets the sizeof of nothing but arrays of bytes that the same file declares. `&x, sizeof x` of a struct goes
# to no function but those named here (options, a system call, processes of one run). Left out: CUDA kernels, which
# take structs, and pack_pieces.c, which keeps its list in memory.
found=$(find $modules cli mpi samples -name '*.[ch]' | grep -vE '^(cuda/|pack/pack_pieces.c$)' | xargs awk '
    FNR == 1 { text = ""; split("", bytes); split("", object) }
    {
        for (s = $0; match(s, /(uint8_t|char) [a-z_0-9]+\[/); s = substr(s, RSTART + RLENGTH)) {
            name = substr(s, RSTART, RLENGTH - 1); sub(/.* /, "", name); bytes[name] = 1
        }
        for (s = $0; match(s, /struct [a-z_0-9]+ [a-z_0-9]+(,|;| =)/); s = substr(s, RSTART + RLENGTH)) {
            name = substr(s, RSTART, RLENGTH); sub(/(,|;| =)$/, "", name); sub(/.* /, "", name); object[name] = 1
        }
        text = text " " $0
    }
    !/[;{}]/ { next }
    {
        s = text; text = ""
        is_file = s ~ /(^|[^a-z_])(f?write|f?read|p(write|read)|pith_(out_bytes|file_write|checkpoint_add[a-z_0-9]*))\(/
        if (s ~ /(_init|SYS_openat2|pith_ranks_share|memset|memcmp)[(,]/) next
        for (t = s; is_file && match(t, /sizeof[ (]*(struct )?[^ ,)]+/); t = substr(t, RSTART + RLENGTH)) {
            name = substr(t, RSTART, RLENGTH); sub(/^sizeof[ (]*/, "", name)
            if (!(name in bytes)) print FILENAME ":" FNR ":" s
        }
        for (t = s; !is_file && match(t, /&[a-z_0-9]+, sizeof [a-z_0-9]+/); t = substr(t, RSTART + RLENGTH)) {
            split(substr(t, RSTART + 1, RLENGTH - 1), part, ", sizeof ")
            if (part[1] == part[2] && part[1] in object) print FILENAME ":" FNR ":" s
        }
    }')
[ -n "$found" ] && complain "a struct is written or read as its bytes" "$found"
found=$(grep -nE 'TODO|FIXME|#if 0' $files | grep -v 'source_rules')
[ -n "$found" ] && complain "left open" "$found"
found=$(git grep -nE '^(<{7}|>{7}) ' 2>/dev/null)
[ -n "$found" ] && complain "left by a merge" "$found"
found=$(grep -rnE -e '-ffast-math|-march=native' Makefile */module.mk)
[ -n "$found" ] && complain "changes arithmetic" "$found"
found=$(find . -path ./build -prune -o \( -name '*.c' -o -name '*.h' \) -print | xargs wc -l |
    awk '$2 != "total" && $1 > 800 {print}')
[ -n "$found" ] && complain "longer than 800 lines" "$found"
exit $status
