#!/bin/sh
# SPDX-License-Identifier: MIT
# mpirun -n 2 pith compress --ranks mpi: a search shared by processes ends in the bytes of one; a
# miss is reported once and is no failure of the others; a process that dies ends all, and what was made
# goes on with another number of them, to the same bytes; time ends and retrains all at once; what
# cannot be shared is said once.
command -v mpirun >/dev/null || { echo "no mpirun"; exit 77; }
[ -e "$PITH_O/pith-mpi.so" ] || { echo "pith-mpi.so is not built"; exit 77; }
. "$(dirname "$0")/sandbox.inc"
export ASAN_OPTIONS="detect_leaks=0${ASAN_OPTIONS:+:$ASAN_OPTIONS}" # OpenMPI keeps what it has until the end
PYTHONPATH=$here PYTHONDONTWRITEBYTECODE=1 python3 "$here/make_own_inputs.py" && mv photos.onnx net.onnx || exit 1
ranks() {
    count=$1
    shift
    timeout 120 mpirun --allow-run-as-root --oversubscribe --bind-to none \
        --mca mpi_yield_when_idle 1 -n "$count" "$PITH" "$@" --ranks mpi
}
search="compress net.onnx -d val.tar --preprocess imagenet -q -T 1"

expect 0 "$PITH" $search --max-drop 2% -o one.pith
expect 0 ranks 2 $search --max-drop 2% --checkpoint state --json -o many.pith
same one.pith many.pith
[ "$(grep -c '"bytes"' .out)" -eq 1 ] || complain "2 processes printed: $(cat .out)"
absent many.best.pith
[ "$(wc -c <state)" -le 100 ] || complain "a search that is over left its files in the checkpoint"
rm state
expect 0 "$PITH" $search --max-drop 2% --ranks mpi -o alone.pith # a single process
same one.pith alone.pith

expect 1 ranks 2 $search --max-drop 2% --max-size 100 --json -o missed.pith
[ "$(grep -c '"met":false' .out)" -eq 1 ] || complain "a miss printed: $(cat .out)"
[ "$(grep -c 'goal not met' .err)" -eq 1 ] || complain "a miss said: $(cat .err)"
absent missed.pith
[ -s missed.best.pith ] || complain "no missed.best.pith"

# broken COUNT COMMAND...: killed, one of COUNT, when the first file was made
broken() {
    count=$1
    shift
    rm -f state parts.pith
    "$@" $search --max-drop 2% --checkpoint state -o parts.pith >.out 2>.err &
    job=$!
    tries=0
    until [ -e state ] || [ $tries -ge 600 ]; do
        sleep 0.1
        tries=$((tries + 1))
    done
    victims=$(pgrep -f "^$PITH compress .*-o parts.pith")
    [ "$(echo "$victims" | wc -w)" -eq "$count" ] || complain "not $count processes to kill: $victims: $(cat .err)"
    began=$(date +%s)
    kill -9 "$(echo "$victims" | tail -1)"
    wait $job
    [ $? -ne 0 ] || complain "a process died, and $1 ended with 0"
    [ $(($(date +%s) - began)) -le 30 ] || complain "the others went on for more than 30 s"
    [ "$count" -eq 1 ] || grep -q "signal 9" .err || complain "no word of the process that died: $(cat .err)"
    absent parts.pith
    [ -s state ] || complain "killed, and there is no checkpoint"
}
goes_on="$search --max-drop 2% --checkpoint state --resume -o parts.pith"
broken 2 ranks 2
expect 0 "$PITH" $goes_on
same one.pith parts.pith
broken 1 "$PITH"
expect 0 ranks 4 $goes_on
same one.pith parts.pith
expect 0 ranks 2 $goes_on

# Of several processes, too, another search's checkpoint is not thrown away, and a miss keeps its own.
expect 1 ranks 2 $search --max-drop 2% --max-size 100 --checkpoint kept -o missed.pith
expect 2 ranks 2 $search --max-drop 2% --checkpoint kept -o refused.pith
[ "$(grep -c 'kept exists' .err)" -eq 1 ] || complain "not once 'kept exists': $(cat .err)"
expect 2 ranks 2 $search --max-drop 2% --checkpoint kept --resume -o refused.pith
[ "$(grep -c 'belongs to another search' .err)" -eq 1 ] || complain "not once 'belongs to another search': $(cat .err)"
cp missed.best.pith before.pith
expect 1 "$PITH" $search --max-drop 2% --max-size 100 --checkpoint kept --resume -o missed.pith
same before.pith missed.best.pith

# How far it gets is for the clock to say: retrained or not, rank 0 alone prints and writes it.
"$PITH_O/samples/make_digits" digits 1 2000 || exit 1
ranks 2 compress digits.onnx -d digits/test-images-idx3-ubyte --preprocess scale=1/255 --max-drop 3% -T 1 \
    --time 6s --json -o timed.pith >.out 2>.err
[ $? -le 1 ] || complain "in time: $(cat .err)"
[ "$(grep -c '"calls"' .out)" -eq 1 ] || complain "in time, 2 processes printed: $(cat .out) $(cat .err)"
[ -s timed.pith ] || [ -s timed.best.pith ] || complain "no timed.pith"

# refuse CODE WORDS OPTIONS...: said once
refuse() {
    code=$1
    words=$2
    shift 2
    expect "$code" ranks 2 "$@" -q -o refused.pith
    [ "$(grep -c "$words" .err)" -eq 1 ] || complain "$*: not once '$words' in: $(cat .err)"
    absent refused.pith refused.best.pith
}
refuse 2 "cannot limit latency" compress net.onnx -d val.tar --preprocess imagenet --max-drop 2% --max-latency 5ms
refuse 2 "ranks needs a search" compress net.onnx --bits 4
refuse 3 "nowhere" compress net.onnx -d nowhere.tar --max-drop 2%
expect 2 "$PITH" $search --ranks smoke -o refused.pith
absent refused.pith
finish
