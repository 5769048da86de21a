#!/bin/sh
# SPDX-License-Identifier: MIT
# `make deb`: lintian finds no error, the packages install into a root of their own, and what they install works there.
command -v dpkg-shlibdeps >/dev/null || { echo "no dpkg-dev"; exit 77; }
case $PITH_O in */release) ;; *) echo "is no release"; exit 77 ;; esac
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT INT TERM
${MAKE:-make} -s deb BUILD="$(dirname "$PITH_O")" >"$work/log" 2>&1 || { cat "$work/log"; exit 1; }
mkdir -p "$work/root/var/lib/dpkg" "$work/root/etc"
for package in "$(dirname "$PITH_O")"/deb/*.deb; do
    ! command -v lintian >/dev/null || LC_ALL=C lintian --allow-root --fail-on error "$package" >"$work/log" 2>&1 ||
        { grep '^E:' "$work/log"; exit 1; }
    dpkg-deb --extract "$package" "$work/root" || exit 1
    dpkg-deb --field "$package" Depends | grep -q . || { echo "$package needs nothing"; exit 1; }
done
root=$work/root/usr
"$root/bin/pith" init digits -q -o "$work/net.pith" && "$root/bin/pith" info "$work/net.pith" >/dev/null || exit 1
${CC:-gcc} -std=c11 -Wall -Werror -I"$root/include" samples/embed.c -L"$root/lib" -lpith-runtime -o "$work/embed" &&
    "$PITH_O/samples/make_digits" "$work/digits" 20 20 &&
    LD_LIBRARY_PATH="$root/lib" "$work/embed" "$work/net.pith" "$work/digits/test-images-idx3-ubyte" 0 >"$work/answer" ||
    { echo "the library of the package does not run a network"; exit 1; }
grep -q '^[0-9]' "$work/answer" || { echo "answer: $(cat "$work/answer")"; exit 1; }
[ -f "$root/share/zsh/vendor-completions/_pith" ] && [ -f "$root/share/man/man1/pith-compress.1.gz" ] ||
    { echo "no completion or manual"; exit 1; }
