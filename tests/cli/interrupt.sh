#!/bin/sh
# SPDX-License-Identifier: MIT
# ^C and SIGTERM during long work: exit 130 and 143, one line, nothing half-written, the old output
# intact; a reader that goes away (SIGPIPE) ends a command quietly with exit 3.
. "$(dirname "$0")/sandbox.inc"
printf 'old content' >kept.pith
PYTHONPATH=$here PYTHONDONTWRITEBYTECODE=1 python3 - <<'EOF' || status=1
import os, signal, struct, subprocess, sys, time
from make_inputs import field, value

signal.signal(signal.SIGINT, signal.SIG_DFL)  # a process started with & has it ignored, and its children too

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
    # what a command had reported before the signal depends on the machine: the images are zeros, which is warned of,
    # and a search may have printed its head
    return early, p.returncode, out, err

def ends_with_one_line(err):
    said = [i for i, line in enumerate(err.splitlines()) if "interrupted" in line]
    return said == [len(err.splitlines()) - 1]

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
    check(command, ends_with_one_line(err), err)
    check(command, out == "", out)
# within one run: 2^40 iterations of a loop, ended between two steps
for command in (["run", "long.onnx", "half.npy"], ["bench", "long.onnx"], ["compare", "long.onnx", "long.onnx"]):
    began = time.monotonic()
    early, rc, out, err = stop(["pith"] + command, signal.SIGTERM)
    check(command, not early and rc == 143 and "interrupted" in err and out == "", f"exit {rc}: {err}")
    check(command, time.monotonic() - began < 10, "took long to end")
    p = subprocess.run(["pith"] + command + ["--max-steps", "100000"], capture_output=True, text=True)
    check(command, p.returncode == 6 and "100000 steps" in p.stderr and "'turn'" in p.stderr and p.stdout == "",
          f"exit {p.returncode}: {p.stderr}")

# within one layer: 16 million weights, which take ten seconds and more to encode or decode
SIDE = 4096
weights = b"".join(struct.pack("<f", ((i * 2654435761 >> 7) % 4001 - 2000) / 1e5) for i in range(1 << 16)) * (SIDE * SIDE >> 16)
tensor = field(1, SIDE) + field(1, SIDE) + field(2, 1) + field(8, b"w") + field(9, weights)
node = field(1, b"x") + field(1, b"w") + field(2, b"y") + field(4, b"MatMul")
with open("large.onnx", "wb") as f:
    f.write(field(1, 8) + field(8, field(2, 13)) +
            field(7, field(1, node) + field(5, tensor) + value(11, b"x", [1, SIDE]) + value(12, b"y", [1, SIDE])))
subprocess.run(["pith", "cluster", "large.onnx", "--bits", "4", "-q", "-o", "large.pith"], check=True)
for sig, code in ((signal.SIGINT, 130), (signal.SIGTERM, 143)):
    command = ["pith", "encode", "large.pith", "--coder", "adaptive", "-f", "-o", "kept.pith"]
    began = time.monotonic()
    early, rc, out, err = stop(command, sig, after=0.3)
    seconds = time.monotonic() - began - 0.3
    print(f"one large layer ends {seconds:.2f} s after the signal", file=sys.stderr)
    check(command, not early and rc == code and ends_with_one_line(err), f"exit {rc}: {err}")
    check(command, seconds < 5, f"took {seconds:.1f} s to end")

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
