#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The SQNR that pith quantize reports, measured on the samples that it holds out, against that of samples
it was not given, for networks x bits of weights x number of samples. Prints Markdown.

    bench/held_out.py build/release/pith ../shared/data [--cut] [NETWORK ...]

--cut: without the final Softmax, whose probabilities are another signal. Needs numpy and onnx.
"""
import argparse
import json
import os
import subprocess
import tempfile

from int8_accuracy import CIFAR, CLIPS, KWS, MNIST, NETWORKS, AD, data_path, logits_name

EIGHT = ["kws_DNN_L", "kws_GRU_L", "tiny_kws_dscnn", "mnist_lenet5_caffe", "mnist_cntk", "cifar10_resnet20",
         "tiny_ic_resnet8", "tiny_ad01_ae"]
# where samples are taken from, how many there are, and samples that are never given
SAMPLES = {KWS: 900, MNIST: 59000, CIFAR: 49000}
UNSEEN = {KWS: "1:1000:4", MNIST: "0:10000:20", CIFAR: "0:10000:20"}


def run(pith, *args):
    out = subprocess.run([pith, *args], capture_output=True, text=True)
    if out.returncode:
        raise SystemExit(f"{' '.join(args)}: {out.stderr}")
    return json.loads(out.stdout) if "--json" in args else None, out.stderr


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("pith")
    parser.add_argument("data")
    parser.add_argument("networks", nargs="*")
    parser.add_argument("--cut", action="store_true")
    args = parser.parse_args()
    print("| network | bits | samples | held out | reported dB | unseen dB | off | changed | warned |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- | --- |")
    failed = 0
    with tempfile.TemporaryDirectory() as work:
        model, small = os.path.join(work, "m.pith"), os.path.join(work, "q.pith")
        for name in args.networks or EIGHT:
            preprocess, *source = NETWORKS[name]
            source = tuple(source)
            onnx = os.path.join(args.data, "models", name + ".onnx")
            extra = ["--preprocess", preprocess] if preprocess else []
            extra += ["--outputs", logits_name(onnx)] if args.cut else []
            run(args.pith, "import", onnx, *extra, "-q", "-f", "-o", model)
            last = SAMPLES.get(source, 304 if name.startswith("kws") else 300)
            unseen = UNSEEN.get(source, f"1:{last}:2")
            for bits in (3, 4, 8):
                for n in (16, 64):
                    step = last // n // 2 * 2
                    given = data_path(args.data, source[0]), "--range", f"0:{n * step}:{step}"
                    told, said = run(args.pith, "quantize", model, "-d", *given, "--weights", str(bits), "--json", "-f", "-o",
                                     small)
                    is_, _ = run(args.pith, "compare", model, small, "-d", data_path(args.data, source[2]), "--range",
                                 unseen, "--json")
                    wanted = is_["logit_snr_db"] or is_["snr_db"]
                    off, warned = told["snr_db"] - wanted, "warning" in said
                    failed += abs(off) > 1.5 and not warned
                    print(f"| {name} | {bits} | {n} | {told['held_out']} | {told['snr_db']:.1f} +- {told['snr_error_db']:.1f} | {wanted:.1f} | "
                          f"{off:+.1f} | {100 * (1 - is_['agreement']):.1f} % | {'yes' if warned else ''} |", flush=True)
    print(f"\n{failed} of more than 1.5 dB without a warning")


if __name__ == "__main__":
    main()
