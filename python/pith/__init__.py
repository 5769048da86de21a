# SPDX-License-Identifier: MIT
"""Compress neural networks and run them.

    import pith
    result = pith.compress("net.onnx", data=pictures, labels=classes, max_drop="0.5%")
    print(result.ratio, result.before, result.after)
    net = pith.load(result.path)
    scores = net(picture)

Networks run inside this process, through the shared library of the runtime. Everything else (import, compression,
quantization, evaluation) runs the command `pith` in a process of its own, so its options are the command's:
`max_drop="0.5%"` is `--max-drop 0.5%`, and `pith help compress` explains it.
"""
import ctypes
import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
from dataclasses import dataclass, field
from typing import Any, Callable, Dict, Iterable, List, Mapping, Optional, Sequence, Tuple, Union

import numpy as np

from . import _runtime as rt

__all__ = ["Error", "GoalNotMet", "Network", "Result", "Scores", "Tensor", "command", "compress", "evaluate",
           "from_torch", "info", "load", "quantize"]

Path = Union[str, "os.PathLike[str]"]
Data = Union[Path, np.ndarray, Mapping[str, Any], Iterable[Any]]
_version = rt.library.pith_version()
__version__ = "%d.%d.%d" % (_version >> 16, _version >> 8 & 255, _version & 255)


class Error(Exception):
    """What pith cannot do. `str()` is the command's message; `exit` its exit code: 2 usage, 3 cannot read or write,
    4 broken file, 5 unsupported, 6 memory."""

    def __init__(self, message: str, exit: int):
        super().__init__(message)
        self.exit = exit


class GoalNotMet(Error):
    """No file is within the goal. `best` is the `Result` of the nearest one, which was written, or None."""

    def __init__(self, message: str, best: "Optional[Result]"):
        super().__init__(message, 1)
        self.best = best


@dataclass(frozen=True)
class Tensor:
    """An input or output. A quantized one stands for (value - zero_point) * scale; for others these are 0 and 1."""
    name: str
    shape: Tuple[int, ...]
    dtype: str
    scale: float
    zero_point: int


@dataclass
class Result:
    """What compress or quantize wrote.

    path: the file. bytes: its size. ratio: size of the original divided by it. before, after: accuracy on held-out
    samples, 0 to 1, None without labels. drop: before - after. facts: everything that the command reported."""
    path: str
    bytes: int
    ratio: Optional[float]
    before: Optional[float]
    after: Optional[float]
    drop: Optional[float]
    facts: Dict[str, Any] = field(repr=False)


class Scores(np.ndarray):
    """Output of a run on a picture, with the class names stored in the network."""
    names: List[str] = []

    def top(self, n: int = 5) -> List[Tuple[int, str, float]]:
        """The n largest values: (class, its name or "", value), largest first."""
        flat = np.asarray(self).reshape(-1)
        best = np.argsort(-flat, kind="stable")[:n]
        return [(int(i), self.names[i] if i < len(self.names) else "", float(flat[i])) for i in best]


def _check(status: int, what: str, error: Optional[rt.CError] = None) -> None:
    if status:
        text = error.text.decode("utf-8", "replace") if error is not None else ""
        text = text or rt.library.pith_status_text(status).decode()
        raise Error(text if what in text else f"{what}: {text}", rt.EXIT_OF_STATUS.get(status, 2))


class _Plan:
    """Inputs and outputs of one plan, for one size of the batch and one value of each open size."""

    def __init__(self, handle: ctypes.c_void_p):
        self.handle = handle
        self.inputs = self._tensors(rt.library.pith_plan_input_count, rt.library.pith_plan_input,
                                    rt.library.pith_plan_input_data)
        self.outputs = self._tensors(rt.library.pith_plan_output_count, rt.library.pith_plan_output,
                                     rt.library.pith_plan_output_data)

    def _tensors(self, count, describe, data):
        found = []
        for i in range(count(self.handle)):
            t = rt.CTensor()
            _check(describe(self.handle, i, ctypes.byref(t)), f"tensor {i}")
            name = ctypes.string_at(t.name, t.name_bytes).decode("utf-8", "replace") if t.name_bytes else str(i)
            array = rt.view(data(self.handle, i), t)
            found.append((Tensor(name, array.shape, "bfloat16" if t.type == rt.BFLOAT16 else array.dtype.name, t.scale,
                                 t.zero_point), array))
        return found


