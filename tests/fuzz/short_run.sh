#!/bin/sh
# SPDX-License-Identifier: MIT
# Runs each fuzz target for FUZZ_SECONDS from its committed corpus, those of files also from networks of
# integers made now; fails on the first finding. Builds them first, unless FUZZ_O names their folder.
seconds=${FUZZ_SECONDS:-3}
folder=${FUZZ_O:-$PITH_O/../fuzz}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT INT TERM
if [ -z "$FUZZ_O" ]; then
    command -v "${FUZZ_CC:-clang}" >/dev/null || { echo "no ${FUZZ_CC:-clang} to build the fuzz targets"; exit 77; }
    # (as many jobs as cores: a make that called this has none to share with one below a script)
    # One make at a time in that folder: sanitized_tests.sh builds there, too.
    flock "$PITH_O/../fuzz.lock" "${MAKE:-make}" --no-print-directory -j"$(nproc)" fuzz-build >"$work/log" 2>&1 ||
        { tail -40 "$work/log"; exit 1; }
fi

# small networks of integers of 8 to 2 bits, as .pith and as ONNX
if [ -x "$PITH" ]; then
    mkdir -p "$work/made" "$work/fuzz_pith" "$work/fuzz_onnx"
    (
        make_inputs=$PWD/tests/cli/make_inputs.py
        cd "$work/made" && python3 "$make_inputs" && for bits in 8 4 3 2; do
            "$PITH" quantize odd.onnx -d none --weights $bits -q -o "fc$bits.pith" &&
                "$PITH" quantize norm.onnx -d none --weights $bits -q -o "conv$bits.pith" || exit 1
        done && for net in fc8 fc2 conv8 conv3; do
            "$PITH" decode $net.pith --to onnx -q -o $net.onnx || exit 1
        done && mv fc[0-9].pith conv[0-9].pith ../fuzz_pith && mv fc[0-9].onnx conv[0-9].onnx ../fuzz_onnx
    ) || { echo "no networks of integers"; exit 1; }
fi

# TARGET: leaves what it found here
run_target() {
    name=$(basename "$1")
    log=$work/$name.log
    mkdir -p "$work/$name"
    corpus=tests/fuzz/corpus/$name
    [ -d "$corpus" ] || corpus=
    found=$work/$name
    if [ -n "$FUZZ_KEEP" ]; then # what a run has found, the next begins with
        mkdir -p "$FUZZ_KEEP/$name"
        corpus="$corpus $work/$name"
        found=$FUZZ_KEEP/$name
    fi
    if "$1" -seed=1 -max_total_time="$seconds" -rss_limit_mb=1024 -timeout=10 -artifact_prefix="$work/" \
        "$found" $corpus >"$log" 2>&1; then
        [ -n "$FUZZ_O" ] && echo "$name: $(grep -o 'Done.*' "$log" | tail -1)"
    else
        { echo "$name found something:"; tail -40 "$log"; } >"$work/$name.failed"
        cat "$work/$name.failed"
        cp "$work"/crash-* "$work"/timeout-* "$work"/oom-* . 2>/dev/null
    fi
}

# Each of as many jobs as cores takes every so many-th target.
jobs=$(nproc)
job=0
while [ "$job" -lt "$jobs" ]; do
    (
        n=0
        for target in "$folder"/fuzz_*; do
            case $target in *.o | *.d) continue ;; esac
            [ -z "$FUZZ_ONLY" ] || [ "$(basename "$target")" = "$FUZZ_ONLY" ] || continue
            [ $((n % jobs)) -ne "$job" ] || run_target "$target"
            n=$((n + 1))
        done
    ) &
    job=$((job + 1))
done
wait
! ls "$work"/*.failed >/dev/null 2>&1
