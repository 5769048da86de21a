/* SPDX-License-Identifier: MIT */
/* emit.c - the constants of each step and its call. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "kernels/act_kind.h"
#include "base/error_fill.h"
#include "core/op_number.h"
#include "writer.h"

#define BYTES_OF_A_STEP 36u /* of code: the call, struct layer, struct window */

/* ---- calls
 * --------------------------------------------------------------------------------------- */

/* The expression for store i as a pointer of its type. */
static const char *place(const struct writer *w, uint32_t i, bool written, char text[96])
{
    const struct store *s = &w->net->store[i];
    const char *cast = s->element != ELEMENT_F32 ? "" : written ? "(float *)" : "(const float *)";
    unsigned long long at = 0;
    for (; s->part_of != STORE_NONE; s = &w->net->store[i]) {
        at += s->part_at;
        i = s->part_of;
    }
    const unsigned long long element = at / s->element;
    if (s->constant)
        snprintf(text, 96, "c%u + %llu", i, element);
    else if (s->output != STORE_NONE)
        snprintf(text, 96, "out%u + %llu", s->output, element);
    else if (s->input != STORE_NONE)
        snprintf(text, 96, "in%u + %llu", s->input, element);
    else if (s->element == ELEMENT_F32)
        snprintf(text, 96, "%s(void *)(arena + %llu)", cast, (unsigned long long)s->at + at);
    else
        snprintf(text, 96, "arena + %llu", (unsigned long long)s->at + at);
    return text;
}

static uint32_t padded4(uint32_t n)
{
    return (n + 3) / 4 * 4;
}

static void say_window(struct byte_out *o, const struct window_shape *g, uint8_t zero)
{
    pith_c_say(
        o,
        "        static const struct window g = {%u, %u, %u, %u, %u, %u, %u, %u, %u, %u, %u, %u, "
        "%u, %u, "
        "%u, %u};\n",
        g->h, g->w, g->oh, g->ow, g->c, g->kh, g->kw, g->stride_h, g->stride_w, g->dil_h, g->dil_w,
        g->pad_top, g->pad_left, g->pad_right, (g->kh - 1) * g->dil_h + 1, zero);
}

static uint32_t stride_of(const struct step *s)
{
    return s->out.stride ? s->out.stride : s->outputs;
}

/* Offsets and factors of step i, and the struct that has them. false: the factors are none that
 * integers have. */
static bool say_layer(struct writer *w, uint32_t i, const char *pairs)
{
    const struct step *s = &w->net->step[i];
    const uint32_t even = (s->outputs + 1) / 2 * 2;
    pith_c_i32_array(w, 'b', i, s->product.bias, s->outputs, even);
    if (s->kind == STEP_PRODUCT_F32 || s->kind == STEP_GROUPED_F32)
        pith_c_f32_array(w, 'f', i, s->product.factor, s->outputs);
    else if (!pith_c_factor_array(w, i, s->product.factor, s->outputs, even))
        return false;
    if (s->product.ring) /* made on the stack */
        return true;
    pith_c_say(&w->constants,
               "static const struct layer l%u = {w%u, b%u, f%u, %u, %u, %u, %s};\n\n", i, i, i, i,
               s->outputs, stride_of(s), s->zero_y, pairs);
    return true;
}

/* Filters of four channels side by side. */
static void say_depthwise(struct writer *w, uint32_t i)
{
    const struct step *s = &w->net->step[i];
    const uint32_t taps = s->product.k;
    int8_t *turned = malloc((size_t)s->outputs * taps);
    w->constants.failed = w->constants.failed || !turned;
    if (!turned)
        return;
    for (uint32_t o = 0; o < s->outputs; o++)
        for (uint32_t t = 0; t < taps; t++)
            turned[((size_t)(o / 4) * taps + t) * 4 + o % 4] = s->product.w[(size_t)o * taps + t];
    pith_c_bytes_array(w, 'w', i,
                       (struct int8_rows){turned, 1, s->outputs * taps, s->outputs * taps, 1});
    free(turned);
}

