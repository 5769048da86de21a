# SPDX-License-Identifier: MIT
"""Writes a C (and C++) program that calls every function of the installed headers with NULL for all pointers, for each
pointer that must not be NULL, and with options that have no size or that were never initialised.

    null_arguments.py HEADER... >calls.c

The rule is in pith_runtime.h: each such call returns PITH_ERR_ARGUMENT, and none crashes. Other pointers are to zeros:
a function must refuse what is NULL before it reads anything."""
import re
import sys

# function: parameters. Any other pointer of a function that returns a status must not be NULL.
MAY_BE_NULL = {
    "pith_sizes_apply": ("sizes",),
    "pith_blob_check": {"blob"},
    "pith_blob_meta": {"value", "value_bytes"},
    "pith_plan_work_bytes": {"opts"},
    "pith_plan_need": {"opts"},
    "pith_plan_init": {"opts"},
    "pith_plan_size": {"opts"},
    "pith_plan_file_open": {"why"},
    "pith_open": {"opts"},
    "pith_open_memory": {"opts"},
    "pith_plans_open": {"opts"},
    "pith_preprocess_read": {"text"},
    "pith_cuda_plan_enqueue": {"stream"},
    "pith_huff_encode": {"symbols"},
    "pith_huff_share": {"hist"},
    "pith_support_encode": {"dst"},
    "pith_model_fold_batch_norm": {"n_folded"},
    "pith_model_fold_onto_grids": {"n_folded"},
    "pith_data_pick": {"numbers"},
    "pith_data_read": {"label"},
    "pith_data_read_as": {"label"},
    "pith_onnx_check": {"name", "opts"},
    "pith_model_pack": {"opts"},
    "pith_model_write": {"bytes", "opts"},
    "pith_model_load": {"opts"},
    "pith_model_read": {"opts"},
    "pith_packed_load": {"opts"},
    "pith_packed_read": {"opts"},
    "pith_engine_open": {"opts"},
    "pith_engine_open_packed": {"opts"},
    "pith_weight_check": {"list"},
    "pith_tune": {"tune"},
    "pith_prune": {"layers", "n_layers"},
    "pith_cluster": {"layers", "n_layers"},
    "pith_quantize": {"layers", "n_layers"},
    "pith_calibrate": {"n_samples"},
    "pith_choose_grids": {"report"},
    "pith_train": {"val"},
    "pith_stage_run": {"report"},
    "pith_stage_run_with": {"report"},
    "pith_stage_set": {"texts"},
}
# Everywhere.
ANY_MAY_BE_NULL = {"err", "alloc", "user", "watch"}
SIZED = set()  # structs of options


def prototypes(path):
    text = open(path).read()
    text = re.sub(r"/\*.*?\*/", "", text, flags=re.S)
    text = re.sub(r"^#.*(\\\n.*)*", "", text, flags=re.M).replace('extern "C" {', "")
    text = re.sub(r"__attribute__\(\(.*?\)\)\)?", "", text)
    depth, flat = 0, ""
    for c in text:
        depth += (c == "{") - (c == "}")
        if depth == 0 and c != "}":
            flat += c
    flat = re.sub(r"\binline\b[^;]*?\)", "", flat)
    for m in re.finditer(r"([A-Za-z_][\w\s*]*?)\b(pith_\w+)\s*\(([^;]*)\)\s*;", flat):
        result = " ".join(m[1].split())
        if "typedef" not in result and "=" not in result and "..." not in m[3]:
            yield result, m[2], split(" ".join(m[3].split()))


def split(parameters):
    parts, depth = [""], 0
    for c in parameters:
        depth += (c == "(") - (c == ")")
        if c == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += c
    return [] if parameters == "void" else [p.strip() for p in parts]


def of(parameter):
    """(type, name, whether it is a pointer)"""
    m = re.match(r"(.*)\(\*(\w+)\)(\(.*\)|\[.*\])$", parameter)
    if m:
        return parameter, m[2], True
    m = re.match(r"(.*?)(\w+)\s*\[.*\]$", parameter)
    if m:
        return m[1].strip() + " *", m[2], True
    m = re.match(r"(.*?)(\w+)$", parameter)
    return m[1].strip(), m[2], m[1].strip().endswith("*")


def value(parameter, options):
    kind, name, pointer = of(parameter)
    if not pointer:
        return number(kind, name)
    sized = re.match(r"(?:const )?struct (\w+) \*$", kind)
    if sized and sized[1] in SIZED:
        return f"({kind}){options}(sizeof(struct {sized[1]}))"
    return f"({cast(parameter)})(void *)zeros"


def cast(parameter):
    m = re.match(r"(.*\(\*)(\w+)(\)(\(.*\)|\[.*\]))$", parameter)
    return m[1] + m[3] if m else of(parameter)[0]


def number(kind, name):
    if kind.startswith("enum"):
        return f"({kind})1"
    if kind.startswith("struct"):
        return f"({kind}){{0}}"
    return f"({kind})1"


def main():
    print('#include "null_objects.h"')
    table = []
    for path in sys.argv[1:]:
        SIZED.update(re.findall(r"struct (\w+) \{\s*uint32_t size_bytes;", open(path).read()))
    for path in sys.argv[1:]:
        for result, name, parameters in prototypes(path):
            pointers = [of(p)[1] for p in parameters if of(p)[2]]
            status = result == "enum pith_status"
            optional = ANY_MAY_BE_NULL | set(MAY_BE_NULL.get(name, ()))
            cases = [("NULL for all", pointers, "sized")]
            cases += [(f"NULL for {p}", [p], "sized") for p in pointers if p not in optional]
            if status and any("sized(" in value(p, "sized") for p in parameters):
                cases += [("options of no size", [], "unsized"), ("options never initialised", [], "filled")]
            for case, nulls, options in cases if pointers else []:
                args = [f"({cast(p)})0" if of(p)[1] in nulls else value(p, options) for p in parameters]
                call = f"{name}({', '.join(args)})"
                body = f"return (int){call};" if status else f"(void){call}; return PITH_ERR_ARGUMENT;"
                print(f"static int call_{len(table)}(void) {{ {body} }}")
                table.append(f'    {{call_{len(table)}, "{name}", "{case}"}}')
    print("static const struct call calls[] = {\n" + ",\n".join(table) + "};")
    print("int main(void) { return call_all(calls, sizeof calls / sizeof *calls); }")


main()
