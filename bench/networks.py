#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Networks beside onnxruntime, OpenVINO and MNN (those that are installed): one thread, in turn on the same
machine (more threads: pith bench NET -T 1,2).

usage: networks.py PITH (MODEL.onnx | NAME)... [--form float] [--batch 1] [--seconds 3] [--rounds 5] [--cpu avx2]
                   [--keep FOLDER]
NAME: a network with drawn weights (bench/drawn_networks.py), or encoder, tests/conformance/encoder_model.py's.
--form float: the same file in each, and what pith encode makes of it (encoded: normalizations folded, as peers fold
  them when they load it); two rows a model.
--form int8: the file that onnxruntime quantizes (QDQ, bench/int8_networks.py), run by the peers and by pith, and what
  pith quantize makes (own); two rows a model. Among the peers is onnxruntime with its dynamic quantization.
--form small: the fastest of what pith makes of it (INT8, codebooks of 4 and 8 bits, with all weights or a tenth) beside the
  fastest of float and INT8 peers.
--batch N: samples at once, for networks whose first dimension is open; others are told and left out.
--cpu avx2: pith alone is told so. --keep: files that were made are kept there and found again.
Prints a line of JSON a row: name, form, ms, peer (the fastest), peer_ms, ratio (peer_ms / ms: above 1 pith is
faster), peers: each one's ms. Times are the best round's median."""
import argparse, json, os, shutil, subprocess, sys, tempfile
import numpy as np

import drawn_networks
import int8_networks
from peer_times import Mnn, OnnxRuntime, OpenVino, inputs_of


class Pith:
    def __init__(self, args, path, name="pith"):
        self.name = name
        self.command = [args.pith, "bench", path, "--json", "-T", "1", "--batch", str(args.batch), "--time"]
        self.env = dict(os.environ, **({"PITH_CPU": args.cpu} if args.cpu else {}))

    def ms(self, seconds):
        out = subprocess.run(self.command + [str(seconds)], capture_output=True, text=True, check=True, env=self.env)
        return json.loads(out.stdout)["ms_median"]


def batch_is_open(path):
    import onnx
    inputs = onnx.load(path, load_external_data=False).graph.input
    return all(i.type.tensor_type.shape.dim and not i.type.tensor_type.shape.dim[0].dim_value for i in inputs)


def working(candidates, batch):
    """Of pairs (class, path, suffix) those that are installed and run the file; who does not is told."""
    found = []
    for make, path, suffix in candidates:
        try:
            peer = make(path, batch)
            peer.run()
        except ImportError:
            continue
        except Exception as e: # each has errors of its own
            print(f"{make.__name__} does not run {os.path.basename(path)}: {str(e)[:100]!r}", file=sys.stderr)
            continue
        peer.name += suffix
        found.append(peer)
    return found


def float_peers(path):
    return [(OnnxRuntime, path, ""), (OpenVino, path, ""), (Mnn, path, "")]


def made(args, path, suffix, *commands):
    """What pith makes of a network, one command after the other."""
    out = os.path.join(args.keep, os.path.basename(path).replace(".onnx", suffix))
    if not os.path.exists(out):
        for k, command in enumerate(commands):
            part = f"{out}.{k}.pith"
            subprocess.run([args.pith, command[0], path, *command[1:], "-q", "-f", "-o", part], check=True)
            path = part
        os.rename(path, out)
    return out


def own_int8(args, path, *before):
    """Seeded noise to calibrate on, weights to the nearest: speed alone is looked at."""
    feed, data = inputs_of(path), []
    for k, (name, x) in enumerate(feed.items()):
        file = os.path.join(args.keep, f"{os.path.basename(path)}.{k}.npy")
        dims = x.shape[1:] if x.shape[0] == 1 else x.shape
        np.save(file, np.random.default_rng(0).standard_normal([4, *dims]).astype(np.float32))
        data += ["-d", f"{name}={file}" if len(feed) > 1 else file]
    return made(args, path, ".pruned-int8.pith" if before else ".int8.pith", *before,
                ("quantize", *data, "--all-integers", "--rounding", "nearest"))


def dynamic_int8(args, path):
    from onnxruntime.quantization import QuantType, quantize_dynamic
    out = os.path.join(args.keep, os.path.basename(path).replace(".onnx", ".dynamic.onnx"))
    if not os.path.exists(out):
        quantize_dynamic(path, out, weight_type=QuantType.QInt8, per_channel=True)
    return out


def int8_peers(args, path, qdq):
    candidates = [(OnnxRuntime, qdq, " QDQ"), (OpenVino, qdq, " QDQ")]
    try:
        candidates.append((OnnxRuntime, dynamic_int8(args, path), " dynamic"))
    except Exception as e: # of networks with operators that it does not know
        print(f"no dynamic quantization of {os.path.basename(path)}: {str(e)[:100]!r}", file=sys.stderr)
    return candidates


def qdq_file(args, path):
    out = os.path.join(args.keep, os.path.basename(path).replace(".onnx", ".qdq.onnx"))
    return out if os.path.exists(out) else int8_networks.quantize(path, args.keep)


def compressed(args, path):
    """What a user would run: integers, codebooks, both with a tenth of the weights."""
    prune = ("prune", "--sparsity", "90%")
    ours = {"pith int8": lambda: own_int8(args, path), "pith int8 10 %": lambda: own_int8(args, path, prune),
            "pith 4 bits": lambda: made(args, path, ".b4.pith", ("cluster", "--bits", "4")),
            "pith 8 bits": lambda: made(args, path, ".b8.pith", ("cluster", "--bits", "8")),
            "pith 4 bits 10 %": lambda: made(args, path, ".pruned-b4.pith", prune, ("cluster", "--bits", "4"))}
    found = []
    for name, make in ours.items():
        try:
            found.append(Pith(args, make(), name))
        except subprocess.CalledProcessError:
            print(f"{name}: not made of {os.path.basename(path)}", file=sys.stderr)
    return found


def contenders(args, path):
    """Groups of ours, each a row, and the peers of them all."""
    if args.form == "float":
        encoded = made(args, path, ".encoded.pith", ("encode",))
        return {"float": [Pith(args, path)], "encoded": [Pith(args, encoded)]}, working(float_peers(path), args.batch)
    qdq = qdq_file(args, path)
    if args.form == "int8":
        ours = {"own": [Pith(args, own_int8(args, path))], "qdq": [Pith(args, qdq)]}
        return ours, working(int8_peers(args, path, qdq), args.batch)
    return {"small": compressed(args, path)}, working(float_peers(path) + int8_peers(args, path, qdq), args.batch)


def in_turn(runners, args):
    rounds = [[r.ms(args.seconds / args.rounds) for r in runners] for _ in range(args.rounds)]
    return {r.name: round(min(t), 4) for r, t in zip(runners, zip(*rounds))}


def compare(args, path, name):
    ours, peers = contenders(args, path)
    for form, runners in ours.items():
        for r in runners:
            r.name = r.name if len(runners) > 1 else f"pith {form}"
    times = in_turn([*sum(ours.values(), []), *peers], args)
    theirs = {p.name: times[p.name] for p in peers}
    fastest = min(theirs, key=theirs.get, default=None)
    for form, runners in ours.items():
        best = min(runners, key=lambda r: times[r.name])
        row = {"name": name, "form": form if len(runners) == 1 else best.name[5:], "batch": args.batch,
               "ms": times[best.name]}
        if fastest:
            row |= {"peer": fastest, "peer_ms": theirs[fastest], "ratio": round(theirs[fastest] / row["ms"], 2),
                    "peers": theirs}
        if len(runners) > 1:
            row["ours"] = {r.name: times[r.name] for r in runners}
        print(json.dumps(row), file=args.rows, flush=True)


def file_of(name, folder):
    """Copied, for peers write beside it."""
    if name == "encoder":
        sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../tests/conformance"))
        import encoder_model
        import onnx
        path = os.path.join(folder, "encoder.onnx")
        onnx.save(encoder_model.encoder(), path)
        return path
    return drawn_networks.write(name, folder) if name in drawn_networks.NAMES else shutil.copy(name, folder)


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("pith")
    p.add_argument("models", nargs="+")
    p.add_argument("--form", choices=["float", "int8", "small"], default="float")
    p.add_argument("--seconds", type=float, default=3)
    p.add_argument("--batch", type=int, default=1)
    p.add_argument("--rounds", type=int, default=5)
    p.add_argument("--cpu", default="")
    p.add_argument("--keep", default="")
    args = p.parse_args()
    args.rows = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1) # peers print to stdout, which is for rows
    os.sched_setaffinity(0, {sorted(os.sched_getaffinity(0))[0]})
    with tempfile.TemporaryDirectory() as work:
        args.keep = args.keep or work
        for model in args.models:
            path, name = file_of(model, args.keep), os.path.basename(model).replace(".onnx", "")
            if args.batch > 1 and not batch_is_open(path):
                print(f"{name}: batch is fixed", file=sys.stderr)
                continue
            compare(args, path, name)


if __name__ == "__main__":
    sys.exit(main())
