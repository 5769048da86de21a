#!/bin/sh
# SPDX-License-Identifier: MIT
# Every installed header compiles alone, as C11 and as C++.
status=0
# HEADERS: those that are installed, each as a program includes it.
installed=$(mktemp -d)
trap 'rm -rf "$installed"' EXIT INT TERM
[ -n "$HEADERS" ] || { echo "no HEADERS"; exit 1; }
for header in $HEADERS; do ln -s "$PWD/$header" "$installed/"; done
for header in $HEADERS; do
    for language in "c -std=c11" "c++ -std=c++17"; do
        echo "#include \"$(basename "$header")\"" |
            ${CC:-gcc} -x $language "-I$installed" -Wall -Wextra -Werror -pedantic -fsyntax-only - || {
            echo "$header does not compile alone as $language"
            status=1
        }
    done
done
exit $status
