#!/bin/sh
# SPDX-License-Identifier: MIT
# Every unit that is kept for a fuzz target takes it less than LIMIT_MS (50): a slow one is met in each
# run and costs what a thousand others would. Prints those that are over by the processor's time, which is read
# where the clock says so: others may use the machine.
limit=${LIMIT_MS:-50}
folder=${FUZZ_O:-$PITH_O/../fuzz}
if [ -z "$FUZZ_O" ]; then
    command -v "${FUZZ_CC:-clang}" >/dev/null || { echo "no ${FUZZ_CC:-clang} to build the fuzz targets"; exit 77; }
    # (one make at a time in that folder; short_run.sh builds there, too)
    flock "$PITH_O/../fuzz.lock" "${MAKE:-make}" --no-print-directory -s -j"$(nproc)" fuzz-build || exit 1
fi

# TARGET UNIT...: "MILLISECONDS UNIT" of each, those that are not reported as -1
times_of() {
    target=$1
    shift
    "$target" "$@" 2>&1 | awk '/^Running: / {unit = $2} /^Executed .* in [0-9]+ ms$/ {print $(NF - 1), unit; unit = ""}
        END {if (unit != "") print -1, unit}'
}

# TARGET UNIT: milliseconds of the processor's time, those of five runs but for the first
time_of() {
    python3 - "$@" <<'EOF'
import os, subprocess, sys
def took(runs):
    p = subprocess.Popen([sys.argv[1], f"-runs={runs}", sys.argv[2]], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, use = os.wait4(p.pid, 0)
    return 9.999 if status else use.ru_utime + use.ru_stime
print(max(0, round((took(5) - took(1)) * 250)))
EOF
}

status=0
units=0
for corpus in tests/fuzz/corpus/*; do
    target=$folder/$(basename "$corpus")
    [ -x "$target" ] || { echo "$corpus has no target"; status=1; continue; }
    times=$(times_of "$target" "$corpus"/*)
    n_run=$(echo "$times" | grep -c .)
    there=$(ls "$corpus" | wc -l)
    units=$((units + n_run))
    [ "$n_run" -eq "$there" ] || { echo "$corpus: $n_run of $there units were run"; status=1; }
    for unit in $(echo "$times" | awk -v limit="$limit" '$1 < 0 || $1 >= limit {print $2}'); do
        took=$(time_of "$target" "$unit")
        [ "$took" -lt "$limit" ] && continue
        echo "$unit: $took ms, at most $limit"
        status=1
    done
done
echo "$units units" >&2
exit $status
