#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Whether `pith compress NET -d PICTURES --max-drop P` keeps its limit on pictures that it has not seen: searches on
random splits of CIFAR-10's labelled test pictures, 64 to 2,000 each, and each file's loss on 5,000 others.
One line of JSON for each search, and a table.

    bench/label_splits.py PITH DATA_FOLDER [-o results.jsonl] [--net NAME] [--max-drop P%] [--searches N] [--first N]
    bench/label_splits.py --table results.jsonl

DATA_FOLDER holds models/NAME.onnx (default: tiny_ic_resnet8) and cifar10/. After a miss the file that is measured is
the best one (NAME.best.pith). With labels, top-1 decides where the samples resolve the limit, else the KL limit."""
import argparse
import io
import json
import os
import subprocess
import sys
import tarfile
import tempfile

import numpy as np

from compress_goal import CIFAR, classes

PREPROCESS = {"tiny_ic_resnet8": "scale=1", "cifar10_resnet20": CIFAR}
OTHERS = 5000


def read_pictures(folder):
    """[(JPEG, class)], in the order of the archive."""
    with open(os.path.join(folder, "cifar10/batches.meta.txt")) as f:
        names = f.read().split()
    with tarfile.open(os.path.join(folder, "cifar10/test_jpeg.tar.gz")) as t:
        return [(t.extractfile(m).read(), names.index(m.name.split("/")[-2])) for m in t if m.isfile()]


def write_pictures(pictures, path):
    with tarfile.open(path + ".tar", "w") as t:
        for i, (jpeg, _) in enumerate(pictures):
            info = tarfile.TarInfo(f"{i:05}.jpg")
            info.size = len(jpeg)
            t.addfile(info, io.BytesIO(jpeg))
    with open(path + ".csv", "w") as f:
        f.write("file,class\n" + "".join(f"{i:05}.jpg,{label}\n" for i, (_, label) in enumerate(pictures)))


def outputs(pith, model, pictures):
    out = pictures + ".npy"
    subprocess.run([pith, "run", model, "-d", pictures + ".tar", "-q", "-f", "-o", out], check=True)
    y = np.load(out).astype(np.float64)
    return y.reshape(len(y), -1)


def measure(pith, pictures, was, model, work, number, drop):
    rng = np.random.default_rng(number)
    n = int(round(64 * (2000 / 64) ** rng.random()))
    order = rng.permutation(len(pictures))
    seen, others = order[:n], order[n:n + OTHERS]
    split, held = os.path.join(work, "split"), os.path.join(work, "held")
    write_pictures([pictures[i] for i in seen], split)
    write_pictures([pictures[i] for i in others], held)
    out = os.path.join(work, "small.pith")
    run = subprocess.run([pith, "compress", model, "-d", split + ".tar", "--labels", split + ".csv", "--max-drop", drop,
                          "-q", "-f", "--json", "-o", out], stdout=subprocess.PIPE)
    got = json.loads(run.stdout)
    now, labels = outputs(pith, got["written"], held), np.array([pictures[i][1] for i in others])
    kl, agreement = classes(was[others], now)
    paired = (was[others].argmax(1) == labels).astype(float) - (now.argmax(1) == labels)
    return {"search": number, "limit": got["limit"], "samples": n, "exit": run.returncode, "ratio": round(got["ratio"], 2),
            "calls": got["calls"], "reported_drop": got["drop"], "reported_kl": got["kl"],
            "drop": paired.mean(), "error": paired.std() / np.sqrt(len(paired)), "kl": kl, "agreement": agreement}


def table(path):
    rows = [json.loads(line) for line in open(path)]
    print("| samples | searches | exit 1 | exit 1, file within all limits | median ratio | drop above the limit | "
          "by more than one standard error | KL above its limit | median drop, points |")
    print("|---|---|---|---|---|---|---|---|---|")
    for low, high in ((64, 160), (160, 400), (400, 1000), (1000, 2001), (64, 2001)):
        of = [r for r in rows if low <= r["samples"] < high]
        if not of:
            continue
        within = [r["drop"] <= r["limit"] and r["kl"] <= 4 * r["limit"] for r in of]
        print(f"| {low} to {high - 1} | {len(of)} | {sum(r['exit'] == 1 for r in of)} | "
              f"{sum(r['exit'] == 1 and w for r, w in zip(of, within))} | {np.median([r['ratio'] for r in of]):.1f} | "
              f"{sum(r['drop'] > r['limit'] for r in of)} | {sum(r['drop'] - r['error'] > r['limit'] for r in of)} | "
              f"{sum(r['kl'] > 4 * r['limit'] for r in of)} | {100 * np.median([r['drop'] for r in of]):.2f} |")


def main():
    if sys.argv[1:2] == ["--table"]:
        return table(sys.argv[2])
    p = argparse.ArgumentParser()
    p.add_argument("pith")
    p.add_argument("folder")
    p.add_argument("-o", dest="out")
    p.add_argument("--net", default="tiny_ic_resnet8", choices=PREPROCESS)
    p.add_argument("--max-drop", default="1%")
    p.add_argument("--searches", type=int, default=40)
    p.add_argument("--first", type=int, default=0)
    a = p.parse_args()
    with tempfile.TemporaryDirectory() as work:
        model, all_of = os.path.join(work, "net.pith"), os.path.join(work, "all")
        subprocess.run([a.pith, "import", os.path.join(a.folder, "models", a.net + ".onnx"), "--preprocess",
                        PREPROCESS[a.net], "-q", "-o", model], check=True)
        pictures = read_pictures(a.folder)
        write_pictures(pictures, all_of)
        was = outputs(a.pith, model, all_of)
        for number in range(a.first, a.first + a.searches):
            line = json.dumps(measure(a.pith, pictures, was, model, work, number, a.max_drop))
            print(line, flush=True)
            if a.out:
                with open(a.out, "a") as f:
                    f.write(line + "\n")


if __name__ == "__main__":
    main()
