/* SPDX-License-Identifier: MIT */
/* Operators that pick, put, repeat and rank elements, and transposed convolution, against
 * onnxruntime's answers (move_cases.inc, made by gen_move_cases.py): floats within 1e-5 of the
 * output's largest, everything else exactly. Each case runs whole and cut into ranges, with the
 * reference kernels and with this CPU's. Then indices outside their axes, and what the shape rules
 * refuse. */
#include <math.h>
#include "kernels/kernels.h"
#include "one_op.h"
#include "pith_runtime.h"
#include "op_interface/op_attr.h"

struct move_tensor {
    enum pith_type type;
    struct shape shape;
    const double *data; /* f16: rounded to integers that are exact in both */
};

struct move_case {
    const char *name;
    enum pith_op op;
    uint32_t n_in, n_out;
    const int32_t *attr; /* slot, n, n words; ...; -1 */
    struct move_tensor in[4], out[2];
};

static const struct move_case cases[] = {
#include "move_cases.inc"
};

static uint16_t f16_of(double d) /* small whole numbers */
{
    int e;
    double m = frexp(fabs(d), &e);
    int bits = (d < 0 ? 0x8000 : 0) | ((e + 14) << 10) | ((int)(m * 2048) & 0x3ff);
    return d == 0 ? 0 : (uint16_t)bits;
}

static void put(void *data, enum pith_type type, size_t i, double v)
{
    if (type == PITH_F32)
        ((float *)data)[i] = (float)v;
    else if (type == PITH_F16)
        ((uint16_t *)data)[i] = f16_of(v);
    else if (type == PITH_I64)
        ((int64_t *)data)[i] = (int64_t)v;
    else if (type == PITH_I32)
        ((int32_t *)data)[i] = (int32_t)v;
    else
        ((uint8_t *)data)[i] = (uint8_t)v;
}

static void *elements(const struct move_tensor *t)
{
    size_t n = shape_elems(&t->shape);
    void *data = malloc(n * pith_type_bytes(t->type));
    assert_non_null(data);
    for (size_t i = 0; i < n; i++)
        put(data, t->type, i, t->data[i]);
    return data;
}

static void load_attrs(struct one_op *t, const int32_t *attr)
{
    for (const int32_t *a = attr; a[0] >= 0; a += 2 + a[1])
        for (int32_t i = 0; i < a[1]; i++)
            t->attr[a[0] + i] = a[2 + i];
}

static void check_output(const struct move_case *c, uint32_t k, const struct tview *got)
{
    const struct move_tensor *want = &c->out[k];
    size_t n = shape_elems(&want->shape);
    if (got->type != want->type || !pith_shape_equal(&got->shape, &want->shape))
        fail_msg("%s (case %zu): output %u has another type or shape", c->name, (size_t)(c - cases),
                 k);
    void *data = elements(want);
    if (want->type != PITH_F32) {
        if (memcmp(data, got->data, n * pith_type_bytes(want->type)) != 0)
            fail_msg("%s (case %zu): output %u differs", c->name, (size_t)(c - cases), k);
    } else {
        const float *y = got->data, *w = data;
        double largest = 0;
        for (size_t i = 0; i < n; i++)
            largest = fmax(largest, fabs((double)w[i]));
        for (size_t i = 0; i < n; i++)
            if (!(fabs((double)y[i] - (double)w[i]) <= 1e-5 * largest))
                fail_msg("%s (case %zu), element %zu: expected %.9g, got %.9g", c->name,
                         (size_t)(c - cases), i, (double)w[i], (double)y[i]);
    }
    free(data);
}

static void run_case(const struct move_case *c)
{
    struct one_op t;
    one_op_open(&t, c->op, c->n_in, c->n_out);
    load_attrs(&t, c->attr);
    for (uint32_t i = 0; i < c->n_in; i++)
        t.in[i] = (struct tview){c->in[i].type, c->in[i].shape, elements(&c->in[i])};
    enum pith_status st = one_op_shape(&t);
    if (st)
        fail_msg("%s (case %zu): status %d", c->name, (size_t)(c - cases), (int)st);
    struct pith_kernels kernels;
    for (int round = 0; round < 4; round++) {
        pith_kernels_fill(&kernels, round < 2 ? 0 : pith_cpu_features());
        t.kernels = &kernels;
        one_op_run(&t, round & 1);
        for (uint32_t i = 0; i < c->n_out; i++)
            check_output(c, i, &t.out[i]);
    }
    one_op_close(&t);
    for (uint32_t i = 0; i < c->n_in; i++)
        free(t.in[i].data);
}