class _Plans:
    """The plans of a network and its open sizes."""

    def __init__(self, image: bytes, path: str, threads: int, cpu: str):
        self.image, self.path, self.handle, self.options = image, path, ctypes.c_void_p(), rt.COptions()
        rt.library.pith_opts_init(ctypes.byref(self.options), ctypes.sizeof(rt.COptions))
        if cpu:
            mask = ctypes.c_uint32()
            _check(rt.library.pith_cpu_mask_parse(cpu.encode(), ctypes.byref(mask)), f"cpu {cpu!r}")
            self.options.cpu_mask = mask.value
        if threads != 1:
            _check(rt.library.pith_threads_start(ctypes.byref(self.options), threads), f"{threads} threads")
        error = rt.CError()
        _check(rt.library.pith_plans_open(image, len(image), ctypes.byref(self.options), ctypes.byref(self.handle),
                                          ctypes.byref(error)), path, error)
        self.sizes = rt.library.pith_plans_sizes(self.handle)
        self.key, self.last = None, None

    def all_sizes(self) -> Dict[str, Tuple[int, int]]:
        found = {}
        for i in range(rt.library.pith_sizes_count(self.sizes)):
            name, value, most = ctypes.c_char_p(), ctypes.c_uint32(), ctypes.c_uint32()
            rt.library.pith_sizes_get(self.sizes, i, ctypes.byref(name), ctypes.byref(value), ctypes.byref(most))
            found[name.value.decode()] = (value.value, most.value)
        return found

    def fit(self, names: Sequence[str], shapes: Sequence[Tuple[int, ...]]) -> None:
        """The values that make the inputs have these shapes."""
        inputs, error, texts = (rt.CTensor * len(shapes))(), rt.CError(), [name.encode() for name in names]
        for t, text, shape in zip(inputs, texts, shapes):
            t.name, t.name_bytes, t.rank = ctypes.cast(ctypes.c_char_p(text), ctypes.c_void_p), len(text), len(shape)
            t.dim[:len(shape)] = shape
        _check(rt.library.pith_sizes_fit(self.sizes, inputs, len(shapes), ctypes.byref(error)), self.path, error)

    def get(self, batch: int) -> _Plan:
        key = (batch,) + tuple(value for value, _ in self.all_sizes().values())
        if key != self.key:
            plan, error = ctypes.c_void_p(), rt.CError()
            _check(rt.library.pith_plans_get(self.handle, batch, ctypes.byref(plan), ctypes.byref(error)), self.path,
                   error)
            self.key, self.last = key, _Plan(plan)
        return self.last

    def close(self):
        rt.library.pith_plans_close(self.handle)
        self.handle = ctypes.c_void_p()
        rt.library.pith_threads_stop(ctypes.byref(self.options))

    __del__ = close


