#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The tables of docs/results/gpu.md from the lines of JSON that `bench/gpu.sh run` writes.

    gpu_report.py gpu.jsonl [--page]        --page: refuses what an emulator measured"""
import json
import sys

FORMS = ".pith", ".f16.pith", ".int8.pith"


def cell(value):
    if not isinstance(value, float):
        return str(value)
    return f"{value:.0f}" if value >= 100 else f"{value:.3g}"


def table(head, rows):
    print(f"\n| {' | '.join(head)} |\n|{' --- |' * len(head)}")
    for row in rows:
        print(f"| {' | '.join(cell(v) for v in row)} |")


def main():
    lines = [json.loads(line.replace(":nan", ":NaN").replace(":inf", ":Infinity").replace(":-nan", ":NaN"))
             for line in open(sys.argv[1])]

    def part(name):
        return [line for line in lines if line["part"] == name]

    device = (part("device") or [{"name": ""}])[0]["name"]
    if "--page" in sys.argv and device[:8] in ("", "emulator"):
        sys.exit(f"that was no GPU ('{device}'): no figures")
    machine = part("machine")[0]
    print(f"# Networks and matrices on a GPU\n\n    bench/run.sh gpu\n\n{device}, driver {machine['driver']}. Medians. "
          "Off: largest difference from the CPU's outputs,\nas a share of the largest value; INT8 has the CPU's bits.")
    for line in part("missing") + part("left_out"):
        print("Not measured:", ", ".join(str(v) for k, v in line.items() if k != "part"))
    networks = {line["name"]: line for line in part("network")}
    names = sorted({n.removesuffix(".pith").removesuffix(".f16").removesuffix(".int8") for n in networks})
    print("\n## Networks, batch 1, from host memory to host memory, us")
    table(["network"] + [f"{form} GPU, CPU" for form in ("f32", "f16", "INT8")] + ["off: f32, f16, INT8", "launches"],
          [[n] + [", ".join(cell(networks.get(n + f, {}).get(k, "-")) for k in ("gpu_us", "cpu_us")) for f in FORMS] +
           [", ".join(cell(networks.get(n + f, {}).get(k, "-")) for f in FORMS) for k in ("off", "launches")]
           for n in names])
    print("\n## All steps as a graph of launches and as one launch, on the device, us")
    timed = [line for line in networks.values() if line.get("one_launch_us")]
    table(["network", "graph", "one launch"], [[n["name"], n["graph_us"], n["one_launch_us"]] for n in timed])
    print("\n## Batches, from input to output on the device, us")
    batches = {}
    for line in part("batch") + [line for line in part("torch") if "us" in line]:
        name = (f"torch {line['type']}: " if line["part"] == "torch" else "") + line["name"]
        batches.setdefault(name, {})[line["batch"]] = line.get("us", "-")
    table(["network or matrix", "batch 1", "8", "16", "64"],
          [[n, *(us.get(b, "-") for b in (1, 8, 16, 64))] for n, us in batches.items()])
    for line in part("torch"):
        if "missing" in line:
            what = f" {line['type']} {line['name']} at {line['batch']}" if "type" in line else ""
            print(f"\ntorch{what}: no peer, for want of {line['missing']}.")
    print("\n## Matrices with 16 values a weight: us on copies that exceed the L2, and on one")
    print("\nKernels are for sums in f32, and where tensor cores may be used. Others are dense, but cuSPARSE.")
    peers = "compressed", "compressed_f16", "dense_f32", "dense_f16", "cublaslt_f32", "cublaslt_f16", "codes_i8", "dense_i8", "cublaslt_i8", "cusparse_f32"
    table(["matrix", "kept", "batch", "kernels", "f32", "f16", "dense f32", "f16", "cuBLASLt f32", "f16", "INT8 codes", "INT8", "cuBLASLt INT8", "cuSPARSE"],
          [[f"{m['name']} {m['rows']}x{m['cols']}", m["density"], m["batch"],
            ", ".join(m[p]["kernel"] for p in peers[:2] if p in m)] +
           [f"{cell(m[p]['cold_us'])}, {cell(m[p]['hot_us'])}" if p in m else "-" for p in peers]
           for m in part("layer")])
    cases = ", ".join(f"{line['name']} ({line['launches']} launches)" for line in part("cases"))
    tools = ", ".join(f"{line['tool']} {line['status']}" for line in part("sanitizer"))
    print(f"\nCases of tests/cuda that pass: {cases}.\ncompute-sanitizer (0: clean, -1: not here): {tools}.")


main()
