#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Feeds seeded inputs to onnxruntime and to `pith import` + `pith run`, and compares.

    compare_ort.py --pith build/release/pith [--ops] [--export] [MODEL.onnx ...]

A model agrees when no output element is off by more than --tolerance of the output's range.
--ops adds the small networks of operator_cases.py, loop_cases.py and recurrent_cases.py; --export
also runs what `pith decode --to onnx` writes through onnxruntime and onnx.checker. Exit 0: all
agree; 1: not; 77: no onnxruntime."""
import argparse
import os
import subprocess
import sys
import tempfile

try:
    import numpy as np
    import onnx
    import onnxruntime
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(77)

import encoder_model
import export_cases
import loop_cases
import operator_cases
import recurrent_cases


# In the name of a case: what opset 13, which is written, does not have.
NEWER = ("half_pixel_symmetric", "reduction", "newer", "Mish", "GroupNorm")


class Refused(Exception):
    pass


def call(*command):
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise Refused(f"{' '.join(command[:2])}: exit {done.returncode}: {done.stderr.strip()}")


def session(path):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 4
    # else it leaves out pairs of QuantizeLinear and DequantizeLinear around float operators
    options.add_session_config_entry("session.disable_quant_qdq", "1")
    # else these products of u8 by i8 saturate at 16 bits on a CPU without VNNI; QLinearConv does not run with it
    if any(n.op_type == "MatMulInteger" for n in onnx.load(path).graph.node):
        options.add_session_config_entry("session.x64quantprecision", "1")
    return onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])


def seeded_inputs(s, seed, rows):
    """Integers are 0 or 1: indices that lie inside, and flags. Open dims: rows."""
    random = np.random.default_rng(seed)
    feeds = {}
    for i in s.get_inputs():
        dims = [d if isinstance(d, int) else rows for d in i.shape]
        feeds[i.name] = (random.integers(0, 2, dims) if i.type == "tensor(int64)"
                         else random.standard_normal(dims).astype(np.float32))
    return feeds


def worst_error(expected, got):
    if expected.shape != got.shape:
        raise Refused(f"shape {got.shape}, expected {expected.shape}")
    if expected.size == 0:
        return 0.0
    span = float(expected.max() - expected.min()) or float(np.abs(expected).max()) or 1.0
    return float(np.abs(got.astype(np.float64) - expected).max()) / span


def run_pith(pith, work, model, feeds, names):
    net, operands, results = os.path.join(work, "net.pith"), [], []
    call(pith, "import", model, "-q", "-f", "-o", net)
    for i, value in enumerate(feeds.values()):
        operands.append(os.path.join(work, f"in{i}.npy"))
        np.save(operands[-1], value)
    for name in names:
        out = os.path.join(work, "out.npy")
        call(pith, "run", net, *operands, "--output-name", name, "-f", "-q", "-o", out)
        results.append(np.load(out))
    return results


def compare(args, work, path, twin, rows):
    s = session(twin)
    feeds = seeded_inputs(s, args.seed, rows)
    expected = s.run(None, feeds)
    names = [o.name for o in s.get_outputs()]
    got = run_pith(args.pith, work, path, feeds, names)
    errors = [worst_error(e, g) for e, g in zip(expected, got)]
    if args.export:
        back = os.path.join(work, "back.onnx")
        call(args.pith, "decode", os.path.join(work, "net.pith"), "--to", "onnx", "-q", "-f", "-o",
             back)
        # not full_check: onnx's own inference of MaxPool with ceil_mode differs from onnxruntime
        onnx.checker.check_model(onnx.load(back))
        errors += [worst_error(e, g) for e, g in zip(expected, session(back).run(None, feeds))]
    return max(errors)


def report(args, work, name, path, verbose, twin=None, rows=1):
    """twin: the same network in words that onnxruntime takes."""
    try:
        error = compare(args, work, path, twin or path, rows)
    except Refused as reason:
        print(f"{name}: {reason}")
        return False
    agrees = error <= args.tolerance
    if verbose or not agrees:
        print(f"{name}: largest error {error:.2e} of the output's range"
              + ("" if agrees else f", above {args.tolerance:g}"))
    return agrees


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pith", required=True)
    parser.add_argument("--ops", action="store_true")
    parser.add_argument("--match", default="", help="of --ops, those with this in their name")
    parser.add_argument("--export", action="store_true")
    parser.add_argument("--tolerance", type=float, default=1e-4)
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("models", nargs="*")
    args = parser.parse_args()
    failed = total = 0
    with tempfile.TemporaryDirectory() as work:
        for path in args.models:
            total += 1
            failed += not report(args, work, os.path.basename(path), path, True)
        if args.ops:
            case = os.path.join(work, "case.onnx")
            for name, model in (operator_cases.cases() + loop_cases.cases()
                                + encoder_model.cases()):
                if args.export and any(word in name for word in NEWER) or args.match not in name:
                    continue
                total += 1
                onnx.save(model, case)
                failed += not report(args, work, name, case, False)
            for name, model, rows in export_cases.cases():
                if args.match not in name:
                    continue
                total += 1
                onnx.save(model, case)
                failed += not report(args, work, name, case, False, rows=rows)
            same = os.path.join(work, "twin.onnx")
            for name, model, twin in recurrent_cases.cases():
                if args.match not in name:
                    continue
                total += 1
                onnx.save(model, case)
                onnx.save(twin or model, same)
                failed += not report(args, work, name, case, False, same)
    print(f"{total - failed} of {total} agree with onnxruntime {onnxruntime.__version__}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
