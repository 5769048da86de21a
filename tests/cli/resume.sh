#!/bin/sh
# SPDX-License-Identifier: MIT
# pith train killed at 20 random moments (SIGKILL: nothing can be put in order first) and started
# again each time with --resume: the file has the bytes of the undisturbed run. ^C, too. A
# checkpoint of another run is refused.
. "$(dirname "$0")/sandbox.inc"
"$PITH_O/samples/make_digits" digits 1 2000 || exit 1
data=digits/test-images-idx3-ubyte
seed=${PITH_TEST_SEED:-$(date +%s)}

expect 0 pith import digits.onnx --preprocess scale=1/255 -q -o dense.pith
start=$(date +%s%N)
expect 0 pith train dense.pith -d $data --hold 0::10 --epochs 6 --levels 7 --sparsity 0.8 -T 1 -q -o whole.pith --log whole.csv
python3 - "$seed" "$(($(date +%s%N) - start))" $data <<'EOF2' || status=1
import os, random, signal, subprocess, sys, time

seed, whole_ns, data = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
random.seed(seed)
whole = whole_ns / 1e9
base = ["pith", "train", "dense.pith", "-d", data, "--hold", "0::10", "--epochs", "6", "--levels", "7",
        "--sparsity", "0.8", "-q", "-f", "-o", "parts.pith", "--log", "parts.csv",
        "--checkpoint", "state", "--set", "checkpoint_every=5", "--resume"]
killed = ended = 0
end_by = time.time() + 40
while killed < 20 and time.time() < end_by:
    p = subprocess.Popen(base + ["-T", str(random.choice((1, 2, 4)))], stderr=subprocess.PIPE, text=True)
    try:
        p.wait(random.uniform(0, 0.45 * whole))
    except subprocess.TimeoutExpired:
        p.send_signal(signal.SIGINT if killed % 7 == 6 else signal.SIGKILL)
        killed += 1
    err = p.communicate()[1]
    last = err.splitlines()[-1] if err else ""
    if p.returncode == 130 and "has the run" in last and " --resume" not in last:
        sys.exit(f"seed {seed}: the last line of what was broken off: {last}")
    if p.returncode not in (0, -signal.SIGKILL, -signal.SIGINT, 130):
        sys.exit(f"seed {seed}: exit {p.returncode}: {err}")
    if p.returncode == 0:
        ended += 1
        if open("parts.pith", "rb").read() != open("whole.pith", "rb").read():
            sys.exit(f"seed {seed}: after {killed} kills parts.pith differs from whole.pith")
        os.remove("parts.pith")
        os.remove("state/checkpoint")
if killed < 20 and ended == 0:
    sys.exit(f"seed {seed}: {killed} kills, and no run came to its end")
p = subprocess.run(base + ["-T", "2"], stderr=subprocess.PIPE, text=True)
if p.returncode or open("parts.pith", "rb").read() != open("whole.pith", "rb").read():
    sys.exit(f"seed {seed}: after {killed} kills parts.pith differs from whole.pith: {p.stderr}")
q = subprocess.run([w for w in base if w not in ("-f", "-q")], stderr=subprocess.PIPE, text=True)
if q.returncode or "parts.pith: done already" not in q.stderr:
    sys.exit(f"seed {seed}: --resume of what is done: exit {q.returncode}: {q.stderr}")
with open("parts.pith", "ab") as f:
    f.write(b"x")
q = subprocess.run([w for w in base if w not in ("-f", "-q")], stderr=subprocess.PIPE, text=True)
if q.returncode != 2 or "parts.pith exists" not in q.stderr:
    sys.exit(f"seed {seed}: --resume into another file: exit {q.returncode}: {q.stderr}")
if os.listdir("state") != ["checkpoint"]:
    sys.exit(f"seed {seed}: left behind: {os.listdir('state')}")

# the log has all epochs, however often the run was broken off; all but the seconds agree
def lines(path):
    return [[c for i, c in enumerate(l.split(",")) if i != 7] for l in open(path)]
if lines("parts.csv") != lines("whole.csv"):
    sys.exit(f"seed {seed}: parts.csv differs from whole.csv")
EOF2

# refuse CODE WORDS OPTIONS...
refuse() {
    wanted=$1
    words=$2
    shift 2
    expect "$wanted" pith train dense.pith -d $data -q -o refused.pith --checkpoint state --resume "$@"
    grep -q "$words" "$work/.err" || complain "$*: no '$words' in: $(cat "$work/.err")"
    absent refused.pith
}
refuse 2 "another run: there 'epochs 6', here 'epochs 7'" --epochs 7 --hold 0::10 --levels 7 --sparsity 0.8
refuse 2 "another run" --seed 5 --hold 0::10
expect 2 pith train dense.pith -d $data -q -o refused.pith --checkpoint state
grep -q "state/checkpoint exists: go on with --resume" .err || complain "old checkpoint: $(cat .err)"
head -c 5000 state/checkpoint >state/short && mv state/short state/checkpoint
refuse 4 "state/checkpoint.*damaged or cut short"
finish