/* The kernels of one pixel and of several, the latter `step` bytes apart, in a row of `pixels`, and
 * how many these are. */
struct pixel_kernels {
    char one[80], many[80];
    uint32_t at_once;
    const char *pairs;
    bool sparse;
};

/* step: from one pixel to the next. */
static void pixel_kernels(struct writer *w, uint32_t i, uint32_t step, uint32_t pixels,
                          struct pixel_kernels *k)
{
    const struct filter_rows rows = pith_export_rows(&w->net->step[i]);
    const uint32_t segments = rows.segments;
    const bool f32 = w->net->step[i].kind == STEP_PRODUCT_F32;
    const enum weight_form form = pith_c_weights(w, i, &k->pairs);
    const bool sparse = form == WEIGHT_SPARSE;
    const uint32_t row = padded4(rows.size);
    const bool single =
        !sparse && w->net->cpu->core == CORE_THUMB1; /* sums of two do not fit registers */
    *k = (struct pixel_kernels){"0", "0", sparse ? pith_export_sparse_pixels(pixels) : 2, k->pairs,
                                sparse};
    if (pixels >= k->at_once && !single) {
        pith_c_instance(w, k->many, sparse ? "SPARSE_PIXELS" : "TWO_PIXELS",
                        sparse ? "sparse_pixels" : "two_pixels",
                        sparse ? (const uint32_t[]){segments, step, k->at_once}
                               : (const uint32_t[]){row, segments, step, form},
                        sparse ? 3 : 4);
    }
    if (single || pixels % k->at_once)
        pith_c_instance(w, k->one, sparse ? "SPARSE_PIXEL" : "ONE_PIXEL",
                        sparse ? "sparse" : "pixels",
                        sparse ? (const uint32_t[]){segments, f32}
                               : (const uint32_t[]){row, segments, form, f32},
                        sparse ? 2 : 4);
}

/* The call of a product whose `layer` is at hand; y: where outputs go. */
static void say_product_call(struct writer *w, uint32_t i, const char *x, const char *y,
                             const char *layer, const struct pixel_kernels *k)
{
    const struct step *s = &w->net->step[i];
    const struct window_shape *g = &s->g;
    const char *type = s->kind == STEP_PRODUCT_F32 ? "float" : "uint8_t";
    struct byte_out *o = &w->calls;
    if (s->kind == STEP_CONV) {
        pith_c_use(w, "conv");
        pith_c_say(o, "        conv(&g, %s, %s, %s, arena + %llu, %u, %u, %s, %s);\n", layer, x, y,
                   (unsigned long long)s->scratch.at, pith_export_rows(s).segments, k->at_once,
                   k->many, k->one);
    } else if (s->kind == STEP_POINTWISE) {
        char scratch[40] = "0";
        if (!s->product.ring && !s->out.stride)
            snprintf(scratch, sizeof scratch, "arena + %llu", (unsigned long long)s->scratch.at);
        pith_c_use(w, "pointwise");
        pith_c_say(o, "        pointwise(%u, %u, %s, %s, %s, %s, %u, %s, %s);\n", g->oh * g->ow,
                   g->c, layer, x, y, scratch, k->at_once, k->many, k->one);
    } else if (s->rows == 1) {
        pith_c_say(o, "        const uint8_t *x = %s;\n        %s(&x, %s, %s);\n", x, k->one, layer,
                   y);
    } else {
        pith_c_say(o,
                   "        const uint8_t *x = %s;\n        %s *y = %s;\n        for (uint32_t r = "
                   "0; r < %u; r++, x += %u, y += "
                   "%u)\n            %s(&x, %s, y);\n",
                   x, type, y, s->rows, s->product.k, s->outputs, k->one, layer);
    }
}

