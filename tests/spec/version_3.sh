#!/bin/sh
# SPDX-License-Identifier: MIT
# The files in tests/golden/version_3 were written when version 3 of the format began: every later pith
# reads from them what stands in contents.txt beside them. UPDATE=1 makes the files anew: only with a new
# version of the format.
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
spec=$PITH_O/tests/spec/spec_decode
[ -x "$spec" ] && [ -f "$PITH_O/libpith.a" ] || { echo "not built: $spec, libpith.a"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT INT TERM
LC_ALL=C
export LC_ALL
# shellcheck disable=SC2086 # CC may hold options
${CC:-gcc} -std=c11 -O2 -Iruntime -iquote . -I"$PITH_O/include/pith" "$here/dump_model.c" \
    "$PITH_O/libpith.a" -lprotobuf-c -lz -lpng -ljpeg -larchive -ljansson -lm -lpthread -o "$work/dump_model" || exit 1

# printed PROGRAM: what it reads from each file. spec_decode's lines with a blank in front print codings.
printed() {
    for file in *.pith; do
        echo "== $file"
        "$@" "$file" || echo "refused"
    done | grep -v '^ '
}
cd "$root/tests/golden/version_3" || exit 1
status=0
if [ -n "$UPDATE" ]; then
    # shellcheck disable=SC2086
    ${CC:-gcc} -std=c11 -O2 -I"$root/runtime" -iquote "$root" -I"$PITH_O/include/pith" "$here/make_networks.c" \
        "$PITH_O/libpith.a" -lprotobuf-c -lz -lpng -ljpeg -larchive -ljansson -lm -lpthread -o "$work/make_networks" || exit 1
    mkdir "$work/made" && "$work/make_networks" "$work/made" || exit 1
    cp ../digits_compact.pith "$work/made"
    for file in *.pith; do cp "$work/made/$file" "$file" || exit 1; done
    printed "$work/dump_model" >contents.txt
fi
for program in "$work/dump_model" "$spec"; do
    printed "$program" >"$work/printed" 2>&1
    diff contents.txt "$work/printed" >"$work/diff" && continue
    echo "$program (>) reads something else:"
    head -20 "$work/diff"
    status=1
done

# The files are of every support, grid and code there is.
for file in *.pith; do "$spec" "$file"; done | grep '^ support' >"$work/codings"
for grid in "plain code plain" "codebook code plain" "codebook code huffman" "codebooks code plain" \
    "codebooks code huffman"; do
    for support in dense bitmap coded; do
        grep -q "support $support grid $grid" "$work/codings" || { echo "no file: $support, $grid"; status=1; }
    done
done
for coding in "coded grid plain code adaptive" "sparse grid codebook code adaptive" \
    "sparse grid codebooks code adaptive" "dense grid codebook code adaptive" "dense grid plain code planes" \
    "dense grid codebook code rans" "dense grid codebook code adaptive trellis"; do
    grep -q "support $coding" "$work/codings" || { echo "no file: $coding"; status=1; }
done
exit $status
