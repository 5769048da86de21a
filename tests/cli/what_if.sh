#!/bin/sh
# SPDX-License-Identifier: MIT
# pith bench --what-if: the model is timed as it is and pruned, layer by layer; bad texts are refused, and
# neither file nor folder changes.
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT INT TERM
cd "$work" || exit 1
fail() { echo "$*"; exit 1; }
"$PITH" init lenet300 -q -o a.pith || exit 1
before=$(cksum a.pith)
"$PITH" bench a.pith --what-if density=0.1,bits=4 -T 1 --time 0.1 >printed || fail "bench: $(cat printed)"
grep -q '^a.pith pruned: median ' printed || fail "no time of the pruned model in: $(cat printed)"
[ "$(grep -cE ' [0-9.]+x$' printed)" -eq 4 ] || fail "not three layers and a ratio in: $(cat printed)" # fc1 fc2 fc3
"$PITH" bench a.pith --what-if pattern=balanced:16/128 -T 1 --time 0.1 --json >printed || fail "json: $(cat printed)"
python3 - printed <<'END' || exit 1
import json, sys
t = json.load(open(sys.argv[1]))
layers = t["what_if_layers"]
assert len(layers) == 3 and all(l["ns"] > 0 and l["pruned_ns"] > 0 for l in layers), layers
assert t["vs"]["file_bytes"] < t["file_bytes"] / 3, (t["vs"]["file_bytes"], t["file_bytes"])
assert t["ratio"] > 0
END
[ "$(cksum a.pith)" = "$before" ] && [ "$(ls)" = "$(printf 'a.pith\nprinted')" ] || fail "bench wrote something: $(ls)"
refused() { # text options...
    text=$1
    shift
    "$PITH" bench "$@" --time 0.01 >printed 2>err <a.pith
    rc=$?
    [ $rc -eq 2 ] || fail "bench $*: exit $rc, not 2"
    grep -qF -- "$text" err || fail "bench $*: no '$text' in $(cat err)"
}
for bad in density=0 density=1.5 density= bits=4 density=0.1,bits=9 density=0.1,depth=2 density=0.1,,bits=2 pattern=2:4,density=0.5 ""; do
    refused "--what-if '$bad': density=D" a.pith --what-if "$bad"
done
refused "pattern" a.pith --what-if density=0.5,pattern=round
refused "exclude each other" a.pith --vs a.pith --what-if density=0.5
refused "the model is read twice" - --what-if density=0.5
exit 0
