# SPDX-License-Identifier: MIT
"""`pith generate` against onnxruntime, token by token: decoders as exporters write them, with random weights."""
import os
import subprocess
import sys
import tempfile

import numpy as np
import onnx
import onnxruntime as ort
from onnx import TensorProto as T

from open_sizes import PITH, Graph, heads, joined

V, D, H, MOST, TOKENS, LAYERS = 61, 32, 4, 96, 64, 2
HEAD = D // H


def linear(g, x, a, b, bias=True):
    y = g.node("MatMul", x, g.weight(a, b))
    return g.node("Add", y, g.const(0.1 * g.rng.normal(size=b))) if bias else y


def norm(g, x):
    return g.node("LayerNormalization", x, g.const(np.ones(D)), g.const(np.zeros(D)), axis=-1)


def rms(g, x):
    mean = g.node("ReduceMean", g.node("Pow", x, g.const(np.float32(2))), axes=[-1], keepdims=1)
    root = g.node("Sqrt", g.node("Add", mean, g.const(np.float32(1e-5))))
    return g.node("Mul", g.const(1 + 0.1 * g.rng.normal(size=D)), g.node("Div", x, root))


def causal(g, scores, past, total):
    """Where a key is behind its query: far below."""
    keys = g.node("Range", g.const(np.int64(0)), total, g.const(np.int64(1)))
    at = g.node("Range", past, total, g.const(np.int64(1)))
    return g.node("Where", g.node("LessOrEqual", keys, g.node("Unsqueeze", at, g.ints(1))), scores,
                  g.const(np.float32(-1e9)))


def attention(g, q, k, v, mask=lambda s: s):
    s = g.node("Div", g.node("MatMul", q, g.node("Transpose", k, perm=[0, 1, 3, 2])), g.const(np.float32(HEAD ** .5)))
    return g.node("MatMul", g.node("Softmax", mask(s), axis=-1), v)


def mlp(g, x):
    return linear(g, g.node("Relu", linear(g, x, D, 2 * D)), 2 * D, D)


def cached(layers, name):
    """Inputs and outputs of the cache, by name(present or past, layer, key or value)."""
    shape = lambda n, heads: ["batch", heads, n, HEAD]
    pairs = [(i, kind) for i in range(layers) for kind in ("key", "value")]
    return ([(name(False, i, kind), T.FLOAT, shape("past", H)) for i, kind in pairs],
            [(name(True, i, kind), T.FLOAT, shape("past + seq", H)) for i, kind in pairs])


def gpt(seed):
    """GPT-2's way: one product for queries, keys and values; positions from a table."""
    g = Graph(seed)
    name = lambda present, i, kind: f"{'present' if present else 'past'}_{kind}_{i}"
    past, length = g.dim("past_key_0", 2), g.dim("ids", 1)
    total = g.node("Add", past, length)
    at = g.node("Range", past, total, g.const(np.int64(1)))
    x = g.node("Add", g.node("Gather", g.weight(V, D), "ids"), g.node("Gather", g.weight(MOST, D), at))
    for i in range(LAYERS):
        q, k, v = (heads(g, t, H, D) for t in g.node("Split", linear(g, norm(g, x), D, 3 * D), g.ints(D, D, D),
                                                     n_out=3, axis=2))
        k = g.node("Concat", f"past_key_{i}", k, axis=2, out=f"present_key_{i}")
        v = g.node("Concat", f"past_value_{i}", v, axis=2, out=f"present_value_{i}")
        y = joined(g, attention(g, q, k, v, lambda s: causal(g, s, past, total)), x, D)
        x = g.node("Add", x, linear(g, y, D, D))
        x = g.node("Add", x, mlp(g, norm(g, x)))
    g.node("MatMul", norm(g, x), g.weight(D, V), out="logits")
    ins, outs = cached(LAYERS, name)
    return g.model([("ids", T.INT64, ["batch", "seq"])] + ins, [("logits", T.FLOAT, ["batch", "seq", V])] + outs), {}