class Network:
    """A network that runs. Made by `load`.

    Calls from several threads take turns; a network that is loaded once for each thread runs at once. Python's lock is
    released during a run."""

    def __init__(self, image: bytes, path: str, threads: int, cpu: str):
        self._image, self._path = image, path
        self._lock = threading.Lock()
        self._plans = _Plans(image, path, threads, cpu)
        self._first = self._plans.get(1)
        names = [t.name for t, _ in self._first.inputs]
        self._number = {name: i for i, name in enumerate(names)}

    @property
    def inputs(self) -> Dict[str, Tensor]:
        """Inputs by name, in order. An open batch is 1 here."""
        return {t.name: t for t, _ in self._first.inputs}

    @property
    def outputs(self) -> Dict[str, Tensor]:
        """Outputs by name, in order."""
        return {t.name: t for t, _ in self._first.outputs}

    @property
    def sizes(self) -> Dict[str, Tuple[int, int]]:
        """Open sizes by name: the value of the last run (at first, the file's) and the largest one."""
        return self._plans.all_sizes()

    @property
    def class_names(self) -> List[str]:
        """Class names stored in the file; empty: none are."""
        return (self._meta("labels") or "").splitlines()

    def _meta(self, key: str) -> Optional[str]:
        value, n = ctypes.c_void_p(), ctypes.c_size_t()
        if rt.library.pith_blob_meta(self._image, len(self._image), key.encode(), ctypes.byref(value), ctypes.byref(n)):
            return None
        return ctypes.string_at(value, n.value).decode("utf-8", "replace")

    def _fitting(self, arrays: Sequence[np.ndarray]) -> _Plan:
        """The plan whose inputs have these shapes."""
        plan = self._plans.last
        if all(x.shape == t.shape for x, (t, _) in zip(arrays, plan.inputs)):
            return plan
        if self._plans.sizes and all(x.ndim <= rt.MAX_RANK for x in arrays):
            self._plans.fit([t.name for t, _ in plan.inputs], [x.shape for x in arrays])
        plan = self._plans.get(1)
        for x, (t, _) in zip(arrays, plan.inputs):
            if x.shape != t.shape and x.ndim == len(t.shape) and x.shape[1:] == t.shape[1:] and x.shape[0] > 0:
                plan = self._plans.get(x.shape[0])
                break
        for x, (t, _) in zip(arrays, plan.inputs):
            if x.shape != t.shape:
                raise Error(f"{self._path}: input {t.name} has shape {t.shape}, the array {x.shape}", 2)
        return plan

    def _run(self, arrays: Sequence[np.ndarray]) -> List[np.ndarray]:
        with self._lock:
            plan = self._fitting(arrays)
            for x, (t, into) in zip(arrays, plan.inputs):
                if x.dtype != into.dtype and not np.can_cast(x.dtype, into.dtype, "same_kind"):
                    raise Error(f"{self._path}: input {t.name} is {t.dtype}, the array {x.dtype}", 2)
                np.copyto(into, x, casting="same_kind")
            _check(rt.library.pith_plan_run(plan.handle), self._path)
            return [array.copy() for _, array in plan.outputs]

    def run(self, inputs: Optional[Mapping[str, Any]] = None, *, picture: Optional[Path] = None):
        """Outputs by name for inputs by name; or, with `picture` (PNG or JPEG, prepared as the network says), the
        `Scores` of the first output.

        Arrays have the shape of the input; where the batch or another size is open, they set it. They are copied
        once, into the plan; another type is converted where that loses nothing but precision."""
        if picture is not None:
            return self._run_picture(picture)
        inputs = inputs or {}
        unknown = set(inputs) - set(self._number)
        missing = [name for name in self._number if name not in inputs]
        if unknown or missing:
            problem = f"no input {sorted(unknown)[0]!r}" if unknown else f"input {missing[0]!r} is missing"
            raise Error(f"{self._path}: {problem}; inputs are {', '.join(self._number)}", 2)
        results = self._run([np.asarray(inputs[name]) for name in self._number])
        return {t.name: y for (t, _), y in zip(self._first.outputs, results)}

    def __call__(self, *arrays: Any):
        """Outputs for inputs in order: one array, or a tuple of several."""
        if len(arrays) != len(self._number):
            raise Error(f"{self._path}: {len(self._number)} inputs, {len(arrays)} arrays", 2)
        results = self._run([np.asarray(x) for x in arrays])
        return results[0] if len(results) == 1 else tuple(results)

    def generate(self, ids: Sequence[int], n: int = 64, *, temperature: float = 0.0, top_k: int = 0, seed: int = 1,
                 stop: Optional[int] = None, inputs: Optional[Mapping[str, Any]] = None,
                 states: Optional[Mapping[str, str]] = None) -> List[int]:
        """At most n tokens behind the prompt `ids`, by a network that is a decoder (pith help generate).

        temperature: 0 for the best token each time, else one drawn by softmax(scores / temperature) from the top_k
        best (0: all), with `seed`. stop: the token that ends it. inputs: values of other inputs, such as what an
        encoder made. states: output by input, of states that are not called past.. and present.."""
        error, random = rt.CError(), ctypes.c_uint64(seed)
        new = np.ascontiguousarray(ids, dtype=np.int64).reshape(-1)
        given = {name: np.ascontiguousarray(value) for name, value in (inputs or {}).items()}
        outputs = {t.name: i for i, (t, _) in enumerate(self._first.outputs)}
        made: List[int] = []
        with self._lock, rt.generator(self._plans.handle) as (g, status, problem):
            _check(status, self._path, problem)
            for name, output in (states or {}).items():
                _check(rt.library.pith_generator_pair(g, self._number[name], outputs[output]), f"state {name}")
            for name, value in given.items():
                t = rt.tensor_of(name, value)
                _check(rt.library.pith_generator_give(g, self._number[name], ctypes.byref(t)), f"input {name}")
            scores, n_scores = ctypes.POINTER(ctypes.c_float)(), ctypes.c_uint32()
            while len(made) < n and (stop is None or not made or made[-1] != stop):
                _check(rt.library.pith_generator_run(g, new.ctypes.data, new.size, ctypes.byref(scores),
                                                     ctypes.byref(n_scores), ctypes.byref(error)), self._path, error)
                made.append(rt.library.pith_choose_token(scores, n_scores, temperature, top_k, ctypes.byref(random)))
                new = np.array(made[-1:], dtype=np.int64)
            self._plans.key = None  # the sizes have changed, and plans may be gone
            self._plans.get(1)
        return made

    def _run_picture(self, picture: Path) -> Scores:
        with tempfile.TemporaryDirectory() as folder:
            net, out = os.path.join(folder, "net.pith"), os.path.join(folder, "out.npy")
            with open(net, "wb") as file:
                file.write(self._image)
            _command(["run", net, os.fspath(picture), "-o", out])
            scores = np.load(out).view(Scores)
        scores.names = self.class_names
        return scores


