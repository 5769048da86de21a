# SPDX-License-Identifier: MIT
"""How long a network takes in its peers, for the benches that run them in their own process: one thread,
inputs drawn alike. Each peer has a name with its version and ms(seconds), the median of its calls."""
import os
import subprocess
import sys
import time

import numpy as np


def median_ms(run, seconds):
    """Of calls for so many seconds, five at least, behind three that warm up."""
    for _ in range(3):
        run()
    times, end = [], time.perf_counter() + seconds
    while time.perf_counter() < end or len(times) < 5:
        start = time.perf_counter()
        run()
        times.append(time.perf_counter() - start)
    return float(np.median(times)) * 1e3


def inputs_of(path, batch=1):
    """The inputs of an ONNX file with drawn values: an open first dimension is the batch, others are 1."""
    import onnx
    graph = onnx.load(path, load_external_data=False).graph
    constants, rng, feed = {i.name for i in graph.initializer}, np.random.default_rng(1), {}
    for i in (i for i in graph.input if i.name not in constants):
        kind = i.type.tensor_type
        dims = [d.dim_value or (1 if k else batch) for k, d in enumerate(kind.shape.dim)]
        feed[i.name] = (np.zeros(dims, np.int64) if kind.elem_type == onnx.TensorProto.INT64 # as pith bench
                        else rng.standard_normal(dims).astype(np.float32))
    return feed


class OnnxRuntime:
    def __init__(self, path, batch=1):
        import onnxruntime as ort
        options = ort.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        self.name = f"onnxruntime {ort.__version__}"
        self.session = ort.InferenceSession(path, options, providers=["CPUExecutionProvider"])
        self.feed = inputs_of(path, batch)

    def run(self):
        return self.session.run(None, self.feed)[0]

    def ms(self, seconds):
        return median_ms(self.run, seconds)


class OpenVino:
    """more: properties of its CPU plugin."""

    def __init__(self, path, batch=1, **more):
        import openvino as ov # reads ONEDNN_MAX_CPU_ISA here
        self.name = f"openvino {ov.__version__.split('-')[0]}"
        self.feed = inputs_of(path, batch)
        core = ov.Core()
        model = core.read_model(path)
        model.reshape({name: list(x.shape) for name, x in self.feed.items()})
        options = {"INFERENCE_NUM_THREADS": 1, "PERFORMANCE_HINT": "LATENCY",
                   "INFERENCE_PRECISION_HINT": "f32", **more}
        self.request = core.compile_model(model, "CPU", options).create_infer_request()

    def run(self):
        return self.request.infer(self.feed, share_inputs=True, share_outputs=True)[0]

    def ms(self, seconds):
        return median_ms(self.run, seconds)


class Mnn:
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

    def ms(self, seconds):
        return median_ms(self.run, seconds)
