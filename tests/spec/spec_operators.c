/* SPDX-License-Identifier: MIT */
/* spec_operators.c - operators and attributes (F11). */
#include "spec_operators.h"
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* clang-format off */
#define INF (1e30f * 1e30f)
#define I(name, def, lo, hi) {INT, name, lo, hi, def, 0, false, false}
#define I_NEEDED(name, lo, hi) {INT, name, lo, hi, 0, 0, true, false}
#define F(name, def) {FLOAT, name, 0, 0, 0, def, false, false}
#define F_INF(name, def) {FLOAT, name, 0, 0, 0, def, false, true}
#define L(name, lo, hi) {LIST, name, lo, hi, 0, 0, false, false}
#define L_WIDE(name) L(name, INT32_MIN, INT32_MAX)
#define POOL {L("kernel", 1, 65535), L("strides", 1, 65535), L("dilations", 1, 65535), \
              L("pads", 0, 65535), I("ceil", 0, 0, 1), I("include_pad", 0, 0, 1)}
#define SOFTMAX {I("axis", 1, 0, 7), I("flat", 0, 0, 1)}
#define NONE {{END, NULL, 0, 0, 0, 0, false, false}}
#define PLAIN(name, inputs) {name, inputs, inputs, inputs, 1, 1, NONE}

