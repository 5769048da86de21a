#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""How long a command goes on after SIGTERM: every command that works for long, ended at 0.3, 1 and 2.5
seconds of its processor time.

    bench/studies/signals.py build/release/pith DATA [COMMAND ...]      DATA: as PITH_DATA

Prints seconds of processor time and by the clock from the signal to the end (on a busy machine only the
first tells anything), and ends with 1 where one took more than a second of processor time, was not ended
by the signal, or left a file behind. "done": it was done before.
"""
import glob
import os
import resource
import signal
import subprocess
import sys
import tempfile
import time

MOMENTS = (0.3, 1.0, 2.5)
SIDE = 4096
OUT = ["-f", "-o", "out.pith"]


def prepare(pith, data):
    """A network of 16 million weights from LeNet-300-100's, and two public ones."""
    def run(*arguments):
        subprocess.run([pith, *arguments, "-q", "-f"], check=True)
    wide = '{"pith":1,"stages":[{"do":"prune","sparsity":0.5},{"do":"cluster","bits":4},{"do":"encode"}],' \
           '"sweep":{"stages.0.sparsity":[0.1,0.3,0.5,0.7],"stages.1.bits":[2,3,4,5,6,7,8]}}'
    with open("grid.json", "w", encoding="utf-8") as f:
        f.write(wide)
    run("import", data + "/models/imagenet_squeezenet_v1_1.onnx", "--preprocess", "imagenet", "-o", "conv.pith")
    run("import", data + "/models/mnist_lenet5_caffe.onnx", "--preprocess", "scale=1/256", "-o", "digits.pith")
    make_large("large.onnx")
    run("import", "large.onnx", "-o", "large.pith")
    run("compress", "large.pith", "--bits", "4", "-o", "coded.pith")


def make_large(path):
    import numpy as np
    from onnx import TensorProto, helper, numpy_helper, save
    numbers = np.random.default_rng(1)
    w = numpy_helper.from_array(numbers.standard_normal((SIDE, SIDE)).astype("f4"), "w")
    ends = [helper.make_tensor_value_info(n, TensorProto.FLOAT, ["N", SIDE]) for n in "xy"]
    graph = helper.make_graph([helper.make_node("MatMul", ["x", "w"], ["y"])], "g", ends[:1], ends[1:], [w])
    save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
    np.save("large.npy", numbers.standard_normal((32, SIDE)).astype("f4"))


def commands(data):
    pictures = ["-d", data + "/imagenet/imagenet_a500.tar"]
    digits = ["-d", data + "/mnist/train-images-idx3-ubyte.gz"]
    labels = ["--labels", data + "/imagenet/labels.csv"]
    return [
        ["import", "large.onnx", *OUT], ["check", "large.onnx"], ["info", "--bytes", "-v", "coded.pith"],
        ["prune", "large.pith", "--sparsity", "0.9", *OUT], ["prune", "large.pith", "--pattern", "2:4", *OUT],
        ["cluster", "large.pith", "--bits", "8", *OUT], ["cluster", "large.pith", "--bits", "4", "--init", "exact", *OUT],
        ["encode", "coded.pith", "--for", "size", *OUT], ["encode", "coded.pith", "--coder", "adaptive", *OUT],
        ["encode", "large.pith", *OUT], ["decode", "coded.pith", *OUT],
        ["compress", "large.pith", "--bits", "8", *OUT], ["compress", "large.pith", "--lossless", *OUT],
        ["compress", "conv.pith", *pictures, *labels, "--max-drop", "1%", *OUT],
        ["calibrate", "conv.pith", *pictures, *OUT], ["quantize", "conv.pith", *pictures, *OUT],
        ["quantize", "conv.pith", *pictures, "--rounding", "adaptive", *OUT], ["quantize", "large.pith", "-d", "large.npy", *OUT],
        ["quantize", "conv.pith", "-d", "none", "--weights", "4", *OUT], ["sense", "conv.pith", *pictures],
        ["train", "digits.pith", *digits, "--epochs", "3", *OUT],
        ["train", "digits.pith", *digits, "--epochs", "3", "--quantize", "w4a4", *OUT],
        ["eval", "conv.pith", *pictures, *labels], ["run", "conv.pith", *pictures, "-f", "-o", "out.npy"],
        ["bench", "coded.pith", "--time", "30"], ["compare", "conv.pith", "conv.pith", *pictures],
        ["sweep", "grid.json", "digits.pith", *digits, "--append", "out.jsonl"],
    ]


def processor_seconds(pid):
    """None: it has ended."""
    with open(f"/proc/{pid}/stat", encoding="utf-8") as f:
        fields = f.read().rsplit(")", 1)[1].split()
    if fields[0] == "Z":
        return None
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def end_at(command, moment):
    """(seconds of processor time, of the clock, what is wrong) from the signal on; None: done before."""
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    used = processor_seconds(process.pid)
    while used is not None and used < moment:
        time.sleep(0.02)
        used = processor_seconds(process.pid)
    if used is None:
        process.communicate()
        return None
    began = time.monotonic()
    process.send_signal(signal.SIGTERM)
    process.stderr.read()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    took = usage.ru_utime + usage.ru_stime - used
    wrong = "" if process.returncode in (0, 143) else f" exit {process.returncode}"
    if process.returncode == 143 and glob.glob("out.pith*") + glob.glob("out.npy*"):
        wrong += " left a file"
    return took, time.monotonic() - began, wrong


def main():
    pith, data, only = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2]), sys.argv[3:]
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    failed = False
    with tempfile.TemporaryDirectory() as work:
        os.chdir(work)
        prepare(pith, data)
        for command in commands(data):
            if only and command[0] not in only:
                continue
            told = []
            for moment in MOMENTS:
                for name in glob.glob("out.*"):
                    os.unlink(name)
                result = end_at([pith, *command], moment)
                told.append("%.2f (%.2f)%s" % result if result else "done")
                failed |= bool(result) and (result[0] > 1 or bool(result[2]))
                if not result:
                    break
            print("%-60s %s" % (" ".join(os.path.basename(c) for c in command)[:60], ", ".join(told)), flush=True)
        os.chdir("/")
    return failed


if __name__ == "__main__":
    sys.exit(main())
