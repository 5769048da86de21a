# SPDX-License-Identifier: MIT
"""The installed package, on a network of digits: WORK/digits.onnx, [1, 1, 28, 28] to [1, 10]."""
import contextlib
import ctypes
import os
import sys
import threading
import types

import numpy as np
import pytest

import pith
from pith import _runtime

WORK = os.environ["WORK"]
DIGITS = os.path.join(WORK, "digits.onnx")
rng = np.random.default_rng(5)
PIXELS = rng.integers(0, 256, (120, 1, 28, 28), dtype=np.uint8)
FLOATS = (PIXELS / 255).astype("float32")


@pytest.fixture(scope="module")
def net():
    return pith.load(DIGITS)


@pytest.fixture(scope="module")
def labels(net):
    return np.array([net(x[None]).argmax() for x in FLOATS])


def test_layout_of_structures():
    ours = {"pith_error": _runtime.CError, "pith_tensor": _runtime.CTensor, "pith_opts": _runtime.COptions}
    listed = {}
    for line in open(os.path.join(WORK, "layout.txt")):
        struct, member, offset = line.split()
        listed.setdefault(struct, []).append((member, int(offset)))
    for struct, members in listed.items():
        c = ours[struct]
        assert [(name, getattr(c, name).offset) for name, *_ in c._fields_] + [("-", ctypes.sizeof(c))] == members


def test_description(net):
    (name, x), = net.inputs.items()
    assert x.name == name and x.shape == (1, 1, 28, 28) and x.dtype == "float32" and (x.scale, x.zero_point) == (1, 0)
    (_, y), = net.outputs.items()
    assert y.shape == (1, 10)
    assert pith.__version__.count(".") == 2


def test_outputs_are_those_of_the_command(net, tmp_path):
    np.save(tmp_path / "x.npy", FLOATS[:1])
    pith.command("run", DIGITS, tmp_path / "x.npy", output=tmp_path / "y.npy")
    assert np.array_equal(net(FLOATS[:1]), np.load(tmp_path / "y.npy"))


def test_forms_of_a_call(net):
    y = net(FLOATS[:1])
    name, = net.inputs
    assert np.array_equal(net.run({name: FLOATS[:1]})[next(iter(net.outputs))], y)
    assert np.array_equal(net(FLOATS[:1].astype("float64")), y)  # loses nothing but precision
    wide = np.zeros((1, 1, 28, 56), "float32")
    wide[..., ::2] = FLOATS[:1]
    assert np.array_equal(net(wide[..., ::2]), y)  # not contiguous
    assert np.array_equal(net(FLOATS[0][None].tolist()), y)


def test_an_open_batch_takes_any_length(tmp_path, net):
    rows = [net(x[None]) for x in FLOATS[:7]]
    for n in (1, 2, 3, 4, 5, 6, 7, 3, 2):
        assert np.allclose(net(FLOATS[:n]), np.concatenate(rows[:n]), atol=1e-5)


def test_open_sizes_follow_the_arrays():
    net = pith.load(os.path.join(WORK, "open2.onnx"))  # a + b
    assert set(net.sizes) == {"height", "width"}
    for height, width in ((3, 5), (1, 1), (200, 7), (3, 5)):
        a, b = rng.normal(size=(1, width)).astype("float32"), rng.normal(size=(1, height, width)).astype("float32")
        assert np.array_equal(net(a, b), a + b)
        assert net.sizes["height"][0] == height and net.sizes["width"][0] == width
    with pytest.raises(pith.Error) as raised:
        net(a, b[..., :4])
    assert raised.value.exit == 2 and "has to be width" in str(raised.value)


def test_generate():
    net = pith.load(os.path.join(WORK, "next.onnx"))  # behind token i comes 3 i + 1, modulo 8
    chain = [5, 0, 1, 4, 5, 0, 1, 4]
    assert net.generate([2, 7, 3, 4], 8) == chain[:8] and net.generate(np.array([4]), 100, stop=1) == [5, 0, 1]
    drawn = [net.generate([4], 40, temperature=5, top_k=2, seed=s) for s in (1, 1, 2)]
    assert drawn[0] == drawn[1] != drawn[2] and len(set(drawn[0])) > 4
    assert net(np.array([[2, 0]])).shape == (1, 2, 8)
    for call in (lambda: net.generate([], 3), lambda: net.generate([1], 3, inputs={"ids": np.zeros((1, 1), "i8")})):
        with pytest.raises(pith.Error) as raised:
            call()
        assert raised.value.exit == 2


def test_results_stay_when_the_network_runs_again(net):
    first = net(FLOATS[:1])
    kept = first.copy()
    net(FLOATS[1:2])
    assert np.array_equal(first, kept)


