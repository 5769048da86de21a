#!/bin/sh
# SPDX-License-Identifier: MIT
# ^C and SIGTERM during long work: exit 130 and 143, one line, nothing half-written, the old output
# intact; a reader that goes away (SIGPIPE) ends a command quietly with exit 3.
. "$(dirname "$0")/sandbox.inc"
printf 'old content' >kept.pith
python3 - <<'EOF' || status=1
import os, signal, struct, subprocess, sys, time

signal.signal(signal.SIGINT, signal.SIG_DFL)  # whoever was started with & had it ignored, and its children too

N = 200000  # some seconds of work on any machine
with open("long-images-idx3-ubyte", "wb") as f:
    f.write(struct.pack(">IIII", 0x803, N, 28, 28))
    f.truncate(16 + N * 784)
with open("long-labels-idx1-ubyte", "wb") as f:
    f.write(struct.pack(">II", 0x801, N))
    f.truncate(8 + N)

failed = False
def check(what, ok, detail=""):
    global failed
    if not ok:
        print(what, detail)
        failed = True

def stop(command, sig, after=0.4, **kinds):
    p = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **kinds)
    time.sleep(after)
    early = p.poll() is not None
    p.send_signal(sig)
    out, err = p.communicate(timeout=20)
    return early, p.returncode, out, err

data = ["-d", "long-images-idx3-ubyte"]
for command, sig, code in (
        (["pith", "eval", "digits.onnx"] + data, signal.SIGINT, 130),
        (["pith", "eval", "digits.onnx"] + data, signal.SIGTERM, 143),
        (["pith", "compress", "digits.onnx", "-f", "-o", "kept.pith"] + data, signal.SIGINT, 130),
        (["pith", "compare", "digits.onnx", "digits.onnx"] + data, signal.SIGINT, 130),
        (["pith", "bench", "digits.onnx", "--time", "9"], signal.SIGINT, 130),
        (["pith", "prune", "-", "--sparsity", "0.5", "-o", "new.pith"], signal.SIGINT, 130)):
    early, rc, out, err = stop(command, sig, stdin=subprocess.PIPE)
    check(command, not early, "ended before the signal: " + err)
    check(command, rc == code, f"exit {rc}, expected {code}: {err}")
    check(command, "interrupted" in err and len(err.splitlines()) == 1, err)
    check(command, out == "", out)
# within one run: 2^40 iterations of a loop, ended between two steps
for command in (["run", "long.onnx", "half.npy"], ["bench", "long.onnx"], ["compare", "long.onnx", "long.onnx"]):
    began = time.monotonic()
    early, rc, out, err = stop(["pith"] + command, signal.SIGTERM)
    check(command, not early and rc == 143 and "interrupted" in err and out == "", f"exit {rc}: {err}")
    check(command, time.monotonic() - began < 2, "took more than a second to end")
    p = subprocess.run(["pith"] + command + ["--max-steps", "100000"], capture_output=True, text=True)
    check(command, p.returncode == 6 and "100000 steps" in p.stderr and "'turn'" in p.stderr and p.stdout == "",
          f"exit {p.returncode}: {p.stderr}")

check("kept.pith", open("kept.pith").read() == "old content")
check("left behind", not [n for n in os.listdir(".") if n.startswith(("new.pith", "kept.pith."))])

# ignored by the parent: stays ignored
p = subprocess.Popen(["pith", "bench", "good.onnx", "--time", "0.8"], stdout=subprocess.PIPE, text=True,
                     preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_IGN))
time.sleep(0.3)
p.send_signal(signal.SIGINT)
out, _ = p.communicate(timeout=20)
check("ignored SIGINT", p.returncode == 0 and "median" in out, out)

# the reader has gone
read_end, write_end = os.pipe()
os.close(read_end)
p = subprocess.run(["pith", "ops"], stdout=write_end, stderr=subprocess.PIPE, text=True)
check("ops into a closed pipe", p.returncode == 3 and p.stderr == "", f"{p.returncode} {p.stderr}")
p = subprocess.run(["pith", "import", "good.onnx", "-q"], stdout=write_end, stderr=subprocess.PIPE, text=True)
check("import into a closed pipe", p.returncode == 3 and "Broken pipe" in p.stderr, f"{p.returncode} {p.stderr}")
sys.exit(failed)
EOF
finish
