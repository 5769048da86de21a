#!/bin/sh
# SPDX-License-Identifier: MIT
# The same input, options and seed give the same file: for every number of threads, every CPU level,
# through files or pipes, from a recipe or step by step. Another seed gives another file.
. "$(dirname "$0")/sandbox.inc"

# chain FOLDER OPTIONS...: the pipeline in files, PITH_CPU from the caller
chain() {
    to=$1
    shift
    mkdir -p "$to"
    pith import digits.onnx -q "$@" -o "$to/import.pith" &&
        pith prune "$to/import.pith" --sparsity 0.7 --scope global -q "$@" -o "$to/prune.pith" &&
        pith cluster "$to/prune.pith" --bits 4 -q "$@" -o "$to/cluster.pith" &&
        pith encode "$to/cluster.pith" -q "$@" -o "$to/encode.pith" &&
        pith encode "$to/cluster.pith" --for size -q "$@" -o "$to/compact.pith" &&
        pith decode "$to/encode.pith" -q "$@" -o "$to/decode.pith" &&
        pith compress digits.onnx --sparsity 0.6 --bits 5 -q "$@" -o "$to/compress.pith" ||
        complain "chain $to failed"
}
alike() { for f in first/*.pith; do same "$f" "$1/$(basename "$f")"; done; }

chain first -T 1
for threads in 2 3; do
    chain threads -f -T $threads
    alike threads
done
for cpu in ref avx2 avx512; do
    PITH_CPU=$cpu
    export PITH_CPU
    chain cpu -f -T 2
    alike cpu
done
unset PITH_CPU

pith import digits.onnx -q | pith prune --sparsity 0.7 --scope global -q | tee pruned.pith |
    pith cluster --bits 4 -q | pith encode -q -o piped.pith
same first/encode.pith piped.pith
same first/prune.pith pruned.pith

# the recipe of a result makes it again
pith recipe show piped.pith >piped.json
pith compress digits.onnx -r piped.json -q -o again.pith
same piped.pith again.pith

# a failing stage writes nothing, and the pipeline reports it
if command -v bash >/dev/null; then
    bash -c 'set -o pipefail
        pith import not.onnx | pith prune --sparsity 0.5 | pith encode -o none.pith' 2>err.txt
    [ $? -eq 3 ] || complain "a failed pipeline does not end with 3"
    grep -q '^pith import: not.onnx' err.txt || complain "the failing stage is not named: $(cat err.txt)"
    grep -q '^pith encode: standard input: empty input' err.txt || complain "$(cat err.txt)"
    absent none.pith
fi
finish
