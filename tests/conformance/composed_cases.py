# SPDX-License-Identifier: MIT
"""Cases of what import makes of several nodes: outputs beyond the first, antialiased and cut-out
Resize, wrapped Pad."""
import numpy as np
from onnx import TensorProto, helper

node = helper.make_node


def resample(c, v):
    image = {"x": ["N", 2, 9, 12]}
    for mode in ("linear", "cubic"):
        for scale in ([0.5, 0.4], [0.3, 1.7], [2.5, 0.8]):
            for rule in ("half_pixel", "asymmetric", "align_corners", "pytorch_half_pixel"):
                for exclude in (0, 1):
                    c.add(f"Resize antialias {mode} {scale} {rule} exclude {exclude}", v,
                          [node("Resize", ["x", "", "s"], ["y"], mode=mode, antialias=1,
                                coordinate_transformation_mode=rule, exclude_outside=exclude)],
                          image, constants={"s": np.array([1, 1] + scale, np.float32)})
        c.add(f"Resize antialias {mode} sizes", v,
              [node("Resize", ["x", "", "", "z"], ["y"], mode=mode, antialias=1, axes=[3, 2])],
              image, constants={"z": np.array([5, 20], np.int64)})
    for policy in ("not_larger", "not_smaller"):
        for mode in ("nearest", "linear"):
            c.add(f"Resize {policy} {mode}", v,
                  [node("Resize", ["x", "", "", "z"], ["y"], mode=mode, axes=[2, 3],
                        keep_aspect_ratio_policy=policy)],
                  image, constants={"z": np.array([7, 16], np.int64)})


def crop(c, v):
    roi = np.array([0, 0, 0.2, -0.3, 1, 1, 0.7, 1.2], np.float32)
    for mode in ("nearest", "linear"):
        c.add(f"Resize tf_crop_and_resize {mode}", v,
              [node("Resize", ["x", "r", "", "z"], ["y"], mode=mode, extrapolation_value=0.3,
                    coordinate_transformation_mode="tf_crop_and_resize")],
              {"x": [1, 2, 8, 9]},
              constants={"r": roi, "z": np.array([1, 2, 5, 7], np.int64)})


def formulas(c, v):
    for op in ("Tan", "Atan", "Asin", "Acos"):
        c.add(op, v, [node("Tanh", ["x"], ["t"]), node(op, ["t"], ["y"])], {"x": ["N", 50]})
    if v >= 9:
        for op in ("Sinh", "Cosh", "Asinh", "Shrink"):
            c.add(op, v, [node(op, ["x"], ["y"])], {"x": ["N", 50]})
        c.add("Atanh", v, [node("Tanh", ["x"], ["t"]), node("Atanh", ["t"], ["y"])], {"x": ["N", 50]})
        c.add("Acosh", v, [node("Exp", ["x"], ["e"]), node("Add", ["e", "one"], ["s"]),
                           node("Acosh", ["s"], ["y"])], {"x": ["N", 50]},
              constants={"one": np.float32(1)})


def add_cases(c, v):
    if v in (7, 9, 21):
        formulas(c, v)
    if v >= 19:
        c.add("newer Pad wrap", v, [node("Pad", ["x", "p"], ["y"], mode="wrap")], {"x": [1, 2, 5, 6]},
              constants={"p": np.array([0, 1, 4, 0, 0, 0, 2, 6], np.int64)})
    if v >= 18:
        resample(c, v)
    if v == 13:
        crop(c, v)
    if v >= 17:
        constants = {"s": np.array(5), "w": c.f(12) + 2, "n": np.array(12)}
        for name, inputs in (("window", ["x", "s", "w"]), ("length", ["x", "s", "", "n"])):
            for onesided, shape in ((0, ["N", 64, 1]), (1, ["N", 64, 1]), (1, ["N", 64])):
                c.add(f"newer STFT {name} onesided {onesided} rank {len(shape)}", v,
                      [node("STFT", inputs, ["y"], onesided=onesided)], {"x": shape},
                      constants=constants)
        c.add("LayerNormalization statistics", v,
              [node("LayerNormalization", ["x", "s"], ["y", "mean", "inverse"], axis=1)],
              {"x": [3, 4, 5]}, outputs=("y", "mean", "inverse"), constants={"s": c.f(4, 5)})
    if v >= 15:
        c.add("newer CastLike", v, [node("CastLike", ["x", "k"], ["i"]), node("CastLike", ["i", "x"], ["y"])],
              {"x": [2, 3]}, constants={"k": np.array([1], np.int32)})
    for kernel, pads, dilations in (([2, 3], [0, 1, 1, 1], [1, 1]), ([3, 3], [1, 1, 1, 1], [2, 1])):
        if v < 10 and dilations != [1, 1]:
            continue
        for order in (0, 1):
            options = dict(kernel_shape=kernel, pads=pads, strides=[2, 1], storage_order=order)
            if v >= 10:
                options["dilations"] = dilations
            if v < 8:
                continue
            c.add(f"MaxPool indices {kernel} order {order}", v,
                  [node("MaxPool", ["x"], ["y", "i"], **options),
                   node("Cast", ["i"], ["z"], to=TensorProto.FLOAT)],
                  {"x": [2, 3, 7, 8]}, outputs=("y", "z"))
    if v >= 11:
        c.add("OneHot of floats", v,
              [node("Round", ["x"], ["i"]), node("OneHot", ["i", "d", "v"], ["y"], axis=1)],
              {"x": [4, 3]}, constants={"d": np.array(5, np.float32), "v": c.f(2)})
