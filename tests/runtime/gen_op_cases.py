#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes op_cases.inc: small inputs and the answers of onnxruntime (where it lacks a form, of
onnx's reference evaluator) for every operator but Conv, ConvTranspose, Gemm and MatMul.

    python3 tests/runtime/gen_op_cases.py > tests/runtime/op_cases.inc

needs onnx, onnxruntime and numpy. Inputs are not stored: both sides draw them from the same
generator (draw() here, fill_input() in op_case.h). Of operators that pick, put, repeat and rank
elements they are, because indices must fit."""
import struct
import sys
import textwrap

import numpy as np
import onnx
import onnxruntime as ort
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator

TYPES = {
    "F32": (1, TensorProto.FLOAT, np.float32),
    "F16": (2, TensorProto.FLOAT16, np.float16),
    "F64": (4, TensorProto.DOUBLE, np.float64),
    "I8": (5, TensorProto.INT8, np.int8),
    "U8": (6, TensorProto.UINT8, np.uint8),
    "I16": (7, TensorProto.INT16, np.int16),
    "U16": (8, TensorProto.UINT16, np.uint16),
    "I32": (9, TensorProto.INT32, np.int32),
    "I64": (10, TensorProto.INT64, np.int64),
    "BOOL": (11, TensorProto.BOOL, np.bool_),
}
# Written are the cases without which an edge between blocks of the operators' code would not run (found by gcc's
# -fsanitize-coverage=trace-pc), and those that alone noticed one of 380 drawn changes of that code. tests/conformance
# compares the rest with onnxruntime itself, through whole networks.
KEPT = {int(n) for n in """
1 2 3 4 5 6 7 8 9 11 12 14 18 19 20 21 22 23 25 26 27 28 29 30 31 32 33 35 36 37 38 39 40 41 42 43 44 45 46 47 50 52
53 54 56 58 59 60 63 64 66 68 77 90 92 102 125 126 129 132 133 138 139 141 145 146 151 152 153 154 155 157 158 159
160 161 162 164 166 167 168 169 170 171 172 173 174 178 180 182 189 190 191 193 198 199 200 208 220 221 222 231 236
249 251 261 262 269 271 272 278 281 282 291 293 301 303 307 312 314 338 342 347 349 357 359 360 363 364 365 366 367
368 369 370 371 372 373 374 375 377 378 379 380 381 382 383 384 385 386 389 391 393 395 396 397 398 399 400 401 402
403 406 407 408 409 410 411 412 413 414 415 416 417 418 419 420 421 424 425 426 427 430 431 434 436 437 438 439 442
443 444 445 451 462 463 466 467 470 471 474 475 476 477 479 480 482 483 484 487 489 491 492 493 494 495 496 497 502
503 504 505 506 507 508 513 517 524 526 528 531 533 535 537 540 543 549 552 558 559 561 564 572 575 576 585 586 588
589 593 594 595 596 597 598 604 606 607 608 609 610 611 614 617 618 619 621 627 636 637 638 639 643 649 651 652 655
657 676 679 680 681 698 705 709 719 728 740 741 745 752 753 755 758 759 766 772 779 785 788 795 796 797 802 803 806
808 810 813 814 816 819 827 834 840 842 844 846 848 853 855 857 859 861 862 863 873 877 878
""".split()}
ort.set_default_logger_severity(4)
rng = np.random.default_rng(5)
cases = []


def bits(f):
    return struct.unpack("<i", struct.pack("<f", f))[0]


def draw(seed, shape, type_name, positive):
    """Multiples of 1/32 in [-4, 4); integers -128..127; positive: (0, 4]."""
    state, out = seed, []
    for _ in range(int(np.prod(shape, dtype=np.int64))):
        state = (state * 1664525 + 1013904223) & 0xFFFFFFFF
        v = (state >> 20 & 255) - 128
        if positive:
            v = abs(v) + 1
        out.append(v if type_name[0] in "IU" else v / 32.0)
    a = np.array(out).reshape(shape)
    if type_name in ("U8", "U16", "BOOL"):
        a = np.abs(a)
        return (np.floor(a) % 2 if type_name == "BOOL" else a).astype(TYPES[type_name][2])
    return a.astype(TYPES[type_name][2])


def evaluate(op, opset, feeds, consts, attrs, out_types, order=None):
    ins = order or [f"x{i}" for i in range(len(feeds))] + [
        f"k{i}" if c is not None else "" for i, c in enumerate(consts)]
    outs = [f"y{i}" for i in range(len(out_types))]
    graph = helper.make_graph(
        [helper.make_node(op, ins, outs, **attrs)], "case",
        [helper.make_tensor_value_info(f"x{i}", helper.np_dtype_to_tensor_dtype(a.dtype), a.shape)
         for i, a in enumerate(feeds)],
        [helper.make_tensor_value_info(o, TYPES[t][1], None) if t else onnx.ValueInfoProto(name=o)
         for o, t in zip(outs, out_types)],
        [numpy_helper.from_array(np.asarray(c), f"k{i}") for i, c in enumerate(consts)
         if c is not None])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)
    feed = {f"x{i}": a for i, a in enumerate(feeds)}
    try:
        opts = ort.SessionOptions()
        opts.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
        opts.log_severity_level = 4
        ses = ort.InferenceSession(model.SerializeToString(), opts,
                                   providers=["CPUExecutionProvider"])
        return ses.run(None, feed), "onnxruntime"
    except Exception:  # a form onnxruntime's CPU provider has no kernel for
        return ReferenceEvaluator(model).run(None, feed), "onnx"


def case(op, pith_op, shapes, pith_attr=(), attrs=None, consts=(), opset=17, types=None,
         out_types=None, positive=()):
    """pith_attr: (slot name, value or list) pairs of pith's schema; consts: inputs that are
    attributes in pith."""
    types = types or ["F32"] * len(shapes)
    seed = 1000 + 77 * len(cases)
    feeds = [draw(seed + i, s, t, i in positive) for i, (s, t) in enumerate(zip(shapes, types))]
    results, source = evaluate(op, opset, feeds, list(consts), attrs or {}, out_types or [types[0]])
    cases.append((pith_op, f"{op}-{opset}", source, seed, feeds, positive, pith_attr,
                  [np.asarray(r) for r in results], ()))


def given(op, pith_op, inputs, pith_attr=(), attrs=None, consts=(), n_out=1, order=None, opset=18):
    """As case(), on these inputs."""
    results, source = evaluate(op, opset, inputs, list(consts), attrs or {}, [None] * n_out, order)
    cases.append((pith_op, f"{op}-{opset}", source, len(cases), inputs, (), pith_attr,
                  [np.asarray(r) for r in results], inputs))


def number(v):
    if isinstance(v, (np.integer, np.bool_)):
        return str(int(v))
    return "NAN" if np.isnan(v) else "INFINITY" if v == np.inf else \
        "-INFINITY" if v == -np.inf else f"{float(v):.8g}"


def words(macro, items):
    return f"{macro}({', '.join(items)})"


def tensors(arrays):
    names = {np.dtype(t[2]).name: n for n, t in TYPES.items()}
    return words("TENSORS", [words("T", [names[a.dtype.name], *map(str, a.shape)]) for a in arrays])


def numbers(arrays):
    return words("NUMBERS", [number(v) for a in arrays for v in a.flatten()])


def emit():
    print("/* SPDX-License-Identifier: MIT */\n/* Generated by gen_op_cases.py "
          f"(onnx {onnx.__version__}, onnxruntime {ort.__version__}); do not edit. */")
    for (pith_op, name, source, seed, feeds, positive, pith_attr, results, inputs) in (
            c for i, c in enumerate(cases) if i in KEPT):
        attr = []
        for slot, value in pith_attr:
            many = isinstance(value, (list, tuple))
            attr += [f"ATTR_{slot}"] + ([str(1 + len(value)), str(len(value))] if many else ["1"])
            attr += [str(v) if v != -2**31 else "INT32_MIN" for v in (value if many else [value])]
        text = ", ".join([
            f'"{name}"', f"PITH_OP_{pith_op}", str(seed), str(sum(1 << i for i in positive)),
            tensors(feeds), words("ATTR", attr + ["-1"]), tensors(results),
            numbers(inputs) if inputs else "NULL",
            ("/* onnx */ " if source == "onnx" else "") + numbers(results)])
        print("\n ".join(textwrap.wrap("{" + text + "},", 99, break_long_words=False,
                                        break_on_hyphens=False)))


def binary():
    pairs = [([2, 3, 4], [2, 3, 4]), ([2, 3, 4], []), ([], [2, 3]), ([2, 3, 2, 2], [3, 1, 1]),
             ([3, 1], [1, 4]), ([2, 1, 3, 1], [2, 1, 4]), ([1], [5]),
             ([1, 2, 1, 2, 1, 2, 1, 2], [2, 1, 2, 1, 2, 1, 2, 1])]
    for op in ("Add", "Sub", "Mul", "Div"):
        for a, b in pairs[:8 if op == "Sub" else 4]:
            case(op, op.upper(), [a, b], positive=(1,) if op == "Div" else ())
        for t in ("I8", "U8", "I16", "U16", "I32", "I64"):
            case(op, op.upper(), [[2, 3], [3]], types=[t, t], positive=(1,), opset=14)
    case("PRelu", "PRELU", [[2, 3, 2, 2], [3, 1, 1]])
    case("PRelu", "PRELU", [[2, 3], []])


def activations():
    case("Relu", "RELU", [[3, 5]])
    case("LeakyRelu", "LEAKY_RELU", [[3, 5]])
    case("LeakyRelu", "LEAKY_RELU", [[3, 5]], [("ALPHA", bits(0.25))], {"alpha": 0.25})
    low, high = np.array(-1, np.float32), np.array(6, np.float32)
    case("Clip", "CLIP", [[3, 9]], [("CLIP_MIN", bits(-1)), ("CLIP_MAX", bits(6))],
         consts=[low, high])
    case("Clip", "CLIP", [[3, 5]], [("CLIP_MIN", bits(-1))], consts=[low])
    case("Clip", "CLIP", [[3, 5]], [("CLIP_MAX", bits(1))],
         consts=[None, np.array(1, np.float32)])
    case("Sigmoid", "SIGMOID", [[4, 5]])
    case("Tanh", "TANH", [[4, 5]])
    case("HardSigmoid", "HARD_SIGMOID", [[4, 5]])
    case("HardSigmoid", "HARD_SIGMOID", [[4, 5]], [("ALPHA", bits(0.125)), ("BETA", bits(0.25))],
         {"alpha": 0.125, "beta": 0.25})
    case("HardSwish", "HARD_SWISH", [[4, 5]])
    for op, name in (("Softmax", "SOFTMAX"), ("LogSoftmax", "LOG_SOFTMAX")):
        for axis in range(3):
            case(op, name, [[2, 3, 4]], [("SOFTMAX_AXIS", axis)], {"axis": axis})
            case(op, name, [[2, 3, 4]], [("SOFTMAX_AXIS", axis), ("SOFTMAX_FLAT", 1)],
                 {"axis": axis}, opset=11)
        case(op, name, [[2, 5, 19]], [("SOFTMAX_AXIS", 1)], {"axis": 1})


UNARY = ("Sqrt Exp Log Neg Abs Sign Floor Ceil Round Reciprocal Erf Sin Cos Elu Selu Celu Gelu "
         "GeluTanh Mish Softplus Softsign ThresholdedRelu Not").split()


def unary(op, shape, attrs=None, floats=(), dtype="F32", opset=17, positive=()):
    name = op + ("Tanh" if attrs and "approximate" in attrs else "")
    case(op, "UNARY", [shape], [("KIND", UNARY.index(name)), *floats], attrs or {}, opset=opset,
         types=[dtype], positive=positive)


def unaries():
    for op in ("Neg Abs Sign Floor Ceil Round Erf Sin Cos Exp Softplus Softsign").split():
        unary(op, [4, 11])
    for op in ("Sqrt", "Log", "Reciprocal"):
        unary(op, [3, 7], positive=(0,))
    for op in ("Sqrt", "Log"):
        unary(op, [3, 3])  # NaN below 0
    for op in ("Neg", "Abs", "Sign"):
        for t in ("I32", "I64"):
            unary(op, [3, 3], dtype=t)
    unary("Not", [3, 5], dtype="BOOL")
    for op, opset in (("Elu", 17), ("Celu", 17), ("ThresholdedRelu", 17)):
        unary(op, [3, 9], opset=opset)
        unary(op, [3, 9], {"alpha": 2.5}, [("UNARY_ALPHA", bits(2.5))], opset=opset)
    unary("Selu", [3, 9], {"alpha": 2.5, "gamma": 0.5},
          [("UNARY_ALPHA", bits(2.5)), ("UNARY_GAMMA", bits(0.5))])
    unary("Selu", [3, 9], {"alpha": 1.6732632, "gamma": 1.050701},
          [("UNARY_ALPHA", bits(1.6732632)), ("UNARY_GAMMA", bits(1.050701))])
    unary("Gelu", [4, 11], opset=20)
    unary("Gelu", [4, 11], {"approximate": "tanh"}, opset=20)
    unary("Mish", [4, 11], opset=18)


def two_operands():
    wide = ([2, 3, 4], [3, 1]), ([2, 1, 5], []), ([], [4]), ([7], [7])
    for a, b in wide:
        case("Pow", "POWER", [a, b], positive=(0,))
        case("Mod", "MOD", [a, b], [("MOD_FMOD", 1)], {"fmod": 1}, positive=(1,))
    for types in (["F32", "I32"], ["F32", "I64"]):  # integer bases: test_op_by_hand.c
        case("Pow", "POWER", [[3, 3], [3, 3]], types=types, positive=(1,))
    for t in ("I8", "U8", "I16", "U16", "I32", "I64"):
        for fmod in (0, 1):
            case("Mod", "MOD", [[3, 5], [5]], [("MOD_FMOD", fmod)], {"fmod": fmod}, types=[t, t],
                 positive=(1,))
    compare = "Equal - Less LessOrEqual Greater GreaterOrEqual And Or Xor".split()
    for kind, op in enumerate(compare):
        if kind == 1:
            continue
        types = ["BOOL"] if kind > 5 else ["F32", "I32", "I64"] + (["U8", "I8"] if kind > 1 else [])
        for t in types + (["BOOL"] if kind == 0 else []):
            for a, b in wide if t in ("F32", "BOOL") else wide[:1]:
                case(op, "COMPARE", [a, b], [("KIND", kind)], types=[t, t], out_types=["BOOL"])
    for c, a, b in (([2, 3, 4], [2, 3, 4], [2, 3, 4]), ([3, 1], [2, 3, 4], []), ([], [4], [3, 1]),
                    ([2, 5], [], []), ([2, 1, 3], [5, 1], [1, 5, 3]), ([6], [6], [1]),
                    ([1, 2, 1, 2], [2, 1, 2, 1], [2])):
        for t in ("F32", "U8", "I64", "F16")[:4 if len(c) == 3 else 1]:
            case("Where", "WHERE", [c, a, b], types=["BOOL", t, t], out_types=[t])


def variadic():
    for kind, op in enumerate(("Min", "Max", "Sum", "Mean")):
        for shapes in ([[2, 3]], [[2, 3], [2, 3]], [[3], [2, 3]], [[2, 1], [3], [2, 3]],
                       [[2, 3], [], [2, 1]]):
            case(op, "VARIADIC", shapes, [("KIND", kind)])
        for t in ("I8", "U8", "I16", "U16", "I32", "I64") if kind < 2 else ():
            case(op, "VARIADIC", [[2, 3], [3]], [("KIND", kind)], types=[t, t])


REDUCE = "Sum Max Min Prod L1 L2 LogSum LogSumExp SumSquare".split()


def reduce(kind, shape, axes, keep=1, dtype="F32"):
    op, attrs, consts = "Reduce" + REDUCE[kind], {"keepdims": keep}, []
    if axes and kind == 0:
        consts = [np.array(axes, np.int64)]
    elif axes:
        attrs["axes"] = axes
    case(op, "REDUCE", [shape], [("KIND", kind), ("REDUCE_KIND_AXES", axes),
                                 ("REDUCE_KIND_KEEP", keep)], attrs, consts, types=[dtype],
         positive=(0,) if kind == 6 else ())


def reduce_kinds():
    for kind in range(9):
        for shape, axes in (([2, 3], []), ([2, 3, 18], [1]), ([3, 40], [1]), ([2, 3, 2, 5], [0, 2]),
                            ([2, 3, 2, 2], [1, 3]), ([], [])):
            reduce(kind, shape, axes, len(axes) % 2)
        for t in ("I32", "I64") if kind < 3 else ():
            reduce(kind, [2, 3, 3], [0, 2], 0, t)
            reduce(kind, [3, 4], [1], 1, t)
    reduce(3, [3, 4], [1], 1, "I64")
    reduce(0, [2, 700], [1])


def along_axes():
    for kind, op in enumerate(("ArgMax", "ArgMin")):
        for axis in range(3):
            for keep, last in ((1, 0), (0, 1)):
                case(op, "ARG", [[2, 3, 18] if axis == 1 else [3, 4, 3]],
                     [("KIND", kind), ("ARG_AXIS", axis), ("ARG_KEEP", keep), ("ARG_LAST", last)],
                     {"axis": axis, "keepdims": keep, "select_last_index": last},
                     out_types=["I64"])
        for t in ("I8", "U8", "I16", "U16", "I32", "I64"):
            case(op, "ARG", [[2, 5]], [("KIND", kind), ("ARG_AXIS", 1)], {"axis": 1}, types=[t],
                 out_types=["I64"])
        case(op, "ARG", [[2, 9]], [("KIND", kind), ("ARG_AXIS", 1)], {"axis": 1}, types=["U8"],
             out_types=["I64"])
    for axis in range(3):
        for opset in (11, 13):
            case("Hardmax", "ALONG_AXIS", [[2, 3, 4]],
                 [("KIND", 0), ("ALONG_AXIS", axis), ("ALONG_FLAT", int(opset < 13))],
                 {"axis": axis}, opset=opset)
        for exclusive in (0, 1):
            for reverse in (0, 1):
                case("CumSum", "ALONG_AXIS", [[2, 3, 4]],
                     [("KIND", 1), ("ALONG_AXIS", axis), ("ALONG_EXCLUSIVE", exclusive),
                      ("ALONG_REVERSE", reverse)],
                     {"exclusive": exclusive, "reverse": reverse}, [np.array(axis, np.int64)])
        for p in (1, 2):
            case("LpNormalization", "ALONG_AXIS", [[2, 3, 18] if axis == 1 else [2, 3, 4]],
                 [("KIND", 2), ("ALONG_AXIS", axis), ("ALONG_P", p)], {"axis": axis, "p": p})
    for t in ("I32", "I64"):
        case("CumSum", "ALONG_AXIS", [[3, 4]], [("KIND", 1), ("ALONG_AXIS", 1)], {},
             [np.array(1, np.int64)], types=[t])


def own_statistics():
    for shape in ([2, 3, 4], [2, 3, 3, 5]):
        case("InstanceNormalization", "GROUP_NORM", [shape, [3], [3]])
        case("InstanceNormalization", "GROUP_NORM", [shape, [3], [3]],
             [("GROUP_NORM_EPSILON", bits(0.5))], {"epsilon": 0.5})
    for groups in (1, 2, 4):
        case("GroupNormalization", "GROUP_NORM", [[2, 4, 3, 2], [4], [4]],
             [("GROUP_NORM_GROUPS", groups)], {"num_groups": groups}, opset=21)
        case("GroupNormalization", "GROUP_NORM", [[2, 4, 3], [groups], [groups]],
             [("GROUP_NORM_GROUPS", groups), ("GROUP_NORM_PER_GROUP", 1)],
             {"num_groups": groups}, opset=18)
    for axis, size in ((2, [5]), (1, [3, 5]), (0, [2, 3, 5])):
        case("LayerNormalization", "LAYER_NORM", [[2, 3, 5], size, size],
             [("LAYER_NORM_AXIS", axis)], {"axis": axis})
    case("LayerNormalization", "LAYER_NORM", [[3, 40], [40]],
         [("LAYER_NORM_AXIS", 1), ("LAYER_NORM_EPSILON", bits(0.25))],
         {"axis": 1, "epsilon": 0.25})
    for axes in ([0, 2, 3], [1], [2, 3], [0, 1, 2, 3], [0], [1, 3]):
        case("MeanVarianceNormalization", "MEAN_VARIANCE", [[2, 3, 2, 5]], [("AXES", axes)],
             {"axes": axes})


def pool(op, name, shape, kernel, strides=None, pads=None, dilations=None, ceil=0, include=None,
         opset=17, p=None):
    attrs, ours = {"kernel_shape": kernel}, [("POOL_KERNEL", kernel)]
    if strides:
        attrs["strides"] = strides
        ours.append(("POOL_STRIDES", strides))
    if pads:
        attrs["pads"] = pads
        ours.append(("POOL_PADS", pads))
    if dilations:
        attrs["dilations"] = dilations
        ours.append(("POOL_DILATIONS", dilations))
    if ceil:
        attrs["ceil_mode"] = 1
        ours.append(("POOL_CEIL", 1))
    if include is not None:
        attrs["count_include_pad"] = include
        ours.append(("POOL_INCLUDE_PAD", include))
    if p is not None:
        attrs["p"] = p
        ours.append(("POOL_P", p))
    case(op, name, [shape], ours, attrs, opset=opset)


def pools():
    forms = [
        ([1, 2, 5, 6], [2, 2], None, None),
        ([1, 2, 5, 6], [3, 2], [2, 2], None),
        ([1, 2, 5, 6], [3, 3], [2, 2], [1, 1, 1, 1]),
        ([1, 1, 5, 7], [3, 3], [2, 3], [0, 1, 1, 2]),
        ([2, 2, 7], [3], [2], [1, 1]),
        ([1, 1, 4, 4], [4, 4], None, None),
        ([1, 1, 6, 6], [2, 3], [3, 2], [1, 2, 0, 1]),
        ([1, 1, 7, 7], [3, 3], [3, 3], [1, 1, 1, 1]),
    ]
    for shape, kernel, strides, pads in forms:
        for ceil in (0, 1):
            pool("MaxPool", "MAX_POOL", shape, kernel, strides, pads, ceil=ceil)
            for include in (0, 1):
                pool("AveragePool", "AVERAGE_POOL", shape, kernel, strides, pads, ceil=ceil,
                     include=include, opset=19)
    pool("MaxPool", "MAX_POOL", [1, 2, 7, 7], [2, 3], [2, 1], None, [2, 3])
    pool("MaxPool", "MAX_POOL", [1, 1, 7, 7], [3, 3], [2, 2], [2, 1, 1, 2], [2, 2], 1)
    pool("MaxPool", "MAX_POOL", [1, 2, 9], [3], [2], [1, 2], [3])
    pool("AveragePool", "AVERAGE_POOL", [1, 2, 7, 7], [2, 3], [2, 1], None, [2, 3], opset=19)
    pool("AveragePool", "AVERAGE_POOL", [1, 1, 7, 7], [3, 3], [2, 2], [1, 1, 1, 2], [2, 2],
         include=1, opset=19)
    pool("AveragePool", "AVERAGE_POOL", [1, 1, 7, 7], [3, 3], [2, 2], [1, 1, 1, 2], [2, 2],
         include=0, opset=19)
    pool("AveragePool", "AVERAGE_POOL", [1, 1, 6, 6], [3, 3], [2, 2], [1, 1, 1, 1], include=1)
    for op, name in (("GlobalMaxPool", "GLOBAL_MAX_POOL"),
                     ("GlobalAveragePool", "GLOBAL_AVERAGE_POOL")):
        case(op, name, [[2, 3, 3, 7]])
        case(op, name, [[2, 3, 5]])
        case(op, name, [[1, 2, 2, 2, 5]])


def lp_pools():
    forms = [
        ([1, 2, 5, 6], [2, 2], None, None, None, 0),
        ([2, 1, 5, 6], [3, 2], [2, 2], [1, 0, 2, 1], None, 0),
        ([2, 2, 9], [3], [2], [1, 1], None, 1),
        ([1, 1, 7, 7], [3, 3], [2, 3], [2, 1, 1, 2], [2, 2], 1),
        ([1, 2, 4, 3, 5], [2, 3, 2], [1, 2, 2], [0, 1, 1, 1, 1, 0], None, 0),
        ([1, 1, 5, 4, 6], [2, 2, 3], [2, 1, 2], None, [1, 2, 2], 1),
    ]
    for shape, kernel, strides, pads, dilations, ceil in forms:
        for p in (1, 2, 3):
            pool("LpPool", "LP_POOL", shape, kernel, strides, pads, dilations, ceil, opset=18, p=p)
    pool("LpPool", "LP_POOL", [1, 2, 5, 6], [2, 2])
    for shape in ([2, 3, 5], [2, 3, 3, 7], [1, 2, 2, 2, 5]):
        case("GlobalLpPool", "LP_POOL", [shape])
        for p in (1, 6):
            case("GlobalLpPool", "LP_POOL", [shape], [("POOL_P", p)], {"p": p})


def normalisations():
    case("BatchNormalization", "BATCH_NORM", [[2, 3, 2, 2], [3], [3], [3], [3]], positive=(4,))
    case("BatchNormalization", "BATCH_NORM", [[2, 3], [3], [3], [3], [3]],
         [("BN_EPSILON", bits(0.5))], {"epsilon": 0.5}, positive=(4,))
    for size in (1, 3, 5, 13):  # even sizes: test_op_lrn.c
        case("LRN", "LRN", [[2, 5, 2, 3]], [("LRN_SIZE", size), ("LRN_ALPHA", bits(0.25))],
             {"size": size, "alpha": 0.25})
    case("LRN", "LRN", [[1, 4, 3, 2]],
         [("LRN_SIZE", 3), ("LRN_ALPHA", bits(0.5)), ("LRN_BETA", bits(0.5)),
          ("LRN_BIAS", bits(2))], {"size": 3, "alpha": 0.5, "beta": 0.5, "bias": 2.0})


def movement():
    for axis, shapes in ((0, [[1, 2], [3, 2]]), (1, [[2, 1, 3], [2, 2, 3], [2, 1, 3]]),
                         (2, [[2, 2, 1], [2, 2, 3]])):
        case("Concat", "CONCAT", shapes, [("AXIS", axis)], {"axis": axis})
    for t in ("U8", "I64", "F16"):
        case("Concat", "CONCAT", [[2, 1], [2, 2]], [("AXIS", 1)], {"axis": 1}, types=[t, t])
    case("Split", "SPLIT", [[2, 6, 2]], [("AXIS", 1), ("SPLIT_SIZES", [1, 2, 3])], {"axis": 1},
         [np.array([1, 2, 3])], out_types=["F32"] * 3)
    case("Split", "SPLIT", [[4, 2]], [("AXIS", 0)], {"axis": 0}, out_types=["F32"] * 2)
    case("Split", "SPLIT", [[7, 2]], [("AXIS", 0)], {"axis": 0, "num_outputs": 3}, opset=18,
         out_types=["F32"] * 3)
    top, low = 2**31 - 1, -2**31
    for shape, axes, starts, ends, steps in (
            ([5, 6], [0, 1], [1, 2], [4, top], [1, 2]), ([5, 6], [1], [-3], [-1], [1]),
            ([5, 6], [0], [-1], [low], [-1]), ([5, 6], [1, 0], [4, 3], [0, low], [-2, -3]),
            ([2, 3, 4], [2], [1], [3], []), ([2, 3, 4], [1], [-100], [100], [2]),
            ([2, 3, 4], [1], [100], [-100], [-1]), ([7], [0], [2], [6], [top])):
        consts = [np.array(v, np.int64) for v in (starts, ends, axes)]
        if steps:
            consts.append(np.array(steps, np.int64))
        case("Slice", "SLICE", [shape], [("SLICE_AXES", axes), ("SLICE_STARTS", starts),
                                         ("SLICE_ENDS", ends), ("SLICE_STEPS", steps)],
             consts=consts)
    case("Slice", "SLICE", [[5, 3]],
         [("SLICE_AXES", [0]), ("SLICE_STARTS", [-1]), ("SLICE_ENDS", [low]),
          ("SLICE_STEPS", [-2])], types=["U8"],
         consts=[np.array([v], np.int64) for v in (-1, low, 0, -2)])
    case("Squeeze", "SQUEEZE", [[1, 3, 1, 2]], [("AXES", [0, 2])], consts=[np.array([0, 2])])
    case("Squeeze", "SQUEEZE", [[1, 3, 1, 2]])
    case("Unsqueeze", "UNSQUEEZE", [[3, 2]], [("AXES", [0, 3])], consts=[np.array([0, 3])])
    case("Reshape", "RESHAPE", [[2, 3, 4]], [("RESHAPE_DIMS", [0, -1])],
         consts=[np.array([0, -1])])
    case("Reshape", "RESHAPE", [[2, 3, 4]], [("RESHAPE_DIMS", [4, 3, 2])],
         consts=[np.array([4, 3, 2])])
    for axis in range(4):
        case("Flatten", "FLATTEN", [[2, 3, 2]], [("AXIS", axis)], {"axis": axis})
    case("Identity", "IDENTITY", [[2, 3]], types=["I32"])
    for shape, perm in (([2, 3], [1, 0]), ([2, 3, 4], [2, 0, 1]), ([2, 3, 2, 3], [0, 2, 3, 1]),
                        ([2, 3, 2, 3], [0, 3, 1, 2]), ([1, 2, 1, 2, 3], [4, 1, 0, 3, 2])):
        case("Transpose", "TRANSPOSE", [shape], [("PERM", perm)], {"perm": perm})
    case("Transpose", "TRANSPOSE", [[2, 3, 4]])
    for t in ("U8", "F16", "I64"):
        case("Transpose", "TRANSPOSE", [[2, 3]], [("PERM", [1, 0])], {"perm": [1, 0]}, types=[t])


def pads():
    for mode, name in enumerate(("constant", "reflect", "edge")):
        for shape, begin, end in (([3, 4], [1, 2], [2, 1]), ([2, 3, 4], [0, 1, 3], [0, 2, 0]),
                                  ([4, 5], [-1, 2], [1, -2]), ([5], [0], [4]), ([6], [-2], [-1])):
            if mode == 1 and min(begin + end) < 0:
                continue  # onnxruntime mirrors the cropped tensor; pith has a test of its own
            value = [np.array(1.5, np.float32)] if mode == 0 else []
            case("Pad", "PAD", [shape],
                 [("PAD_MODE", mode), ("PAD_VALUE", bits(1.5) if mode == 0 else 0),
                  ("PAD_BEGIN", begin), ("PAD_END", end)], {"mode": name},
                 [np.array(begin + end)] + value)
    case("Pad", "PAD", [[2, 2]], [("PAD_BEGIN", [1, 0]), ("PAD_END", [0, 1])],
         consts=[np.array([1, 0, 0, 1])], types=["I32"])
    case("Pad", "PAD", [[2, 3]],
         [("PAD_MODE", 2), ("PAD_BEGIN", [1, 1]), ("PAD_END", [0, 1])], {"mode": "edge"},
         consts=[np.array([1, 1, 0, 1])], types=["U8"])


def casts():
    # BF16 and overflow, which differ between machines elsewhere, are in test_op_cast.c.
    names = list(TYPES)
    for a in names:
        for b in names:
            positive = (0,) if b[0] == "U" else ()
            case("Cast", "CAST", [[3, 3]], [("CAST_TO", TYPES[b][0])], {"to": TYPES[b][1]},
                 types=[a], out_types=[b], positive=positive)


def reductions():
    for axes in ([0], [1], [2], [3], [0, 1], [2, 3], [1, 3], [0, 2], [0, 1, 2, 3], [1, 2]):
        for keep in (0, 1):
            case("ReduceMean", "REDUCE_MEAN", [[2, 3, 2, 18]] if len(axes) > 1 else [[2, 3, 2, 3]],
                 [("AXES", axes), ("REDUCE_KEEP", keep)], {"axes": axes, "keepdims": keep})
    case("ReduceMean", "REDUCE_MEAN", [[2, 3]])


COORD = ["half_pixel", "asymmetric", "align_corners", "pytorch_half_pixel",
         "half_pixel_symmetric"]
ROUND = ["round_prefer_floor", "round_prefer_ceil", "floor", "ceil"]


def resize(shape, sizes, mode, coord, nearest=0, scales=None, dtype="F32"):
    attrs = {"mode": ("nearest", "linear")[mode],
             "coordinate_transformation_mode": COORD[coord]}
    if mode == 0:
        attrs["nearest_mode"] = ROUND[nearest]
    ours = [("RESIZE_MODE", mode), ("RESIZE_COORD", coord), ("RESIZE_NEAREST", nearest)]
    if scales:
        sizes = [int(np.floor(d * s)) for d, s in zip(shape, scales)]
        consts = [None, np.array(scales, np.float32)]
        ours += [("RESIZE_SCALES", [bits(s) for s in scales])]
    else:
        consts = [None, None, np.array(sizes, np.int64)]
    case("Resize", "RESIZE", [shape], ours + [("RESIZE_DIMS", sizes)], attrs, consts, opset=19,
         types=[dtype])


def resizes():
    for coord in range(5):
        for nearest in range(4):
            resize([1, 1, 2, 5], [1, 1, 5, 3], 0, coord, nearest)
        resize([1, 1, 3, 2], None, 0, coord, 0, [1, 1, 2, 2.5])
        resize([1, 2, 2, 3], [1, 2, 4, 5], 1, coord)
        resize([1, 1, 4, 5], [1, 1, 3, 2], 1, coord)
        resize([1, 1, 3, 3], None, 1, coord, 0, [1, 1, 1.7, 2.4])
        resize([1, 1, 3, 1], [1, 1, 1, 3], 1, coord)
    resize([1, 1, 2, 2], None, 0, 1, 2, [1, 1, 2, 2], "U8")
    resize([2, 3], [4, 5], 1, 0)
    resize([1, 2, 4], [1, 2, 7], 0, 1, 2)
    resize([1, 1, 2, 2, 3], [1, 1, 3, 4, 5], 1, 0)
    case("Upsample", "RESIZE", [[1, 1, 2, 3]],
         [("RESIZE_COORD", 1), ("RESIZE_NEAREST", 2), ("RESIZE_DIMS", [1, 1, 4, 6]),
          ("RESIZE_SCALES", [bits(v) for v in (1, 1, 2, 2)])], {"mode": "nearest"},
         [np.array([1, 1, 2, 2], np.float32)], opset=9)
    case("Upsample", "RESIZE", [[1, 1, 2, 3]],
         [("RESIZE_MODE", 1), ("RESIZE_COORD", 1), ("RESIZE_DIMS", [1, 1, 4, 6]),
          ("RESIZE_SCALES", [bits(v) for v in (1, 1, 2, 2)])], {"mode": "linear"},
         [np.array([1, 1, 2, 2], np.float32)], opset=9)


def grid_samples():
    pictures = ([2, 2, 3, 4], [2, 3, 2, 2]), ([1, 3, 1, 5], [1, 4, 3, 2])
    for p, padding in enumerate(("zeros", "border", "reflection")):
        for align in (0, 1):
            for m, mode in enumerate(("linear", "nearest", "cubic")):
                volume = [([1, 2, 2, 3, 2], [1, 2, 2, 2, 3])] if m < 2 else []
                for x, grid in [*pictures, *volume]:
                    case("GridSample", "GRID_SAMPLE", [x, grid],
                         [("GRID_SAMPLE_MODE", m), ("GRID_SAMPLE_PADDING", p),
                          ("GRID_SAMPLE_ALIGN", align)],
                         {"mode": mode, "padding_mode": padding, "align_corners": align}, opset=20)


# ---- elements that are picked, put, repeated and ranked: inputs stand in the file -----------------


def f(*shape):
    return (rng.integers(-128, 128, shape) / 32).astype(np.float32)


def ints(*shape, low, high, dtype=np.int64):
    return rng.integers(low, high, shape).astype(dtype)


def gathers():
    for axis, shape, index in ((0, [5, 3], [4]), (1, [2, 5, 3], [2, 2]), (2, [2, 3, 4], []),
                               (0, [6], [3, 2]), (3, [2, 2, 2, 5], [7])):
        for dtype in (np.int64, np.int32):
            at = ints(*index, low=-shape[axis], high=shape[axis], dtype=dtype)
            given("Gather", "GATHER", [f(*shape), np.asarray(at)],
                 [("GATHER_KIND", 0), ("GATHER_AXIS", axis)], {"axis": axis})
    for dtype in (np.uint8, np.int64, np.float16):
        x = rng.integers(0, 99, (4, 3)).astype(dtype)
        given("Gather", "GATHER", [x, np.array([3, -1, 0])], [("GATHER_AXIS", 0)], {"axis": 0})
    for axis, shape, index in ((0, [4, 3], [2, 3]), (1, [4, 3], [3, 7]), (2, [2, 3, 4], [2, 2, 3]),
                               (1, [2, 3, 4], [1, 5, 4]), (0, [7], [3]), (0, [3, 2, 3], [2, 2, 2])):
        at = ints(*index, low=-shape[axis], high=shape[axis])
        given("GatherElements", "GATHER", [f(*shape), at],
             [("GATHER_KIND", 1), ("GATHER_AXIS", axis)], {"axis": axis})
    for batch, shape, lead, k in ((0, [3, 4], [5], 2), (0, [3, 4, 2], [2, 2], 1),
                                  (1, [2, 3, 4], [2, 3], 1),
                                  (1, [2, 3, 4], [2], 2), (2, [2, 2, 3, 2], [2, 2, 3], 1),
                                  (0, [2, 3, 2], [], 3)):
        at = np.stack([ints(*lead, low=-shape[batch + i], high=shape[batch + i])
                       for i in range(k)], axis=-1)
        given("GatherND", "GATHER", [f(*shape), at], [("GATHER_KIND", 2), ("GATHER_AXIS", batch)],
             {"batch_dims": batch})


def unique_rows(lead, limits):
    """As many different index tuples as `lead` requires."""
    n = int(np.prod(lead))
    flat = rng.permutation(int(np.prod(limits)))[:n]
    return np.stack(np.unravel_index(flat, limits), axis=-1).reshape(list(lead) + [len(limits)])


def scatters():
    names = ["none", "add", "mul", "min", "max"]
    for reduce, name in enumerate(names):
        for axis, shape, index in ((0, [4, 3], [3, 3]), (1, [4, 5], [3, 4]),
                                   (2, [2, 3, 5], [2, 2, 3])):
            if reduce:
                at = ints(*index, low=-shape[axis], high=shape[axis])
            else:
                at = np.argsort(rng.random(shape), axis=axis)[tuple(slice(0, n) for n in index)]
            given("ScatterElements", "SCATTER", [f(*shape), at, f(*index)],
                 [("SCATTER_AXIS", axis), ("SCATTER_REDUCE", reduce)],
                 {"axis": axis, "reduction": name})
        for shape, lead, k in (([4, 3], [5], 2), ([4, 3, 2], [3], 1), ([6], [4], 1),
                               ([3, 3, 2], [2, 2], 2)):
            at = unique_rows(lead, shape[:k])
            given("ScatterND", "SCATTER", [f(*shape), at, f(*lead, *shape[k:])],
                 [("SCATTER_KIND", 1), ("SCATTER_REDUCE", reduce)], {"reduction": name})
    for dtype in (np.int64, np.int32):
        x, u = (rng.integers(-9, 9, n).astype(dtype) for n in (6, 4))
        given("ScatterElements", "SCATTER", [x, np.array([1, -1, 1, 0]), u],
             [("SCATTER_REDUCE", 1)], {"axis": 0, "reduction": "add"})


def tiles():
    for shape, repeats in (([2, 3], [2, 1]), ([2, 3], [1, 4]), ([2, 3], [2, 3]), ([3], [5]),
                           ([2, 1, 3], [1, 4, 1]), ([1, 2, 1, 2], [3, 2, 2, 1]), ([2, 2], [1, 1])):
        given("Tile", "TILE", [f(*shape)], [("TILE_REPEATS", repeats)], consts=[np.array(repeats)])
    for shape, to, repeats in (([3, 1], [2, 3, 4], [2, 1, 4]), ([1], [5], [5]),
                               ([], [2, 2], [2, 2]),
                               ([2, 1, 3], [1, 4, 1], [1, 4, 1]), ([2, 1, 3], [4, 1], [4, 1])):
        given("Expand", "TILE", [f(*shape)], [("TILE_REPEATS", repeats)], consts=[np.array(to)])
    given("Tile", "TILE", [rng.integers(0, 99, (2, 3)).astype(np.uint8)], [("TILE_REPEATS", [2, 2])],
         consts=[np.array([2, 2])])
    given("Tile", "TILE", [rng.integers(0, 99, (2, 1)).astype(np.int64)], [("TILE_REPEATS", [1, 3])],
         consts=[np.array([1, 3])])


def selections():
    for shape, block in (([2, 8, 2, 3], 2), ([1, 9, 2, 2], 3), ([1, 4, 1, 1], 1)):
        for kind, mode in enumerate(("DCR", "CRD")):
            given("DepthToSpace", "DEPTH_SPACE", [f(*shape)],
                 [("DEPTH_SPACE_KIND", kind), ("DEPTH_SPACE_BLOCK", block)],
                 {"blocksize": block, "mode": mode})
        n, c, h, w = shape
        given("SpaceToDepth", "DEPTH_SPACE", [f(n, c, h * block, w * block)],
             [("DEPTH_SPACE_KIND", 2), ("DEPTH_SPACE_BLOCK", block)], {"blocksize": block})
    for shape in ([3, 4], [2, 4, 3]):
        for upper in (0, 1):
            for k in (0, 1, -2, 9, -9):
                given("Trilu", "TRILU", [f(*shape)], [("TRILU_UPPER", upper), ("TRILU_K", k)],
                     {"upper": upper}, [np.array(k)])
    for axis in (0, 1, 2):
        given("OneHot", "ONE_HOT", [ints(2, 3, low=-7, high=7), f(2)],
             [("ONE_HOT_DEPTH", 5), ("ONE_HOT_AXIS", axis)], {"axis": axis}, [np.array(5)],
             order=["x0", "k0", "x1"])
    for shape, axis, k in (([4, 7], 1, 3), ([4, 7], 0, 2), ([3, 5, 4], 1, 5), ([9], 0, 1)):
        for largest in (0, 1):
            for dtype in (np.float32, np.int64, np.int32):
                x = rng.integers(-4, 4, shape).astype(dtype)
                given("TopK", "TOP_K", [x],
                     [("TOP_K_AXIS", axis), ("TOP_K_K", k), ("TOP_K_LARGEST", largest)],
                     {"axis": axis, "largest": largest}, [np.array([k])], n_out=2)


def cubics():
    for shape, scale, a, outside in (([1, 1, 3, 4], [1, 1, 2, 1.5], -0.75, 0),
                                     ([1, 2, 5, 4], [1, 1, 0.5, 2], -0.5, 0),
                                     ([1, 1, 4, 3], [1, 1, 1.7, 2], -0.75, 1),
                                     ([1, 1, 2, 6], [1, 1, 2, 1], -0.75, 0)):
        dims = [int(d * s) for d, s in zip(shape, scale)]
        for rule, name in enumerate(("half_pixel", "asymmetric", "align_corners")):
            given("Resize", "RESIZE", [f(*shape)],
                 [("RESIZE_MODE", 2), ("RESIZE_COORD", rule), ("RESIZE_DIMS", dims),
                  ("RESIZE_SCALES", [bits(s) for s in scale]), ("RESIZE_CUBIC_A", bits(a)),
                  ("RESIZE_EXCLUDE", outside)],
                 {"mode": "cubic", "coordinate_transformation_mode": name, "cubic_coeff_a": a,
                  "exclude_outside": outside}, [None, np.array(scale, np.float32)])


for family in (binary, activations, pools, normalisations, movement, pads, casts, reductions, resizes, unaries,
               two_operands, variadic, reduce_kinds, along_axes, own_statistics, lp_pools, grid_samples,
               gathers, scatters, tiles, selections, cubics):
    family()
emit()
print(f"{len(KEPT)} of {len(cases)} cases", file=sys.stderr)
