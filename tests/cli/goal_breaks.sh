#!/bin/sh
# SPDX-License-Identifier: MIT
# A search that is broken off at random moments (SIGKILL, SIGINT, SIGTERM) and started again with
# --resume ends in the bytes of one that nobody disturbed, whatever the threads. A checkpoint of
# another search, a damaged one and a full disk are told; -n looks for nothing and leaves nothing.
. "$(dirname "$0")/sandbox.inc"
PYTHONPATH=$here PYTHONDONTWRITEBYTECODE=1 python3 "$here/make_readme_inputs.py" || exit 1
seed=${PITH_TEST_SEED:-$(date +%s)}
search="pith compress net.onnx -d val.tar --preprocess imagenet --max-drop 2%"

start=$(date +%s%N)
expect 0 $search -q -T 1 -o whole.pith
python3 - "$seed" "$(($(date +%s%N) - start))" <<'END' || status=1
import os, random, signal, subprocess, sys, time

seed, whole = int(sys.argv[1]), int(sys.argv[2]) / 1e9
random.seed(seed)
base = ["pith", "compress", "net.onnx", "-d", "val.tar", "--preprocess", "imagenet", "--max-drop", "2%", "-q", "-f",
        "-o", "parts.pith", "--checkpoint", "state", "--resume"]
killed = ended = 0
end_by = time.time() + 10
while killed < 6 and time.time() < end_by:
    p = subprocess.Popen(base + ["-T", str(random.choice((1, 2, 4)))], stderr=subprocess.PIPE, text=True)
    sig = random.choice((signal.SIGKILL, signal.SIGKILL, signal.SIGINT, signal.SIGTERM))
    try:
        p.wait(random.uniform(0, 0.9 * whole))
    except subprocess.TimeoutExpired:
        p.send_signal(sig)
        killed += 1
    err = p.communicate()[1]
    # a signal before there is a file ends with its own status; the runtime may not be there yet at all
    if p.returncode not in (0, -signal.SIGKILL, 130, 143, -signal.SIGINT, -signal.SIGTERM):
        sys.exit(f"seed {seed}: exit {p.returncode}: {err}")
    if p.returncode == 0:
        ended += 1
        if open("parts.pith", "rb").read() != open("whole.pith", "rb").read():
            sys.exit(f"seed {seed}: after {killed} kills parts.pith differs from whole.pith")
        if os.path.exists("state"):
            sys.exit(f"seed {seed}: a search that is over left its checkpoint")
    elif os.path.exists("parts.pith"):
        os.remove("parts.pith")
p = subprocess.run(base + ["-T", "2"], stderr=subprocess.PIPE, text=True)
if p.returncode or open("parts.pith", "rb").read() != open("whole.pith", "rb").read():
    sys.exit(f"seed {seed}: after {killed} kills parts.pith differs from whole.pith: {p.stderr}")
if killed == 0:
    sys.exit(f"seed {seed}: nothing was killed")
END

# A missed goal keeps its checkpoint, and another search does not take it.
expect 1 $search -q --max-size 100 -o small.pith --checkpoint kept
[ -s kept ] || complain "a search that missed has no checkpoint"
# refuse CODE WORDS OPTIONS...
refuse() {
    wanted=$1
    words=$2
    shift 2
    expect "$wanted" pith compress net.onnx -d val.tar --preprocess imagenet -q -o refused.pith --checkpoint kept "$@"
    grep -q "$words" .err || complain "$*: no '$words' in: $(cat .err)"
    absent refused.pith refused.best.pith
}
refuse 2 "of another search: the goal or the options differ" --resume --max-drop 2%
refuse 2 "of another search: the data differ" --resume --max-drop 2% --max-size 100 --range 0:30
refuse 2 "kept exists: go on with --resume" --max-drop 2%
expect 2 $search --resume -q -o refused.pith
grep -q -e '--resume needs --checkpoint' .err || complain "no checkpoint: $(cat .err)"
expect 2 pith compress net.onnx --bits 4 -q --checkpoint other -o refused.pith
grep -q -e '--checkpoint takes a search' .err || complain "a checkpoint of stages: $(cat .err)"
absent refused.pith other
head -c 300 kept >short && mv short kept
refuse 4 "kept: damaged" --resume --max-drop 2% --max-size 100
cp whole.pith kept
refuse 4 "kept: not a checkpoint" --resume --max-drop 2% --max-size 100

# Where the checkpoint cannot be written, or the result: exit 3, nothing under the name asked for.
if strace -o /dev/null true 2>/dev/null; then
    export ASAN_OPTIONS=detect_leaks=0
    for fault in rename:error=EIO fsync:error=ENOSPC; do
        expect 3 strace -f -o /dev/null -e "trace=${fault%%:*}" -e "inject=$fault:when=1" \
            $search -q -o faulty.pith --checkpoint faulty
        grep -q faulty .err || complain "$fault: message is: $(cat .err)"
        absent faulty.pith faulty faulty.pith-* faulty.pith.pith-*
        rm -f faulty.best.pith
    done
fi
expect 3 $search -q -o nowhere/net.pith

# A dry run searches nothing: it estimates.
expect 0 $search -n -o dry.pith --checkpoint drystate --json
absent dry.pith dry.best.pith drystate
cp .out dry.json
python3 - <<'END' || status=1
import json, os
got, real = json.load(open("dry.json")), os.path.getsize("whole.pith")
if not got["estimate"] or got["written"] is not None or not got["low_bytes"] < got["bytes"] < got["high_bytes"]:
    raise SystemExit(f"dry: {got}")
if not real / 7 < got["bytes"] < real * 7 or got["seconds"] > 5:
    raise SystemExit(f"dry: {got}, the search has {real}")
END
finish
