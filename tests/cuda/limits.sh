#!/bin/sh
# SPDX-License-Identifier: MIT
# What each kernel takes on each device - registers, spills, shared memory, as ptxas prints - against limits.txt: none grows by more
# than 5 % and two registers, which names decide; none spills. UPDATE=1 writes the list anew.
[ -n "$("$MAKE" -s --eval 'print-nvcc: ; @echo $(NVCC)' print-nvcc)" ] || { echo "no nvcc"; exit 77; }
list=tests/cuda/limits.txt
found=$(mktemp)
trap 'rm -f "$found"' EXIT INT TERM
for r in "$PITH_O"/../cuda/sm_*.resources; do
    target=$(basename "$r" .resources)
    awk -v target="$target" '/Compiling entry function/ {split($0, q, "\x27"); name = q[2]}
        /spill stores/ {spills = $5 + $9}
        /Used [0-9]+ registers/ {shared = 0; for (i = 1; i < NF; i++) { if ($i == "Used") registers = $(i + 1); if ($(i + 2) == "smem," || $(i + 2) == "smem") shared = $i }
            print target, name, registers, spills, shared}' "$r"
done | sort >"$found"
[ -s "$found" ] || { echo "ptxas printed nothing"; exit 1; }
if [ -n "$UPDATE" ]; then
    { echo "# target kernel registers spilled-bytes shared-bytes (tests/cuda/limits.sh)"; cat "$found"; } >"$list"
fi
grep -v '^#' "$list" | sort | awk -v found="$found" '
    {limit[$1 " " $2] = $3; shared[$1 " " $2] = $5}
    END {
        while ((getline line <found) > 0) {
            split(line, f, " "); key = f[1] " " f[2]
            if (!(key in limit)) { print key ": not in limits.txt (UPDATE=1 tests/cuda/limits.sh)"; bad = 1; continue }
            if (f[3] > limit[key] * 1.05 + 2) { print key ": " f[3] " registers, " limit[key] " were listed"; bad = 1 }
            if (f[5] > shared[key] * 1.05) { print key ": " f[5] " bytes of shared memory, " shared[key] " were listed"; bad = 1 }
            if (f[4] > 0) { print key ": spills " f[4] " bytes"; bad = 1 }
        }
        exit bad
    }'