TEST(test_cases)
{
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        run_case(&cases[i]);
}

TEST(test_index_clamped)
{
    static const float x[4] = {1, 2, 3, 4}, u[3] = {5, 6, 7};
    static const int64_t wild[3] = {INT64_MIN, INT64_MAX, -5};
    static const int32_t wild32[3] = {INT32_MIN, INT32_MAX, 4};
    struct one_op t;
    for (int32_t kind = 0; kind < 3; kind++) {
        one_op_open(&t, PITH_OP_GATHER, 2, 1);
        t.attr[ATTR_GATHER_KIND] = kind;
        one_op_in(&t, 0, PITH_F32, DIMS(4), x);
        one_op_in(&t, 1, PITH_I64, kind == 2 ? 2 : 1, (const uint32_t[]){3, 1}, wild);
        one_op_expect(&t, DIMS(3), (const float[]){1, 4, 1});
    }
    one_op_open(&t, PITH_OP_GATHER, 2, 1);
    one_op_in(&t, 0, PITH_F32, DIMS(4), x);
    one_op_in(&t, 1, PITH_I32, DIMS(3), wild32);
    one_op_expect(&t, DIMS(3), (const float[]){1, 4, 4});
    for (int32_t kind = 0; kind < 2; kind++) {
        one_op_open(&t, PITH_OP_SCATTER, 3, 1);
        t.attr[ATTR_SCATTER_KIND] = kind;
        one_op_in(&t, 0, PITH_F32, DIMS(4), x);
        one_op_in(&t, 1, PITH_I64, kind ? 2 : 1, (const uint32_t[]){3, 1}, wild);
        one_op_in(&t, 2, PITH_F32, DIMS(3), u);
        one_op_expect(&t, DIMS(4), (const float[]){7, 2, 3, 6}); /* the last update counts */
    }
}

struct refusal {
    enum pith_op op;
    enum pith_status status;
    uint32_t n_in;
    struct tview in[3]; /* type 0: left out */
    const int32_t *attr;
};

#define T(kind, ...)                                                                               \
    {                                                                                              \
        PITH_##kind, {sizeof((uint32_t[]){__VA_ARGS__}) / 4, {__VA_ARGS__}}, NULL                  \
    }
#define ATTR(...)                                                                                  \
    (const int32_t[])                                                                              \
    {                                                                                              \
        __VA_ARGS__, -1                                                                            \
    }
#define NO_ATTR                                                                                    \
    (const int32_t[])                                                                              \
    {                                                                                              \
        -1                                                                                         \
    }
#define CORRUPT PITH_ERR_CORRUPT
#define UNSUPPORTED PITH_ERR_UNSUPPORTED

