#!/bin/sh
# SPDX-License-Identifier: MIT
# Runs each fuzz target from its committed corpus, those of files also from networks of integers made now
# and from the node cases of ONNX where they are there; fails on the first finding. Builds them first,
# unless FUZZ_O names their folder.
#
# FUZZ_SECONDS: how long each target runs. Without it each makes a fixed number of runs from one seed and a
# sorted list of inputs, so that the test in `make check` does the same on a fast and on a slow machine.
# FUZZ_SEED (1): of all targets, printed with what they did. FUZZ_JOBS (the cores): targets at a time. FUZZ_ONLY: one
# target. FUZZ_KEEP: a folder where the next run finds what this one has found; runs.txt there gets a line
# "TARGET SEED RUNS SECONDS" for each target, TARGET.log is what it said last.
seed=${FUZZ_SEED:-1}
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

# networks of all kinds
python=$PITH_VENV/bin/python
if [ -x "$python" ]; then
    mkdir -p "$work/zoo" "$work/fuzz_stages"
    make_zoo=$PWD/tests/cli/make_zoo.py
    (cd "$work/zoo" && PYTHONDONTWRITEBYTECODE=1 "$python" "$make_zoo" 2>"$work/log" && mv ./*.onnx ../fuzz_stages) ||
        { cat "$work/log"; exit 1; }
fi

# nodes of ONNX, each with the least around it
if [ -d "$PITH_NODE_CASES/node" ]; then
    mkdir -p "$work/fuzz_onnx"
    (cd "$PITH_NODE_CASES/node" && find . -name model.onnx -size -2049c >"$work/nodes" && tar -cf - -T "$work/nodes") |
        tar -xf - -C "$work/fuzz_onnx"
fi

# TARGET LOG: what it did, in one line
note_runs() {
    done_line=$(grep -ao 'Done [0-9]* runs in [0-9]*' "$2" | tail -1)
    [ -n "$done_line" ] || return
    cpu=$(awk -F '[ms ]+' 'NR == 2 {print $1 * 60 + $2 + $3 * 60 + $4}' "$2.times")
    set -- $(basename "$1") "$2" $done_line
    echo "$1: seed $seed, $4 runs in $7 s, $(awk "BEGIN {printf \"%d\", $4 / ($cpu + 0.01)}") a second of the processor's time"
    [ -z "$FUZZ_KEEP" ] || echo "$1 $seed $4 $7" >>"$FUZZ_KEEP/runs.txt"
}

# TARGET: how many runs take two to five seconds
fixed_runs() {
    case $1 in
    fuzz_graph) echo 250 ;;
    fuzz_huff_round_trip) echo 2500 ;;
    fuzz_onnx) echo 8000 ;;
    fuzz_stages) echo 4000 ;;
    *) echo 30000 ;;
    esac
}

# FOLDERS...: their files, the smallest first, by name among equals, as libFuzzer reads a list
sorted_inputs() {
    find "$@" -type f -printf '%s %p\n' | sort -k1n -k2 | cut -d' ' -f2- | tr '\n' ',' | sed 's/,$//'
}

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
        log=$FUZZ_KEEP/$name.log
        corpus="$corpus $work/$name"
        found=$FUZZ_KEEP/$name
    fi
    if [ -n "$FUZZ_SECONDS" ]; then
        set -- "$1" -max_total_time="$FUZZ_SECONDS" "$found" $corpus
    else
        sorted_inputs "$found" $corpus >"$work/$name.inputs"
        set -- "$1" -runs="$(fixed_runs "$name")"
        [ ! -s "$work/$name.inputs" ] || set -- "$@" -seed_inputs=@"$work/$name.inputs"
    fi
    if (
        "$@" -seed="$seed" -rss_limit_mb=1024 -timeout=30 -artifact_prefix="$work/" >"$log" 2>&1
        rc=$?
        times >"$log.times"
        exit $rc
    ); then
        [ -z "$FUZZ_O" ] || note_runs "$1" "$log"
    else
        { echo "$name (seed $seed) found something:"; tail -40 "$log"; } >"$work/$name.failed"
        cat "$work/$name.failed"
        cp "$work"/crash-* "$work"/timeout-* "$work"/oom-* . 2>/dev/null
    fi
}

# Each of as many jobs as cores takes every so many-th target.
jobs=${FUZZ_JOBS:-$(nproc)}
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