def load(model: Union[Path, bytes], *, threads: int = 1, cpu: str = "", **options: Any) -> Network:
    """Opens a network: a .pith file, its bytes, or what `pith import` reads (ONNX).

    threads: at work in one run; 0: all processors. cpu: instruction sets to use, as `PITH_CPU` ("ref", "avx2").
    options: of `pith import`, such as input_shape="x:1x3x224x224"."""
    if isinstance(model, bytes):
        return Network(model, "network", threads, cpu)
    path = os.fspath(model)
    try:
        with open(path, "rb") as file:
            image = file.read()
    except OSError as problem:
        raise Error(f"{path}: {problem.strerror}", 3) from None
    is_pith = image.startswith((b"\x89PTH\r\n\x1a\n", b"\xb9"))
    if not is_pith or options:
        with tempfile.TemporaryDirectory() as folder:
            plain = os.path.join(folder, "net.pith")
            _command(["import", path, "-o", plain] + _options(options, folder))
            with open(plain, "rb") as file:
                image = file.read()
    return Network(image, path, threads, cpu)


# ---- commands ------------------------------------------------------------------------------------


def _program() -> str:
    name = os.path.join(rt.HERE, "pith")
    found = name if os.path.exists(name) else shutil.which("pith")
    if not found:
        raise Error("the command `pith` is neither in the package nor in PATH", 3)
    return found


def _command(arguments: List[str], progress: Optional[Callable[[Dict[str, Any]], None]] = None) -> Dict[str, Any]:
    """Runs the command; returns its object of JSON. An interrupt reaches it, too, and is raised when it has ended."""
    facts: Dict[str, Any] = {}
    with tempfile.TemporaryFile() as messages:
        with subprocess.Popen([_program()] + arguments + ["--json=lines" if progress else "--json", "-q"],
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=messages) as process:
            for line in process.stdout:
                try:
                    event = json.loads(line)
                except ValueError:
                    continue
                if "event" not in event:
                    facts = event
                elif progress:
                    progress(event)
        messages.seek(0)
        text = messages.read().decode("utf-8", "replace").strip()
    code = process.returncode
    if code == 1 and "met" in facts:
        raise GoalNotMet(text or "the goal was not met", _result(facts) if facts.get("written") else None)
    if code:
        if "error" in facts:
            text = facts["error"]["text"]
        raise Error(text or f"pith {arguments[0]} ended with {code}", code)
    return facts


def _stored(value: Any, folder: str, name: str) -> str:
    """The path of data: as it is, or of a .npy file written for arrays."""
    if isinstance(value, (str, os.PathLike)):
        return os.fspath(value)
    array = value if isinstance(value, np.ndarray) else np.stack([np.asarray(x) for x in value])
    path = os.path.join(folder, name + ".npy")
    np.save(path, array)
    return path