const struct op ops[] = {
    {NULL, 0, 0, 0, 0, 0, NONE},
    {"Conv", 2, 3, 3, 1, 1,
     {I("group", 1, 1, MAX_DIM), L("strides", 1, 65535), L("dilations", 1, 65535),
      L("pads", 0, 1 << 24)}},
    {"Gemm", 2, 3, 3, 1, 1,
     {I("trans_a", 0, 0, 1), I("trans_b", 1, 0, 1), F("alpha", 1), F("beta", 1)}},
    {"MatMul", 2, 2, 2, 1, 1, {I("trans_b", 0, 0, 1)}},
    PLAIN("Add", 2),
    PLAIN("Sub", 2),
    PLAIN("Mul", 2),
    PLAIN("Div", 2),
    PLAIN("Relu", 1),
    {"LeakyRelu", 1, 1, 1, 1, 1, {F("alpha", 0.01f)}},
    PLAIN("PRelu", 2),
    {"Clip", 1, 1, 1, 1, 1, {F_INF("min", -INF), F_INF("max", INF)}},
    PLAIN("Sigmoid", 1),
    PLAIN("Tanh", 1),
    {"HardSigmoid", 1, 1, 1, 1, 1, {F("alpha", 0.2f), F("beta", 0.5f)}},
    PLAIN("HardSwish", 1),
    {"Softmax", 1, 1, 1, 1, 1, SOFTMAX},
    {"LogSoftmax", 1, 1, 1, 1, 1, SOFTMAX},
    {"MaxPool", 1, 1, 1, 1, 1, POOL},
    {"AveragePool", 1, 1, 1, 1, 1, POOL},
    PLAIN("GlobalMaxPool", 1),
    PLAIN("GlobalAveragePool", 1),
    {"BatchNormalization", 5, 5, 5, 1, 1, {F("epsilon", 1e-5f)}},
    {"LRN", 1, 1, 1, 1, 1,
     {I_NEEDED("size", 1, 1 << 20), F("alpha", 1e-4f), F("beta", 0.75f), F("bias", 1)}},
    {"Concat", 1, 65535, 0, 1, 1, {I("axis", 1, 0, 8)}},
    {"Split", 1, 1, 1, 1, 65535, {I("axis", 1, 0, 8), L("sizes", 1, MAX_DIM)}},
    {"Slice", 1, 1, 1, 1, 1, {L("axes", 0, 7), L_WIDE("starts"), L_WIDE("ends"), L_WIDE("steps")}},
    {"Squeeze", 1, 1, 1, 1, 1, {L("axes", 0, 7)}},
    {"Unsqueeze", 1, 1, 1, 1, 1, {L("axes", 0, 7)}},
    {"Reshape", 1, 1, 1, 1, 1, {L("dims", -1, MAX_DIM)}},
    {"Flatten", 1, 1, 1, 1, 1, {I("axis", 1, 0, 8)}},
    {"Transpose", 1, 1, 1, 1, 1, {L("perm", 0, 7)}},
    {"Pad", 1, 1, 1, 1, 1,
     {I("mode", 0, 0, 2), F_INF("value", 0), L("begins", -INT32_MAX, INT32_MAX),
      L("ends", -INT32_MAX, INT32_MAX)}},
    {"Cast", 1, 1, 1, 1, 1, {I_NEEDED("to", 1, 11)}},
    {"ReduceMean", 1, 1, 1, 1, 1, {L("axes", 0, 7), I("keep", 1, 0, 1)}},
    {"Resize", 1, 1, 1, 1, 1,
     {I("mode", 0, 0, 2), I("coordinates", 0, 0, 4), I("nearest", 0, 0, 3), L("dims", 0, MAX_DIM),
      L("scales", 1, 0x7F7FFFFF), F("cubic_a", -0.75f), I("exclude_outside", 0, 0, 1)}},
    PLAIN("Identity", 1),
    {"Unary", 1, 1, 1, 1, 1, {I_NEEDED("kind", 0, 25), F("alpha", 1), F("gamma", 1)}},
    PLAIN("Pow", 2),
    {"Mod", 2, 2, 2, 1, 1, {I("fmod", 0, 0, 1)}},
    {"Compare", 2, 2, 2, 1, 1, {I_NEEDED("kind", 0, 8)}},
    PLAIN("Where", 3),
    {"Variadic", 1, 65535, 0, 1, 1, {I_NEEDED("kind", 0, 3)}},
    {"Reduce", 1, 1, 1, 1, 1, {I_NEEDED("kind", 0, 8), L("axes", 0, 7), I("keep", 1, 0, 1)}},
    {"Arg", 1, 1, 1, 1, 1,
     {I_NEEDED("kind", 0, 1), I("axis", 0, 0, 7), I("keep", 1, 0, 1), I("last", 0, 0, 1)}},
    {"AlongAxis", 1, 1, 1, 1, 1,
     {I_NEEDED("kind", 0, 2), I_NEEDED("axis", 0, 7), I("flat", 0, 0, 1), I("p", 2, 1, 2),
      I("exclusive", 0, 0, 1), I("reverse", 0, 0, 1)}},
    {"GroupNormalization", 3, 3, 3, 1, 1,
     {I("groups", 0, 0, MAX_DIM), I("per_group", 0, 0, 1), F("epsilon", 1e-5f)}},
    {"LayerNormalization", 2, 3, 3, 1, 1,
     {I_NEEDED("axis", 0, 7), F("epsilon", 1e-5f), I("about_zero", 0, 0, 1)}},
    {"MeanVarianceNormalization", 1, 1, 1, 1, 1, {L("axes", 0, 7)}},
    [49] = {"QuantizeLinear", 2, 3, 3, 1, 1,
     {I("axis", 1, 0, 7), I_NEEDED("type", 1, 11), I("block", 0, 0, MAX_DIM)}},
    [50] = {"Gather", 2, 2, 2, 1, 1, {I("kind", 0, 0, 2), I("axis", 0, 0, 7)}},
    {"Scatter", 3, 3, 3, 1, 1, {I("kind", 0, 0, 1), I("axis", 0, 0, 7), I("reduction", 0, 0, 4)}},
    {"Tile", 1, 2, 2, 1, 1, {L("repeats", 0, MAX_DIM)}},
    {"DepthToSpace", 1, 1, 1, 1, 1, {I("kind", 0, 0, 2), I_NEEDED("block", 1, 1 << 15)}},
    {"Trilu", 1, 1, 1, 1, 1, {I("upper", 1, 0, 1), I("k", 0, INT32_MIN, INT32_MAX)}},
    {"OneHot", 2, 2, 2, 1, 1, {I_NEEDED("depth", 1, MAX_DIM), I("axis", 0, 0, 8)}},
    {"TopK", 1, 1, 1, 2, 2,
     {I("axis", 0, 0, 7), I_NEEDED("k", 1, MAX_DIM), I("largest", 1, 0, 1)}},
    {"ConvTranspose", 2, 3, 3, 1, 1,
     {I("group", 1, 1, MAX_DIM), L("strides", 1, 65535), L("dilations", 1, 65535),
      L("pads", 0, 1 << 24), L("output_padding", 0, 1 << 24)}},
    [58] = {"Loop", 0, 65535, 0, 1, 65535,
     {I_NEEDED("trips", 1, MAX_DIM), I("has_cond", 0, 0, 1), I("has_count", 0, 0, 1)}},
    {"LoopEnd", 1, 65535, 0, 1, 65535,
     {I_NEEDED("trips", 1, MAX_DIM), I("has_cond", 0, 0, 1), I("has_count", 0, 0, 1),
      I("states", 0, 0, MAX_DIM)}},
    PLAIN("Branch", 1),
    PLAIN("BranchElse", 1),
    {"BranchEnd", 3, 65535, 0, 1, 65535, NONE},
    [63] = {"Recurrent", 2, 7, 7, 1, 3,
     {I_NEEDED("kind", 0, 2), I("reverse", 0, 0, 1), I("linear_before_reset", 0, 0, 1),
      I("input_forget", 0, 0, 1), F_INF("clip", INF), L("activations", 0, 10),
      L_WIDE("alphas"), L_WIDE("betas")}},
    {"DequantizeLinear", 2, 3, 3, 1, 1, {I("axis", 1, 0, 7), I("block", 0, 0, MAX_DIM)}},
    {"DynamicQuantizeLinear", 1, 1, 1, 3, 3, NONE},
    {"Requantize", 3, 3, 3, 1, 1, {I("axis", 1, 0, 7), I_NEEDED("type", 1, 11)}},
    {"MatMulInteger", 2, 4, 4, 1, 1, {I("trans_b", 0, 0, 1)}},
    {"ConvInteger", 2, 5, 5, 1, 1,
     {I("group", 1, 1, MAX_DIM), L("strides", 1, 65535), L("dilations", 1, 65535),
      L("pads", 0, 1 << 24)}},
    {"NonMaxSuppression", 2, 2, 2, 1, 1,
     {I("center", 0, 0, 1), I_NEEDED("top", 1, MAX_DIM), F("iou", 0), F_INF("score", -INF)}},
    {"LpPool", 1, 1, 1, 1, 1,
     {L("kernel", 1, 65535), L("strides", 1, 65535), L("dilations", 1, 65535), L("pads", 0, 65535),
      I("ceil", 0, 0, 1), I("p", 2, 1, MAX_DIM)}},
    {"Attention", 3, 4, 4, 1, 1,
     {F("scale", 1), F_INF("fill", -INF), I("keep", 0, 0, 1), I("layout", 0, 0, 15)}},
    {"GridSample", 2, 2, 2, 1, 1, {I("mode", 0, 0, 2), I("padding", 0, 0, 2), I("align", 0, 0, 1)}},
};
/* clang-format on */
enum { N_OPS = sizeof ops / sizeof ops[0] };
const uint64_t n_ops = N_OPS;