def llama(seed):
    """Llama's way: positions as an input, turned into angles; a mask of ones; two heads of keys for four of queries."""
    g, groups = Graph(seed), 2
    name = lambda present, i, kind: f"{'present' if present else 'past_key_values'}.{i}.{kind}"
    total = g.dim("attention_mask", 1)
    past = g.node("Sub", total, g.dim("input_ids", 1))
    x = g.node("Gather", g.weight(V, D), "input_ids")
    rate = g.const(10000.0 ** (-np.arange(0, HEAD, 2) / HEAD).reshape(1, 1, -1))
    angle = g.node("Mul", g.node("Cast", g.node("Unsqueeze", "position_ids", g.ints(2)), to=T.FLOAT), rate)
    angle = g.node("Unsqueeze", g.node("Concat", angle, angle, axis=-1), g.ints(1))
    cos, sin = g.node("Cos", angle), g.node("Sin", angle)

    def turn(x):
        half = HEAD // 2
        a = g.node("Slice", x, g.ints(0), g.ints(half), g.ints(3))
        b = g.node("Slice", x, g.ints(half), g.ints(HEAD), g.ints(3))
        swapped = g.node("Concat", g.node("Neg", b), a, axis=-1)
        return g.node("Add", g.node("Mul", x, cos), g.node("Mul", swapped, sin))

    def repeated(x):
        batch, length = g.dim(x, 0), g.dim(x, 2)
        x = g.node("Expand", g.node("Unsqueeze", x, g.ints(2)), g.list_of(batch, groups, H // groups, length, HEAD))
        return g.node("Reshape", x, g.list_of(batch, H, length, HEAD))

    seen = g.node("Unsqueeze", g.node("Equal", "attention_mask", g.const(np.int64(0))), g.ints(1, 2))
    for i in range(LAYERS):
        y = rms(g, x)
        q = turn(heads(g, linear(g, y, D, D, False), H, D))
        k = turn(heads(g, linear(g, y, D, groups * HEAD, False), groups, groups * HEAD))
        v = heads(g, linear(g, y, D, groups * HEAD, False), groups, groups * HEAD)
        k = g.node("Concat", f"past_key_values.{i}.key", k, axis=2, out=f"present.{i}.key")
        v = g.node("Concat", f"past_key_values.{i}.value", v, axis=2, out=f"present.{i}.value")
        mask = lambda s: g.node("Where", seen, g.const(np.float32(-1e9)), causal(g, s, past, total))
        y = joined(g, attention(g, q, repeated(k), repeated(v), mask), x, D)
        x = g.node("Add", x, linear(g, y, D, D, False))
        gate = linear(g, rms(g, x), D, 2 * D, False)
        x = g.node("Add", x, linear(g, g.node("Mul", gate, g.node("Sigmoid", gate)), 2 * D, D, False))
    g.node("MatMul", rms(g, x), g.weight(D, V), out="logits")
    shape = ["batch", groups, "past", HEAD]
    grown = ["batch", groups, "past + seq", HEAD]
    pairs = [(i, kind) for i in range(LAYERS) for kind in ("key", "value")]
    return g.model([("input_ids", T.INT64, ["batch", "seq"]), ("attention_mask", T.INT64, ["batch", "past + seq"]),
                    ("position_ids", T.INT64, ["batch", "seq"])] +
                   [(name(False, *p), T.FLOAT, shape) for p in pairs],
                   [("logits", T.FLOAT, ["batch", "seq", V])] + [(name(True, *p), T.FLOAT, grown) for p in pairs]), {}


def crossed(seed):
    """The decoder of a translator: it reads what an encoder made, whose length is another one."""
    g = Graph(seed)
    name = lambda present, i, kind: f"{'present' if present else 'past_key_values'}.{i}.decoder.{kind}"
    past, length = g.dim(name(False, 0, "key"), 2), g.dim("decoder_input_ids", 1)
    total = g.node("Add", past, length)
    at = g.node("Range", past, total, g.const(np.int64(1)))
    x = g.node("Add", g.node("Gather", g.weight(V, D), "decoder_input_ids"), g.node("Gather", g.weight(MOST, D), at))
    y = norm(g, x)
    q, k, v = (heads(g, linear(g, y, D, D), H, D) for _ in range(3))
    k = g.node("Concat", name(False, 0, "key"), k, axis=2, out=name(True, 0, "key"))
    v = g.node("Concat", name(False, 0, "value"), v, axis=2, out=name(True, 0, "value"))
    x = g.node("Add", x, linear(g, joined(g, attention(g, q, k, v, lambda s: causal(g, s, past, total)), x, D), D, D))
    q = heads(g, linear(g, norm(g, x), D, D), H, D)
    k, v = (heads(g, linear(g, "encoder_hidden_states", D, D), H, D) for _ in range(2))
    x = g.node("Add", x, linear(g, joined(g, attention(g, q, k, v), x, D), D, D))
    g.node("MatMul", norm(g, g.node("Add", x, mlp(g, norm(g, x)))), g.weight(D, V), out="logits")
    ins, outs = cached(1, name)
    return g.model([("decoder_input_ids", T.INT64, ["batch", "seq"]),
                    ("encoder_hidden_states", T.FLOAT, ["batch", "heard", D])] + ins,
                   [("logits", T.FLOAT, ["batch", "seq", V])] + outs), \
        {"encoder_hidden_states": g.rng.normal(size=(1, 23, D)).astype(np.float32)}


def plain(seed):
    """No cache: the whole text runs again for each token."""
    g = Graph(seed)
    length = g.dim("ids", 1)
    at = g.node("Range", g.const(np.int64(0)), length, g.const(np.int64(1)))
    x = g.node("Add", g.node("Gather", g.weight(V, D), "ids"), g.node("Gather", g.weight(MOST, D), at))
    q, k, v = (heads(g, linear(g, norm(g, x), D, D), H, D) for _ in range(3))
    y = joined(g, attention(g, q, k, v, lambda s: causal(g, s, g.const(np.int64(0)), length)), x, D)
    x = g.node("Add", x, linear(g, y, D, D))
    g.node("MatMul", norm(g, g.node("Add", x, mlp(g, norm(g, x)))), g.weight(D, V), out="logits")
    return g.model([("ids", T.INT64, ["batch", "seq"])], [("logits", T.FLOAT, ["batch", "seq", V])]), {}


def recurrent(seed):
    """An LSTM, whose states have one size."""
    g = Graph(seed)
    x = g.node("Transpose", g.node("Gather", g.weight(V, D), "ids"), perm=[1, 0, 2])
    w, r = (g.const(g.rng.normal(size=(1, 4 * D, D)) / D ** .5) for _ in range(2))
    y, h, c = g.node("LSTM", x, w, r, "", "", "h", "c", n_out=3, hidden_size=D)
    g.node("Identity", h, out="next_h")
    g.node("Identity", c, out="next_c")
    g.node("MatMul", g.node("Transpose", g.node("Squeeze", y, g.ints(1)), perm=[1, 0, 2]), g.weight(D, V), out="logits")
    states = [(n, T.FLOAT, [1, 1, D]) for n in ("h", "c", "next_h", "next_c")]
    return g.model([("ids", T.INT64, [1, "seq"])] + states[:2], [("logits", T.FLOAT, [1, "seq", V])] + states[2:]), \
        {"--state": ("next_h=h", "next_c=c")}


def wanted(path, prompt, given):
    """The tokens that onnxruntime's scores choose, and how far the best is from the next."""
    session = ort.InferenceSession(path, providers=["CPUExecutionProvider"])
    outs = [o.name for o in session.get_outputs()]
    states, feed, ids, least = {}, {}, list(prompt), np.inf
    for i in session.get_inputs():
        shape = [{"batch": 1, "past": 0}.get(d, d) for d in i.shape]
        if i.name in given:
            feed[i.name] = given[i.name]
        elif i.type == "tensor(float)":
            states[i.name] = next(o for o in outs if o in (i.name.replace("past_key_values", "present"),
                                                           i.name.replace("past", "present"), "next_" + i.name))
            feed[i.name] = np.zeros(shape, np.float32)
    new, names = ids, [i.name for i in session.get_inputs()]
    for _ in range(TOKENS):
        new = new if states else ids[-MOST:]
        for n in names:
            if n.endswith("ids"):
                feed[n] = np.array([new])
            if n == "position_ids":
                feed[n] = np.arange(len(ids) - len(new), len(ids))[None]
            if "mask" in n:
                feed[n] = np.ones((1, len(ids)), np.int64)
        got = dict(zip(outs, session.run(None, feed)))
        for n, o in states.items():
            feed[n] = got[o]
        scores = np.sort(got["logits"][0, -1])
        least = min(least, scores[-1] - scores[-2])
        new = [int(got["logits"][0, -1].argmax())]
        ids = ids + new
    return ids, least


def check(make, seed, work):
    model, given = make(seed)
    rng = np.random.default_rng(seed)
    prompt = rng.integers(0, V, int(rng.integers(1, 12))).tolist()
    onnx.save(model, f"{work}/net.onnx")
    np.save(f"{work}/prompt.npy", np.array(prompt))
    words = []
    for name, value in given.items():
        for v in value if name.startswith("--") else [value]:
            if name.startswith("--"):
                words += [name, v]
            else:
                np.save(f"{work}/{name}.npy", v)
                words += [f"{name}={work}/{name}.npy"]
    r = subprocess.run([PITH, "import", f"{work}/net.onnx", "-q", "-f", "-o", f"{work}/net.pith"], capture_output=True,
                       text=True)
    if r.returncode:
        return f"import: {r.stderr.strip()}"
    r = subprocess.run([PITH, "generate", f"{work}/net.pith", "--ids", f"{work}/prompt.npy", "-n", str(TOKENS), "-q",
                        "-f", "-o", f"{work}/ids.npy"] + words, capture_output=True, text=True)
    if r.returncode:
        return r.stderr.strip()
    ids, least = wanted(f"{work}/net.onnx", prompt, given)
    got = np.load(f"{work}/ids.npy").tolist()
    same = next((i for i, (a, b) in enumerate(zip(ids, got)) if a != b), min(len(ids), len(got)))
    return None if got == ids or least < 1e-4 else f"other tokens from {same} on (nearest scores {least:.2g})"


def with_samples(make, seed, work):
    """Ids alone are samples for a decoder with a cache: it is empty, its mask ones, positions count from 0."""
    model, _ = make(seed)
    net, rows = f"{work}/net.onnx", np.random.default_rng(seed).integers(0, V, (24, 10))
    onnx.save(model, net)
    np.save(f"{work}/rows.npy", rows)
    for words in (["run", net, "-o", f"{work}/out/"], ["quantize", net, "-o", f"{work}/q.pith"],
                  ["compress", net, "-o", f"{work}/c.pith"], ["sense", net], ["eval", net, "--labels", f"{work}/rows.npy"],
                  ["generate", f"{work}/q.pith"], ["generate", f"{work}/c.pith"]):
        data = ["--ids", f"{work}/prompt.npy"] if words[0] == "generate" else ["-d", f"{work}/rows.npy"]
        r = subprocess.run([PITH, *words, *data, "-q", "-f"], capture_output=True, text=True)
        if r.returncode:
            return f"{words[0]}: {r.stderr.strip()}"
    session = ort.InferenceSession(net, providers=["CPUExecutionProvider"])
    feed = {i.name: np.zeros([{"batch": 1, "past": 0}.get(d, d) for d in i.shape], np.float32)
            for i in session.get_inputs() if i.type == "tensor(float)"}
    for i in session.get_inputs():
        if i.name not in feed and not i.name.endswith("ids"):
            feed[i.name] = np.ones((1, 10), np.int64)
    got, worst = np.load(f"{work}/out/logits.npy"), 0
    for k, row in enumerate(rows):
        for i in session.get_inputs():
            if i.name.endswith("ids"):
                feed[i.name] = np.arange(10)[None] if i.name == "position_ids" else row[None]
        worst = max(worst, np.abs(session.run(["logits"], feed)[0] - got[k]).max())
    return f"run: logits are up to {worst} apart" if worst > 1e-4 else None


def forgotten(work):
    """An input that is no cache is not made up: its length may be 0, but no output is its next value."""
    g = Graph(1)
    g.node("ReduceMean", g.node("Concat", "x", "y", axis=0), out="z", axes=[0], keepdims=1)
    onnx.save(g.model([("x", T.FLOAT, [4, 8]), ("y", T.FLOAT, ["n", 8])], [("z", T.FLOAT, [1, 8])]), f"{work}/joined.onnx")
    np.save(f"{work}/x.npy", np.ones((4, 8), np.float32))
    r = subprocess.run([PITH, "run", f"{work}/joined.onnx", f"x={work}/x.npy"], capture_output=True, text=True)
    return None if r.returncode == 2 and "'y'" in r.stderr else f"exit {r.returncode}: {r.stderr.strip()}"


def main():
    failed, seed = False, int(os.environ.get("SEED", "1"))
    with tempfile.TemporaryDirectory() as work:
        for make in (gpt, llama, crossed, plain, recurrent):
            for s in range(seed, seed + 3):
                bad = check(make, s, work)
                if bad:
                    print(f"{make.__name__}, seed {s}: {bad}")
                    failed = True
        bad = forgotten(work)
        if bad:
            print(f"an input that is not given: {bad}")
            failed = True
        for make in (gpt, llama):
            bad = with_samples(make, seed, work)
            if bad:
                print(f"{make.__name__} with samples: {bad}")
                failed = True
    sys.exit(failed)


if __name__ == "__main__":
    main()
