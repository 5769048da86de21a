#!/bin/sh
# SPDX-License-Identifier: MIT
# pith bench --per-layer prints what a layer moves, how fast, and as a share of what this CPU can do; --csv the same
# as values; --explain what each step's other kernels take; -T 1,2 what threads gain; --cold runs without caches.
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT INT TERM
cd "$work" || exit 1
fail() { echo "$*"; exit 1; }
"$PITH" init lenet300 -q -o a.pith && "$PITH" init lenet5 -q -o conv.pith || exit 1
"$PITH" bench a.pith --per-layer --time 100ms -T 1 --json >printed || fail "bench: $(cat printed)"
"$PITH" bench a.pith --time 2x 2>refused && fail "a time of 2x was taken"
grep -q "time '2x': not a time such as" refused || fail "not reported: $(cat refused)"
python3 - printed <<'END' || exit 1
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
# No layer is above the roof, though sparse kernels pass products over and Winograd makes fewer.
"$PITH" prune a.pith --sparsity 0.99 -q -o pruned.pith && "$PITH" prune conv.pith --sparsity 0.99 -q -o pruned5.pith &&
    "$PITH" init resnet20 -q -o deep.pith || exit 1
for net in pruned pruned5 conv deep; do
    "$PITH" bench $net.pith --per-layer --time 100ms -T 1 --json >$net.printed || fail "bench $net: $(cat $net.printed)"
done
python3 - pruned.printed pruned5.printed conv.printed deep.printed <<'END' || exit 1
import json, sys
for name in sys.argv[1:]:
    layers = json.load(open(name))["layers"]
    if not any(l["of_roof"] for l in layers):
        raise SystemExit(f"{name}: no share of a roof")
    for l in layers:
        if l["of_roof"] and l["of_roof"] > 1 + 1e-9:
            raise SystemExit(f"{name}: above the roof: {l}")
END
"$PITH" bench a.pith --per-layer --time 0.1 -T 2 >printed || fail "bench: $(cat printed)"
grep -q '^layer .*moved .*GB/s .*GFLOP/s .*of roof' printed || fail "no columns: $(cat printed)"
grep -q '^roof, measured here: [0-9.]* GFLOP/s, reads of [0-9.]* GB/s from cache, [0-9.]* from memory$' printed ||
    fail "no roof: $(cat printed)"
# Conv has several kernels on every CPU: one is printed as chosen, the others with their times.
"$PITH" bench conv.pith --explain --time 0.2 -T 1 --json >printed || fail "explain: $(cat printed)"
python3 - printed <<'END' || exit 1
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
"$PITH" bench conv.pith --explain --time 0.2 -T 1 >printed || fail "explain: $(cat printed)"
grep -q '^step .*layer .*kernel .*us .*why .*others, us' printed || fail "no heads: $(cat printed)"
python3 -c "import struct; open('x.bin', 'wb').write(bytes(4 * 784))"
"$PITH" run conv.pith x.bin --explain -T 1 --top 1 >top 2>printed || fail "run --explain: $(cat printed)"
[ "$(wc -l <top)" = 1 ] && grep -q '^step .*layer .*kernel .*us .*why .*others, us' printed || fail "run: $(cat top printed)"
"$PITH" run conv.pith x.bin --explain --device cpu >printed 2>err
rc=$?
[ $rc -eq 2 ] && grep -q -- '--explain' err || fail "run --explain on a device: exit $rc: $(cat err)"
"$PITH" tune conv.pith --time 0.2 -T 1 -q -o conv.plan || exit 1
"$PITH" bench conv.pith --explain --plan conv.plan --time 0.1 >printed 2>err
rc=$?
[ $rc -eq 2 ] && grep -q -- '--explain' err || fail "explain with a plan: exit $rc: $(cat err)"

# Several numbers of threads: a side each, the first one's members at the top.
"$PITH" bench conv.pith -T 1,3,2 --per-layer --cold --time 50ms --json >printed || fail "threads: $(cat printed)"
"$PITH" bench conv.pith -T 1,3 --csv --time 50ms >csv || fail "csv: $(cat csv)"
python3 - printed csv <<'END' || exit 1
import csv, json, sys
t = json.load(open(sys.argv[1]))
sides = [t, *t["by_threads"]]
if [s["threads"] for s in sides] != [1, 3, 2] or any(s["ms_cold"] <= 0 for s in sides):
    raise SystemExit(f"sides: {sides}")
for s in sides[1:]:
    if abs(s["ratio"] - t["ms_median"] / s["ms_median"]) > 1e-6 * s["ratio"]:
        raise SystemExit(f"ratio: {s}")
rows = list(csv.DictReader(open(sys.argv[2])))
n = len(t["layers"])
if [(r["threads"], int(r["place"])) for r in rows] != [(k, i) for k in "13" for i in range(n)]:
    raise SystemExit(f"rows: {rows}")
for r, l in zip(rows, t["layers"]):
    if any(r[k] != str(l[j]) for k, j in (("layer", "name"), ("op", "op"), ("kernel", "kernel"), ("macs", "macs"),
                                          ("weight_bytes", "weight_bytes"), ("moved_bytes", "moved_bytes"))):
        raise SystemExit(f"row: {r}, layer: {l}")
    if float(r["us"]) <= 0 or (r["of_roof"] and not float(r["of_roof"]) > 0):
        raise SystemExit(f"figures: {r}")
END
"$PITH" bench conv.pith -T 1,2 --per-layer --cold --time 50ms >printed || fail "threads: $(cat printed)"
grep -q '^layer .*us -T 1 .*us -T 2 .*ratio' printed && grep -q '^conv.pith, 2 threads: median .* cold [0-9]' printed &&
    grep -q '^2 threads: [0-9.]* times as fast as 1$' printed || fail "threads: $(cat printed)"
refuses() { # WORD OPTION... : exit 2, printed
    word=$1
    shift
    "$PITH" bench conv.pith "$@" >printed 2>err
    rc=$?
    [ $rc -eq 2 ] && [ ! -s printed ] && grep -q -- "$word" err || fail "$*: exit $rc: $(cat printed err)"
}
for wrong in 0 257 1, ,1 1,,2 1,x 1,2,3,4,5,6 12345678901234567890; do
    refuses "threads '$wrong': 1 to 5 whole numbers" -T "$wrong"
done
refuses "threads and --vs" -T 1,2 --vs cpu
refuses "csv and --explain" --csv --explain
"$PITH" bench conv.pith --csv --json >printed 2>err
[ $? -eq 2 ] && grep -q -- "--csv and --json" err || fail "csv as json: $(cat printed err)"
"$PITH" bench - -T 1,2 <conv.pith >printed 2>err
[ $? -eq 2 ] && grep -q "read twice" err || fail "stdin: $(cat printed err)"
exit 0
