/* SPDX-License-Identifier: MIT */
/* one_op.h - runs a single operator in a test: attributes, inputs, then shape, need and run, as the
 * executor does it. Outputs lie between canaries. */
#ifndef ONE_OP_H
#define ONE_OP_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "test_run.h"
#include "backwards.h"
#include "op_interface/op_exec.h"
#include "core/op_number.h"

#define ONE_OP_MAX 8u
#define CANARY 0xa5
#define CANARY_BYTES 64u

struct one_op {
    const struct op_info *info;
    int32_t attr[PITH_OP_MAX_SLOTS];
    struct tview in[ONE_OP_MAX], out[ONE_OP_MAX];
    const struct tview *in_ptr[ONE_OP_MAX];
    struct tview *out_ptr[ONE_OP_MAX];
    uint8_t *memory[ONE_OP_MAX]; /* of outputs, canaries included */
    struct op_args args;
    uint64_t lowered[(OP_LOWERED_MAX + 7) / 8];
    const struct pith_kernels *kernels; /* NULL: the operator needs none */
};

static inline void one_op_open(struct one_op *t, enum pith_op op, uint32_t n_in, uint32_t n_out)
{
    memset(t, 0, sizeof *t);
    t->info = pith_op_get(op);
    assert_non_null(t->info);
    assert_int_equal(t->info->op, op);
    assert_true(t->info->n_slots <= PITH_OP_MAX_SLOTS);
    pith_op_attr_defaults(t->info, t->attr);
    for (uint32_t i = 0; i < ONE_OP_MAX; i++) {
        t->in_ptr[i] = &t->in[i];
        t->out_ptr[i] = &t->out[i];
    }
    t->args = (struct op_args){.info = t->info,
                               .attr = t->attr,
                               .n_in = n_in,
                               .n_out = n_out,
                               .in = t->in_ptr,
                               .out = t->out_ptr,
                               .lowered = t->lowered};
}

static inline void one_op_list(struct one_op *t, uint32_t slot, uint32_t n, const int32_t *values)
{
    t->attr[slot] = (int32_t)n;
    for (uint32_t i = 0; i < n; i++)
        t->attr[slot + 1 + i] = values[i];
}

/* dims: rank of them */
static inline void one_op_in(struct one_op *t, uint32_t i, enum pith_type type, uint32_t rank,
                             const uint32_t *dims, const void *data)
{
    t->in[i] = (struct tview){.type = type, .shape = {.rank = rank}};
    for (uint32_t k = 0; k < rank; k++)
        t->in[i].shape.dim[k] = dims[k];
    memcpy(&t->in[i].data, &data, sizeof data); /* inputs are never written */
}

static inline enum pith_status one_op_shape(struct one_op *t)
{
    enum pith_status st = pith_op_check(t->info, t->attr, t->args.n_in, t->args.n_out);
    return st ? st : t->info->shape(&t->args);
}

static inline void one_op_run(struct one_op *t, bool split)
{
    struct op_env env = {.kernels = t->kernels, .parallel_for = split ? backwards : NULL};
    struct op_need need = {0};
    if (t->info->need)
        assert_int_equal(t->info->need(&t->args, &env, &need), PITH_OK);
    env.scratch = malloc(need.scratch_bytes + 1);
    assert_non_null(env.scratch);
    for (uint32_t i = 0; i < t->args.n_out; i++) {
        uint64_t bytes;
        assert_int_equal(pith_shape_bytes(&t->out[i].shape, t->out[i].type, &bytes), PITH_OK);
        free(t->memory[i]);
        t->memory[i] = malloc(bytes + 2 * CANARY_BYTES);
        assert_non_null(t->memory[i]);
        memset(t->memory[i], CANARY, bytes + 2 * CANARY_BYTES);
        t->out[i].data = t->memory[i] + CANARY_BYTES;
    }
    t->info->run(&t->args, &env);
    free(env.scratch);
}

static inline void one_op_close(struct one_op *t)
{
    for (uint32_t i = 0; i < t->args.n_out; i++) {
        if (!t->memory[i])
            continue;
        uint64_t bytes;
        assert_int_equal(pith_shape_bytes(&t->out[i].shape, t->out[i].type, &bytes), PITH_OK);
        for (uint32_t k = 0; k < CANARY_BYTES; k++) {
            assert_int_equal(t->memory[i][k], CANARY);
            assert_int_equal(t->memory[i][CANARY_BYTES + bytes + k], CANARY);
        }
        free(t->memory[i]);
    }
}

/* One f32 output, exactly. */
static inline void one_op_expect(struct one_op *t, uint32_t rank, const uint32_t *dims,
                                 const float *values)
{
    assert_int_equal(one_op_shape(t), PITH_OK);
    assert_int_equal(t->out[0].shape.rank, rank);
    for (uint32_t i = 0; i < rank; i++)
        assert_int_equal(t->out[0].shape.dim[i], dims[i]);
    one_op_run(t, false);
    const float *y = t->out[0].data;
    for (size_t i = 0; i < shape_elems(&t->out[0].shape); i++) {
        if (!(y[i] == values[i] || (y[i] != y[i] && values[i] != values[i])))
            fail_msg("element %zu: expected %.9g, got %.9g", i, (double)values[i], (double)y[i]);
    }
    one_op_close(t);
}

#define DIMS(...)                                                                                  \
    (sizeof((uint32_t[]){__VA_ARGS__}) / sizeof(uint32_t)), (uint32_t[])                           \
    {                                                                                              \
        __VA_ARGS__                                                                                \
    }
#define LIST(...)                                                                                  \
    (sizeof((int32_t[]){__VA_ARGS__}) / sizeof(int32_t)), (int32_t[])                              \
    {                                                                                              \
        __VA_ARGS__                                                                                \
    }

#endif
