#!/bin/sh
# SPDX-License-Identifier: MIT
# libpith-runtime.a with all ISA levels stays below 400 KB of text and data.
limit=400000
bytes=$(size -t "$PITH_O/libpith-runtime.a" | awk 'END {print $1 + $2}')
[ "$bytes" -le $limit ] && exit 0
echo "libpith-runtime.a: $bytes bytes of text and data, limit $limit"
exit 1