/* Two outputs at a time, as their filters are decoded. */
static void say_coded_product(struct writer *w, uint32_t i, const char *x, const char *y,
                              const struct pixel_kernels *k)
{
    const struct step *s = &w->net->step[i];
    char shifted[200], tables[40];
    int n = snprintf(tables, sizeof tables, "h0, %u", w->net->longest_code[VALUES]);
    if (k->sparse)
        snprintf(tables + n, sizeof tables - (size_t)n, ", h1, %u",
                 w->net->longest_code[DISTANCES]);
    else
        snprintf(tables + n, sizeof tables - (size_t)n, ", 1");
    snprintf(shifted, sizeof shifted, "%s + o", y);
    pith_c_use(w, k->sparse ? "decode_rows" : "decode");
    pith_c_say(
        &w->calls,
        "        struct stream stream = {w%u, 0, 0};\n        int8_t *ring = (int8_t *)(arena + "
        "%llu);\n"
        "        for (uint32_t o = 0; o < %u; o += 2) {\n"
        "        const struct layer l = {ring, b%u + o, f%u + o, %u - o < 2 ? 1 : 2, %u, %u, 0};\n"
        "        %s(&stream, %s, ring, %u);\n",
        i, (unsigned long long)(s->product.ring_at), s->outputs, i, i, s->outputs, stride_of(s),
        s->zero_y, k->sparse ? "decode_rows" : "decode", tables,
        k->sparse ? 2 * pith_export_rows(s).segments : s->product.ring);
    say_product_call(w, i, x, shifted, "&l", k);
    pith_c_say(&w->calls, "        }\n");
}

static bool say_product(struct writer *w, uint32_t i, const char *x, const char *y)
{
    const struct step *s = &w->net->step[i];
    const struct window_shape *g = &s->g;
    struct byte_out *o = &w->calls;
    struct pixel_kernels k;
    const unsigned long long scratch = s->scratch.at;
    const bool f32 = s->kind == STEP_PRODUCT_F32 || s->kind == STEP_GROUPED_F32;
    const bool is_conv = s->kind == STEP_CONV;
    if (s->kind != STEP_PRODUCT && s->kind != STEP_PRODUCT_F32 && s->kind != STEP_POINTWISE)
        say_window(o, g, s->zero_x);
    if (s->kind == STEP_DEPTHWISE) {
        const uint32_t number[] = {g->kh, g->kw, g->dil_w * g->c};
        pith_c_use(w, "conv");
        pith_c_instance(w, k.one, "DEPTHWISE", "depthwise", number, 3);
        pith_c_say(o, "        conv(&g, &l%u, %s, %s, arena + %llu, %u, 1, 0, %s);\n", i, x, y,
                   scratch, g->kh, k.one);
        say_depthwise(w, i);
        return say_layer(w, i, "0");
    }
    if (s->kind == STEP_GROUPED || s->kind == STEP_GROUPED_F32) {
        const uint32_t number[] = {f32};
        pith_c_instance(w, k.one, "CONV_GROUPED", "grouped", number, 1);
        pith_c_say(o, "        %s(&g, &l%u, %s, %s, arena + %llu, %u, %u);\n", k.one, i, x, y,
                   scratch, g->c / g->groups, g->oc / g->groups);
        pith_c_bytes_array(
            w, 'w', i,
            (struct int8_rows){s->product.w, s->outputs, s->product.k, s->product.k, s->outputs});
        return say_layer(w, i, "0");
    }
    pixel_kernels(w, i, is_conv ? g->stride_w * g->c : g->c,
                  is_conv                     ? g->ow
                  : s->kind == STEP_POINTWISE ? g->oh * g->ow
                                              : 1,
                  &k);
    char layer[16];
    snprintf(layer, sizeof layer, "&l%u", i);
    if (s->product.ring)
        say_coded_product(w, i, x, y, &k);
    else
        say_product_call(w, i, x, y, layer, &k);
    return say_layer(w, i, k.pairs);
}

