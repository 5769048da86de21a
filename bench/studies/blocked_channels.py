#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What a layout by blocks of channels brings: microseconds by kind of step of OpenVINO, whose convolutions run on
such a layout (oneDNN's brgemm kernels), beside those of pith, whose values stay planes. One thread, batch 1, f32,
each step's fastest run.

usage: blocked_channels.py PITH (MODEL.onnx | NAME)...    NAME: of bench/drawn_networks.py"""
import collections, json, os, subprocess, sys, tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import drawn_networks
from peer_times import OpenVino


def openvino_steps(path, runs=60):
    peer = OpenVino(path, PERF_COUNT=True)
    fastest, kind = {}, {}
    for _ in range(runs):
        peer.run()
        for step in peer.request.get_profiling_info():
            us = step.real_time.total_seconds() * 1e6
            kind[step.node_name] = f"{step.node_type} {step.exec_type}"
            fastest[step.node_name] = min(us, fastest.get(step.node_name, us))
    return [(kind[name], us) for name, us in fastest.items()]


def pith_steps(pith, path):
    out = subprocess.run([pith, "bench", path, "-T", "1", "--per-layer", "--time", "2", "--json"], check=True,
                         capture_output=True, text=True)
    return [(f"{l['op']} {l['kernel']}", l["ns"] / 1e3) for l in json.loads(out.stdout)["layers"]]


def by_kind(steps):
    sums = collections.Counter()
    for kind, us in steps:
        sums[kind] += us
    return {kind: round(us) for kind, us in sums.most_common() if us >= 1}


def main():
    os.sched_setaffinity(0, {sorted(os.sched_getaffinity(0))[0]})
    with tempfile.TemporaryDirectory() as work:
        for model in sys.argv[2:]:
            path = drawn_networks.write(model, work) if model in drawn_networks.NAMES else model
            for who, steps in ("openvino", openvino_steps(path)), ("pith", pith_steps(sys.argv[1], path)):
                print(json.dumps({"name": os.path.basename(model), "who": who, "us": by_kind(steps)}), flush=True)


if __name__ == "__main__":
    main()
