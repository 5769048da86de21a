# SPDX-License-Identifier: MIT
"""Networks with open lengths beside onnxruntime, one thread each, in turn: decoders that generate 64 tokens, and an
encoder of MiniLM's shape (random weights) on sentences of 3 to 128 tokens, at their lengths and padded to 128.

Times of decoders are medians of ROUNDS generations: the prompt (64 tokens) alone, and a step of the 64 behind it, with
all that it takes: a plan for each length of the cache, the cache carried over, the choice of the token."""
import os
import statistics
import sys
import tempfile
import time

import numpy as np
import onnx
import onnxruntime as ort
from onnx import TensorProto as T

sys.path[:0] = ["tests/conformance", "python"]
os.environ.setdefault("PITH", "build/release/pith")
import generate  # noqa: E402
import pith  # noqa: E402
from open_sizes import Graph, heads, joined  # noqa: E402

ROUNDS, TOKENS, PROMPT = 7, 64, 64


def session(path):
    options = ort.SessionOptions()
    options.intra_op_num_threads = 1
    return ort.InferenceSession(path, options, providers=["CPUExecutionProvider"])


def load(path):
    return pith.load(path, threads=1)


def by_onnxruntime(s, prompt):
    """Milliseconds of the prompt and of a step, and the tokens."""
    outs, names = [o.name for o in s.get_outputs()], [i.name for i in s.get_inputs()]
    feed, start, times, ids = {}, 0, [], list(prompt)
    for i in s.get_inputs():
        if i.type == "tensor(float)":
            feed[i.name] = np.zeros([{"batch": 1, "past": 0}.get(d, d) for d in i.shape], np.float32)
    after = {n: next(o for o in outs if o in (n.replace("past_key_values", "present"), n.replace("past", "present")))
             for n in feed}
    new = ids
    for _ in range(TOKENS + 1):
        begun = time.perf_counter()
        for n in names:
            if n in ("ids", "input_ids"):
                feed[n] = np.array([new])
            elif n == "position_ids":
                feed[n] = np.arange(len(ids) - len(new), len(ids))[None]
            elif n == "attention_mask":
                feed[n] = np.ones((1, len(ids)), np.int64)
        got = dict(zip(outs, s.run(None, feed)))
        feed.update({n: got[o] for n, o in after.items()})
        new = [int(got["logits"][0, -1].argmax())]
        ids = ids + new
        times.append(time.perf_counter() - begun)
    return 1e3 * times[0], 1e3 * sum(times[1:]) / TOKENS, ids


def by_pith(net, prompt):
    begun = time.perf_counter()
    net.generate(prompt, 1)
    first = time.perf_counter()
    made = net.generate(prompt, TOKENS + 1)
    all_of_it = time.perf_counter() - first
    return 1e3 * (first - begun), 1e3 * (all_of_it - (first - begun)) / TOKENS, list(prompt) + made


def decoder(name, make, layers, width, n_heads, vocabulary, work):
    generate.V, generate.D, generate.H, generate.MOST = vocabulary, width, n_heads, 1024
    generate.HEAD, generate.LAYERS = width // n_heads, layers
    path = f"{work}/{name}.onnx"
    onnx.save(make(1)[0], path)
    s, net = session(path), load(path)
    prompt = np.random.default_rng(1).integers(0, vocabulary, PROMPT).tolist()
    ours, theirs = [], []
    for _ in range(ROUNDS):
        theirs.append(by_onnxruntime(s, prompt))
        ours.append(by_pith(net, prompt))
    a, b = ([statistics.median(r[k] for r in rows) for k in (0, 1)] for rows in (ours, theirs))
    same = sum(x == y for x, y in zip(ours[0][2], theirs[0][2])) - PROMPT
    print(f"{name:12} {os.path.getsize(path) / 1e6:7.1f} MB  prompt {a[0]:7.2f} {b[0]:7.2f} ms {a[0] / b[0]:5.2f}   "
          f"step {a[1]:7.3f} {b[1]:7.3f} ms {a[1] / b[1]:5.2f}   {same} of {TOKENS + 1} tokens equal", flush=True)