/* Element `at` of a place, and in each iteration `by` further. */
static void copy_place(const struct step *s, const char *place, int64_t at, int64_t by,
                       char text[200])
{
    const int n = snprintf(text, 200, "(%s + %lld", place, (long long)at);
    if (by)
        snprintf(text + n, 200u - (size_t)n, " %c t%u * %lldu)", by < 0 ? '-' : '+', s->copy.loop,
                 (long long)(by < 0 ? -by : by));
    else
        snprintf(text + n, 200u - (size_t)n, ")");
}

static void say_copy(struct writer *w, const struct step *s, const char *x, const char *y)
{
    const struct copy_shape *c = &s->copy;
    struct byte_out *o = &w->calls;
    char from[200], to[200];
    copy_place(s, x, c->x_at, c->x_by, from);
    copy_place(s, y, c->y_at, c->y_by, to);
    if (c->n[COPY_AXES - 2] == 1 &&
        (c->n[COPY_AXES - 1] == 1 || (c->from[COPY_AXES - 1] == 1 && c->to[COPY_AXES - 1] == 1))) {
        pith_c_say(o, "        __builtin_memcpy(%s, %s, %u);\n", to, from,
                   c->n[COPY_AXES - 1] * s->size);
        return;
    }
    pith_c_use(w, "copy");
    pith_c_say(
        o,
        "        static const struct copy c = {{%u, %u, %u, %u}, {%d, %d, %d, %d}, {%d, %d, %d, "
        "%d}};\n",
        c->n[0], c->n[1], c->n[2], c->n[3], c->from[0], c->from[1], c->from[2], c->from[3],
        c->to[0], c->to[1], c->to[2], c->to[3]);
    pith_c_say(o, "        copy_block(&c, %s%s, %s%s, %u);\n",
               s->size > 1 ? "(const uint8_t *)" : "", from, s->size > 1 ? "(uint8_t *)" : "", to,
               s->size);
}

/* The kernel of a step, the part of kernels.h.in that has it, and its call, where $ stands before
 * what the step puts there (say_field). */
