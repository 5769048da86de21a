#!/bin/sh
# SPDX-License-Identifier: MIT
# A search that is broken off at random moments (SIGKILL, SIGINT, SIGTERM) and started again with
# --resume ends in the bytes of an undisturbed one, whatever the threads. A checkpoint of
# another search, a damaged one and a full disk are reported; -n looks for nothing and leaves nothing.
. "$(dirname "$0")/sandbox.inc"
PYTHONPATH=$here PYTHONDONTWRITEBYTECODE=1 python3 "$here/make_own_inputs.py" && mv photos.onnx net.onnx || exit 1
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
    if p.returncode in (130, 143) and os.path.exists("state"):
        last = err.splitlines()[-1]
        if not (last.startswith("pith: interrupted: ") and " --resume" in last):
            sys.exit(f"seed {seed}: the last line of what was broken off: {last}")
    # a signal before there is a file ends with its own status; the runtime may not be there yet at all
    if p.returncode not in (0, -signal.SIGKILL, 130, 143, -signal.SIGINT, -signal.SIGTERM):
        sys.exit(f"seed {seed}: exit {p.returncode}: {err}")
    if p.returncode == 0:
        ended += 1
        if open("parts.pith", "rb").read() != open("whole.pith", "rb").read():
            sys.exit(f"seed {seed}: after {killed} kills parts.pith differs from whole.pith")
        if os.path.getsize("state") > 100:
            sys.exit(f"seed {seed}: a search that is over left its files in the checkpoint")
        q = subprocess.run([w for w in base if w != "-f"], stderr=subprocess.PIPE, text=True)
        if q.returncode or open("parts.pith", "rb").read() != open("whole.pith", "rb").read():
            sys.exit(f"seed {seed}: --resume of what is done: exit {q.returncode}: {q.stderr}")
        os.remove("state")
    elif os.path.exists("parts.pith"):
        os.remove("parts.pith")
p = subprocess.run(base + ["-T", "2"], stderr=subprocess.PIPE, text=True)
if p.returncode or open("parts.pith", "rb").read() != open("whole.pith", "rb").read():
    sys.exit(f"seed {seed}: after {killed} kills parts.pith differs from whole.pith: {p.stderr}")
if killed == 0:
    sys.exit(f"seed {seed}: nothing was killed")
END

# The end of the time is no break: the best so far, exit 0 or 1. A file is there however short the
# time, and one that was made is not thrown away by --resume.
expect 0 $search --time 0.01s -o timed.pith --checkpoint timed
[ -s timed.pith ] || complain "no file in 10 ms"
grep -q "time ended the search after 1 files; --resume with a longer --time continues" .err || complain "in 10 ms: $(cat .err)"
cp timed.pith timed1.pith
expect 0 $search --time 0.01s -o timed.pith -f --checkpoint timed --resume -q
same timed.pith timed1.pith
expect 1 $search --time 0.01s --max-size 100 -q -o tiny.pith
[ -s tiny.best.pith ] || complain "a goal missed in 10 ms left no file"
expect 0 $search -q -o timed.pith -f --checkpoint timed --resume
same timed.pith whole.pith
expect 0 $search -o timed.pith --checkpoint timed --resume
grep -q "timed.pith: done already" .err || complain "a search that is done: $(cat .err)"
expect 2 $search --max-drop 3% -q -o timed.pith --checkpoint timed --resume
rm timed.pith
expect 0 $search -q -o timed.pith --checkpoint timed --resume
same timed.pith whole.pith

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
refuse 2 "belongs to another search: the goal or the options differ" --resume --max-drop 2%
refuse 2 "belongs to another search: the data differ" --resume --max-drop 2% --max-size 100 --range 0:30
refuse 2 "kept exists: go on with --resume" --max-drop 2%
expect 2 $search --resume -q -o refused.pith
grep -q -e '--resume needs --checkpoint' .err || complain "no checkpoint: $(cat .err)"
expect 2 pith compress net.onnx --bits 4 -q --checkpoint other -o refused.pith
grep -q -e '--checkpoint needs a search' .err || complain "a checkpoint of stages: $(cat .err)"
absent refused.pith other
head -c 300 kept >short && mv short kept
refuse 4 "kept: damaged: wrong checksum" --resume --max-drop 2% --max-size 100
cp whole.pith kept
refuse 4 "kept: not a checkpoint" --resume --max-drop 2% --max-size 100

# A checkpoint whose files are changed and whose checksum is right: exit 4, with its name; another
# network in place of a file is measured as what it is.
expect 1 $search -q --max-size 100 -o small.pith --checkpoint good -f
pith import digits.onnx -q -o digits.pith
python3 - <<'END' || status=1
import struct, subprocess

T = []
for c in range(256):
    for _ in range(8):
        c = c >> 1 ^ (0x82F63B78 if c & 1 else 0)
    T.append(c)
def crc(b):
    c = 0xffffffff
    for x in b:
        c = c >> 8 ^ T[(c ^ x) & 255]
    return c ^ 0xffffffff

good = open("good", "rb").read()
def write(b):
    with open("kept", "wb") as f:
        f.write(b + struct.pack("<I", crc(b)))
def run(what, code, words=""):
    p = subprocess.run("pith compress net.onnx -d val.tar --preprocess imagenet --max-drop 2% --max-size 100 -q -f --json "
                       "-o evil.pith --checkpoint kept --resume".split(), capture_output=True, text=True)
    if p.returncode != code or words not in p.stderr or (code == 4 and "kept" not in p.stderr):
        raise SystemExit(f"{what}: exit {p.returncode}, not {code}: {p.stderr}")

body = good[:-4]
first = 53 + 1 + body[53] + 8  # behind the name and the quality of the first file
at = first + 1
for _ in range(body[first]):
    at += 1 + body[at] + 8
size = struct.unpack_from("<Q", body, at)[0]
start = at + 16
write(body)
run("as it was", 1)
digits = open("digits.pith", "rb").read()
write(body[:at] + struct.pack("<QQ", len(digits), 0) + digits + body[start + size:])
run("another network", 4, "cannot be run")
write(body[:start + size // 2] + bytes([body[start + size // 2] ^ 1]) + body[start + size // 2 + 1:])
run("a changed network", 4, "not valid")
write(body[:28] + struct.pack("<d", -20.0) + body[36:])
run("less than no time", 4, "out of range")
END

# Where the checkpoint cannot be written, or the result: exit 3, nothing under the requested name.
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

# A dry run writes nothing: it prints a range of bytes.
expect 0 $search -n -o dry.pith --checkpoint drystate --json
absent dry.pith dry.best.pith drystate
cp .out dry.json
python3 - <<'END' || status=1
import json, os
got, real = json.load(open("dry.json")), os.path.getsize("whole.pith")
if not got["estimate"] or got["written"] is not None or not real < got["high_bytes"] == 4 * got["low_bytes"] + got["high_bytes"] % 4:
    raise SystemExit(f"dry: {got}, the search has {real}")
END
finish
