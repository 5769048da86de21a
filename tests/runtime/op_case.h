/* SPDX-License-Identifier: MIT */
/* op_case.h - the cases of op_cases.inc (gen_op_cases.py): operators with inputs drawn from a seed,
 * or given, and onnxruntime's answers. */
#ifndef OP_CASE_H
#define OP_CASE_H

#include <math.h>
#include "one_op.h"
#include "op_interface/op_attr.h"

struct case_tensor {
    enum pith_type type;
    struct shape shape;
};

struct op_case {
    const char *name;
    enum pith_op op;
    uint32_t seed, positive; /* set of inputs drawn positive */
    uint32_t n_in;
    struct case_tensor in[5];
    const int32_t *attr; /* slot, n, n words; ...; -1 */
    uint32_t n_out;
    struct case_tensor out[3];
    const double *given; /* inputs, one behind the other; NULL: drawn */
    const double *expected;
};

/* clang-format off */
#define T(type, ...) {PITH_##type, {sizeof((uint32_t[]){0, __VA_ARGS__}) / 4 - 1, {__VA_ARGS__}}}
#define TENSORS(...) sizeof((struct case_tensor[]){__VA_ARGS__}) / sizeof(struct case_tensor), {__VA_ARGS__}
#define ATTR(...) (const int32_t[]){__VA_ARGS__}
#define NUMBERS(...) (const double[]){__VA_ARGS__}
/* clang-format on */

static const struct op_case cases[] = {
#include "op_cases.inc"
};

#undef T
#undef TENSORS
#undef ATTR
#undef NUMBERS

static inline uint16_t f16_of(double d) /* multiples of 1/32 below 8: exact */
{
    if (d == 0)
        return 0;
    int e;
    double m = frexp(fabs(d), &e); /* 0.5 <= m < 1 */
    return (uint16_t)((d < 0 ? 0x8000 : 0) | ((e + 14) << 10) | ((int)(m * 2048) & 0x3ff));
}

static inline void put(void *data, enum pith_type type, size_t i, double v)
{
    switch (type) {
    case PITH_F32:
        ((float *)data)[i] = (float)v;
        break;
    case PITH_F16:
        ((uint16_t *)data)[i] = f16_of(v);
        break;
    case PITH_F64:
        ((double *)data)[i] = v;
        break;
    case PITH_I8:
        ((int8_t *)data)[i] = (int8_t)v;
        break;
    case PITH_I16:
        ((int16_t *)data)[i] = (int16_t)v;
        break;
    case PITH_U16:
        ((uint16_t *)data)[i] = (uint16_t)v;
        break;
    case PITH_I32:
        ((int32_t *)data)[i] = (int32_t)v;
        break;
    case PITH_I64:
        ((int64_t *)data)[i] = (int64_t)v;
        break;
    default:
        ((uint8_t *)data)[i] = (uint8_t)v;
    }
}

/* draw() of the generator */
static inline double drawn_value(uint32_t *state, enum pith_type type, bool positive)
{
    *state = *state * 1664525u + 1013904223u;
    int v = (int)(*state >> 20 & 255) - 128;
    v = positive ? abs(v) + 1 : v;
    switch (type) {
    case PITH_F32:
    case PITH_F16:
    case PITH_F64:
        return v / 32.0;
    case PITH_BOOL:
        return abs(v) / 32 % 2;
    case PITH_U8:
    case PITH_U16:
        return abs(v);
    default:
        return v;
    }
}

static inline void load_case(struct one_op *t, const struct op_case *c)
{
    const double *given = c->given;
    one_op_open(t, c->op, c->n_in, c->n_out);
    for (const int32_t *a = c->attr; a[0] >= 0; a += 2 + a[1])
        for (int32_t i = 0; i < a[1]; i++)
            t->attr[a[0] + i] = a[2 + i];
    for (uint32_t i = 0; i < c->n_in; i++) {
        const enum pith_type type = c->in[i].type;
        const size_t n = shape_elems(&c->in[i].shape);
        uint32_t state = c->seed + i;
        t->in[i] = (struct tview){type, c->in[i].shape, malloc(n * pith_type_bytes(type))};
        assert_non_null(t->in[i].data);
        for (size_t k = 0; k < n; k++)
            put(t->in[i].data, type, k,
                given ? *given++ : drawn_value(&state, type, c->positive >> i & 1u));
    }
}

#endif
