#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""ONNX's own node cases, the ones the wheel of onnx 1.16.2 carries, through `pith import` and `pith run`.

    node_cases.py --pith build/release/pith --cases build/node-cases --lists tests/conformance/node_cases [--update] [CASE ...]

A case is counted when its operators are among OPERATORS, its types among TYPES and none of its
tensors is empty: rules about the case, never about what pith makes of it. counted.txt and
excluded.txt hold the outcome with reasons. Counted or not, a case must pass or be refused with exit
code 5; failing.txt holds counted ones that do not pass and any that do worse than a refusal. The
lists must be what this run finds (--update writes them), and SHARE of the counted cases must pass.

pith's shapes are numbers, so inputs that decide a shape are frozen with --set-input: those FROZEN
names, and whatever they are computed from. Where no other input is left, the network gets one that
passes to an output of its own, since pith runs networks with inputs. CASE ...: only these, in words."""
import argparse
import concurrent.futures
import glob
import os
import subprocess
import sys
import tempfile

try:
    import numpy as np
    import onnx
    from onnx import AttributeProto, TensorProto, numpy_helper
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(77)

SHARE = 0.97
REFUSED = 5
BFLOAT16_STEP = 2.0 ** -7  # ONNX cuts digits off, pith keeps them
TIMEOUT_S = 20
BATCH = 16  # cases that a thread takes at a time

OPERATORS = set("""
Abs Add And ArgMax ArgMin AveragePool BatchNormalization Cast Ceil Celu Clip Concat Constant
ConstantOfShape Conv ConvInteger ConvTranspose Cos CumSum DepthToSpace DequantizeLinear Div Dropout
DynamicQuantizeLinear Einsum Elu Equal Erf Exp Expand EyeLike Flatten Floor GRU Gather
GatherElements GatherND Gelu Gemm GlobalAveragePool GlobalMaxPool Greater GreaterOrEqual
GridSample GroupNormalization HardSigmoid HardSwish Hardmax Identity If InstanceNormalization IsNaN LRN LSTM
LayerNormalization LeakyRelu Less LessOrEqual Log LogSoftmax Loop LpNormalization LpPool MatMul
MatMulInteger Max MaxPool Mean MeanVarianceNormalization Min Mish Mul Neg NonMaxSuppression Not
OneHot Or PRelu Pad Pow QLinearConv QLinearMatMul QuantizeLinear RNN Range Reciprocal ReduceL1
ReduceL2 ReduceLogSum ReduceLogSumExp ReduceMax ReduceMean ReduceMin ReduceProd ReduceSum
ReduceSumSquare Relu Reshape Resize ReverseSequence Round Scan ScatterElements ScatterND Selu Shape Sigmoid Sign Sin
Size Slice Softmax Softplus Softsign SpaceToDepth Split Sqrt Squeeze Sub Sum Tanh ThresholdedRelu
Tile TopK Transpose Trilu Unsqueeze Upsample Where Xor
""".split())

TYPES = {TensorProto.FLOAT, TensorProto.FLOAT16, TensorProto.INT8, TensorProto.UINT8,
         TensorProto.INT32, TensorProto.INT64, TensorProto.BOOL}

# Inputs, by position, that decide a shape or an attribute.
FROZEN = {
    "BatchNormalization": (1, 2, 3, 4), "CenterCropPad": (1,), "Clip": (1, 2),
    "ConstantOfShape": (0,), "Conv": (1, 2), "ConvInteger": (1, 3), "ConvTranspose": (1, 2),
    "CumSum": (1,), "DequantizeLinear": (1, 2), "Dropout": (1, 2), "Expand": (1,),
    "GRU": (1, 2, 3), "GroupNormalization": (1, 2), "InstanceNormalization": (1, 2),
    "LSTM": (1, 2, 3, 7), "Loop": (0, 1), "MatMulInteger": (2, 3), "NonMaxSuppression": (2, 3, 4),
    "OneHot": (1,), "Pad": (1, 2, 3), "QLinearConv": (1, 2, 3, 4, 5, 6, 7, 8),
    "QLinearMatMul": (1, 2, 4, 5, 6, 7), "QuantizeLinear": (1, 2), "RNN": (1, 2, 3),
    "Range": (0, 1, 2), "ReduceL1": (1,), "ReduceL2": (1,), "ReduceLogSum": (1,),
    "ReduceLogSumExp": (1,), "ReduceMax": (1,), "ReduceMean": (1,), "ReduceMin": (1,),
    "ReduceProd": (1,), "ReduceSum": (1,), "ReduceSumSquare": (1,), "Reshape": (1,),
    "Resize": (1, 2, 3), "ReverseSequence": (1,), "Slice": (1, 2, 3, 4), "Split": (1,), "Squeeze": (1,),
    "STFT": (1, 2, 3), "Tile": (1,),
    "TopK": (1,), "Trilu": (1,), "Unsqueeze": (1,), "Upsample": (1,),
}
OF_SHAPE_ALONE = {"Shape", "Size"}

# Cases whose outputs onnxruntime does not give either: pith agrees with it, since networks are trained
# and shipped with that arithmetic.
AS_ONNXRUNTIME = {
    "averagepool_3d_dilations_large_count_include_pad_is_1_ceil_mode_is_True":
        "a window beyond the padding divides by its taps inside the padded input",
    "qlinearmatmul_2D_int8_float16": "the case lets the result wrap around, ONNX saturates it",
    "qlinearmatmul_2D_int8_float32": "the case lets the result wrap around, ONNX saturates it",
    "qlinearmatmul_3D_int8_float16": "the case lets the result wrap around, ONNX saturates it",
    "qlinearmatmul_3D_int8_float32": "the case lets the result wrap around, ONNX saturates it",
    "resize_downsample_scales_cubic_align_corners": "corners align for the whole number of outputs",
    "resize_downsample_scales_linear_align_corners": "corners align for the whole number of outputs",
}


class Outcome(Exception):
    """How a case ended that did not pass."""


class Refused(Outcome):
    pass


def graphs(graph):
    """The graph and all bodies in it."""
    yield graph
    for node in graph.node:
        for attribute in node.attribute:
            if attribute.type == AttributeProto.GRAPH:
                yield from graphs(attribute.g)


def type_name(element):
    return TensorProto.DataType.Name(element).lower()


def declared(model):
    """Every value the file or shape inference gives a type."""
    try:
        model = onnx.shape_inference.infer_shapes(model)
    except Exception:  # inference knows fewer operators than the checker
        pass
    for graph in graphs(model.graph):
        yield from graph.input
        yield from graph.output
        yield from graph.value_info


def constants(model):
    for graph in graphs(model.graph):
        yield from graph.initializer
        for node in graph.node:
            for attribute in node.attribute:
                if attribute.type == AttributeProto.TENSOR:
                    yield attribute.t


def optional_names(model):
    """Tensors that stand only where empty stands for absent: after the first input of some operators."""
    used = {}
    for graph in graphs(model.graph):
        for node in graph.node:
            for i, name in enumerate(node.input):
                takes = i > 0 and (node.op_type == "Resize" or node.op_type.startswith("Reduce"))
                used.setdefault(name, set()).add(takes)
    return {name for name, takes in used.items() if takes == {True}}


def why_types(model):
    for value in declared(model):
        kind = value.type.WhichOneof("value")
        if kind not in (None, "tensor_type"):
            return f"{value.name} is a {kind.removesuffix('_type')}"
        element = value.type.tensor_type.elem_type
        if kind and element and element not in TYPES:
            return f"type {type_name(element)}"
    for tensor in constants(model):
        if tensor.data_type not in TYPES:
            return f"type {type_name(tensor.data_type)}"
    for graph in graphs(model.graph):
        for node in graph.node:
            for a in node.attribute:
                if node.op_type == "Cast" and a.name == "to" and a.i not in TYPES:
                    return f"type {type_name(a.i)}"
    return None


def why_training(model):
    for node in model.graph.node:
        if node.op_type == "BatchNormalization" and any(
                a.name == "training_mode" and a.i for a in node.attribute):
            return "training mode"
        if node.op_type == "Dropout" and len(node.input) > 2 and node.input[2]:
            return "training mode"
    return None


def why_excluded(model, inputs, outputs):
    """A reason that the case is not counted, or None."""
    operators = {(n.domain, n.op_type) for g in graphs(model.graph) for n in g.node}
    local = {f.name for f in model.functions}
    for domain, name in sorted(operators):
        if domain not in ("", "ai.onnx") and name not in local:
            return f"operator {domain}.{name}"
        if name not in OPERATORS and name not in local:
            return f"operator {name}"
    reason = why_types(model) or why_training(model)
    if reason:
        return reason
    optional = optional_names(model)
    for name, value in (*inputs.items(), *outputs.items()):
        if not isinstance(value, np.ndarray):
            return f"{name} is no tensor"
        if value.size == 0 and name not in optional:
            return f"{name} has no elements"
    return None


def computed_from(model, names, through):
    """These values and all they are computed from, by nodes that `through` admits."""
    producer = {out: node for node in model.graph.node for out in node.output}
    wanted, visited = list(names), set()
    while wanted:
        name = wanted.pop()
        if name and name not in visited:
            visited.add(name)
            node = producer.get(name)
            if node and through(node):
                wanted += node.input
                for attribute in node.attribute:
                    if attribute.type == AttributeProto.GRAPH:
                        wanted += [i for g in graphs(attribute.g) for n in g.node for i in n.input]
    return visited


def frozen_inputs(model):
    """Names of the inputs that something in FROZEN is computed from."""
    deciding = [node.input[i] for node in model.graph.node for i in FROZEN.get(node.op_type, ())
                if i < len(node.input)]
    return computed_from(model, deciding, lambda node: node.op_type not in OF_SHAPE_ALONE)


def with_own_input(model):
    """The network beside an input that passes to an output."""
    model.graph.input.append(onnx.helper.make_tensor_value_info("own.in", TensorProto.FLOAT, [1]))
    model.graph.output.append(onnx.helper.make_tensor_value_info("own.out", TensorProto.FLOAT, [1]))
    model.graph.node.append(onnx.helper.make_node("Relu", ["own.in"], ["own.out"]))
    return np.ones(1, np.float32)


def load_values(folder, kind, infos):
    """The tensors of data set 0, by name; what is no tensor, or not there, is None."""
    values = {}
    for i, info in enumerate(infos):
        path = os.path.join(folder, "test_data_set_0", f"{kind}_{i}.pb")
        if info.type.WhichOneof("value") == "tensor_type" and os.path.exists(path):
            tensor = TensorProto()
            with open(path, "rb") as f:
                tensor.ParseFromString(f.read())
            value = numpy_helper.to_array(tensor)
            if info.type.tensor_type.elem_type == TensorProto.BFLOAT16 and value.dtype == np.uint16:
                value = (value.astype(np.uint32) << 16).view(np.float32)
            values[info.name] = value
        else:
            values[info.name] = None
    return values


def call(work, *command):
    with open(os.path.join(work, "stderr"), "w+", encoding="utf-8", errors="replace") as err:
        try:
            done = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=err,
                                  stdin=subprocess.DEVNULL, timeout=TIMEOUT_S)
        except subprocess.TimeoutExpired:
            raise Outcome(f"{command[1]} runs for more than {TIMEOUT_S} s") from None
        err.seek(0)
        text = " ".join(err.read().split())
    if done.returncode == REFUSED:
        raise Refused(f"{command[1]} refuses: {text}")
    if done.returncode:
        raise Outcome(f"{command[1]} ends with {done.returncode}: {text}")


def as_fed(value):
    """pith computes half and double as float and takes wide unsigned integers as i64."""
    if value.dtype in (np.float16, np.float64):
        with np.errstate(over="ignore"):
            return value.astype(np.float32)
    if value.dtype in (np.uint32, np.uint64):
        return value.astype(np.int64)
    return value


def compare(name, expected, got, rtol, atol):
    if expected.shape != got.shape:
        raise Outcome(f"{name} has shape {got.shape}, expected {expected.shape}")
    wanted = as_fed(expected)
    if wanted.dtype != got.dtype:
        raise Outcome(f"{name} has type {got.dtype}, expected {wanted.dtype}")
    if not np.allclose(got, expected, rtol=rtol, atol=atol, equal_nan=True):
        with np.errstate(all="ignore"):
            off = np.abs(got.astype(np.float64) - expected.astype(np.float64))
        raise Outcome(f"{name} is off by {np.nanmax(off):.3g} ({np.count_nonzero(off > atol)} of "
                      f"{off.size} elements differ)")


def execute(pith, work, case, model, inputs, outputs):
    frozen = frozen_inputs(model)
    live = computed_from(model, outputs, lambda node: True)
    inputs = {name: value for name, value in inputs.items() if name in live}
    if inputs.keys() <= frozen:
        inputs["own.in"] = with_own_input(model)
    path, net = os.path.join(work, "net.onnx"), os.path.join(work, "net.pith")
    onnx.save(model, path)
    imported = [pith, "import", path, "-q", "-f", "-o", net]
    feeds = []
    for i, (name, value) in enumerate(inputs.items()):
        if value is None or value.dtype == object:
            continue
        path = os.path.join(work, f"{i}.npy")
        np.save(path, as_fed(value))
        if name in frozen:
            imported += ["--set-input", f"{name}=@{path}"]
        else:
            feeds.append(f"{name}={path}")
    rounding = {o.name: BFLOAT16_STEP for o in model.graph.output
                if o.type.tensor_type.elem_type == TensorProto.BFLOAT16}
    call(work, *imported)
    for name, expected in outputs.items():
        out = os.path.join(work, "out.npy")
        call(work, pith, "run", net, *feeds, "-T", "1", "--output-name", name, "-q", "-f", "-o", out)
        if expected is not None:
            compare(name, expected, np.load(out), max(case.rtol, rounding.get(name, 0)), case.atol)


class Case:
    rtol, atol = 1e-3, 1e-7  # onnx.backend.test.loader

    def __init__(self, folder):
        self.name = os.path.basename(folder).removeprefix("test_")
        self.folder = folder

    def run(self, pith, work):
        model = onnx.load(os.path.join(self.folder, "model.onnx"))
        inputs = load_values(self.folder, "input", model.graph.input)
        outputs = load_values(self.folder, "output", model.graph.output)
        outputs = {name: value for name, value in outputs.items() if name}
        self.excluded = why_excluded(model, inputs, outputs)
        self.operators = sorted({n.op_type for n in model.graph.node})
        self.refused = self.failed = None
        try:
            execute(pith, work, self, model, inputs, outputs)
        except Refused as reason:
            self.refused = str(reason).replace(work + "/", "")
        except Outcome as reason:
            self.failed = str(reason).replace(work + "/", "")

    def failure(self):
        """What failing.txt says of it, or None."""
        failure = self.failed or (None if self.excluded else self.refused)
        known = AS_ONNXRUNTIME.get(self.name)
        return f"{failure}; as onnxruntime: {known}" if failure and known else failure


def run_all(pith, cases):
    def run_some(some):
        with tempfile.TemporaryDirectory() as work:
            for case in some:
                case.run(pith, work)

    with concurrent.futures.ThreadPoolExecutor(min(4, os.cpu_count() or 1)) as pool:
        list(pool.map(run_some, [cases[i:i + BATCH] for i in range(0, len(cases), BATCH)]))


def lists_of(cases):
    return {
        "counted.txt": [(c.name, " ".join(c.operators)) for c in cases if not c.excluded],
        "excluded.txt": [(c.name, c.excluded) for c in cases if c.excluded],
        "failing.txt": [(c.name, c.failure()) for c in cases if c.failure()],
    }


def write_lists(folder, lists):
    for file, lines in lists.items():
        with open(os.path.join(folder, file), "w", encoding="utf-8") as f:
            f.writelines(f"{name}: {reason}\n" for name, reason in lines)


def differences(folder, lists):
    """Lines for what is not as the files have it; of failing cases, the names count."""
    found = []
    for file, lines in lists.items():
        with open(os.path.join(folder, file), encoding="utf-8") as f:
            before = {line.split(":")[0]: line.strip() for line in f}
        now = {name: f"{name}: {reason}" for name, reason in lines}
        found += [f"{file}: + {now[n]}" for n in now if n not in before]
        found += [f"{file}: - {before[n]}" for n in before if n not in now]
        if file != "failing.txt":
            found += [f"{file}: ! {now[n]}" for n in now if before.get(n, now[n]) != now[n]]
    return found


def totals(cases):
    counted = [c for c in cases if not c.excluded]
    others = [c for c in cases if c.excluded]
    passed = sum(not c.failure() for c in counted)
    share = passed / len(counted) if counted else 1
    print(f"{passed} of {len(counted)} counted node cases pass "
          f"({100 * share:.1f} %); of {len(others)} others "
          f"{sum(not c.failed and not c.refused for c in others)} pass, "
          f"{sum(bool(c.refused) for c in others)} are refused, "
          f"{sum(bool(c.failed) for c in others)} do neither")
    return share


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pith", required=True)
    parser.add_argument("--cases", dest="folders", required=True, help="a folder that holds node/test_*")
    parser.add_argument("--lists")
    parser.add_argument("--update", action="store_true")
    parser.add_argument("cases", nargs="*")
    args = parser.parse_args()
    cases = sorted(map(Case, glob.glob(os.path.join(args.folders, "node", "test_*"))), key=lambda c: c.name)
    if args.cases:
        cases = [c for c in cases if c.name in args.cases]
    run_all(args.pith, cases)
    if args.cases:
        for c in cases:
            print(f"{c.name}: {c.failed or c.refused or 'passes'}")
        return 0
    share = totals(cases)
    lists = lists_of(cases)
    if args.update:
        write_lists(args.lists, lists)
        return 0
    found = differences(args.lists, lists)
    if found:
        print(*found, "UPDATE=1 tests/conformance/node_cases.sh takes this over", sep="\n")
    return 0 if share >= SHARE and not found else 1


if __name__ == "__main__":
    sys.exit(main())