@pytest.mark.parametrize("call, exit, words", [
    (lambda n: n(FLOATS[:1, :, :27]), 2, "(1, 1, 27, 28)"),
    (lambda n: n(FLOATS[0]), 2, "(1, 28, 28)"),
    (lambda n: n(), 2, "1 inputs, 0 arrays"),
    (lambda n: n(FLOATS[:1].astype("complex64")), 2, "complex64"),
    (lambda n: n.run({"nothing": FLOATS[:1]}), 2, "nothing"),
    (lambda n: n.run({}), 2, "is missing"),
    (lambda n: pith.load("absent.pith"), 3, "absent.pith"),
    (lambda n: pith.load(__file__), 4, "test_pith.py"),
    (lambda n: pith.load(b"\xb9S short"), 4, "network"),
    (lambda n: pith.load(DIGITS, cpu="pdp11"), 2, "pdp11"),
    (lambda n: pith.compress("absent.onnx"), 3, "absent.onnx"),
    (lambda n: pith.command("prune", DIGITS, sparsity=2), 2, "sparsity"),
])
def test_errors(net, call, exit, words):
    with pytest.raises(pith.Error) as raised:
        call(net)
    assert raised.value.exit == exit and words in str(raised.value)


def test_compress(tmp_path, labels):
    events = []
    result = pith.compress(DIGITS, PIXELS, labels, output=tmp_path / "net.pith", preprocess="scale=1/255", bits=5,
                           progress=events.append)
    assert result.path == str(tmp_path / "net.pith") and os.path.getsize(result.path) == result.bytes
    assert result.ratio > 4 and result.before is not None and result.drop == pytest.approx(result.before - result.after)
    assert events and {"step", "done", "total"} <= set(events[0])
    assert pith.load(result.path)(FLOATS[:1]).shape == (1, 10)
    assert pith.info(result.path)["bytes"] == result.bytes
    accuracy = pith.evaluate(result.path, PIXELS, labels)
    assert accuracy["samples"] == 120 and 0.5 < accuracy["top1"] <= 1


def test_a_goal_that_is_not_met(tmp_path, labels):
    with pytest.raises(pith.GoalNotMet) as raised:
        pith.compress(DIGITS, iter(PIXELS), labels, output=tmp_path / "net.pith", preprocess="scale=1/255", max_size=90,
                      time="3s")
    best = raised.value.best
    assert raised.value.exit == 1 and best.path == str(tmp_path / "net.best.pith")
    assert os.path.getsize(best.path) == best.bytes and not os.path.exists(tmp_path / "net.pith")


def test_quantize(tmp_path):
    result = pith.quantize(DIGITS, FLOATS[:24], output=tmp_path / "q.pith")
    assert os.path.getsize(result.path) == result.bytes
    names = [layer["grid"] for layer in pith.info(result.path)["layers"]]
    assert "codebook" not in names and names


def test_threads(net):
    expected = [net(x[None]) for x in FLOATS[:40]]
    nets = [net, pith.load(DIGITS, threads=2)]
    wrong = []

    def work(which):
        for x, y in zip(FLOATS[:40], expected):
            if not np.array_equal(nets[which % 2](x[None]), y):
                wrong.append(which)
    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not wrong


def test_a_picture(tmp_path, labels):
    """A grey picture as PNG, written by hand: the network's preprocessing makes the input of it."""
    import struct
    import zlib

    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
    rows = b"".join(b"\0" + PIXELS[0, 0, y].tobytes() for y in range(28))
    png = b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", 28, 28, 8, 0, 0, 0, 0)) + \
        chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")
    (tmp_path / "a.png").write_bytes(png)
    names = tmp_path / "names.txt"
    names.write_text("".join(f"digit {i}\n" for i in range(10)))
    net = pith.load(DIGITS, preprocess="scale=1/255", class_names=names)
    assert net.class_names[3] == "digit 3"
    scores = net.run(picture=tmp_path / "a.png")
    assert np.allclose(scores, net(FLOATS[:1]).reshape(scores.shape), atol=1e-5)
    top = scores.top(2)
    assert top[0][:2] == (labels[0], f"digit {labels[0]}") and top[0][2] >= top[1][2]


def test_from_torch_leaves_modes_alone(monkeypatch, tmp_path):
    class Module:
        def __init__(self, training, parts=()):
            self.training, self.parts = training, parts

        def modules(self):
            return [self, *self.parts]

        def eval(self):
            for part in self.modules():
                part.training = False

    def export(module, args, path, **options):
        calls.append(([part.training for part in module.modules()], args, path, options))
        raise RuntimeError("cannot be exported")

    calls = []
    torch = types.SimpleNamespace(no_grad=contextlib.nullcontext, onnx=types.SimpleNamespace(export=export))
    monkeypatch.setitem(sys.modules, "torch", torch)
    module = Module(True, (Module(False), Module(True)))
    with pytest.raises(RuntimeError):
        pith.from_torch(module, 7, tmp_path / "net.onnx", opset_version=17)
    assert calls == [([False] * 3, (7,), str(tmp_path / "net.onnx"), {"opset_version": 17})]
    assert [part.training for part in module.modules()] == [True, False, True]