static int64_t int_in_range(struct span *s, const struct attribute *a)
{
    uint64_t at = s->at;
    int64_t v = svarint(s);
    must(v >= a->lo && v <= a->hi, at, "an attribute is out of its range");
    return v;
}

/* `before`: the list before it in this node; at == end: none. Becomes this list. */
static void read_list(struct span *s, const struct attribute *a, struct span *before)
{
    uint64_t at = s->at;
    uint64_t head = varint_in(s, 0, 17, "a list has 1..8 entries"), n = head / 2;
    if (head == 0) {
        struct span again = *before;
        must(left(before) > 0, at, "no list before this one");
        read_list(&again, a, &(struct span){0, 0});
        return;
    }
    must(n > 0, at, "a list has 1..8 entries");
    bool even = (head & 1) != 0, all_equal = true;
    must(!even || n >= 2, at, "a list of one entry is not even");
    int64_t first = int_in_range(s, a);
    printf(" %s=%" PRId64, a->name, first);
    for (uint64_t i = 1; i < n; i++) {
        int64_t v = even ? first : int_in_range(s, a);
        all_equal = all_equal && v == first;
        printf(",%" PRId64, v);
    }
    must(even || n == 1 || !all_equal, at, "a list of equal entries must be even");
    struct span this = {at, s->at};
    must(compare_bytes(this, *before) != 0, at, "a list like the one before is written as 0");
    *before = this;
}

/* Returns the value of an INT. */
static int64_t read_attribute(struct span *s, const struct attribute *a, struct span *list)
{
    uint64_t at = s->at;
    if (a->kind == INT) {
        int64_t v = int_in_range(s, a);
        must(a->needed || v != a->value, at, "a default must not be written");
        printf(" %s=%" PRId64, a->name, v);
        return v;
    } else if (a->kind == FLOAT) {
        uint32_t bits = (uint32_t)fixed(s, 4), default_bits;
        memcpy(&default_bits, &a->real, 4);
        must(bits != default_bits, at, "a default must not be written");
        must((bits & 0x7F800000) != 0x7F800000 || (a->infinite && (bits & 0x7FFFFF) == 0), at,
             "a float must be finite");
        printf(" %s=0x%08" PRIx32, a->name, bits);
    } else {
        read_list(s, a, list);
    }
    return 0;
}

int64_t int_value[MAX_ATTRIBUTES];

static struct span written_last[N_OPS]; /* attributes of that operator; empty: none */

void read_attributes(struct span *s, const struct op *op, bool written)
{
    uint64_t at = s->at, n = 0;
    struct span list = {0, 0}, *last = &written_last[op - ops], again;
    while (n < MAX_ATTRIBUTES && op->attribute[n].kind != END) {
        n++;
    }
    uint64_t set = written ? varint(s) : 0;
    bool is_again = written && set == 0;
    if (is_again) {
        must(left(last) > 0, at, "no attributes of this operator were written before");
        again = *last;
        s = &again;
        set = varint(s);
    }
    must(set >> n == 0, at, "an attribute that the operator does not have");
    for (uint64_t i = 0; i < n; i++) {
        int_value[i] = op->attribute[i].value;
        if ((set >> i & 1) != 0) {
            int_value[i] = read_attribute(s, &op->attribute[i], &list);
        } else {
            must(!op->attribute[i].needed, at, "an attribute without default must be written");
        }
    }
    if (written && !is_again) {
        struct span this = {at, s->at};
        must(compare_bytes(this, *last) != 0, at,
             "attributes like those written last are written as 0");
        *last = this;
    }
}
