#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Fully connected layers of AlexNet, VGG-16 and NeuralTalk at the densities of Deep Compression, with 16
centroids, side by side with what others run: MKL (sparse and dense f32), oneDNN, onnxruntime (f32 matrix as
INT8 with activations quantized on the fly, and 4-bit blocks of 32). Matrices are drawn: speed alone is
looked at. Contenders take turns in two processes, the shortest of three runs a turn; medians count.

usage: eie_layers.py BENCH_EIE [--threads N] [--batch B] [--f32] [--int8] [--balanced] [--weights 4] [--turns 7]
                     [--cold] [--only NAME]...
--f32: peers with 32-bit activations alone. --int8: pith's layer has INT8 activations and weights of --weights
bits (pith prune, pith quantize); its layer of 32-bit activations is shown among the others. --balanced: so,
pruned by --pattern balanced. --cold: before each run 128 MiB are written, so that no weight is in a cache.
Prints a line of JSON a row: the fastest peer, and all of them."""
import argparse, json, os, statistics, subprocess, sys, tempfile, time
import numpy as np

LAYERS = [("Alex-6", 4096, 9216, 9), ("Alex-7", 4096, 4096, 9), ("Alex-8", 1000, 4096, 25),
          ("VGG-6", 4096, 25088, 4), ("VGG-7", 4096, 4096, 4), ("VGG-8", 1000, 4096, 23),
          ("NT-We", 600, 4096, 10), ("NT-Wd", 8791, 600, 11), ("NT-LSTM", 2400, 1201, 10)]


def integer_model(rows, cols, batch):
    import onnx
    from onnx import helper as h, numpy_helper as n, TensorProto as t
    w = np.random.default_rng(0).integers(-127, 128, (cols, rows), np.int8)
    nodes = [h.make_node("DynamicQuantizeLinear", ["x"], ["q", "s", "z"]),
             h.make_node("MatMulInteger", ["q", "w", "z"], ["i"]),
             h.make_node("Cast", ["i"], ["f"], to=t.FLOAT), h.make_node("Mul", ["s", "ws"], ["m"]),
             h.make_node("Mul", ["f", "m"], ["y"])]
    weights = [n.from_array(w, "w"), n.from_array(np.float32(0.01), "ws")]
    return nodes, weights, []


def four_bit_model(rows, cols, batch):
    from onnx import helper as h, numpy_helper as n
    blocks, rng = (cols + 31) // 32, np.random.default_rng(0)
    weights = [n.from_array(rng.integers(0, 256, (rows, blocks, 16), np.uint8), "w"),
               n.from_array(np.full(rows * blocks, 0.01, np.float32), "s")]
    node = h.make_node("MatMulNBits", ["x", "w", "s"], ["y"], domain="com.microsoft", K=cols, N=rows, bits=4,
                       block_size=32, accuracy_level=4)
    return [node], weights, [h.make_opsetid("com.microsoft", 1)]


class OnnxRuntime:
    def __init__(self, make, rows, cols, batch, threads, folder):
        import onnx, onnxruntime as ort
        from onnx import helper as h, TensorProto as t
        nodes, weights, more = make(rows, cols, batch)
        graph = h.make_graph(nodes, "layer", [h.make_tensor_value_info("x", t.FLOAT, [batch, cols])],
                             [h.make_tensor_value_info("y", t.FLOAT, [batch, rows])], weights)
        model = h.make_model(graph, opset_imports=[h.make_opsetid("", 17)] + more, ir_version=9)
        path = os.path.join(folder, "layer.onnx")
        onnx.save(model, path)
        options = ort.SessionOptions()
        options.intra_op_num_threads = threads
        options.inter_op_num_threads = 1
        self.session = ort.InferenceSession(path, options, providers=["CPUExecutionProvider"])
        os.remove(path)
        self.x = {"x": np.random.default_rng(1).random((batch, cols), np.float32)}
        self.clock = time.perf_counter if threads > 1 else time.thread_time
        self.sweep = np.zeros(1 << 27, np.uint8) if "COLD" in os.environ else None

    def turn(self):
        best = 1e30
        for i in range(4):
            if self.sweep is not None:
                self.sweep += 1
            start = self.clock()
            self.session.run(None, self.x)
            took = self.clock() - start
            best = min(best, took) if i else best
        return best * 1e3


def pith_file(rows, cols, percent, a, folder):
    """The layer as a user makes it: drawn, pruned, quantized with four samples."""
    import onnx
    from onnx import helper as h, numpy_helper as n, TensorProto as t
    rng, path = np.random.default_rng(2), lambda name: os.path.join(folder, name)
    graph = h.make_graph([h.make_node("MatMul", ["x", "w"], ["y"])], "layer",
                         [h.make_tensor_value_info("x", t.FLOAT, ["N", cols])],
                         [h.make_tensor_value_info("y", t.FLOAT, ["N", rows])],
                         [n.from_array(rng.standard_normal((cols, rows), np.float32), "w")])
    onnx.save(h.make_model(graph, opset_imports=[h.make_opsetid("", 17)], ir_version=9), path("net.onnx"))
    np.save(path("x.npy"), rng.random((4, cols), np.float32))
    pith = os.environ.get("PITH", os.path.join(os.path.dirname(os.path.dirname(a.bench)), "pith"))
    sparsity = ["--sparsity", f"{100 - percent}%"]
    if a.balanced:
        kept = round(percent * 128 / 100)
        sparsity = ["--sparsity", f"{100 - kept / 1.28:.6f}%", "--pattern", f"balanced:{kept}/128"]
    subprocess.run([pith, "prune", path("net.onnx"), *sparsity, "-q", "-o", path("pruned.pith")], check=True)
    subprocess.run([pith, "quantize", path("pruned.pith"), "-d", path("x.npy"), "--rounding", "nearest",
                    "--weights", str(a.weights), "--all-integers", "-q", "-o", path("int8.pith")], check=True)
    os.remove(path("net.onnx"))
    return path("int8.pith")


def ask(process):
    process.stdin.write("\n")
    process.stdin.flush()
    return json.loads(process.stdout.readline())


def row(layer, a):
    name, rows, cols, percent = layer
    own = subprocess.Popen([a.bench, str(rows), str(cols), str(percent), str(a.batch), str(a.threads)],
                           stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    peers, file = {}, None
    with tempfile.TemporaryDirectory() as folder:
        if a.int8 or a.balanced:
            file = subprocess.Popen([a.bench, pith_file(rows, cols, percent, a, folder), str(a.batch),
                                     str(a.threads)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
            ask(file)
        if not a.f32:
            for peer, make in ("onnxruntime int8", integer_model), ("onnxruntime 4 bits", four_bit_model):
                peers[peer] = OnnxRuntime(make, rows, cols, a.batch, a.threads, folder)
    times = {}
    for _ in range(a.turns):
        answer = ask(own)
        kernel = answer.pop("kernel")
        if file:
            answer["pith f32"] = answer.pop("pith")
            own_file = ask(file)
            kernel, answer["pith"] = own_file["kernel"], own_file["pith int8"]
        answer.update((peer, p.turn()) for peer, p in peers.items())
        for who, ms in answer.items():
            times.setdefault(who, []).append(ms)
    for process in filter(None, (own, file)):
        process.stdin.close()
        process.wait()
    medians = {who: round(statistics.median(all), 4) for who, all in times.items()}
    ms = medians.pop("pith")
    others = {who: ms for who, ms in medians.items() if who != "pith f32"}
    peer = min(others, key=others.get) if others else None
    line = {"name": name, "batch": a.batch, "threads": a.threads, "cold": a.cold, "kernel": kernel, "ms": ms,
            "best_ms": round(min(times["pith"]), 4), "peer": peer, "peer_ms": medians.get(peer),
            "ratio": round(medians[peer] / ms, 2) if peer else None, "peers": medians}
    print(json.dumps(line), flush=True)


def main():
    p = argparse.ArgumentParser()
    p.add_argument("bench")
    p.add_argument("--threads", type=int, default=1)
    p.add_argument("--batch", type=int, default=1)
    p.add_argument("--f32", action="store_true")
    p.add_argument("--int8", action="store_true")
    p.add_argument("--balanced", action="store_true")
    p.add_argument("--weights", type=int, default=4)
    p.add_argument("--turns", type=int, default=7)
    p.add_argument("--cold", action="store_true")
    p.add_argument("--only", action="append")
    a = p.parse_args()
    if a.cold:
        os.environ["COLD"] = "1"
    for layer in LAYERS:
        if not a.only or layer[0] in a.only:
            row(layer, a)


main()
