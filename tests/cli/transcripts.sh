#!/bin/sh
# SPDX-License-Identifier: MIT
# Commands with the output and exit code a user sees. Each file of transcripts/ is a session: lines
# "$ command" are run by sh in a folder with the inputs of make_inputs.py, what follows is expected.
# UPDATE=1 rewrites the files; review the difference.
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
[ -x "$PITH" ] || { echo "PITH does not name the command"; exit 1; }
work=$(mktemp -d)
trap 'chmod -R u+w "$work"; rm -rf "$work"' EXIT INT TERM
mkdir "$work/bin"
ln -s "$PITH" "$work/bin/pith"
PATH=$work/bin:$PATH
PITH_THREADS=1 PITH_CPU=ref LC_ALL=C
export PATH PITH_THREADS PITH_CPU LC_ALL
status=0
for file in "$here"/transcripts/*.txt; do
    folder=$work/$(basename "$file" .txt)
    mkdir "$folder"
    (cd "$folder" && python3 "$here/make_inputs.py" && "$root/tests/fresh_digits.sh" digits.onnx) || exit 1
    grep '^\$ ' "$file" | while IFS= read -r line; do
        printf '%s\n' "$line"
        (cd "$folder" && sh -c "${line#\$ }" </dev/null 2>&1)
        rc=$?
        [ $rc -eq 0 ] || echo "exit $rc"
    done >"$work/got"
    if [ -n "$UPDATE" ]; then
        cp "$work/got" "$file"
    elif ! diff -u "$file" "$work/got"; then
        echo "transcript $(basename "$file") differs"
        status=1
    fi
done
exit $status
