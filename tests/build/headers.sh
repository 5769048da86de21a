#!/bin/sh
# SPDX-License-Identifier: MIT
# Every installed header compiles alone, as C11 and as C++.
status=0
# HEADERS: those that are installed, each seen as a program sees it.
seen=$(mktemp -d)
trap 'rm -rf "$seen"' EXIT INT TERM
[ -n "$HEADERS" ] || { echo "no HEADERS"; exit 1; }
for header in $HEADERS; do ln -s "$PWD/$header" "$seen/"; done
for header in $HEADERS; do
    for language in "c -std=c11" "c++ -std=c++17"; do
        echo "#include \"$(basename "$header")\"" |
            ${CC:-gcc} -x $language "-I$seen" -Wall -Wextra -Werror -pedantic -fsyntax-only - || {
            echo "$header does not compile alone as $language"
            status=1
        }
    done
done
exit $status
