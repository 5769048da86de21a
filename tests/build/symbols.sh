#!/bin/sh
# SPDX-License-Identifier: MIT
# The runtime core calls nothing but memory functions, and our libraries define only pith_ symbols.
status=0
# strlen: gcc makes it of a loop that looks for a NUL, unless -ffreestanding excludes libc
allowed='^(memcpy|memmove|memset|memcmp|strlen|_GLOBAL_OFFSET_TABLE_|__stack_chk_fail)$'
core=$(find "$PITH_O/runtime" -name '*.o' ! -path '*/host/*')
defined=$(nm -g --defined-only $core | awk 'NF==3{print $3}' | sort -u)
for symbol in $(nm -g --undefined-only $core | awk 'NF==2{print $2}' | sort -u); do
    echo "$defined" | grep -qx "$symbol" || echo "$symbol" | grep -Eq "$allowed" || {
        echo "runtime core needs $symbol"
        status=1
    }
done
for symbol in $(nm -g --defined-only "$PITH_O/libpith.a" "$PITH_O/libpith-runtime.a" "$PITH_O/libpith-cuda.a" 2>/dev/null |
    awk 'NF==3{print $3}' | sort -u); do
    case $symbol in
    pith_*) ;;
    *) echo "library defines $symbol"; status=1 ;;
    esac
done
# no writable data in the core: it keeps no state
if size -A $core | awk '$1 ~ /^\.(data|bss)(\.|$)/ && $1 !~ /rel\.ro/ && $2 > 0 {found=1} END {exit !found}'; then
    echo "runtime core has writable data:"
    for o in $core; do size -A "$o" | awk -v o="$o" '$1 ~ /^\.(data|bss)(\.|$)/ && $1 !~ /rel\.ro/ && $2 > 0 {print o, $1, $2}'; done
    status=1
fi
exit $status