static const struct refusal refusals[] = {
    {PITH_OP_GATHER, CORRUPT, 2, {T(F32, 2), {0}}, NO_ATTR},
    {PITH_OP_GATHER, UNSUPPORTED, 2, {T(F32, 2), T(F32, 2)}, NO_ATTR},
    {PITH_OP_GATHER, CORRUPT, 2, {T(F32, 2), T(I64, 2)}, ATTR(ATTR_GATHER_AXIS, 1, 1)},
    {PITH_OP_GATHER, CORRUPT, 2, {T(F32, 2), T(I64, 2)}, ATTR(ATTR_GATHER_AXIS, 1, 8)},
    {PITH_OP_GATHER, CORRUPT, 2, {T(F32, 2), T(I64, 2)}, ATTR(ATTR_GATHER_KIND, 1, 3)},
    {PITH_OP_GATHER, UNSUPPORTED, 2, {T(F32, 1, 1, 1, 1, 1), T(I64, 1, 1, 1, 1, 1)}, NO_ATTR},
    {PITH_OP_GATHER, CORRUPT, 2, {T(F32, 2, 1, 0x7fffffff), T(I64, 0x7fffffff)}, NO_ATTR},
    {PITH_OP_GATHER, CORRUPT, 2, {T(F32, 2, 2), T(I64, 2)}, ATTR(ATTR_GATHER_KIND, 1, 1)},
    {PITH_OP_GATHER, CORRUPT, 2, {T(F32, 2, 2), T(I64, 2, 3)}, ATTR(ATTR_GATHER_KIND, 1, 1)},
    {PITH_OP_GATHER, PITH_OK, 2, {T(F32, 2, 2), T(I64, 3, 2)}, ATTR(ATTR_GATHER_KIND, 1, 1)},
    {PITH_OP_GATHER, CORRUPT, 2, {T(F32, 2, 2), T(I64, 4, 3)}, ATTR(ATTR_GATHER_KIND, 1, 2)},
    {PITH_OP_GATHER, CORRUPT, 2, {T(F32, 2, 2), T(I64, 3, 1)}, ATTR(ATTR_GATHER_KIND, 2, 2, 1)},
    {PITH_OP_GATHER, CORRUPT, 2, {T(F32, 2, 2), T(I64, 2)}, ATTR(ATTR_GATHER_KIND, 2, 2, 1)},
    {PITH_OP_SCATTER, CORRUPT, 3, {T(F32, 4), T(I64, 2), {0}}, NO_ATTR},
    {PITH_OP_SCATTER, CORRUPT, 3, {T(F32, 4), T(I64, 2), T(I32, 2)}, NO_ATTR},
    {PITH_OP_SCATTER, CORRUPT, 3, {T(F32, 4), T(I64, 2), T(F32, 3)}, NO_ATTR},
    {PITH_OP_SCATTER, CORRUPT, 3, {T(F32, 4, 1), T(I64, 2, 2), T(F32, 2, 2)}, NO_ATTR},
    {PITH_OP_SCATTER,
     UNSUPPORTED,
     3,
     {T(U8, 4), T(I64, 2), T(U8, 2)},
     ATTR(ATTR_SCATTER_REDUCE, 1, 1)},
    {PITH_OP_SCATTER, PITH_OK, 3, {T(U8, 4), T(I64, 2), T(U8, 2)}, NO_ATTR},
    {PITH_OP_SCATTER,
     CORRUPT,
     3,
     {T(F32, 4), T(I64, 2, 2), T(F32, 2)},
     ATTR(ATTR_SCATTER_KIND, 1, 1)},
    {PITH_OP_SCATTER,
     CORRUPT,
     3,
     {T(F32, 4, 3), T(I64, 2, 1), T(F32, 2, 2)},
     ATTR(ATTR_SCATTER_KIND, 1, 1)},
    {PITH_OP_TILE, CORRUPT, 1, {{0}}, NO_ATTR},
    {PITH_OP_TILE, CORRUPT, 1, {T(F32, 4)}, ATTR(ATTR_TILE_REPEATS, 2, 1, 0)},
    {PITH_OP_TILE, CORRUPT, 1, {T(F32, 4)}, ATTR(ATTR_TILE_REPEATS, 2, 1, INT32_MAX)},
    {PITH_OP_TILE, CORRUPT, 1, {T(F32, 4)}, ATTR(ATTR_TILE_REPEATS, 4, 3, INT32_MAX, INT32_MAX, 1)},
    {PITH_OP_TILE, PITH_OK, 1, {T(F32, 4)}, NO_ATTR},
    {PITH_OP_TILE, PITH_OK, 2, {T(F32, 4), T(I64, 3, 2)}, ATTR(ATTR_TILE_REPEATS, 2, 1, 0)},
    {PITH_OP_TILE, CORRUPT, 2, {T(F32, 4), T(F32, 1 << 30)}, ATTR(ATTR_TILE_REPEATS, 2, 1, 0)},
    {PITH_OP_DEPTH_SPACE, CORRUPT, 1, {T(F32, 1, 4, 2, 2)}, NO_ATTR}, /* block has no default */
    {PITH_OP_DEPTH_SPACE, CORRUPT, 1, {T(F32, 4, 2, 2)}, ATTR(ATTR_DEPTH_SPACE_BLOCK, 1, 2)},
    {PITH_OP_DEPTH_SPACE, CORRUPT, 1, {T(F32, 1, 6, 2, 2)}, ATTR(ATTR_DEPTH_SPACE_BLOCK, 1, 2)},
    {PITH_OP_DEPTH_SPACE, CORRUPT, 1, {T(F32, 1, 6, 2, 3)}, ATTR(ATTR_DEPTH_SPACE_KIND, 2, 2, 2)},
    {PITH_OP_DEPTH_SPACE,
     CORRUPT,
     1,
     {T(F32, 1, 1 << 30, 1, 1)},
     ATTR(ATTR_DEPTH_SPACE_BLOCK, 1, (1 << 15) + 1)},
    {PITH_OP_DEPTH_SPACE,
     CORRUPT,
     1,
     {T(F32, 1, 1 << 30, 1, 1 << 29)},
     ATTR(ATTR_DEPTH_SPACE_BLOCK, 1, 1 << 15)},
    {PITH_OP_TRILU, CORRUPT, 1, {T(F32, 4)}, NO_ATTR},
    {PITH_OP_TRILU, CORRUPT, 1, {T(F32, 4, 4)}, ATTR(ATTR_TRILU_UPPER, 1, 2)},
    {PITH_OP_ONE_HOT, CORRUPT, 2, {T(I64, 4), T(F32, 2)}, NO_ATTR}, /* depth has no default */
    {PITH_OP_ONE_HOT, CORRUPT, 2, {T(I64, 4), T(F32, 3)}, ATTR(ATTR_ONE_HOT_DEPTH, 1, 3)},
    {PITH_OP_ONE_HOT, CORRUPT, 2, {T(I64, 4), T(F32, 2)}, ATTR(ATTR_ONE_HOT_DEPTH, 2, 3, 2)},
    {PITH_OP_ONE_HOT, UNSUPPORTED, 2, {T(F32, 4), T(F32, 2)}, ATTR(ATTR_ONE_HOT_DEPTH, 1, 3)},
    {PITH_OP_ONE_HOT,
     UNSUPPORTED,
     2,
     {T(I64, 1, 1, 1, 1, 1, 1, 1, 1), T(F32, 2)},
     ATTR(ATTR_ONE_HOT_DEPTH, 1, 3)},
    {PITH_OP_TOP_K, CORRUPT, 1, {T(F32, 4)}, NO_ATTR}, /* k has no default */
    {PITH_OP_TOP_K, CORRUPT, 1, {T(F32, 4)}, ATTR(ATTR_TOP_K_K, 1, 5)},
    {PITH_OP_TOP_K, CORRUPT, 1, {T(F32, 4)}, ATTR(ATTR_TOP_K_AXIS, 2, 1, 1)},
    {PITH_OP_TOP_K, UNSUPPORTED, 1, {T(U8, 4)}, ATTR(ATTR_TOP_K_K, 1, 2)},
    {PITH_OP_CONV_TRANSPOSE, UNSUPPORTED, 2, {T(F32, 1, 1, 2), T(I32, 1, 1, 2)}, NO_ATTR},
    {PITH_OP_CONV_TRANSPOSE, CORRUPT, 2, {T(F32, 1, 2, 2), T(F32, 1, 1, 2)}, NO_ATTR},
    {PITH_OP_CONV_TRANSPOSE,
     CORRUPT,
     2,
     {T(F32, 1, 3, 2), T(F32, 3, 1, 2)},
     ATTR(ATTR_CONV_T_GROUP, 1, 2)},
    {PITH_OP_CONV_TRANSPOSE, CORRUPT, 3, {T(F32, 1, 1, 2), T(F32, 1, 1, 2), T(F32, 2)}, NO_ATTR},
    {PITH_OP_CONV_TRANSPOSE,
     CORRUPT,
     2,
     {T(F32, 1, 1, 2), T(F32, 1, 1, 2)},
     ATTR(ATTR_CONV_T_PADS, 3, 2, 2, 1)},
    {PITH_OP_CONV_TRANSPOSE,
     CORRUPT,
     2,
     {T(F32, 1, 1, 2), T(F32, 1, 1, 2)},
     ATTR(ATTR_CONV_T_STRIDES, 3, 2, 1, 1)},
    {PITH_OP_CONV_TRANSPOSE,
     CORRUPT,
     2,
     {T(F32, 1, 1, 1 << 30), T(F32, 1, 1, 2)},
     ATTR(ATTR_CONV_T_STRIDES, 2, 1, 65535)},
    {PITH_OP_CONV_TRANSPOSE,
     UNSUPPORTED,
     2,
     {T(F32, 1, 1, 2, 2, 2, 2, 2), T(F32, 1, 1, 2, 2, 2, 2, 2)},
     NO_ATTR},
    {PITH_OP_CONV_TRANSPOSE, CORRUPT, 2, {T(F32, 1, 1), T(F32, 1, 1)}, NO_ATTR},
};

TEST(test_refusals)
{
    for (size_t i = 0; i < sizeof refusals / sizeof *refusals; i++) {
        const struct refusal *r = &refusals[i];
        struct one_op t;
        one_op_open(&t, r->op, r->n_in, pith_op_get(r->op)->n_out_min);
        load_attrs(&t, r->attr);
        for (uint32_t k = 0; k < r->n_in; k++) {
            t.in[k] = r->in[k];
            if (r->in[k].type == 0)
                t.in_ptr[k] = NULL;
        }
        enum pith_status st = one_op_shape(&t);
        if (st != r->status)
            fail_msg("row %zu (operator %d): expected status %d, got %d", i, (int)r->op,
                     (int)r->status, (int)st);
    }
}

RUN_TESTS
