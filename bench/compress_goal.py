#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What `pith compress NET -d DATA --max-drop 0.5%` makes of 256 samples without labels: ratio, what is
lost on held-out samples, minutes. One line of JSON for each network, and a table.

    bench/compress_goal.py PITH DATA_FOLDER [-o results.jsonl] [NETWORK...]
    bench/compress_goal.py --table results.jsonl

DATA_FOLDER holds models/, imagenet/, cifar10/, mnist/, kws/, audio/. Samples that compress
sees and those that losses are measured on are apart; the latter are read once, when the file is finished. The limit: KL of 0.02
nats for classes, an SQNR of 30 dB for other outputs."""
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time

import numpy as np

CIFAR = "scale=1/255,mean=0.485:0.456:0.406,std=0.229:0.224:0.225"
BGR = "mean=104:117:123,order=bgr,crop="
# network: data, preprocessing, the range that compress sees, the range of the losses
NETWORKS = {
    "mnist_lenet5_caffe": ("mnist/t10k-images-idx3-ubyte.gz", "scale=1/256", "0:256", "256:2256"),
    "mnist_cntk": ("mnist/t10k-images-idx3-ubyte.gz", "scale=1", "0:256", "256:2256"),
    "cifar10_resnet20": ("cifar10/test_jpeg.tar.gz", CIFAR, "0:10000:39", "1:10000:10"),
    "tiny_ic_resnet8": ("cifar10/test_jpeg.tar.gz", "scale=1", "0:10000:39", "1:10000:10"),
    "tiny_kws_dscnn": ("raw:i8:490:kws/kws01_mfcc_int8.bin.gz", "scale=0.5847029089927673,mean=48.53034144406208",
                       "0:1000:4", "1:1000:2"),
    "tiny_vww_mbv1": ("imagenet/imagenet_a500.tar", "resize=96,scale=1/255,crop=96", "0:500:2", "1:500:2"),
    "tiny_ad01_ae": ("audio/ad01_logmel640_f32.npy", None, "0:256", "256:300"),
    "kws_DNN_L": ("kws/kws_mfcc250_f32.npy", None, "0:304:2", "1:304:2"),
    "kws_GRU_L": ("kws/kws_mfcc490_f32.npy", None, "0:304:2", "1:304:2"),
    "kws_LSTM_L": ("kws/kws_mfcc490_f32.npy", None, "0:304:2", "1:304:2"),
    "imagenet_squeezenet_v1_1": ("imagenet/imagenet_a500.tar", BGR + "224", "0:256", "256:500"),
    "imagenet_squeezenet_v1_dc": ("imagenet/imagenet_a500.tar", BGR + "227", "0:256", "256:500"),
    "imagenet_mobilenet_v2": ("imagenet/imagenet_a500.tar", "imagenet,crop=224", "0:256", "256:500"),
    "super_resolution_x3": ("imagenet/imagenet_a500.tar", "scale=1/255,crop=224", "0:64", "64:96"),
    "silero_vad_16k": ("wav:576:512:audio/vad_test_16k.wav", None, "0:1200", "1200:1875"),
}
STATES = {"silero_vad_16k": ["--state", "1=1"]}


def data_of(name, folder, work):
    """A link in a folder of its own, so that labels beside the data are not found."""
    where = NETWORKS[name][0]
    kind, _, path = where.rpartition(":")
    link = os.path.join(work, os.path.basename(path).replace("images-idx3", "pictures"))
    if not os.path.exists(link):
        os.symlink(os.path.abspath(os.path.join(folder, path)), link)
    return f"{kind}:{link}" if kind else link


def outputs(pith, model, data, which, extra, work):
    out = os.path.join(work, "outputs.npy")
    subprocess.run([pith, "run", model, "-d", data, "--range", which, "-q", "-f", "-o", out] + extra, check=True)
    y = np.load(out).astype(np.float64)
    return y.reshape(len(y), -1)


def losses(a, b):
    """KL, agreement, dB, as compress measures them."""
    noise = ((a - b) ** 2).sum()
    db = 10 * np.log10((a ** 2).sum() / noise) if noise > 0 else 200.0
    return classes(a, b) + (float(db),)


def classes(a, b):
    def log_p(x):
        if (x >= 0).all() and np.allclose(x.sum(1), 1, atol=1e-3):
            return np.log(np.maximum(x, 1e-30))
        x = x - x.max(1, keepdims=True)
        return x - np.log(np.exp(x).sum(1, keepdims=True))
    p, q = log_p(a), log_p(b)
    return float((np.exp(p) * (p - q)).sum(1).mean()), float((a.argmax(1) == b.argmax(1)).mean())


def run_timed(command):
    """Exit status, what it printed, and seconds of the clock, of processors, and its peak in MB."""
    began = time.monotonic()
    with tempfile.TemporaryFile() as said:
        child = subprocess.Popen(command, stdout=said)
        _, status, usage = os.wait4(child.pid, 0)
        seconds = time.monotonic() - began
        said.seek(0)
        return os.waitstatus_to_exitcode(status), said.read(), {
            "seconds": seconds, "cpu_seconds": usage.ru_utime + usage.ru_stime, "peak_mb": usage.ru_maxrss / 1024}


def measure(pith, folder, name):
    work = tempfile.mkdtemp()
    try:
        _, preprocess, given, held_out = NETWORKS[name]
        data, extra = data_of(name, folder, work), STATES.get(name, [])
        original, small = os.path.join(work, "original.pith"), os.path.join(work, "small.pith")
        options = ["--preprocess", preprocess] if preprocess else []
        subprocess.run([pith, "import", os.path.join(folder, "models", name + ".onnx"), "-q", "-o", original] + options,
                       check=True)
        code, said, spent = run_timed([pith, "compress", original, "-d", data, "--range", given, "--max-drop", "0.5%",
                                       "-q", "--json", "-o", small] + extra)
        got = json.loads(said)
        written = got.get("written")
        if not written:
            return {"network": name, "exit": code, "error": got}
        kl, agreement, db = losses(outputs(pith, original, data, held_out, extra, work),
                                   outputs(pith, written, data, held_out, extra, work))
        is_classes = got["kl"] is not None
        return {"network": name, "exit": code, "bytes": got["bytes"], "ratio": got["ratio"], "met": got["met"],
                "encoder": got["encoder"], "calls": got["calls"], "reported_kl": got["kl"],
                "reported_db": got["snr_db"], "classes": is_classes, "kl": kl if is_classes else None,
                "agreement": agreement if is_classes else None, "db": db, **spent}
    finally:
        shutil.rmtree(work)


def table(path):
    last = {r["network"]: r for r in map(json.loads, open(path))}
    print("| network | ratio | bytes | KL | agreement | SQNR | loss / limit | minutes | MB |\n|---|---|---|---|---|---|---|---|---|")
    for r in last.values():
        if "bytes" not in r:
            print(f"| {r['network']} | exit {r['exit']} |")
            continue
        kl, agree, part = "-", "-", 10 ** ((30 - r["db"]) / 10)
        if r["classes"]:
            kl, agree, part = f"{r['kl']:.4f}", f"{100 * r['agreement']:.1f} %", r["kl"] / 0.02
        goal = "" if r["met"] else " (beyond the goal)"
        print(f"| {r['network']}{goal} | {r['ratio']:.1f} | {r['bytes']:,} | {kl} | {agree} | {r['db']:.1f} dB | {part:.2f} | "
              f"{r['cpu_seconds'] / 60:.1f} | {r['peak_mb']:.0f} |")
    ratios = sorted(r["ratio"] for r in last.values() if r.get("met"))
    if ratios:
        print(f"\nMedian ratio of {len(ratios)} within the goal: {ratios[len(ratios) // 2]:.1f}.")


def main(args):
    if args[0] == "--table":
        return table(args[1])
    pith, folder, names, out = args[0], args[1], args[2:], None
    if names[:1] == ["-o"]:
        out, names = names[1], names[2:]
    names = names or list(NETWORKS)
    for name in names if names[1:] else []:  # a process each: the peak of one counts as its child's, too
        subprocess.run([sys.executable, __file__] + args[:4 if out else 2] + [name], check=True)
    if names[1:]:
        return
    line = json.dumps(measure(pith, folder, names[0]))
    print(line, flush=True)
    if out:
        with open(out, "a") as f:
            f.write(line + "\n")


if __name__ == "__main__":
    main(sys.argv[1:])
