#!/bin/sh
# SPDX-License-Identifier: MIT
# mpirun -n 2 pith train: the bytes of one process alone; a process that dies ends all of them soon,
# with nothing written, and what was saved goes on with another number of processes; what is wrong is
# said once.
command -v mpirun >/dev/null || { echo "no mpirun"; exit 77; }
[ -e "$PITH_O/pith-mpi.so" ] || { echo "pith-mpi.so is not built"; exit 77; }
. "$(dirname "$0")/sandbox.inc"
export ASAN_OPTIONS="detect_leaks=0${ASAN_OPTIONS:+:$ASAN_OPTIONS}" # OpenMPI keeps what it has until the end
ranks() {
    count=$1
    shift
    timeout 60 mpirun --allow-run-as-root --oversubscribe --bind-to none \
        --mca mpi_yield_when_idle 1 -n "$count" "$PITH" "$@" --ranks mpi
}
"$PITH_O/samples/make_digits" digits 1 2000 || exit 1
data=digits/test-images-idx3-ubyte
options="dense.pith -d $data --hold 0::10 --epochs 3 --batch 256 --levels 7 --sparsity 0.8 -q"

expect 0 pith import digits.onnx --preprocess scale=1/255 -q -o dense.pith
expect 0 pith train $options -T 1 --log one.csv -o one.pith
for n in 2 4; do
    expect 0 ranks $n train $options --log many.csv --json -f -o many.pith
    same one.pith many.pith
    [ "$(grep -c bytes .out)" -eq 1 ] || complain "$n processes printed: $(cat .out)"
    [ "$(cut -d, -f1-7,9- one.csv)" = "$(cut -d, -f1-7,9- many.csv)" ] || complain "$n processes: another log"
done

# Nothing but --ranks makes ranks of processes: what srun sets for every job step alone does not.
for vars in "PMIX_RANK=0 SLURM_STEP_NUM_TASKS=4" "PMI_SIZE=4" "OMPI_COMM_WORLD_SIZE=4"; do
    # shellcheck disable=SC2086
    expect 0 env $vars "$PITH" train dense.pith -d $data --epochs 1 --batch 256 -f -o alone.pith
    [ "$(grep -c 'ranks mpi makes one job' .err)" -eq 1 ] || complain "$vars: no hint: $(cat .err)"
    rm -f alone.pith
done
expect 2 "$PITH" train dense.pith -d $data --ranks smoke -q -o alone.pith
expect 0 pith train $options -T 1 --ranks mpi -f -o alone.pith # a single process
same one.pith alone.pith

# one of them dies
ranks 2 train $options --epochs 400 --checkpoint state --set checkpoint_every=2 -o dead.pith >.out 2>.err &
job=$!
tries=0
until [ -e state/checkpoint ] || [ $tries -ge 200 ]; do
    sleep 0.1
    tries=$((tries + 1))
done
victim=$(pgrep -f "^$PITH train .*-o dead.pith" | tail -1)
[ -n "$victim" ] || complain "no process to kill: $(cat .err)"
began=$(date +%s)
kill -9 "$victim"
wait $job
[ $? -ne 0 ] || complain "a process died, and mpirun ended with 0"
[ $(($(date +%s) - began)) -le 30 ] || complain "the others went on for more than 30 s"
grep -q "signal 9" .err || complain "no word of the process that died: $(cat .err)"
absent dead.pith

# broken off with two, gone on alone and with four
rm -r state
ranks 2 train $options --checkpoint state --set checkpoint_every=2 -o parts.pith >.out 2>.err &
job=$!
tries=0
until [ -e state/checkpoint ] || [ $tries -ge 200 ]; do
    sleep 0.1
    tries=$((tries + 1))
done
pkill -9 -f "^$PITH train .*-o parts.pith"
wait $job
cp -r state again
rm -f parts.pith
expect 0 pith train $options --checkpoint state --set checkpoint_every=2 --resume -o parts.pith
same one.pith parts.pith
expect 0 ranks 4 train $options --checkpoint again --set checkpoint_every=2 --resume -f -o parts.pith
same one.pith parts.pith

# refuse CODE COUNT WORDS OPTIONS...: said once
refuse() {
    code=$1
    count=$2
    words=$3
    shift 3
    expect "$code" ranks "$count" train dense.pith -d $data -q --json -o refused.pith "$@"
    [ "$(grep -c "$words" .err)" -eq 1 ] || complain "$*: not once '$words' in: $(cat .err)"
    [ "$(grep -c "\"exit\":$code,.*$words" .out)" -eq 1 ] || complain "$*: not one error in JSON: $(cat .out)"
    absent refused.pith
}
refuse 2 3 "shared by 1, 2, 4 or 8 processes"
refuse 2 2 "multiple of 8" --batch 12
refuse 1 2 "not finite at step" --optimizer sgd --lr 1e30
refuse 3 2 "nowhere" --val nowhere.npy
finish