#define GRIDS(...) "static const struct grid q[] = {" __VA_ARGS__ "};\n        "
#define NEST "static const struct nest g = {$D};\n        "
#define POOL "static const struct pool g = {$W};\n        "
static const struct {
    const char *name, *part, *call;
} kernel[STEP_KINDS] = {
    [STEP_CONV] = {"conv", NULL, NULL},
    [STEP_POINTWISE] = {"pointwise", NULL, NULL},
    [STEP_GROUPED] = {"conv-grouped", NULL, NULL},
    [STEP_GROUPED_F32] = {"conv-to-f32", NULL, NULL},
    [STEP_DEPTHWISE] = {"depthwise", NULL, NULL},
    [STEP_PRODUCT] = {"product", NULL, NULL},
    [STEP_PRODUCT_F32] = {"product-to-f32", NULL, NULL},
    [STEP_QUANTIZE] = {"quantize", "quantize", "quantize($x, $y, $C, $P, $2);"},
    [STEP_QUANTIZE_CHANNELS] = {"quantize-channels", "quantize_channels",
                                "quantize_channels($x, $y, $o, $k, f$i, t$i);"},
    [STEP_DEQUANTIZE] = {"dequantize", "dequantize", "dequantize($x, $y, $c, $p, $0);"},
    [STEP_COMBINE] = {"combine", "combine",
                      GRIDS("{$0}, {$1}, {$2}") "combine($x, $b, $y, $n, $s, q, $m, $u);"},
    [STEP_TABLE] = {"table", "table", "look_up(t$i, $x, $y, $n);"},
    [STEP_FLIP] = {"i8-to-u8", NULL,
                   "for (uint32_t i = 0; i < $n; i++)\n            ($y)[i] = ($x)[i] ^ 128;"},
    [STEP_MAX_POOL] = {"max-pool", "max_pool", POOL "max_pool(&g, $x, $y, 1, $e, 0, $t);"},
    [STEP_AVERAGE_POOL] = {"average-pool", "average_pool",
                           POOL GRIDS("{$0}, {$2}") "average_pool(&g, $x, $y, 1, $e, q, $t);"},
    [STEP_MEAN] = {"mean", "mean", GRIDS("{$0}, {$2}") "mean($x, $a, $e, $y, q);"},
    [STEP_SOFTMAX_BYTES] = {"softmax-bytes", "softmax_bytes",
                            GRIDS("{$0}, {$2}") "softmax_bytes($x, $y, $r, $k, $S, q);"},
    [STEP_COPY] = {"copy", NULL, NULL},
    [STEP_FILL] = {"fill", NULL, "__builtin_memset($y, $f, $B);"},
    [STEP_RESIZE_NEAREST] = {"nearest", "resize_nearest",
                             "resize_nearest((const uint8_t *)($x), (uint8_t *)($y), $r, $H, p$i, "
                             "$z);"},
    [STEP_RESIZE_LINEAR] = {"linear-f32", "resize_linear",
                            "resize_linear($x, $y, $r, $H, p$i, f$i, $R);"},
    [STEP_LOOP] = {"loop", NULL, "for (uint32_t t$i = 0; t$i < $r; t$i++) {"},
    [STEP_LOOP_END] = {"loop", NULL, "}"},
    [STEP_SOFTMAX] = {"softmax-f32", "softmax", "softmax($x, $y, $r, $k, $N);"},
    [STEP_SCALE_SHIFT] = {"scale-shift-f32", "scale_shift",
                          "scale_shift($x, $y, f$i, f$i + $o, $o, $k);"},
    [STEP_PRODUCTS] = {"products-f32", "products", NEST "products(&g, $x, $b, $X, $y);"},
    [STEP_ATTENTION] = {"attention-f32", "attention",
                        NEST "attention(&g, $x, $b, $X, $Y, $y, $S, $F);"},
    [STEP_NORMALIZE] = {"normalize-f32", "normalize",
                        "normalize($x, $y, $b, $X, $r, $s, $k, $N, $F, $Z);"},
    [STEP_REDUCE] = {"reduce-f32", "reduce", NEST "reduce(&g, $x, $y, $A);"},
    [STEP_ARG] = {"arg", "arg", "arg($x, $y, $r, $k, $N, $l, $L);"},
    [STEP_GEMM_F32] = {"gemm-f32", "gemm_f32", "$K($x, w$i, $T, $b, $y, $r, $o, $k, $s);"},
    [STEP_CONV_F32] = {"conv-f32", "conv_f32",
                       "static const struct window_f32 g = {$V};\n        $K(&g, $x, w$i, $T, $b, "
                       "$y);"},
    [STEP_ACTIVATE] = {"activation-f32", NULL,
                       "const float *x = $x;\n        float *y = $y;\n        for (uint32_t i = "
                       "0; i < $n; i++)\n            y[i] = $E;"},
    [STEP_BINARY_F32] = {"binary-f32", NULL,
                         "const float *a = $x, *b = $b;\n        float *y = $y;\n$d            "
                         "*y++ = $O;"},
    [STEP_MAX_POOL_F32] = {"max-pool-f32", "max_pool_f32",
                           POOL "max_pool_f32(&g, $x, $y, $e, 1, 0, 1);"},
    [STEP_POOL_F32] = {"average-pool-f32", "average_pool_f32",
                       POOL "average_pool_f32(&g, $x, $y, $e, 1, 0, $t);"},
    [STEP_MEAN_F32] = {"mean-f32", "mean_f32", "mean_f32($x, $y, $e, $a);"},
};

