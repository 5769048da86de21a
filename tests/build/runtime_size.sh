#!/bin/sh
# SPDX-License-Identifier: MIT
# libpith-runtime.a with all ISA levels stays below 600 KB of text and data.
limit=600000
bytes=$(size -t "$PITH_O/libpith-runtime.a" | awk 'END {print $1 + $2}')
[ "$bytes" -le $limit ] && exit 0
echo "libpith-runtime.a: $bytes bytes of text and data, limit $limit"
exit 1
