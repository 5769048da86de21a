#!/bin/sh
# SPDX-License-Identifier: MIT
# pith bench --per-layer tells what a layer moves, how fast, and as a share of what this CPU can do; --explain
# what each step's other kernels take.
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT INT TERM
cd "$work" || exit 1
fail() { echo "$*"; exit 1; }
"$PITH" init lenet300 -q -o a.pith && "$PITH" init lenet5 -q -o conv.pith || exit 1
"$PITH" bench a.pith --per-layer --time 100ms -T 1 --json >told || fail "bench: $(cat told)"
"$PITH" bench a.pith --time 2x 2>refused && fail "a time of 2x was taken"
grep -q "time '2x': not a time such as" refused || fail "not told: $(cat refused)"
python3 - told <<'END' || exit 1
import json, sys
t = json.load(open(sys.argv[1]))
sizes = {"ip1": (784, 300), "ip2": (300, 100), "ip3": (100, 10)}
for l in t["layers"]:
    n, m = sizes.get(l["name"], (0, 0))
    if n and l["moved_bytes"] != l["weight_bytes"] + 4 * (n + m):
        raise SystemExit(f"moved: {l}")
    if n and l["weight_bytes"] < 4 * n * m:
        raise SystemExit(f"weights: {l}")
    share = l["of_roof"]
    if t["roof_flops_per_s"] > 0 and n:
        bytes_per_s = t["roof_cache_bytes_per_s" if l["moved_bytes"] <= 1 << 20 else "roof_memory_bytes_per_s"]
        least = max(2 * l["macs"] / t["roof_flops_per_s"], l["moved_bytes"] / bytes_per_s) * 1e9
        if l["ns"] and abs(share - least / l["ns"]) > 1e-6 * share:
            raise SystemExit(f"share: {l}")
if t["page_faults"] != 0:
    raise SystemExit(f"page faults of runs on one thread: {t['page_faults']}")
if not sizes.keys() <= {l["name"] for l in t["layers"]} or t["roof_memory_bytes_per_s"] < 1e8:
    raise SystemExit(f"layers: {t}")
END
"$PITH" bench a.pith --per-layer --time 0.1 -T 2 >told || fail "bench: $(cat told)"
grep -q '^layer .*moved .*GB/s .*GFLOP/s .*of roof' told || fail "no columns: $(cat told)"
grep -q '^roof, measured here: [0-9.]* GFLOP/s, reads of [0-9.]* GB/s from cache, [0-9.]* from memory$' told ||
    fail "no roof: $(cat told)"
# Conv has several kernels on every CPU: one is told as chosen, the others with their times.
"$PITH" bench conv.pith --explain --time 0.2 -T 1 --json >told || fail "explain: $(cat told)"
python3 - told <<'END' || exit 1
import json, sys
t = json.load(open(sys.argv[1]))
if [s["name"] for s in t["explain"]] != [l["name"] for l in t["layers"]]:
    raise SystemExit("not a line a step")
for s, l in zip(t["explain"], t["layers"]):
    only = s["why"] == "the only one"
    if s["kernel"] != l["kernel"] or only == bool(s["others"]) or any(o["ns"] == 0 for o in s["others"]):
        raise SystemExit(f"step: {s}")
    fastest = min([o["ns"] for o in s["others"]], default=s["ns"])
    if not only and ("not by time" in s["why"]) != (fastest < 0.97 * s["ns"]):
        raise SystemExit(f"why: {s}")
if not any(o["kernel"] == "conv-f32-direct" for s in t["explain"] for o in s["others"]):
    raise SystemExit(f"no convolution: {t['explain']}")
END
"$PITH" bench conv.pith --explain --time 0.2 -T 1 >told || fail "explain: $(cat told)"
grep -q '^step .*layer .*kernel .*us .*why .*others, us' told || fail "no heads: $(cat told)"
python3 -c "import struct; open('x.bin', 'wb').write(bytes(4 * 784))"
"$PITH" run conv.pith x.bin --explain -T 1 --top 1 >top 2>told || fail "run --explain: $(cat told)"
[ "$(wc -l <top)" = 1 ] && grep -q '^step .*layer .*kernel .*us .*why .*others, us' told || fail "run: $(cat top told)"
"$PITH" run conv.pith x.bin --explain --device cpu >told 2>err
rc=$?
[ $rc -eq 2 ] && grep -q -- '--explain' err || fail "run --explain on a device: exit $rc: $(cat err)"
"$PITH" tune conv.pith --time 0.2 -T 1 -q -o conv.plan || exit 1
"$PITH" bench conv.pith --explain --plan conv.plan --time 0.1 >told 2>err
rc=$?
[ $rc -eq 2 ] && grep -q -- '--explain' err || fail "explain with a plan: exit $rc: $(cat err)"
exit 0
