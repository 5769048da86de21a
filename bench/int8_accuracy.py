#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Networks in integers against themselves in float: how many predictions change, and the signal-to-noise
ratio of the logits (centred per sample; of an autoencoder its output), over samples that calibration did
not see; and the file's bytes. With --peer onnxruntime's static quantization of the same network, on the same samples, stands
beside it. Prints Markdown.

    bench/int8_accuracy.py build/release/pith ../shared/data [NETWORK ...] [--limit N] [--peer]
        [--top1] [--options='--set bias_correct=true'] [--options='--weights 4'] ...

Each --options is a row of its own: what is given to pith quantize. The final Softmax is cut off. Needs
numpy and onnx; onnxruntime for --peer.
"""
import argparse
import json
import os
import subprocess
import tempfile
import time

import numpy as np
import onnx

BGR = "order=bgr,mean=104:117:123,crop=%d"
RGB = "scale=1/255,mean=0.485:0.456:0.406,std=0.229:0.224:0.225"
IMAGENET = ("imagenet/imagenet_a500.tar", "0:500:8", "imagenet/imagenet_a500.tar", "!0:500:8")
CIFAR = ("cifar10/train_jpeg.tar.gz", "0:49984:781", "cifar10/test_jpeg.tar.gz", "0:10000")
MNIST = ("mnist/train-images-idx3-ubyte.gz", "0:59968:937", "mnist/t10k-images-idx3-ubyte.gz", "0:10000")
KWS = ("raw:i8:490:kws/kws01_mfcc_int8.bin.gz", "0:1000:16", "raw:i8:490:kws/kws01_mfcc_int8.bin.gz",
       "0:1000")
CLIPS = "kws/kws_mfcc%d_f32.npy"
AD = "audio/ad01_logmel640_f32.npy"

# name: preprocess, calibration data and range, evaluation data and range
NETWORKS = {
    "mnist_lenet5_caffe": ("scale=1/256", *MNIST),
    "mnist_cntk": ("scale=1", *MNIST),
    "cifar10_resnet20": (RGB, *CIFAR),
    "tiny_ic_resnet8": ("scale=1", *CIFAR),
    "tiny_kws_dscnn": ("scale=0.5847029089927673,mean=48.53034144639969", *KWS),
    "tiny_vww_mbv1": ("scale=1/255,resize=96,crop=96", *IMAGENET),
    "tiny_ad01_ae": (None, AD, "0:128:2", AD, "150:300"),
    "kws_DNN_L": (None, CLIPS % 250, "0:256:4", CLIPS % 250, "0:304"),
    "kws_LSTM_L": (None, CLIPS % 490, "0:256:4", CLIPS % 490, "0:304"),
    "kws_GRU_L": (None, CLIPS % 490, "0:256:4", CLIPS % 490, "0:304"),
    "imagenet_squeezenet_v1_1": (BGR % 224, *IMAGENET),
    "imagenet_squeezenet_v1_dc": (BGR % 227, *IMAGENET),
    "imagenet_mobilenet_v2": (RGB + ",crop=224", *IMAGENET),
}


def logits_name(path):
    """What the final Softmax reads, or the output."""
    graph = onnx.load(path).graph
    name = graph.output[0].name
    for node in graph.node:
        if name in node.output and node.op_type == "Softmax":
            name = node.input[0]
    return name


def data_path(folder, data):
    if data.startswith("raw:"):
        kind, name = data.rsplit(":", 1)
        return kind + ":" + os.path.join(folder, name)
    return os.path.join(folder, data)


def every(text, limit):
    """A range of about `limit` samples, evenly spaced, out of A:B."""
    if not limit or text.startswith("!"):
        return text
    first, last = (int(x) for x in text.split(":"))
    step = max(1, (last - first) // limit)
    return f"{first}:{last}:{step}"


class Network:
    def __init__(self, args, name, work):
        self.args, self.name, self.work = args, name, work
        preprocess, self.given, self.given_range, self.test, self.test_range = NETWORKS[name]
        self.test_range = every(self.test_range, args.limit)
        self.onnx = os.path.join(args.data, "models", name + ".onnx")
        self.logits = logits_name(self.onnx)
        self.model = os.path.join(work, name + ".pith")
        extra = ["--preprocess", preprocess] if preprocess else []
        self.pith("import", self.onnx, "--outputs", self.logits, *extra, "-q", "-f", "-o", self.model)
        self.float = self.outputs(self.model)

    def pith(self, *args):
        out = subprocess.run([self.args.pith, *args], capture_output=True, text=True)
        if out.returncode:
            raise SystemExit(f"{' '.join(args)}: {out.stderr}")
        return out.stderr

    def outputs(self, model):
        path = os.path.join(self.work, "outputs.npy")
        self.pith("run", model, "-d", data_path(self.args.data, self.test), "--range", self.test_range,
                  "-q", "-f", "-o", path)
        y = np.load(path)
        return y.reshape(y.shape[0], -1).astype(np.float64)

    def compare(self, y):
        x = self.float
        changed = int((x.argmax(1) != y.argmax(1)).sum())
        if self.name != "tiny_ad01_ae":
            x, y = x - x.mean(1, keepdims=True), y - y.mean(1, keepdims=True)
        noise = ((x - y) ** 2).sum()
        return changed, 10 * np.log10((x ** 2).sum() / noise) if noise else np.inf

    def quantized(self, options):
        path = os.path.join(self.work, "quantized.pith")
        start = time.time()
        said = self.pith("quantize", self.model, "-d", data_path(self.args.data, self.given), "--range",
                         self.given_range, *options.split(), "-f", "-o", path)
        seconds, said = time.time() - start, said.strip().splitlines()[-1]
        size = os.path.getsize(path)
        if self.args.top1:
            said = f"top-1 {self.top1(self.model):.2f} -> {self.top1(path):.2f} %; {said}"
        y = self.outputs(path)
        return y, seconds, said, size

    def top1(self, model):
        """Percent of right predictions, where the samples have labels."""
        out = subprocess.run([self.args.pith, "eval", model, "-d", data_path(self.args.data, self.test),
                              "--range", self.test_range, "--json"], capture_output=True, text=True)
        return 100 * json.loads(out.stdout)["top1"] if out.returncode == 0 else np.nan

    def row(self, what, y, seconds, said, size):
        changed, snr = self.compare(y)
        print(f"| {self.name} | {what} | {changed} of {len(y)} | {snr:.1f} | {size:,} | {seconds:.1f} | {said} |",
              flush=True)


def prepared(pith, folder, shape, preprocess, *data):
    """Samples as an input of that shape takes them: through a network that does nothing. pith: a call of it;
    data: its options."""
    path = os.path.join(folder, "nothing.onnx")
    value = [onnx.helper.make_tensor_value_info(n, onnx.TensorProto.FLOAT, shape) for n in "xy"]
    graph = onnx.helper.make_graph([onnx.helper.make_node("Identity", ["x"], ["y"])], "nothing",
                                   value[:1], value[1:])
    onnx.save(onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 13)]), path)
    out, model = path + ".npy", path + ".pith"
    pith("import", path, *(["--preprocess", preprocess] if preprocess else []), "-q", "-f", "-o", model)
    pith("run", model, *data, "-q", "-f", "-o", out)
    return np.load(out).reshape(-1, *shape)


def samples_of(network, data, which):
    shape = [d.dim_value or 1 for d in onnx.load(network.onnx).graph.input[0].type.tensor_type.shape.dim]
    return prepared(network.pith, network.work, shape, NETWORKS[network.name][0], "-d",
                    data_path(network.args.data, data), "--range", which)


def peer(network, percentile):
    """onnxruntime: u8 activations with zero point, i8 weights per channel, batch norm folded by pith."""
    import onnxruntime as ort
    from onnxruntime.quantization import (CalibrationDataReader, CalibrationMethod, QuantFormat, QuantType,
                                          quantize_static)
    base, out = os.path.join(network.work, "float.onnx"), os.path.join(network.work, "peer.onnx")
    folded = network.model + ".folded"
    network.pith("encode", network.model, "--coder", "none", "-q", "-f", "-o", folded)
    network.pith("decode", folded, "--to", "onnx", "-q", "-f", "-o", base)
    name = ort.InferenceSession(base).get_inputs()[0].name

    class Reader(CalibrationDataReader):
        def __init__(self):
            self.items = iter(samples_of(network, network.given, network.given_range))

        def get_next(self):
            x = next(self.items, None)
            return None if x is None else {name: x}

    start = time.time()
    extra = {"CalibPercentile": 99.999} if percentile else {}
    quantize_static(base, out, Reader(), quant_format=QuantFormat.QDQ, per_channel=True,
                    activation_type=QuantType.QUInt8, weight_type=QuantType.QInt8, extra_options=extra,
                    calibrate_method=CalibrationMethod.Percentile if percentile
                    else CalibrationMethod.MinMax)
    seconds = time.time() - start
    session = ort.InferenceSession(out)
    y = [session.run(None, {name: x})[0].reshape(-1)
         for x in samples_of(network, network.test, network.test_range)]
    network.row("onnxruntime " + ("percentile 99.999" if percentile else "MinMax"), np.array(y), seconds, "",
                os.path.getsize(out))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("pith")
    parser.add_argument("data")
    parser.add_argument("networks", nargs="*", default=[])
    parser.add_argument("--limit", type=int, default=0, help="evaluate on about so many samples")
    parser.add_argument("--peer", action="store_true")
    parser.add_argument("--top1", action="store_true", help="accuracy, too, where there are labels")
    parser.add_argument("--options", action="append", default=[])
    args = parser.parse_args()
    print("| network | what | predictions changed | SNR dB | bytes | seconds | |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    for name in args.networks or NETWORKS:
        with tempfile.TemporaryDirectory() as work:
            network = Network(args, name, work)
            for options in args.options or [""]:
                network.row("pith " + options, *network.quantized(options))
            for percentile in (False, True) if args.peer else ():
                try:
                    peer(network, percentile)
                except Exception as e:  # what the peer cannot quantize is a result too
                    print(f"| {name} | onnxruntime | - | - | - | - | {type(e).__name__} |")


if __name__ == "__main__":
    main()