def _options(options: Mapping[str, Any], folder: str) -> List[str]:
    """Keywords as options: max_drop="0.5%" is --max-drop 0.5%, lossless=True is --lossless; a list repeats it."""
    found: List[str] = []
    for key, value in options.items():
        name = "--" + key.replace("_", "-")
        if isinstance(value, np.ndarray):
            value = _stored(value, folder, key)
        for one in value if isinstance(value, (list, tuple)) else [value]:
            if one is True:
                found.append(name)
            elif one is not None and one is not False:
                found += [name, os.fspath(one) if isinstance(one, os.PathLike) else str(one)]
    return found


def _data(data: Optional[Data], labels: Any, folder: str) -> List[str]:
    found: List[str] = []
    if isinstance(data, Mapping):
        for i, (name, value) in enumerate(data.items()):
            found += ["-d", f"{name}={_stored(value, folder, f'data{i}')}"]
    elif data is not None:
        found += ["-d", _stored(data, folder, "data")]
    if labels is not None:
        found += ["--labels", _stored(labels, folder, "labels")]
    return found


def _result(facts: Dict[str, Any]) -> Result:
    path = facts["written"]
    size = facts["bytes"] if "bytes" in facts else os.path.getsize(path)
    return Result(path, size, facts.get("ratio"), facts.get("before"), facts.get("after"), facts.get("drop"), facts)


def command(verb: str, *arguments: Path, data: Optional[Data] = None, labels: Any = None,
            progress: Optional[Callable[[Dict[str, Any]], None]] = None, **options: Any) -> Dict[str, Any]:
    """Any command: `pith.command("prune", "net.pith", sparsity=0.9, output="thin.pith")`. Returns what it reports with
    --json. Raises Error."""
    with tempfile.TemporaryDirectory() as folder:
        output = options.pop("output", None)
        return _command([verb] + [os.fspath(a) for a in arguments] + _data(data, labels, folder) +
                        (["-o", os.fspath(output)] if output is not None else []) + _options(options, folder), progress)


def compress(model: Path, data: Optional[Data] = None, labels: Any = None, *, output: Optional[Path] = None,
             progress: Optional[Callable[[Dict[str, Any]], None]] = None, **options: Any) -> Result:
    """The smallest file within a goal: `pith compress`.

    data: samples as one array [n, ...], an iterable of arrays, a dict by input, or a path that `-d` takes. labels:
    class numbers [n], or a path. output: the file; default: the model's name with .pith. Existing files are replaced.
    progress: called with each event: a dict with step, done, total, seconds. options: `max_drop="0.5%"`,
    `max_size="500K"`, `preprocess="imagenet"`, ...

    Raises GoalNotMet where no file is within the goal, and Error."""
    target = os.fspath(output) if output is not None else os.path.splitext(os.fspath(model))[0] + ".pith"
    return _result(command("compress", model, data=data, labels=labels, progress=progress, output=target, force=True,
                           **options))


def quantize(model: Path, data: Optional[Data] = None, *, output: Path,
             progress: Optional[Callable[[Dict[str, Any]], None]] = None, **options: Any) -> Result:
    """Integer weights and activations: `pith quantize`. Arguments as compress; labels are not needed."""
    facts = command("quantize", model, data=data, progress=progress, output=output, force=True, **options)
    facts.setdefault("written", os.fspath(output))
    return _result(facts)


def evaluate(model: Path, data: Data, labels: Any = None, **options: Any) -> Dict[str, Any]:
    """Accuracy on labelled samples: `pith eval`. A dict with samples, top1, top5, loss (or mse, psnr)."""
    return command("eval", model, data=data, labels=labels, **options)


def info(model: Path, **options: Any) -> Dict[str, Any]:
    """What is in a model, to the byte: `pith info`."""
    return command("info", model, **options)


def from_torch(module: Any, example: Any, path: Path, **options: Any) -> str:
    """Exports a PyTorch module to ONNX, in evaluation mode. example: its input, or a tuple of inputs. options: of
    torch.onnx.export, such as dynamic_axes for an open batch. Afterwards each submodule is in the mode that it was in.
    Returns the path."""
    import torch
    modes = [(part, part.training) for part in module.modules()]
    module.eval()
    try:
        with torch.no_grad():
            torch.onnx.export(module, example if isinstance(example, tuple) else (example,), os.fspath(path), **options)
    finally:
        for part, training in modes:  # train() would also wake the parts that were frozen
            part.training = training
    return os.fspath(path)


def main() -> None:
    """The command `pith`."""
    program = _program()
    os.execv(program, [program] + sys.argv[1:])