/* Element-wise functions of x[i]; $F, $G: their numbers. */
static const struct {
    const char *part, *text;
} function[] = {
    [ACT_RELU] = {NULL, "x[i] < 0.0f ? 0.0f : x[i]"},
    [ACT_CLIP] = {"clip", "clip($F, $G, x[i])"},
    [ACT_LEAKY] = {NULL, "x[i] < 0.0f ? $F * x[i] : x[i]"},
    [ACT_SIGMOID] = {"sigmoid", "sigmoid(x[i])"},
    [ACT_TANH] = {"tanh", "tanh_of(x[i])"},
    [ACT_HARD_SIGMOID] = {"clip", "clip(0.0f, 1.0f, $F * x[i] + $G)"},
    [ACT_HARD_SWISH] = {"clip", "x[i] * clip(0.0f, 1.0f, 1.0f / 6.0f * x[i] + 0.5f)"},
    [ACT_GELU] = {"gelu", "gelu(x[i])"},
    [ACT_GELU_TANH] = {"gelu_tanh", "gelu_tanh(x[i])"},
    [FUNCTION_SQRT] = {"sqrt", "sqrt_of(x[i])"},
    [FUNCTION_SQUARE] = {NULL, "x[i] * x[i]"},
    [FUNCTION_RECIPROCAL] = {NULL, "1.0f / x[i]"},
    [FUNCTION_NEG] = {NULL, "-x[i]"},
    [FUNCTION_EXP] = {"exp", "exp_f32(x[i])"},
};

/* Kernel and centroids of weights that are floats. */
struct float_kernel {
    char name[80];
    const char *centroids;
    uint32_t apart;
};

static void say_call(struct writer *w, uint32_t i, const struct float_kernel *k, const char *text);

static void say_four(struct byte_out *o, const uint32_t n[4])
{
    pith_c_say(o, "{%u, %u, %u, %u}", n[0], n[1], n[2], n[3]);
}

/* Of the elements of a and b at i0 to i3. */
static void say_binary(struct byte_out *o, const struct step *s)
{
    const char *name[] = {"a", "b"};
    char text[2][120];
    for (uint32_t i = 0; i < 2; i++)
        snprintf(text[i], sizeof text[i], "%s[i0 * %u + i1 * %u + i2 * %u + i3 * %u]", name[i],
                 s->loops.step[i][0], s->loops.step[i][1], s->loops.step[i][2],
                 s->loops.step[i][3]);
    if (s->op == PITH_OP_PRELU)
        pith_c_say(o, "(%s < 0.0f ? %s : 1.0f) * ", text[0], text[1]);
    pith_c_say(o,
               s->op == PITH_OP_ADD   ? "%s + %s"
               : s->op == PITH_OP_SUB ? "%s - %s"
               : s->op == PITH_OP_MUL ? "%s * %s"
               : s->op == PITH_OP_DIV ? "%s / %s"
                                      : "%s",
               text[0], text[1]);
}

