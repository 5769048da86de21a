#!/bin/sh
# SPDX-License-Identifier: MIT
# Every public header compiles alone, as C11 and as C++.
status=0
flags=""
for folder in runtime runtime/host huffman model measure prune quantize calibrate train compress; do
    flags="$flags -I$folder"
done
for header in $(find runtime huffman model measure prune quantize calibrate train compress -name 'pith_*.h'); do
    for language in "c -std=c11" "c++ -std=c++17"; do
        echo "#include \"$(basename "$header")\"" |
            ${CC:-gcc} -x $language $flags -Wall -Wextra -Werror -pedantic -fsyntax-only - || {
            echo "$header does not compile alone as $language"
            status=1
        }
    done
done
exit $status
