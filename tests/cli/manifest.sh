#!/bin/sh
# SPDX-License-Identifier: MIT
# pith compress --manifest: a row of a CSV file is a command line; a network that fails does not end the others; what
# has ended is not run again until its options or files change; shards share the results; messages name line and column.
. "$(dirname "$0")/sandbox.inc"
"$PITH_O/samples/make_digits" digits 240 60 || exit 1
train=digits/train-images-idx3-ubyte
expect 0 pith train --init digits --preprocess scale=1/255 -d $train --epochs 3 --lr 0.003 -T 1 -q -o net.pith
cp net.pith other.pith
mkdir out
cat >nets.csv <<END
model, data, labels, goal, output
net.pith, $train, digits/train-labels-idx1-ubyte, 20%, out/a.pith
other.pith, $train,, --max-size 500 --max-drop 0.1%, out/b.pith
missing.onnx, $train,, 0.5%, out/c.pith
other.pith,,, --bits 4, out/d.pith

"digits.onnx", , , "--bits 8", out/e.pith
END

# one misses, one fails, three are as their own commands make them
expect 3 pith compress --manifest nets.csv -j 3
cp .out table
sed 's/  */ /g; s/ [0-9]* s / T /' table | awk '{ print $1, $NF }' >got
printf '%s\n' 'network goal' 'net.pith met' 'other.pith missed' 'missing.onnx directory' 'other.pith met' 'digits.onnx met' |
    cmp -s - got || complain "table: $(cat table)"
grep -q 'missing.onnx.*failed: cannot open' table || complain "why it failed: $(cat table)"
grep -q '^5 networks: 3 met the goal, 1 missed it, 1 failed, 0 not run' .err || complain "summary: $(cat .err)"
grep -q 'missing.onnx: cannot open' .err || complain "no error of the network that failed: $(cat .err)"
expect 0 pith compress net.pith -d $train --max-drop 20% -o a.pith
same a.pith out/a.pith
expect 0 pith compress other.pith --bits 4 -o d.pith
same d.pith out/d.pith
for f in out/b.best.pith out/b.pith.log; do [ -s $f ] || complain "no $f"; done
absent out/b.pith out/c.pith
grep -q 'smaller' out/a.pith.log || complain "a log without the result: $(cat out/a.pith.log)"
[ "$(wc -l <nets.jsonl)" -eq 5 ] || complain "results: $(cut -c1-100 nets.jsonl)"

# only what failed is run again; what was made is there, the table the same but for times
run_again() { # EXIT LINES ARGUMENTS...
    code=$1 lines=$2
    shift 2
    expect "$code" pith compress --manifest nets.csv -q "$@"
    [ "$(wc -l <nets.jsonl)" -eq "$lines" ] || complain "$*: expected $lines lines: $(cut -c1-100 nets.jsonl)"
}
plain() { sed 's/ *[0-9]* s / T /' "$1"; }
run_again 3 6
plain .out >again
plain table | cmp -s - again || complain "another table: $(cat .out)"
run_again 3 6 -n
plain .out | cmp -s - again || complain "-n prints another table: $(cat .out)"

# a changed file, a changed option and a lost output are run again, each alone; a torn line is left behind
cp digits.onnx missing.onnx
run_again 1 7
touch -d '2001-01-01' other.pith
run_again 1 9
sed -i 's/--bits 8/--bits 6/' nets.csv
run_again 1 10
rm out/d.pith
run_again 1 11
printf '{"pith":1,"key":"' >>nets.jsonl
rm out/d.pith
run_again 1 13
tail -n 1 nets.jsonl | grep -q '"output":"out/d.pith"' || complain "the last line: $(tail -n 1 nets.jsonl)"

# a file that pith did not make is not overwritten, without -f
rm nets.jsonl
for again in 1 2; do
    expect 2 pith compress --manifest nets.csv -j 2 -q
    grep -q 'out/a.pith exists' .out || complain "overwritten in run $again: $(cat .out)"
