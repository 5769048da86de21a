#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The table of README and its picture: five networks compressed by one manifest with 256 labelled samples each, one
thread. Accuracy is that of samples that `compress` did not see, milliseconds are medians of alternating runs, minutes
those of the processor in `compress`.

    bench/first_screen.py PITH DATA_FOLDER [WORK_FOLDER]

DATA_FOLDER is that of bench/compress_goal.py. WORK_FOLDER keeps what was made."""
import csv
import json
import os
import resource
import subprocess
import sys
import tempfile

from compress_goal import NETWORKS

# network: its name in the table, labels (those beside the data where None), the samples that accuracy is measured on
SHOWN = {
    "mnist_lenet5_caffe": ("LeNet-5, digits", None, "256:10000"),
    "tiny_kws_dscnn": ("DS-CNN, keywords", "kws/kws01_labels.csv", "!0:1000:4"),
    "cifar10_resnet20": ("ResNet-20, CIFAR-10", None, "!0:10000:39"),
    "tiny_ic_resnet8": ("ResNet-8, CIFAR-10", None, "!0:10000:39"),
    "imagenet_squeezenet_v1_1": ("SqueezeNet v1.1, ImageNet", "imagenet/labels.csv", "256:500"),
}
PICTURED, PICTURE = "cifar10_resnet20", "../docs/first-screen.svg"


def output_of(*command, exits=(0,)):
    done = subprocess.run(command, stdout=subprocess.PIPE, check=False)
    if done.returncode not in exits:
        sys.exit(f"{' '.join(command)}: exit {done.returncode}")
    return json.loads(done.stdout)


def main(pith, folder, work=None):
    work = work or tempfile.mkdtemp()
    manifest = os.path.join(work, "nets.csv")
    rows = []
    for name, (_, labels, _) in SHOWN.items():
        data, preprocess, given, _ = NETWORKS[name]
        kind, _, path = data.rpartition(":")
        rows.append({"model": os.path.join(folder, "models", name + ".onnx"),
                     "data": (kind + ":" if kind else "") + os.path.join(folder, path),
                     "labels": labels and os.path.join(folder, labels), "range": given, "preprocess": preprocess,
                     "goal": "0.5%", "output": os.path.join(work, name + ".pith")})
    with open(manifest, "w") as f:
        table = csv.DictWriter(f, list(rows[0]))
        table.writeheader()
        table.writerows(rows)
    print("| network | size | smaller | accuracy | ms | minutes |\n| --- | --- | --- | --- | --- | --- |")
    for i, (row, (name, (title, _, held_out))) in enumerate(zip(rows, SHOWN.items())):
        began = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
        run, = output_of(pith, "compress", "--manifest", manifest, "--shard", f"{i}/{len(rows)}", "-T", "1", "--json",
                         exits=(0, 1))["networks"]
        minutes = (resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - began) / 60
        small, made = run["run"]["result"]["written"], run["run"]["result"]
        data = ["-d", row["data"], "--range", held_out] + (["--labels", row["labels"]] if row["labels"] else [])
        top = [100 * output_of(pith, "eval", file, *data, "--preprocess", row["preprocess"], "--json")["top1"]
               for file in (row["model"], small)]
        bench = output_of(pith, "bench", small, "--vs", row["model"], "-T", "1", "--time", "4", "--json")
        print(f"| {title} | {os.path.getsize(row['model']):,} -> {made['bytes']:,} | "
              f"{os.path.getsize(row['model']) / made['bytes']:.1f}x | {top[0]:.2f} -> {top[1]:.2f} % | "
              f"{bench['vs']['ms_median']:.3g} -> {bench['ms_median']:.3g} | {minutes:.1f} |", flush=True)
        if name == PICTURED:
            subprocess.run([pith, "report", small, "--vs", row["model"], *data, "--time", "4s", "--svg", work, "-q", "-f",
                            "-o", os.path.join(work, "report.html")], check=True)
            os.replace(os.path.join(work, "summary.svg"), os.path.join(os.path.dirname(__file__), PICTURE))


if __name__ == "__main__":
    main(*sys.argv[1:])
