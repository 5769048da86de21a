#!/bin/sh
# SPDX-License-Identifier: MIT
# README's two commands on a system that has nothing: debootstrap makes a minimal root of SUITE with make
# and certificates alone, HEAD is unpacked in it, and `make deps demo` and `make deps check` run there.
# Prints how each ended, its seconds, and the MB that the system grew by (the checkout, what is built
# in it and its virtual environment counted apart). Run by hand, as root; a check takes half an hour.
#
#     tests/build/bare_root.sh [SUITE [demo|check|both]]      bookworm and both by default
#
# SUITE: bookworm, trixie, or Ubuntu's jammy, noble (with universe, as it is installed). MIRROR=URL: where
# packages come from. DATA=FOLDER: is PITH_DATA inside. KEEP=1 leaves the root
# and says where it is. The host's proxies, certificates and pip settings hold inside.
suite=${1:-bookworm}
what=${2:-both}
case $what in
demo | check | both) ;;
*) echo "usage: $0 [SUITE [demo|check|both]]" >&2; exit 2 ;;
esac
[ "$(id -u)" -eq 0 ] && command -v debootstrap >/dev/null || {
    echo "bare_root.sh needs root and debootstrap (apt-get install debootstrap)" >&2
    exit 1
}
cd "$(dirname "$0")/../.." || exit 1
root=$(mktemp -d)
chmod 755 "$root" # apt downloads as a user of its own
tree=$root/src/pith

unmount() {
    for m in src/data dev/shm dev/pts sys proc; do
        umount "$root/$m" 2>/dev/null || umount -l "$root/$m" 2>/dev/null
    done
}
finish() {
    unmount
    if [ -n "$KEEP" ]; then echo "left: $root"; else rm -rf --one-file-system "$root"; fi
}
trap finish EXIT
trap 'exit 1' INT TERM

# Names and certificates as the host has them: a proxy may sit between it and the packages.
settings() {
    cp -L /etc/resolv.conf /etc/hosts "$root/etc/"
    cp -L /etc/ssl/certs/ca-certificates.crt "$root/etc/ssl/certs/"
    [ ! -f /etc/pip.conf ] || cp -L /etc/pip.conf "$root/etc/"
    apt-config dump | grep -iE '^Acquire::[a-z:]*proxy' >"$root/etc/apt/apt.conf.d/90host"
    env | grep -E '^(PIP_[A-Z_]+|SSL_CERT_[A-Z]+|[a-z]+_proxy|[A-Z]+_PROXY)=' >"$root/environment"
}
mounts() {
    mount -t proc proc "$root/proc" && mount -t sysfs sysfs "$root/sys" &&
        mount -t devpts -o newinstance,ptmxmode=0666 devpts "$root/dev/pts" &&
        mkdir -p "$root/dev/shm" && mount -t tmpfs tmpfs "$root/dev/shm" || return 1
    [ -c "$root/dev/ptmx" ] || ln -sf pts/ptmx "$root/dev/ptmx"
    [ -n "$DATA" ] || return 0
    mkdir -p "$root/src/data" && mount --bind -o ro "$DATA" "$root/src/data"
}
megabytes() { du -xsm --exclude=./src --exclude=./proc --exclude=./sys . | cut -f1; }
# inside COMMAND: in the checkout, with no more environment than a login has and the settings above
inside() {
    chroot "$root" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root TERM=dumb $(tr '\n' ' ' <"$root/environment") \
        ${DATA:+PITH_DATA=/src/data} sh -c "cd /src/pith && $1"
}
# try GOAL: README's line for it
status=0
try() {
    before=$(cd "$root" && megabytes)
    began=$(date +%s)
    inside "make deps $1"
    rc=$?
    seconds=$(($(date +%s) - began))
    after=$(cd "$root" && megabytes)
    echo "$suite: make deps $1: exit $rc, $seconds s, the system grew by $((after - before)) MB, the checkout to $(du -sm "$tree" | cut -f1) MB"
    [ $rc -eq 0 ] || status=1
}

components= script=
case $suite in
jammy | noble) components=--components=main,universe script=gutsy MIRROR=${MIRROR:-https://archive.ubuntu.com/ubuntu} ;;
esac
echo "$suite: a minimal system in $root"
debootstrap --variant=minbase --include=make,ca-certificates $components "$suite" "$root" ${MIRROR:+"$MIRROR"} $script >"$root.log" 2>&1 || {
    tail -5 "$root.log" >&2
    exit 1
}
rm -f "$root.log"
settings
mounts || exit 1
mkdir -p "$tree" && git archive HEAD | tar -x -C "$tree" || exit 1
case $what in
both) try demo && try check ;;
*) try "$what" ;;
esac
exit $status
