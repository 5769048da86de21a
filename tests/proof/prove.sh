#!/bin/sh
# SPDX-License-Identifier: MIT
# Proofs of memory safety: Frama-C's value analysis finds no alarm in what reads files, for all inputs of the
# sizes that each file of this folder gives, and every short string is tried under sanitizers (every_input.c).
# Each has a twin with one planted bug, which must be found. By hand: apt-get install frama-c-base;
# tests/proof/prove.sh [NAME...]
cd "$(dirname "$0")/../.." || exit 1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM
status=0
flags="-I. -Itests/proof -Iruntime"

# ROOT NAME: 0 where there is no alarm, 1 where there is one, 2 where it is undecided. Frama-C looks for
# what is included in the folder where it runs, first.
eva() (
    cd "$1" || exit 2
    more=
    case $2 in
    gap_block) more="-eva-slevel-function fill_far_gaps:400" ;;
    shape_count) more="-eva-precision 4" ;;
    # Each operator's own attributes; loops over them are followed entry by entry.
    graph_nodes) more="-eva-slevel 10 -eva-min-loop-unroll 14 -eva-slevel-function pith_op_attr_defaults:100 $(echo runtime/ops/op_*.c)" ;;
    esac
    frama-c -cpp-extra-args="-include proof.h $flags" -c11 -machdep gcc_x86_64 -eva -eva-precision 2 -eva-slevel 60 \
        -eva-domains bitwise,equality,symbolic-locations -eva-verbose 0 $more \
        "tests/proof/$2.c" >"$work/log" 2>&1 || exit 2
    ! grep -q '^\[eva:alarm\]' "$work/log"
)

# ROOT NAME
every() (
    cd "$1" || exit 2
    ${FUZZ_CC:-clang} -std=c11 -O1 -g -fsanitize=address,undefined -fno-sanitize-recover=all $flags \
        "tests/proof/$2.c" runtime/core/bytes.c runtime/decode/huff_table.c runtime/decode/huff_decode.c \
        runtime/decode/gap_decode.c runtime/decode/rans_table.c -o "$work/every" >"$work/log" 2>&1 || exit 2
    "$work/every" $LONGEST >"$work/log" 2>&1
)

# HOW NAME FILE SED: proves, then plants the bug into a copy and wants it found
prove() {
    [ -z "$only" ] || case " $only " in *" $2 "*) ;; *) return ;; esac
    if "$1" . "$2"; then
        echo "$2: proved"
    else
        echo "$2: not proved"
        cat "$work/log"
        status=1
    fi
    rm -rf "$work/root"
    mkdir -p "$work/root/tests"
    cp -r runtime "$work/root" && cp -r tests/proof "$work/root/tests"
    sed -i "$4" "$work/root/runtime/$3"
    if cmp -s "runtime/$3" "$work/root/runtime/$3"; then
        echo "$2: the bug of $3 cannot be planted"
        status=1
    else
        "$1" "$work/root" "$2"
        case $? in
        1) echo "$2: the bug planted in $3 was found" ;;
        0) echo "$2: the bug planted in $3 was not found"; status=1 ;;
        *) echo "$2: undecided whether the bug planted in $3 is found"; cat "$work/log"; status=1 ;;
        esac
    fi
}

only=$*
command -v frama-c >/dev/null || { echo "no frama-c"; exit 77; }
prove eva varint core/bytes.h 's/r->bad || n > r->left)/r->bad || n > r->left + 1)/'
prove eva shape_count core/tensor.c 's/ || n > MAX_COUNT ||/ ||/'
prove eva bit_reader decode/bit_reader.h 's/n - at >= 4/n - at >= 3/'
prove eva huff_rounds decode/huff_decode.c 's,in = (in - 1) / 7,in = in / 7,'
prove eva gap_block decode/gap_decode.c 's/BLOCK \* MAX_EXPONENT + 64 + 7/BLOCK * MAX_EXPONENT + 7/'
prove eva graph_weights validate/weight_head.c 's/ fed < 2 ||/ fed > 99 ||/'
prove eva graph_nodes validate/graph_parse.c 's/PITH_MAX_RANK \* 2 + 1)/PITH_MAX_RANK * 2 + 3)/'
prove every every_input decode/huff_table.c 's/!= 1u << HUFF_MAX_LEN/> 1u << HUFF_MAX_LEN/'
prove every every_input decode/rans_table.c 's/before += occurs\[s\];/before += s > 0;/'
prove every every_input decode/gap_decode.c 's/if (gap >= r->count - r->pos)/if (gap > r->count - r->pos)/'
exit $status
