#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Networks beside their peers: one thread, in turn on the same machine, the best round's median counts.

usage: peers.py FORM [NETWORK.onnx | NAME]... [--batch N] [--seconds S] [--rounds N] [--cpu avx2] [--keep FOLDER]

NAME: a network with drawn weights (bench/drawn_networks.py). Without networks: those of the page of the form.
PITH, MODELS, DATA: as in bench/run.sh. Peers that are not installed are left out. Forms:
float      the same file in onnxruntime, OpenVINO, MNN and pith, and what pith encode makes of it (encoded)
int8       the file that onnxruntime quantizes (QDQ) in peers and pith, and what pith quantize makes (own)
small      the fastest of pith's INT8 and codebooks, with all weights or a tenth, beside all peers
pruned     the smallest weights of each tensor become 0 (--density 0.15); --deepsparse PYTHON: one that has it
           (pip install deepsparse==1.8.0 "numpy<2" "setuptools<70", Python 3.11 at most)
pruned-int8  the same quantized by pith, beside the dense network in INT8
recurrent  LSTM and GRU layers beside onnxruntime
first      opening a file and its first run beside onnxruntime's session and run: pith's forms of one INT8 network
           (--samples, --preprocess to calibrate; --threads), KiB of memory beyond the bare process

A line of JSON a row: name, form, ms, peer (the fastest), peer_ms, ratio (peer_ms / ms: above 1 pith is faster),
peers (each one's ms). Networks calibrate on noise and pruned ones are not retrained: only speed is looked at."""
import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

import numpy as np

PITH = os.environ.get("PITH", "build/release/pith")
BIN = os.environ.get("BIN", "build/release/bench")
DATA = os.environ.get("DATA", "../shared/data")
MODELS = os.environ.get("MODELS", f"{DATA}/models")
SETS = {"float": "imagenet_squeezenet_v1_1.onnx imagenet_mobilenet_v2.onnx resnet18 resnet50 cifar10_resnet20.onnx "
                 "tiny_ic_resnet8.onnx tiny_kws_dscnn.onnx tiny_vww_mbv1.onnx vit_tiny minilm super_resolution_x3.onnx "
                 "efficientnet_b0",
        "small": "kws_LSTM_L.onnx kws_GRU_L.onnx silero_vad_16k.onnx tiny_ad01_ae.onnx kws_DNN_L.onnx "
                 "mnist_lenet5_caffe.onnx lenet300",
        "pruned": "squeezenet_1_0 imagenet_mobilenet_v2.onnx resnet50",
        "recurrent": "lstm_step lstm lstm_batch gru silero_vad_16k.onnx",
        "first": "imagenet_squeezenet_v1_1.onnx"}
SETS["int8"], SETS["pruned-int8"] = SETS["float"], SETS["pruned"]


def median_ms(run, seconds):
    """Of calls for so many seconds, five at least, behind three that warm up."""
    for _ in range(3):
        run()
    times, end = [], time.perf_counter() + seconds
    while time.perf_counter() < end or len(times) < 5:
        start = time.perf_counter()
        run()
        times.append(time.perf_counter() - start)
    return statistics.median(times) * 1e3


def inputs_of(path, batch=1):
    """Drawn values for the inputs of an ONNX file: an open first dimension is the batch, others are 1."""
    import onnx
    graph = onnx.load(path, load_external_data=False).graph
    constants, rng, feed = {i.name for i in graph.initializer}, np.random.default_rng(1), {}
    for i in (i for i in graph.input if i.name not in constants):
        kind = i.type.tensor_type
        dims = [d.dim_value or (1 if k else batch) for k, d in enumerate(kind.shape.dim)]
        feed[i.name] = (np.zeros(dims, np.int64) if kind.elem_type == onnx.TensorProto.INT64 # as pith bench
                        else rng.standard_normal(dims).astype(np.float32))
    return feed


# ---- who runs ---------------------------------------------------------------------------------------------------

class Pith:
    def __init__(self, args, path, name="pith"):
        self.name = name
        self.command = [PITH, "bench", path, "--json", "-T", "1", "--batch", str(args.batch), "--time"]
        self.env = dict(os.environ, **({"PITH_CPU": args.cpu} if args.cpu else {}))

    def ms(self, seconds):
        out = subprocess.run(self.command + [str(seconds)], capture_output=True, text=True, check=True, env=self.env)
        return json.loads(out.stdout)["ms_median"]


class Peer:
    def ms(self, seconds):
        return median_ms(self.run, seconds)


class OnnxRuntime(Peer):
    def __init__(self, path, batch=1, threads=1):
        import onnxruntime as ort
        options = ort.SessionOptions()
        options.intra_op_num_threads, options.inter_op_num_threads = threads, 1
        options.log_severity_level = 4
        self.name = f"onnxruntime {ort.__version__}"
        self.session = ort.InferenceSession(path, options, providers=["CPUExecutionProvider"])
        self.feed = inputs_of(path, batch)

    def run(self):
        return self.session.run(None, self.feed)[0]


class OpenVino(Peer):
    def __init__(self, path, batch=1):
        import openvino as ov # reads ONEDNN_MAX_CPU_ISA here
        self.name = f"openvino {ov.__version__.split('-')[0]}"
        self.feed = inputs_of(path, batch)
        core = ov.Core()
        model = core.read_model(path)
        model.reshape({name: list(x.shape) for name, x in self.feed.items()})
        options = {"INFERENCE_NUM_THREADS": 1, "PERFORMANCE_HINT": "LATENCY", "INFERENCE_PRECISION_HINT": "f32"}
        self.request = core.compile_model(model, "CPU", options).create_infer_request()

    def run(self):
        return self.request.infer(self.feed, share_inputs=True, share_outputs=True)[0]


class Mnn(Peer):
    """MNN converts the network to a file of its own, beside it."""

    def __init__(self, path, batch=1):
        import MNN
        import onnx
        self.name = f"mnn {MNN.version()}"
        converted, self.feed = path + ".mnn", inputs_of(path, batch)
        if not os.path.exists(converted):
            # its program mnnconvert sends statistics: the function behind it does not
            subprocess.run([sys.executable, "-c", "import MNN, _tools, sys; _tools.mnnconvert(sys.argv)", "-f", "ONNX",
                            "--modelFile", path, "--MNNModel", converted, "--bizCode", "b"],
                           check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        outputs = [o.name for o in onnx.load(path, load_external_data=False).graph.output]
        manager = MNN.nn.create_runtime_manager(({"numThread": 1, "backend": "CPU", "precision": "normal"},))
        self.net = MNN.nn.load_module_from_file(converted, list(self.feed), outputs, runtime_manager=manager)
        self.x = [MNN.expr.const(x, list(x.shape), MNN.expr.NCHW) for x in self.feed.values()]

    def run(self):
        return np.array(self.net.forward(self.x)[0].read())


def serve_deepsparse(path):
    """In the Python that has it: for each line of seconds a line of milliseconds."""
    import deepsparse
    engine = deepsparse.compile_model(path, batch_size=1, num_cores=1)
    x = [np.random.default_rng(1).standard_normal(s).astype(np.float32) for s in engine.input_shapes]
    print(deepsparse.__version__, flush=True)
    for line in sys.stdin:
        print(median_ms(lambda: engine.run(x), float(line)), flush=True)


class DeepSparse:
    def __init__(self, python, path):
        self.server = subprocess.Popen([python, os.path.abspath(__file__), "--serve", path], text=True,
                                       stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        self.name = "deepsparse " + self.line()

    def line(self):
        """Its engine writes a banner of its own."""
        while True:
            line = self.server.stdout.readline()
            if not line:
                raise SystemExit("deepsparse does not run")
            if line[0].isdigit():
                return line.strip()

    def ms(self, seconds):
        print(seconds, file=self.server.stdin, flush=True)
        return float(self.line())


def working(path, batch, classes, suffix=""):
    """Of the peers those that are installed and run the file; the others are reported."""
    found = []
    for make in classes:
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


# ---- what they run ----------------------------------------------------------------------------------------------

def named(args, path, end):
    return os.path.join(args.keep, os.path.basename(path).removesuffix(".onnx").removesuffix(".pith") + end)


def made(args, path, end, *commands):
    """What pith makes of a network, one command after the other."""
    out = named(args, path, end)
    if not os.path.exists(out):
        for k, command in enumerate(commands):
            part = f"{out}.{k}.pith"
            subprocess.run([PITH, command[0], path, *command[1:], "-q", "-f", "-o", part], check=True)
            path = part
        os.rename(path, out)
    return out


def own_int8(args, path, end=".int8.pith", *before):
    feed, data = inputs_of(path), []
    for k, (name, x) in enumerate(feed.items()):
        file = os.path.join(args.keep, f"{os.path.basename(path)}.{k}.npy")
        dims = x.shape[1:] if x.shape[0] == 1 else x.shape
        np.save(file, np.random.default_rng(0).standard_normal([4, *dims]).astype(np.float32))
        data += ["-d", f"{name}={file}" if len(feed) > 1 else file]
    return made(args, path, end, *before, ("quantize", *data, "--all-integers", "--rounding", "nearest"))


def qdq_file(args, path):
    """By onnxruntime: asymmetric u8 activations, symmetric i8 weights per channel, calibrated on noise."""
    import onnx
    from onnxruntime.quantization import QuantFormat, QuantType, quantize_static
    from onnxruntime.quantization.shape_inference import quant_pre_process
    out, ready = named(args, path, ".qdq.onnx"), named(args, path, ".ready.onnx")
    if os.path.exists(out):
        return out
    model = onnx.load(path)
    if model.opset_import[0].version < 13:
        model = onnx.version_converter.convert_version(model, 13)
    onnx.save(model, ready + ".raised")
    quant_pre_process(ready + ".raised", ready, skip_symbolic_shape=True)

    class Noise:
        rng, left = np.random.default_rng(0), 4

        def get_next(self):
            self.left -= 1
            return None if self.left < 0 else {name: self.rng.standard_normal(x.shape).astype(x.dtype)
                                               for name, x in inputs_of(ready).items()}

    quantize_static(ready, out, Noise(), quant_format=QuantFormat.QDQ, per_channel=True,
                    activation_type=QuantType.QUInt8, weight_type=QuantType.QInt8)
    return out


def int8_peers(args, path, qdq):
    from onnxruntime.quantization import QuantType, quantize_dynamic
    dynamic = named(args, path, ".dynamic.onnx")
    try:
        if not os.path.exists(dynamic):
            quantize_dynamic(path, dynamic, weight_type=QuantType.QInt8, per_channel=True)
        more = working(dynamic, args.batch, [OnnxRuntime], " dynamic")
    except Exception as e: # of networks with operators that it does not know
        print(f"no dynamic quantization of {os.path.basename(path)}: {str(e)[:100]!r}", file=sys.stderr)
        more = []
    return working(qdq, args.batch, [OnnxRuntime, OpenVino], " QDQ") + more


def pruned_file(args, path):
    import onnx
    from onnx import numpy_helper
    model, out = onnx.load(path), named(args, path, ".pruned.onnx")
    for w in model.graph.initializer:
        if len(w.dims) < 2 or w.data_type != onnx.TensorProto.FLOAT:
            continue
        v = numpy_helper.to_array(w).copy()
        kept = max(1, int(v.size * args.density))
        v[np.abs(v) < np.partition(np.abs(v).ravel(), v.size - kept)[v.size - kept]] = 0
        w.CopyFrom(numpy_helper.from_array(v, w.name))
    onnx.save(model, out)
    return out


def compressed(args, path):
    """What a user would run: integers, codebooks, both with a tenth of the weights."""
    prune = ("prune", "--sparsity", "90%")
    ours = {"int8": lambda: own_int8(args, path), "int8 10 %": lambda: own_int8(args, path, ".p-int8.pith", prune),
            "4 bits": lambda: made(args, path, ".b4.pith", ("cluster", "--bits", "4")),
            "8 bits": lambda: made(args, path, ".b8.pith", ("cluster", "--bits", "8")),
            "4 bits 10 %": lambda: made(args, path, ".p-b4.pith", prune, ("cluster", "--bits", "4"))}
    found = []
    for name, make in ours.items():
        try:
            found.append(Pith(args, make(), "pith " + name))
        except subprocess.CalledProcessError:
            print(f"{name}: not made of {os.path.basename(path)}", file=sys.stderr)
    return found


def contenders(args, path):
    """Rows of ours, by form, and the peers of them all."""
    floats = [OnnxRuntime, OpenVino, Mnn]
    if args.form == "recurrent":
        return {"float": [Pith(args, path, "pith float")]}, working(path, args.batch, [OnnxRuntime])
    if args.form == "float":
        ours = {"float": path, "encoded": made(args, path, ".encoded.pith", ("encode",))}
        return {k: [Pith(args, p, "pith " + k)] for k, p in ours.items()}, working(path, args.batch, floats)
    if args.form.startswith("pruned"):
        sparse, zeros = pruned_file(args, path), ("prune", "--zeros")
        if args.form == "pruned":
            ours = made(args, sparse, ".zeros.pith", zeros)
            peers = [DeepSparse(args.deepsparse, sparse)] if args.deepsparse else []
        else:
            ours = own_int8(args, sparse, ".int8.pith", zeros)
            peers = working(qdq_file(args, path), args.batch, [OnnxRuntime, OpenVino], " QDQ")
        return {args.form: [Pith(args, ours)]}, peers
    qdq = qdq_file(args, path)
    if args.form == "int8":
        ours = {"own": own_int8(args, path), "qdq": qdq}
        return {k: [Pith(args, p, "pith " + k)] for k, p in ours.items()}, int8_peers(args, path, qdq)
    return {"small": compressed(args, path)}, working(path, args.batch, floats) + int8_peers(args, path, qdq)


# ---- comparing --------------------------------------------------------------------------------------------------

def print_row(args, name, form, ms, theirs, **more):
    row = {"name": name, "form": form, "ms": round(ms, 4), **more}
    if theirs:
        peer = min(theirs, key=theirs.get)
        row |= {"peer": peer, "peer_ms": theirs[peer], "ratio": round(theirs[peer] / ms, 2), "peers": theirs}
    print(json.dumps(row), file=args.rows, flush=True)


def compare(args, path, name):
    ours, peers = contenders(args, path)
    runners = [*sum(ours.values(), []), *peers]
    rounds = [[r.ms(args.seconds / args.rounds) for r in runners] for _ in range(args.rounds)]
    times = {r.name: round(min(t), 4) for r, t in zip(runners, zip(*rounds))}
    for form, group in ours.items():
        best = min(group, key=lambda r: times[r.name])
        more = {"ours": {r.name: times[r.name] for r in group}} if len(group) > 1 else {}
        print_row(args, name, best.name[5:] if more else form, times[best.name], {p.name: times[p.name] for p in peers},
                  batch=args.batch, **more)


def first(args, path, name):
    def bench_load(file, rounds):
        out = subprocess.run([f"{BIN}/bench_load", "--rounds", str(rounds), "--threads", str(args.threads), file], check=True,
                             capture_output=True, text=True).stdout.splitlines()[-1].split()
        return float(out[1]), float(out[2]), int(out[3])

    def peer_once():
        start = time.perf_counter()
        OnnxRuntime.run(OnnxRuntime(qdq, threads=args.threads))
        return 1e3 * (time.perf_counter() - start)

    preprocess = ["--preprocess", args.preprocess] if args.preprocess else []
    int8 = made(args, path, ".int8.pith", ("quantize", "-d", args.samples, "--range", "0:32", *preprocess))
    forms = {c: made(args, int8, f".{c}", ("encode", "--coder", c))
             for c in ("none", "huffman", "rans", "adaptive")}
    qdq, best, peer = int8 + ".qdq", {}, float("inf")
    subprocess.run([PITH, "decode", int8, "--to", "onnx", "-q", "-f", "-o", qdq], check=True)
    for _ in range(args.rounds):
        peer = min(peer, statistics.median(peer_once() for _ in range(21)))
        for coder, file in forms.items():
            opened, run, _ = bench_load(file, 3 if coder == "adaptive" else 21)
            kib = bench_load(file, 1)[2] # a process that opens it once
            best[coder] = min(best.get(coder, (float("inf"),)), (opened + run, opened, kib))
    for coder, (ms, opened, kib) in best.items():
        print_row(args, name, coder, ms, {"onnxruntime": round(peer, 3)}, open_ms=opened, kib=kib,
                  bytes=os.path.getsize(forms[coder]))


def batch_is_open(path):
    import onnx
    inputs = onnx.load(path, load_external_data=False).graph.input
    return all(i.type.tensor_type.shape.dim and not i.type.tensor_type.shape.dim[0].dim_value for i in inputs)


def main():
    if sys.argv[1:2] == ["--serve"]:
        return serve_deepsparse(sys.argv[2])
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("form", choices=SETS)
    p.add_argument("networks", nargs="*")
    for name, value in (("seconds", 3.0), ("batch", 1), ("rounds", 5), ("density", 0.15), ("threads", 1)):
        p.add_argument(f"--{name}", type=type(value), default=value)
    for name in ("cpu", "keep", "deepsparse", "preprocess"):
        p.add_argument(f"--{name}", default="")
    p.add_argument("--samples", default=f"{DATA}/imagenet/imagenet_a500.tar")
    args = p.parse_args()
    import drawn_networks # needs onnx, which a DeepSparse server does without
    args.rows = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1) # peers print to stdout, which is for rows
    if args.threads == 1:
        os.sched_setaffinity(0, {sorted(os.sched_getaffinity(0))[0]})
    try: # what else runs on the machine then disturbs less
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(50))
    except PermissionError:
        pass
    with tempfile.TemporaryDirectory() as work:
        args.keep = args.keep or work
        for network in args.networks or SETS[args.form].split():
            name = os.path.basename(network).replace(".onnx", "")
            if network in drawn_networks.NAMES or network in drawn_networks.LAYERS:
                path = drawn_networks.write(network, args.keep)
            else: # copied, for peers write beside it
                path = shutil.copy(network if os.path.exists(network) else os.path.join(MODELS, network), args.keep)
            if args.batch > 1 and not batch_is_open(path):
                print(f"{name}: batch is fixed", file=sys.stderr)
                continue
            (first if args.form == "first" else compare)(args, path, name)


if __name__ == "__main__":
    sys.exit(main())
