#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""INT8 networks against onnxruntime or OpenVINO: each model is quantized by onnxruntime (QDQ, asymmetric u8
activations, symmetric i8 weights per channel, seeded noise to calibrate on: speed alone is looked
at), then the same file is timed in both, one thread, batch 1, in turn; and their outputs compared.

usage: int8_networks.py PITH MODEL.onnx... [--peer openvino] [--seconds 3] [--rounds 5] [--cpu avx2]
                        [--keep FOLDER] [--ours FILE.pith]
--ours: for the only model, pith runs this file (what pith quantize makes of it, say) in the place of onnxruntime's.
--peer openvino: the file that onnxruntime quantized, run by OpenVINO (pip install openvino); with --cpu
avx2 it is told ONEDNN_MAX_CPU_ISA=AVX2. Models that end in .qdq.onnx are taken as they are. Prints a line a model: ms of both (the best round's median), their
ratio, and the largest difference of outputs in steps. Needs onnx and onnxruntime (make deps-test)."""
import argparse, json, os, subprocess, sys, tempfile
import numpy as np
import onnx
from onnxruntime.quantization import CalibrationDataReader, QuantFormat, QuantType, quantize_static
from onnxruntime.quantization.shape_inference import quant_pre_process

from peer_times import OnnxRuntime, OpenVino, inputs_of


class Noise(CalibrationDataReader):
    def __init__(self, path):
        rng, inputs = np.random.default_rng(0), inputs_of(path)
        self.left = [{name: rng.standard_normal(x.shape).astype(x.dtype) for name, x in inputs.items()} for _ in range(4)]

    def get_next(self):
        return self.left.pop() if self.left else None


def quantize(path, folder):
    model = onnx.load(path)
    if model.opset_import[0].version < 13:
        model = onnx.version_converter.convert_version(model, 13)
    raised, ready = os.path.join(folder, "raised.onnx"), os.path.join(folder, "ready.onnx")
    out = os.path.join(folder, os.path.basename(path).replace(".onnx", ".qdq.onnx"))
    onnx.save(model, raised)
    quant_pre_process(raised, ready, skip_symbolic_shape=True)
    quantize_static(ready, out, Noise(ready), quant_format=QuantFormat.QDQ,
                    per_channel=True, activation_type=QuantType.QUInt8, weight_type=QuantType.QInt8)
    return out


def time_pith(pith, path, seconds, env):
    out = subprocess.run([pith, "bench", path, "--json", "-T", "1", "--time", str(seconds)],
                         capture_output=True, text=True, check=True, env=env)
    return json.loads(out.stdout)["ms_median"]


def difference(pith, path, peer, folder, env):
    x, y = os.path.join(folder, "x.npy"), os.path.join(folder, "y.npy")
    np.save(x, next(iter(peer.feed.values())))
    subprocess.run([pith, "run", path, x, "-q", "-f", "-o", y], check=True, env=env,
                   stdout=subprocess.DEVNULL)
    theirs, ours = peer.run().ravel(), np.load(y).ravel()
    values = np.unique(theirs)
    step = np.min(np.diff(values)) if len(values) > 1 else 1
    return np.abs(theirs - ours).max() / step


def main():
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("pith")
    p.add_argument("models", nargs="+")
    p.add_argument("--peer", choices=["onnxruntime", "openvino"], default="onnxruntime")
    p.add_argument("--seconds", type=float, default=3)
    p.add_argument("--rounds", type=int, default=5)
    p.add_argument("--cpu", default="")
    p.add_argument("--keep", default="")
    p.add_argument("--ours", default="")
    a = p.parse_args()
    os.sched_setaffinity(0, {sorted(os.sched_getaffinity(0))[0]})
    if a.peer == "openvino" and a.cpu == "avx2":
        os.environ["ONEDNN_MAX_CPU_ISA"] = "AVX2"
    env = dict(os.environ, **({"PITH_CPU": a.cpu} if a.cpu else {}))
    with tempfile.TemporaryDirectory() as work:
        for model in a.models:
            path = model if model.endswith(".qdq.onnx") else quantize(model, a.keep or work)
            peer = OpenVino(path) if a.peer == "openvino" else OnnxRuntime(path)
            ours, theirs = [], []
            for _ in range(a.rounds):
                theirs.append(peer.ms(a.seconds / a.rounds))
                ours.append(time_pith(a.pith, a.ours or path, a.seconds / a.rounds, env))
            steps = f"  steps off {difference(a.pith, path, peer, work, env):.2f}" if not a.ours else ""
            print(f"{os.path.basename(path):40s} pith {min(ours):7.3f} ms  {peer.name} "
                  f"{min(theirs):7.3f} ms  ratio {min(ours) / min(theirs):5.2f}{steps}",
                  flush=True)


if __name__ == "__main__":
    sys.exit(main())
