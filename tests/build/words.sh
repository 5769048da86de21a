#!/bin/sh
# SPDX-License-Identifier: MIT
# The documents, what pith help prints, and the code use the field's words (tests/build/words.txt).
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT INT TERM
list=${WORDS:-tests/build/words.txt}
code="base calibrate cli compress data huffman load measure model mpi numeric onnx pack prune quantize rd runtime train bench samples tests"
status=0
# lines WORDS: of code, with one of them
lines() {
    grep -rniE --include='*.[ch]' --include='*.cu' --include='*.sh' --include='*.py' --exclude=stage_renamed.c \
        --exclude-dir=__pycache__ "(^|[^a-zA-Z_-])($1)([^a-zA-Z_-]|\$)" $code
}

# prose FILE: its lines, code blanked out; a backquote left open ends with its paragraph
prose() {
    awk '/^ *```/ {fence = !fence; print ""; next}
        fence || /^    / {print ""; next}
        {n = split($0, part, "`"); line = ""
         for (i = 1; i <= n; i++) {if (!code) line = line part[i]; else line = line " "; if (i < n) code = !code}
         if ($0 ~ /^ *$/) code = 0
         print line}' "$1"
}
{
    "$PITH" help
    for page in $("$PITH" help --man | sed 's/^pith-//') exit-codes environment preprocess recipe; do
        "$PITH" help "$page"
    done
} >"$work/help" 2>/dev/null
[ "$(wc -l <"$work/help")" -gt 300 ] || { echo "pith help prints next to nothing"; exit 1; }

# All words of the code at once first: what few lines have is then looked through row by row.
lines "$(awk -F ' *[|] ' '!/^#/ && /^code/ {$1 = $NF = ""; print}' "$list" | sed 's/^ *//; s/ *$//' | tr '\n' '|' | sed 's/|$//')" >"$work/code"

grep -v '^#' "$list" | while IFS= read -r row; do
    where=${row%%|*}
    rest=${row#*|}
    instead=${rest##*|}
    word=$(echo "${rest%|*}" | sed 's/^ *//; s/ *$//')
    for place in $where; do
        case $place in
        help) files=$work/help ;;
        code)
            grep -iE "^[^:]*:[0-9]*:(.*[^a-zA-Z_-])?($word)([^a-zA-Z_-]|\$)" "$work/code" | sed "s|\$|  ->$instead|"
            continue
            ;;
        *) files=$(find "$place" -name '*.md') || echo "$place: no such place" ;;
        esac
        for file in $files; do
            case $file in
            "$work"*) cat "$file" ;;
            *) prose "$file" ;;
            esac | grep -niE "(^|[^a-zA-Z_-])($word)([^a-zA-Z_-]|\$)" | sed "s|^|$(echo "$file" | sed "s|$work/|pith |"):|; s|\$|  ->$instead|"
        done
    done
done >"$work/found"
[ -s "$work/found" ] && { cat "$work/found"; status=1; }
exit $status
