# SPDX-License-Identifier: MIT
"""make_encoder.py: encoder.onnx, a small transformer that embeds sentences, with random weights, and 200 sentences of
random words for it, ids.npy and mask.npy (docs/tutorial/5-transformer.md)."""
import numpy as np
from onnx import TensorProto, helper, numpy_helper, save

rng, nodes, weights = np.random.default_rng(1), [], []
VOCABULARY, TOKENS, WIDTH, HEADS = 2000, 32, 64, 4


def node(op, *inputs, **attributes):
    nodes.append(helper.make_node(op, inputs, [f"v{len(nodes)}"], **attributes))
    return nodes[-1].output[0]


def weight(*shape, value=None):
    value = rng.normal(0, shape[0] ** -0.5, shape).astype("f") if value is None else np.array(value)
    weights.append(numpy_helper.from_array(value, f"w{len(weights)}"))
    return weights[-1].name


def dense(x, n_in, n_out):
    return node("Add", node("MatMul", x, weight(n_in, n_out)), weight(n_out, value=np.zeros(n_out, "f")))


def norm(x):
    return node("LayerNormalization", x, weight(WIDTH, value=np.ones(WIDTH, "f")), axis=-1)


def heads(x):  # [N, TOKENS, WIDTH] -> [N, HEADS, TOKENS, WIDTH / HEADS]
    return node("Transpose", node("Reshape", x, weight(value=[0, TOKENS, HEADS, -1])), perm=[0, 2, 1, 3])


words = weight(VOCABULARY, WIDTH, value=rng.normal(size=(VOCABULARY, WIDTH)).astype("f"))
x = node("Add", node("Gather", words, "ids"), weight(TOKENS, WIDTH))
seen = node("Unsqueeze", node("Cast", "mask", to=TensorProto.FLOAT), weight(value=[1, 2]))
bias = node("Mul", node("Sub", seen, weight(value=np.float32(1))), weight(value=np.float32(1e4)))
for _ in range(2):
    q, k, v = (heads(dense(x, WIDTH, WIDTH)) for _ in range(3))
    scores = node("MatMul", q, node("Transpose", k, perm=[0, 1, 3, 2]))
    scores = node("Add", node("Mul", scores, weight(value=np.float32((WIDTH / HEADS) ** -0.5))), bias)
    mixed = node("Transpose", node("MatMul", node("Softmax", scores, axis=-1), v), perm=[0, 2, 1, 3])
    x = norm(node("Add", x, dense(node("Reshape", mixed, weight(value=[0, TOKENS, WIDTH])), WIDTH, WIDTH)))
    x = norm(node("Add", x, dense(node("Relu", dense(x, WIDTH, 4 * WIDTH)), 4 * WIDTH, WIDTH)))
nodes.append(helper.make_node("ReduceMean", [x], ["embedding"], axes=[1], keepdims=0))

ints = [helper.make_tensor_value_info(name, TensorProto.INT64, ["N", TOKENS]) for name in ("ids", "mask")]
out = [helper.make_tensor_value_info("embedding", TensorProto.FLOAT, ["N", WIDTH])]
save(helper.make_model(helper.make_graph(nodes, "encoder", ints, out, weights), ir_version=8,
                       opset_imports=[helper.make_opsetid("", 17)]), "encoder.onnx")
length = rng.integers(4, TOKENS + 1, (200, 1))
np.save("mask.npy", (np.arange(TOKENS) < length).astype("i8"))
np.save("ids.npy", rng.zipf(1.3, (200, TOKENS)) % VOCABULARY * (np.arange(TOKENS) < length))
