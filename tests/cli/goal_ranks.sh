#!/bin/sh
# SPDX-License-Identifier: MIT
# mpirun -n 2 pith compress --ranks mpi: a search shared by processes ends in the bytes of one; a
# miss is told once and is no failure of the others; what cannot be shared is said once.
command -v mpirun >/dev/null || { echo "no mpirun"; exit 77; }
[ -e "$PITH_O/pith-mpi.so" ] || { echo "pith-mpi.so is not built"; exit 77; }
. "$(dirname "$0")/sandbox.inc"
export ASAN_OPTIONS="detect_leaks=0${ASAN_OPTIONS:+:$ASAN_OPTIONS}" # OpenMPI keeps what it has until the end
PYTHONPATH=$here PYTHONDONTWRITEBYTECODE=1 python3 "$here/make_readme_inputs.py" || exit 1
ranks() {
    count=$1
    shift
    timeout 120 mpirun --allow-run-as-root --oversubscribe --bind-to none \
        --mca mpi_yield_when_idle 1 -n "$count" "$PITH" "$@" --ranks mpi
}
search="compress net.onnx -d val.tar --preprocess imagenet -q -T 1"

expect 0 "$PITH" $search --max-drop 2% -o one.pith
for n in 2 4; do
    expect 0 ranks $n $search --max-drop 2% --json -o many$n.pith
    same one.pith many$n.pith
    [ "$(grep -c '"bytes"' .out)" -eq 1 ] || complain "$n processes printed: $(cat .out)"
    absent many$n.best.pith
done
expect 0 "$PITH" $search --max-drop 2% --ranks mpi -o alone.pith # nobody else was started
same one.pith alone.pith

expect 1 ranks 2 $search --max-drop 2% --max-size 100 --json -o missed.pith
[ "$(grep -c '"met":false' .out)" -eq 1 ] || complain "a miss printed: $(cat .out)"
[ "$(grep -c 'goal not met' .err)" -eq 1 ] || complain "a miss said: $(cat .err)"
absent missed.pith
[ -s missed.best.pith ] || complain "no missed.best.pith"

# refuse CODE WORDS OPTIONS...: said once
refuse() {
    code=$1
    words=$2
    shift 2
    expect "$code" ranks 2 "$@" -q -o refused.pith
    [ "$(grep -c "$words" .err)" -eq 1 ] || complain "$*: not once '$words' in: $(cat .err)"
    absent refused.pith refused.best.pith
}
refuse 2 "no checkpoint and no time" compress net.onnx -d val.tar --preprocess imagenet --max-drop 2% --checkpoint state
refuse 2 "no checkpoint and no time" compress net.onnx -d val.tar --preprocess imagenet --max-drop 2% --time 5s
refuse 2 "ranks shares a search" compress net.onnx --bits 4
refuse 3 "nowhere" compress net.onnx -d nowhere.tar --max-drop 2%
expect 2 "$PITH" $search --ranks smoke -o refused.pith
absent refused.pith state
finish
