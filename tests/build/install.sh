#!/bin/sh
# SPDX-License-Identifier: MIT
# What `make install` lays down is enough to build and run the embedding sample.
root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT INT TERM
${MAKE:-make} -s install BUILD="$(dirname "$PITH_O")" PREFIX=/usr DESTDIR="$root" >/dev/null || exit 1
${CC:-gcc} -std=c11 -Wall -Werror -I"$root/usr/include" samples/embed.c -L"$root/usr/lib" \
    -l:libpith-runtime.a -lpthread -o "$root/embed" || exit 1
"$PITH_O/samples/make_digits" "$root/digits" 2000 20 || exit 1
"$root/usr/bin/pith" train --init digits --preprocess scale=1/255 -d "$root/digits/train-images-idx3-ubyte" \
    --epochs 4 --lr 0.003 -T 1 -q -o "$root/trained.pith" || exit 1
"$root/usr/bin/pith" compress "$root/trained.pith" --bits 5 -q -o "$root/digits.pith" || exit 1
label=$(od -An -tu1 -j8 -N1 "$root/digits/test-labels-idx1-ubyte" | tr -d ' ')
# The shared library answers the same. It offers what its headers declare, and is found by its soname.
answer=$("$root/embed" "$root/digits.pith" "$root/digits/test-images-idx3-ubyte" 0)
case $answer in
"$label "*) ;;
*) echo "embed answered '$answer', the label is $label"; exit 1 ;;
esac
${CC:-gcc} -std=c11 -I"$root/usr/include" samples/embed.c -L"$root/usr/lib" -lpith-runtime -o "$root/embed.shared" || exit 1
shared=$(LD_LIBRARY_PATH="$root/usr/lib" "$root/embed.shared" "$root/digits.pith" "$root/digits/test-images-idx3-ubyte" 0)
[ "$shared" = "$answer" ] || { echo "the shared library answered '$shared', the static one '$answer'"; exit 1; }
readelf -d "$root/embed.shared" | grep -q 'NEEDED.*libpith-runtime.so.0' || { echo "no soname"; exit 1; }
# declared: functions and data that the installed headers declare and do not define
declared() {
    (cd "$root/usr/include/pith" && cat *.h) | ${CC:-gcc} -fpreprocessed -dD -P -E - 2>/dev/null | grep -v '^#' |
        tr '\n' ' ' >"$root/headers"
    grep -oE 'static inline [^(]*\(' "$root/headers" | grep -oE 'pith_[a-z0-9_]+ ?\(' | tr -d ' (' >"$root/inline"
    { grep -oE 'extern const struct [^;(]*;' "$root/headers" | sed 's/;/ (x/'; cat "$root/headers"; } |
        grep -oE '\bpith_[a-z0-9_]+(\[\])? ?\([^*]' | sed 's/\[\]//; s/ *(.*//' | grep -vxFf "$root/inline" | sort -u
}
offered() {
    nm -D --defined-only "$root/usr/lib/$1" | awk '$2 != "A" {sub("@.*", "", $3); print $3}' | sort -u
}
offered libpith.so.0 >"$root/offered"
declared >"$root/declared"
missing=$(comm -13 "$root/offered" "$root/declared")
[ -z "$missing" ] || { echo "libpith.so.0 does not offer" $missing; exit 1; }
for library in libpith.so.0 libpith-runtime.so.0; do
    more=$(offered $library | comm -23 - "$root/declared")
    [ -z "$more" ] || { echo "$library offers what no header declares:" $more; exit 1; }
done
offered libpith-runtime.so.0 | grep -qx pith_plan_run || { echo "libpith-runtime.so.0 does not offer pith_plan_run"; exit 1; }
if command -v cmake >/dev/null; then
    mkdir "$root/product"
    cat >"$root/product/CMakeLists.txt" <<'END'
cmake_minimum_required(VERSION 3.13)
project(product C CXX)
find_package(pith ${WANTED} REQUIRED)
add_executable(embed embed.c)
target_link_libraries(embed pith::runtime)
add_executable(inspect inspect.cc)
target_link_libraries(inspect pith::pith)
END
    cat >"$root/product/inspect.cc" <<'END'
#include <pith/pith_load.h>
#include <pith/pith_model.h>
int main(int, char **argv)
{
    struct pith_model *model = nullptr;
    struct pith_error error = {};
    const bool read = pith_model_load(argv[1], nullptr, &model, &error) == PITH_OK;
    pith_model_free(model);
    return read ? 0 : 1;
}
END
    cp samples/embed.c "$root/product"
    cmake -S "$root/product" -B "$root/none" -DCMAKE_PREFIX_PATH="$root/usr" -DWANTED=9 >"$root/log" 2>&1 &&
        { echo "CMake finds version 9"; exit 1; }
    cmake -S "$root/product" -B "$root/product" -DCMAKE_PREFIX_PATH="$root/usr" -DWANTED=0.2 >"$root/log" 2>&1 &&
        cmake --build "$root/product" >>"$root/log" 2>&1 && "$root/product/inspect" "$root/digits.pith" &&
        [ "$("$root/product/embed" "$root/digits.pith" "$root/digits/test-images-idx3-ubyte" 0)" = "$answer" ] ||
        { echo "no programs of CMake's targets:"; tail -20 "$root/log"; exit 1; }
    cmake -S "$root/product" -B "$root/shared" -DCMAKE_PREFIX_PATH="$root/usr" -DWANTED=0.2 -DBUILD_SHARED_LIBS=ON >"$root/log" 2>&1 &&
        cmake --build "$root/shared" >>"$root/log" 2>&1 && "$root/shared/inspect" "$root/digits.pith" &&
        readelf -d "$root/shared/inspect" | grep -q 'NEEDED.*libpith.so.0' ||
        { echo "no programs of CMake's shared targets:"; tail -20 "$root/log"; exit 1; }
fi
grep -q '^Libs: -L${libdir} -lpith-runtime' "$root/usr/lib/pkgconfig/pith-runtime.pc" || exit 1
${MAKE:-make} -s uninstall BUILD="$(dirname "$PITH_O")" PREFIX=/usr DESTDIR="$root" || exit 1
left=$(find "$root/usr" -type f -o -type l)
[ -z "$left" ] || { echo "uninstall left: $left"; exit 1; }
