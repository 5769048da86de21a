#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Float networks against onnxruntime: one thread, in turn on the same machine. With --threads pith alone.

usage: networks.py PITH MODEL.onnx... [--encoder] [--batch 1] [--seconds 3] [--rounds 5] [--cpu avx2] [--threads 1,2]
--threads A,B: a line a model with pith's median ms on A threads and on B, and A's by B's.
--batch N: samples at once, for networks whose first dimension is open; others are told and left out.
--encoder times the transformer encoder of tests/conformance/encoder_model.py, too.
Prints a line a model: median ms of both (of the best round each) and their ratio. Needs onnxruntime
(make deps-test puts it into build/venv)."""
import argparse, json, os, subprocess, sys, tempfile, time
import numpy as np
import onnxruntime as ort

from peer_times import median_ms


def batch_is_open(path):
    session = ort.InferenceSession(path, providers=["CPUExecutionProvider"])
    return all(i.shape and not isinstance(i.shape[0], int) for i in session.get_inputs())


def time_ort(path, seconds, batch):
    options = ort.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    session = ort.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    rng = np.random.default_rng(0)
    feed = {}
    for i in session.get_inputs():
        dims = [d if isinstance(d, int) else batch if k == 0 else 1 for k, d in enumerate(i.shape)]
        feed[i.name] = (np.zeros(dims, np.int64) if i.type == "tensor(int64)" # as pith bench
                        else rng.standard_normal(dims).astype(np.float32))
    return median_ms(lambda: session.run(None, feed), seconds)


def time_pith(pith, path, seconds, cpu, batch, threads=1):
    env = dict(os.environ, **({"PITH_CPU": cpu} if cpu else {}))
    out = subprocess.run([pith, "bench", path, "--json", "-T", str(threads), "--time", str(seconds),
                          "--batch", str(batch)],
                         capture_output=True, text=True, check=True, env=env)
    return json.loads(out.stdout)["ms_median"]


def compare_threads(a, model):
    best = [min(t) for t in zip(*([time_pith(a.pith, model, a.seconds / a.rounds, a.cpu, a.batch, n)
                                   for n in a.threads] for _ in range(a.rounds)))]
    times = "  ".join(f"-T {n} {ms:8.3f} ms" for n, ms in zip(a.threads, best))
    print(f"{os.path.basename(model):36s} {times}  ratio {best[0] / best[-1]:5.2f}", flush=True)


def compare_ort(a, model):
    ours, theirs = [], []
    for _ in range(a.rounds):
        theirs.append(time_ort(model, a.seconds / a.rounds, a.batch))
        ours.append(time_pith(a.pith, model, a.seconds / a.rounds, a.cpu, a.batch))
    print(f"{os.path.basename(model):36s} pith {min(ours):8.3f} ms  onnxruntime {ort.__version__} "
          f"{min(theirs):8.3f} ms  ratio {min(ours) / min(theirs):5.2f}", flush=True)


def write_encoder(folder):
    sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../tests/conformance"))
    import encoder_model
    import onnx
    path = os.path.join(folder, "transformer_encoder.onnx")
    onnx.save(encoder_model.encoder(), path)
    return path


def main():
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("pith")
    p.add_argument("models", nargs="*")
    p.add_argument("--encoder", action="store_true")
    p.add_argument("--seconds", type=float, default=3)
    p.add_argument("--batch", type=int, default=1)
    p.add_argument("--rounds", type=int, default=5)
    p.add_argument("--cpu", default="")
    p.add_argument("--threads", type=lambda text: [int(n) for n in text.split(",")])
    a = p.parse_args()
    if not a.threads:
        os.sched_setaffinity(0, {sorted(os.sched_getaffinity(0))[0]})
    with tempfile.TemporaryDirectory() as work:
        for model in a.models + ([write_encoder(work)] if a.encoder else []):
            if a.batch > 1 and not batch_is_open(model):
                print(f"{os.path.basename(model):36s} batch is fixed", flush=True)
                continue
            (compare_threads if a.threads else compare_ort)(a, model)


if __name__ == "__main__":
    sys.exit(main())