static void say_field(struct writer *w, uint32_t i, const struct float_kernel *k, char field)
{
    const struct step *s = &w->net->step[i];
    const struct window_shape *g = &s->g;
    const struct store *x = &w->net->store[s->x[0] == STORE_NONE ? 0 : s->x[0]],
                       *y = &w->net->store[s->y == STORE_NONE ? 0 : s->y];
    struct byte_out *o = &w->calls;
    char text[96];
    switch (field) {
    case 'x':
    case 'b':
    case 'X':
    case 'Y': {
        const uint32_t from = s->x[field == 'x' ? 0 : field == 'b' ? 1 : field == 'X' ? 2 : 3];
        pith_c_say(o, "%s", from == STORE_NONE ? "0" : place(w, from, false, text));
        return;
    }
    case 'y':
        pith_c_say(o, "%s", place(w, s->y, true, text));
        return;
    case '0':
    case '1':
    case '2':
        pith_c_f32(o, s->grid[field - '0'].scale);
        pith_c_say(o, ", %d", s->grid[field - '0'].zero);
        return;
    case 'F':
    case 'G':
        pith_c_f32(o, field == 'F' ? s->act.a : s->act.b);
        return;
    case 'E':
        if (function[s->act.kind].part)
            pith_c_use(w, function[s->act.kind].part);
        say_call(w, i, k, function[s->act.kind].text);
        return;
    case 'K':
        pith_c_say(o, "%s", k->name);
        return;
    case 'T':
        pith_c_say(o, "%s, %u", k->centroids, k->apart);
        return;
    case 'S':
        pith_c_say(o, "(float *)(void *)(arena + %llu)", (unsigned long long)s->scratch.at);
        return;
    case 'D':
        say_four(o, s->loops.dim);
        pith_c_say(o, ", %u, {", s->product.k);
        for (uint32_t j = 0; j < 5; j++) {
            say_four(o, s->loops.step[j]);
            pith_c_say(o, j < 4 ? ", " : "}");
        }
        return;
    case 'd':
        for (uint32_t j = 0; j < 4; j++)
            pith_c_say(o, "        for (uint32_t i%u = 0; i%u < %u; i%u++)\n", j, j,
                       s->loops.dim[j], j);
        return;
    case 'O':
        say_binary(o, s);
        return;
    case 'H':
        pith_c_say(o, "%u, %u, %u, %u", g->h, g->w, g->oh, g->ow);
        return;
    case 'W':
        pith_c_say(o, "%u, %u, %u, %u, %u, %u, %u, %u, %u, %u, %u", g->h, g->w, g->oh, g->ow, g->c,
                   g->kh, g->kw, g->stride_h, g->stride_w, g->pad_top, g->pad_left);
        return;
    case 'V':
        pith_c_say(o, "%u, %u, %u, %u, %u, %u, %u, %u, %u, %u, %u, %u, %u, %u, %u", g->c, g->h,
                   g->w, g->oc, g->oh, g->ow, g->kh, g->kw, g->stride_h, g->stride_w, g->dil_h,
                   g->dil_w, g->pad_top, g->pad_left, g->groups);
        return;
    default:
        break;
    }
    const uint64_t number = field == 'i'   ? i
                            : field == 'n' ? y->bytes / y->element
                            : field == 'B' ? y->bytes
                            : field == 'C' ? y->channels
                            : field == 'P' ? y->pixels
                            : field == 'c' ? x->channels
                            : field == 'p' ? x->pixels
                            : field == 'r' ? s->rows
                            : field == 'o' ? s->outputs
                            : field == 'k' ? s->product.k
                            : field == 'N' ? s->columns
                            : field == 's' ? s->spread
                            : field == 'f' ? s->fill
                            : field == 'z' ? s->size
                            : field == 'a' ? g->h * g->w
                            : field == 'e' ? g->c
                            : field == 't' ? (s->pool.smallest      ? 255
                                              : s->pool.include_pad ? g->kh * g->kw
                                                                    : 0)
                            : field == 'm' ? s->multiply
                            : field == 'u' ? s->relu
                            : field == 'A' ? s->act.kind
                            : field == 'Z' ? s->about_zero
                            : field == 'R' ? s->resizes_rows
                            : field == 'l' ? s->pool.smallest
                                           : s->pool.largest;
    pith_c_say(o, "%llu", (unsigned long long)number);
}

static void say_call(struct writer *w, uint32_t i, const struct float_kernel *k, const char *text)
{
    for (; *text; text++)
        if (*text == '$')
            say_field(w, i, k, *++text);
        else
            pith_out_u8(&w->calls, (uint8_t)*text);
}

static bool say_step(struct writer *w, uint32_t i)
{
    const struct step *s = &w->net->step[i];
    const bool brackets = s->y != STORE_NONE;
    struct float_kernel k = {.centroids = ""};
    char x[96] = "", y[96] = "";
    bool ok = true;
    if (s->x[0] != STORE_NONE)
        place(w, s->x[0], false, x);
    if (brackets) {
        place(w, s->y, true, y);
        if (s->out.at)
            snprintf(y + strlen(y), sizeof y - strlen(y), " + %u", s->out.at);
        pith_c_say(&w->calls, "    { /* %u %s */\n", i, kernel[s->kind].name);
    }
    if (s->product.w)
        ok = say_product(w, i, x, y);
    else if (s->kind == STEP_COPY)
        say_copy(w, s, x, y);
    if (kernel[s->kind].part)
        pith_c_use(w, kernel[s->kind].part);
    if (s->table)
        pith_c_u8_array(w, 't', i, s->table, s->kind == STEP_TABLE ? 256 : s->outputs);
    if (s->index)
        pith_c_u16_array(w, 'p', i, s->index, 2ull * s->outputs);
    if (s->product.factor && !s->product.w)
        pith_c_f32_array(w, 'f', i, s->product.factor,
                         s->outputs * (s->kind == STEP_SCALE_SHIFT ? 2 : 1));
    if (s->product.wf) {
        const bool conv = s->kind == STEP_CONV_F32;
        const uint32_t number[] = {pith_c_float_weights(w, i, &k.centroids, &k.apart),
                                   s->transposed};
        pith_c_instance(w, k.name, conv ? "CONV_F32" : "GEMM_F32", kernel[s->kind].part, number,
                        conv ? 2 : 1);
    }
    if (kernel[s->kind].call) {
        pith_c_say(&w->calls, brackets ? "        " : "    ");
        say_call(w, i, &k, kernel[s->kind].call);
        pith_c_say(&w->calls, "\n");
    }
    if (brackets)
        pith_c_say(&w->calls, "    }\n");
    return ok;
}

