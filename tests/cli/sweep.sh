#!/bin/sh
# SPDX-License-Identifier: MIT
# pith sweep in several processes that share a file: every combination once, whatever was stopped and
# in which order; a file with a torn line goes on; the front is the same from anywhere.
. "$(dirname "$0")/sandbox.inc"
"$PITH_O/samples/make_digits" digits 1000 300 || exit 1
train=digits/train-images-idx3-ubyte
test=digits/test-images-idx3-ubyte
expect 0 pith train --init digits --preprocess scale=1/255 -d $train --epochs 3 --lr 0.003 -T 1 -q -o net.pith
cat >grid.json <<EOF
{ "pith": 1,
  "sweep": { "stages.0.sparsity": [0.5, 0.8, 0.9], "stages.1.bits": [2, 4] },
  "stages": [{ "do": "prune" }, { "do": "cluster" }, { "do": "encode", "for": "size" }] }
EOF
sweep() { pith sweep grid.json net.pith -d $test -T 1 -q "$@"; }
numbers() { sed 's/.*"combination":\([0-9]*\).*/\1/' "$1" | sort -n | tr '\n' ' '; }
values() { sed 's/,"seconds".*//' "$1" | sort; }

sweep >lines.jsonl || complain "sweep to standard output failed"
[ "$(numbers lines.jsonl)" = "0 1 2 3 4 5 " ] || complain "numbers: $(numbers lines.jsonl)"

# two shards at the same time
sweep --shard 0/2 --append two.jsonl >front0 &
sweep --shard 1/2 --append two.jsonl >front1 || complain "shard 1 failed"
wait $! || complain "shard 0 failed"
values lines.jsonl >wanted
values two.jsonl | cmp -s - wanted || complain "two shards gave other results"

# nothing is left to do; the front is that of the file
before=$(cksum <two.jsonl)
sweep --append two.jsonl >front || complain "a finished sweep failed"
[ "$before" = "$(cksum <two.jsonl)" ] || complain "a finished sweep was run again"
pith sweep --pareto two.jsonl | cmp -s - front || complain "--pareto prints another front"
pith sweep --pareto - <lines.jsonl | cmp -s - front || complain "standard input gives another front"
[ "$(wc -l <front)" -ge 2 ] || complain "a short front: $(cat front)"

# stopped in the middle of a line; the rest in two processes
head -c 400 lines.jsonl >torn.jsonl
sweep --append torn.jsonl -j 2 >front2 2>err || complain "a torn file stops a sweep"
grep -q "1 of 7 lines are no results" err || complain "nothing said of the torn line: $(cat err)"
cmp -s front front2 || complain "a torn file gives another front"

# its parent ignores its children
timeout -s KILL 60 python3 -c 'import os, signal, sys
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
os.execvp(sys.argv[1], sys.argv[1:])' pith sweep grid.json net.pith -d $test -T 1 -q --append orphans.jsonl \
    -j 2 >front3 || complain "-j fails where SIGCHLD is ignored"
cmp -s front front3 || complain "another front where SIGCHLD is ignored"

# another network: nothing counts as done
expect 0 pith init digits --seed 3 --preprocess scale=1/255 -q -o other.pith
done_of() { pith sweep grid.json "$@" -n --append two.jsonl | grep -c done; }
[ "$(done_of net.pith -d $test)" -eq 6 ] || complain "results do not count: $(done_of net.pith -d $test)"
[ "$(done_of other.pith -d $test)" -eq 0 ] || complain "results of another network count"
[ "$(done_of net.pith -d $test --range 0:200)" -eq 0 ] || complain "results on other samples count"

# each line names model, data and version; a file of two networks has two fronts
version=$(pith version | cut -d' ' -f2)
host=$(hostname)
grep -c '"version":"'"$version"'","host":"'"$host"'","model":{"name":"net.pith","crc32c":"[0-9a-f]*"},"data":{"name":"test-images-idx3-ubyte","crc32c":"[0-9a-f]*","samples":300}' \
    two.jsonl | grep -qx 6 || complain "lines: $(cat two.jsonl)"
pith sweep grid.json other.pith -d $test -T 1 -q >other.jsonl || complain "another network cannot be swept"
pith sweep --pareto other.jsonl >front_other
pith sweep --pareto two.jsonl other.jsonl >fronts
for name in net.pith other.pith; do
    grep -qx "$name on test-images-idx3-ubyte, 300 samples" fronts || complain "no front of $name: $(cat fronts)"
done
[ "$(grep -v -e samples -e '^$' fronts | sort | cksum)" = "$(sort front front_other | cksum)" ] ||
    complain "the fronts of two networks mix: $(cat fronts front front_other)"

# several networks in one go give the same lines; the models of both fronts are kept, and no others
pith sweep grid.json net.pith other.pith -d $test -T 1 -q --append both.jsonl --keep kept -j 2 >front_both ||
    complain "two networks cannot be swept at once"
cat two.jsonl other.jsonl >apart.jsonl
values apart.jsonl >wanted
values both.jsonl | cmp -s - wanted || complain "two networks at once gave other results"
cmp -s front_both fronts || complain "two networks at once have other fronts: $(cat front_both)"
python3 - <<'END' || status=1
import json, os, subprocess
lines = [json.loads(l) for l in open("both.jsonl")]
front = json.loads(subprocess.run(["pith", "sweep", "--pareto", "both.jsonl", "--json"], check=True,
                                  stdout=subprocess.PIPE).stdout)["pareto_front"]
wanted = {}
for p in front:
    l = [l for l in lines if l["model"] == p["model"] and l["combination"] == p["combination"]][0]
    wanted[f"{l['model']['name'][:-5]}-{l['spec']}-{l['combination']}.pith"] = l["bytes"]
kept = {f: os.path.getsize("kept/" + f) for f in os.listdir("kept")}
if kept != wanted:
    raise SystemExit(f"kept: {kept}, wanted: {wanted}")
END
rm kept/net-*
pith sweep grid.json net.pith -d $test -T 1 -q --append both.jsonl --keep kept >front_both 2>err
grep -q "its model was not kept" err || complain "a model that is missing is not reported: $(cat err)"
expect 3 pith sweep grid.json net.pith -d $test -q --append both.jsonl --keep grid.json

# training in a sweep, validated on held-out samples; what cannot be run is reported and tried again
cat >train.json <<EOF
{ "pith": 1,
  "sweep": { "stages.0.pattern": ["any", "7x7"], "stages.1.lr": [0.001, 0.003] },
  "stages": [{ "do": "prune", "sparsity": 0.9 }, { "do": "train", "epochs": 1 }, { "do": "encode" }] }
EOF
expect 1 pith sweep train.json net.pith -d $train --hold 0::5 -T 1 -q --append train.jsonl
[ "$(grep -c '"bytes"' train.jsonl)" -eq 2 ] || complain "training: $(cat train.jsonl)"
[ "$(grep -c '"error":"cannot prune' train.jsonl)" -eq 2 ] || complain "7x7: $(cat train.jsonl)"
[ "$(grep -c 'combination [0-9]* cannot be run: cannot prune [^"]*$' .err)" -eq 2 ] || complain "reported: $(cat .err)"
finish