done
expect 1 pith compress --manifest nets.csv -j 2 -f -q

# shards in processes of their own give the same results; the exit is their own
grep -v '"exit":2,' nets.jsonl >whole.jsonl
rm nets.jsonl
rm out/*
expect 0 pith compress --manifest nets.csv --shard 0/2 -q &
expect 1 pith compress --manifest nets.csv --shard 1/2 -q
wait
results() { sed 's/"seconds":[0-9.e-]*//g' "$1" | sort; }
results whole.jsonl >wanted
results nets.jsonl | cmp -s - wanted || complain "shards gave other results: $(results nets.jsonl | diff - wanted | cut -c1-900)"
expect 1 pith compress --manifest nets.csv -n
grep -c -w met .out | grep -qx 4 || complain "after the shards: $(cat .out)"
seq 0 4 | xargs -P 2 -I{} pith compress --manifest nets.csv --shard {}/5 -q >.out || true
[ "$(wc -l <nets.jsonl)" -eq 5 ] || complain "xargs ran what was done"

# a network whose process is killed does not end the others; the same command goes on
printf 'model,data,goal,output\nnet.pith,%s,20%%,k.pith\ndigits.onnx,,,\n' $train >killed.csv
cat >killer <<'END'
#!/bin/sh
while :; do
    pkill -KILL -P "$1" && exit
    sleep 0.01
done
END
pith compress --manifest killed.csv -q -f >.out 2>.err &
sh killer $!
wait $! && complain "the killed network was not reported"
grep -q 'ended by signal 9' .out || complain "killed: $(cat .out .err)"
[ -s digits.pith ] || complain "the network after the killed one was not run"
expect 0 pith compress --manifest killed.csv -q -f

# --json is one object with each network's own
pith compress --manifest nets.csv -n --json >json
python3 - <<'END' || status=1
import json
j = json.load(open("json"))
got = (j["met"], j["missed"], j["failed"], j["not_run"], [n["line"] for n in j["networks"]])
if got != (4, 1, 0, 0, [2, 3, 4, 5, 7]) or not j["networks"][0]["run"]["result"]["met"]:
    raise SystemExit(f"--json: {j}")
END

# what is wrong, by file, line and column
refused() { # TEXT PATTERN
    printf '%b\n' "$1" >bad.csv
    expect 2 pith compress --manifest bad.csv -n
    grep -q -e "bad.csv: $2" .err || complain "$1: $(cat .err)"
}
refused 'model,goal,speed\nnet.pith,1%,2' 'line 1, column speed: unknown'
refused 'model,goal,model\nnet.pith,1%,2' 'line 1, column model: there are two'
refused 'data,goal\nx,1%' 'line 1: no column model'
refused 'model,goal\n' 'line 2: no networks'
refused 'model,goal\n,1%' 'line 2, column model: give'
refused 'model,goal\nnet.pith,1' 'line 2, column goal: --max-drop 1 is ambiguous'
refused 'model,goal\n\nnet.pith,--max-drop 1% soon' 'line 3, column goal: give a percentage'
refused 'model,preprocess\nnet.pith,bogus' "line 2, column preprocess: .*'bogus'"
refused 'model,max_size\nnet.pith,many' "line 2, column max_size: .*'many'"
refused 'model,goal\nnet.pith,"1%' 'line 2, column goal: quotes'
refused 'model,goal\nnet.pith' 'line 2: fewer fields'
refused 'model,preprocess\nnet.pith,scale=1/255,mean=2' 'line 2: more fields'
refused 'model,goal\nnet.pith,1%\nb/net.onnx,1%' 'lines 2 and 3 both write net.pith'
expect 3 pith compress --manifest no.csv
expect 2 pith compress --manifest nets.csv --max-drop 1%
expect 2 pith compress --manifest nets.csv net.pith
expect 2 pith compress --manifest nets.csv --shard 5/5
expect 2 pith compress net.pith -j 2
expect 2 pith compress
finish