/* ---- all
 * ------------------------------------------------------------------------------------------------
 */

/* Of stores that step i is the first to read. */
static void constants_of_stores(struct writer *w, uint32_t i)
{
    for (uint32_t v = 0; v < w->net->n_stores; v++) {
        const struct store *s = &w->net->store[v];
        if (s->constant && s->first == i)
            pith_c_f32_array(w, 'c', v, s->constant, s->bytes / 4);
    }
}

enum pith_status pith_export_emit(const struct network *net, struct pith_export *e,
                                  struct pith_error *err)
{
    struct writer w = {.net = net, .name = net->opts->name};
    enum pith_status st = PITH_OK;
    for (size_t i = 0; i + 1 < sizeof w.upper && w.name[i]; i++)
        w.upper[i] =
            w.name[i] >= 'a' && w.name[i] <= 'z' ? (char)(w.name[i] - 'a' + 'A') : w.name[i];
    *e = (struct pith_export){0};
    e->layer = pith_model_alloc(net->m, net->n_steps + 1u, sizeof *e->layer);
    if (!e->layer)
        return pith_error_no_memory(err);
    uint64_t times = 1;
    pith_c_use(&w, "compiler");
    for (uint32_t i = 0; i < net->n_steps && !st; i++) {
        const struct step *s = &net->step[i];
        const uint64_t before = w.model_bytes;
        if (s->kind == STEP_NOTHING)
            continue;
        constants_of_stores(&w, i);
        times *= s->kind == STEP_LOOP ? s->rows : 1;
        times /= s->kind == STEP_LOOP_END ? net->step[s->rows].rows : 1;
        if (!say_step(&w, i))
            st = pith_error_fill(err, PITH_ERR_UNSUPPORTED,
                                 "layer '%s': a scale of its results is outside 2^-56 to 2^8, "
                                 "which integers alone do not have",
                                 s->name);
        if (s->kind == STEP_LOOP_END)
            continue;
        e->layer[e->n_layers++] = (struct pith_export_layer){
            .name = s->name,
            .kernel = kernel[s->kind].name,
            .macs = s->macs * times,
            .model_bytes = w.model_bytes - before,
            .output_bytes = s->y == STORE_NONE ? 0 : net->store[s->y].bytes};
        e->macs += s->macs * times;
        e->instructions += pith_export_instructions(net, s) * times;
    }
    e->model_bytes = w.model_bytes;
    e->code_bytes = w.code_bytes + (uint64_t)BYTES_OF_A_STEP * net->n_steps;
    e->arena_bytes = net->arena_bytes;
    e->stack_bytes = pith_export_stack_bytes(net);
    if (!st && (w.constants.failed || w.kernels.failed || w.calls.failed))
        st = pith_error_no_memory(err);
    if (!st && !net->counts)
        st = pith_c_files(&w, e, err);
    pith_out_clear(&w.constants);
    pith_out_clear(&w.kernels);
    pith_out_clear(&w.calls);
    return st;
}