def encoder(work, layers=6, width=384, n_heads=12):
    g = Graph(1)
    x = g.node("Add", g.node("Gather", g.weight(2000, width), "ids"),
               g.node("Slice", g.weight(512, width), g.ints(0), g.node("Unsqueeze", g.dim("ids", 1), g.ints(0)), g.ints(0)))
    far = g.node("Mul", g.node("Sub", g.const(np.float32(1)), g.node("Cast", "mask", to=T.FLOAT)),
                 g.const(np.float32(-1e4)))
    far = g.node("Unsqueeze", far, g.ints(1, 2))
    dense = lambda x, a, b: g.node("Add", g.node("MatMul", x, g.weight(a, b)), g.const(np.zeros(b)))
    norm = lambda x: g.node("LayerNormalization", x, g.const(np.ones(width)), g.const(np.zeros(width)), axis=-1)
    for _ in range(layers):
        q, k, v = (heads(g, dense(x, width, width), n_heads, width) for _ in range(3))
        s = g.node("Div", g.node("MatMul", q, g.node("Transpose", k, perm=[0, 1, 3, 2])),
                   g.const(np.float32((width // n_heads) ** 0.5)))
        y = g.node("MatMul", g.node("Softmax", g.node("Add", s, far), axis=-1), v)
        x = norm(g.node("Add", x, dense(joined(g, y, x, width), width, width)))
        f = dense(x, width, 4 * width)
        f = g.node("Mul", g.node("Mul", f, g.const(np.float32(0.5))),
                   g.node("Add", g.node("Erf", g.node("Div", f, g.const(np.float32(2 ** 0.5)))), g.const(np.float32(1))))
        x = norm(g.node("Add", x, dense(f, 4 * width, width)))
    g.node("ReduceMean", x, axes=[1], keepdims=0, out="y")
    path = f"{work}/encoder.onnx"
    onnx.save(g.model([("ids", T.INT64, ["batch", "seq"]), ("mask", T.INT64, ["batch", "seq"])],
                      [("y", T.FLOAT, ["batch", width])]), path)
    rng = np.random.default_rng(2)
    lengths = np.clip(rng.lognormal(3.0, 0.6, 100), 3, 128).astype(int)  # most have ten to forty
    net, s = load(path), session(path)
    sentences = [rng.integers(0, 2000, (1, n)) for n in lengths]

    def run(call, pad):
        begun = time.perf_counter()
        for ids in sentences:
            n = 128 if pad else ids.shape[1]
            mask = (np.arange(n) < ids.shape[1]).astype(np.int64)[None]
            call(np.pad(ids, ((0, 0), (0, n - ids.shape[1]))), mask)
        return len(sentences) / (time.perf_counter() - begun)

    ask = lambda ids, mask: s.run(None, {"ids": ids, "mask": mask})
    run(net, False)
    rates = [[run(net, False), run(net, True), run(ask, False), run(ask, True)] for _ in range(3)]
    own, padded, theirs, theirs_padded = np.median(rates, axis=0)
    print(f"encoder      {int(lengths.mean())} tokens in the mean: {own:.1f} sentences/s, padded to 128 {padded:.1f} "
          f"({own / padded:.2f} times); onnxruntime {theirs:.1f}, padded {theirs_padded:.1f}")


def main():
    with tempfile.TemporaryDirectory() as work:
        print("milliseconds: pith, onnxruntime, ratio")
        decoder("gpt-6x384", generate.gpt, 6, 384, 6, 4000, work)
        decoder("llama-6x384", generate.llama, 6, 384, 6, 4000, work)
        decoder("gpt-12x768", generate.gpt, 12, 768, 12, 8000, work)
        decoder("llama-12x512", generate.llama, 12, 512, 8, 8000, work)
        encoder(work)


main()
