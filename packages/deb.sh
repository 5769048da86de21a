#!/bin/sh
# SPDX-License-Identifier: MIT
# deb.sh TREE VERSION FOLDER: Debian packages of what `make install PREFIX=/usr DESTDIR=TREE` laid down: pith, libpith0,
# libpith-dev, by MAINTAINER ("Name <mail>"). The same tree gives the same bytes.
set -e
tree=$1 version=$2
mkdir -p "$3"
out=$(cd "$3" && pwd)
here=$(pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT INT TERM
arch=$(dpkg --print-architecture)
export SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct 2>/dev/null || echo 1700000000)}
day=$(LC_ALL=C date -u -R -d "@$SOURCE_DATE_EPOCH")
by=${MAINTAINER:-pith developers <pith@example.org>}

move() { # PACKAGE PATH...: out of the tree
    package=$1
    shift
    for path in "$@"; do
        mkdir -p "$work/$package/$(dirname "$path")"
        mv "$work/tree/$path" "$work/$package/$path"
    done
}

describe() { # PACKAGE SECTION DEPENDS SUMMARY TEXT [RECOMMENDS]
    root=$work/$1
    doc=$root/usr/share/doc/$1
    mkdir -p "$root/DEBIAN" "$doc"
    printf 'pith (%s-1) unstable; urgency=medium\n\n  * See CHANGELOG.md.\n\n -- %s  %s\n' "$version" "$by" "$day" |
        gzip -9n >"$doc/changelog.Debian.gz"
    { printf 'Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/\n\nFiles: *\nCopyright: pith developers\nLicense: MIT\n'
      tail -n +3 "$here/LICENSE" | sed 's/^$/./; s/^/ /'
      printf '\nFiles: onnx/schema/*\nCopyright: ONNX Project Contributors\nLicense: Apache-2.0\n'
      printf ' On Debian systems the full text is in /usr/share/common-licenses/Apache-2.0.\n'; } >"$doc/copyright"
    find "$root" -type d -exec chmod 755 {} +
    size=$(du -sk --apparent-size "$root" | cut -f 1)
    printf 'Package: %s\nSource: pith\nVersion: %s-1\nArchitecture: %s\nMaintainer: %s\nInstalled-Size: %s\nDepends: %s\nSection: %s\nPriority: optional\nDescription: %s\n %s\n' \
        "$1" "$version" "$arch" "$by" "$size" "$3" "$2" "$4" "$5" >"$root/DEBIAN/control"
    [ -z "$6" ] || sed -i "s/^Section: /Recommends: $6\n&/" "$root/DEBIAN/control"
    (cd "$root" && find usr -type f -print0 | LC_ALL=C sort -z | xargs -0 md5sum >DEBIAN/md5sums)
    find "$root" -exec touch -h -d "@$SOURCE_DATE_EPOCH" {} +
    dpkg-deb --root-owner-group -Zxz --build "$root" "$out" >/dev/null
}

libraries() { # PACKAGE FILE...: packages of the libraries that the files need
    package=$1
    shift
    mkdir -p "$work/control/debian"
    printf 'Source: pith\n\nPackage: %s\nArchitecture: any\n' "$package" >"$work/control/debian/control"
    (cd "$work/control" && dpkg-shlibdeps -O "$@" 2>/dev/null) | sed 's/^shlibs:Depends=//'
}

cp -a "$tree" "$work/tree"
rm -f "$work/tree/usr/share/doc/pith/LICENSE"
rm -rf "$work/tree/usr/lib/pith" # the plug-in for MPI belongs to one MPI
gzip -9n "$work"/tree/usr/share/man/man1/*
mv "$work/tree/usr/share/zsh/site-functions" "$work/tree/usr/share/zsh/vendor-completions"
move libpith0 usr/lib/libpith.so.0 usr/lib/libpith-runtime.so.0
move libpith-dev usr/include usr/lib
mkdir -p "$work/pith"
mv "$work/tree/usr" "$work/pith/usr"
strip --strip-debug "$work"/libpith-dev/usr/lib/*.a

needs=$(libraries libpith0 "$work"/libpith0/usr/lib/*.so.0)
mkdir -p "$work/libpith0/DEBIAN"
printf 'libpith 0 libpith0 (>= %s)\nlibpith-runtime 0 libpith0 (>= %s)\n' "$version" "$version" >"$work/libpith0/DEBIAN/shlibs"
echo 'activate-noawait ldconfig' >"$work/libpith0/DEBIAN/triggers"
describe libpith0 libs "$needs" "executes and compresses neural networks (libraries)" \
    "The shared libraries of pith: the whole toolchain, and the runtime alone,
 which needs libc only."
describe libpith-dev libdevel "libpith0 (= $version-1), libarchive-dev, libjansson-dev, libjpeg-dev, libpng-dev, libprotobuf-c-dev, zlib1g-dev" \
    "executes and compresses neural networks (development)" \
    "Headers, static libraries, pkg-config and CMake files of pith."
describe pith science "$(libraries pith "$work/pith/usr/bin/pith")" "makes trained neural networks small and fast" \
    "Reads ONNX, prunes, clusters, quantizes and entropy-codes within a limit of
 accuracy, and runs the result." "libmicrohttpd12, libsndfile1"
