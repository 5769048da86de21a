/* SPDX-License-Identifier: MIT */
/* device_case.h - steps as the device runs them: what a step becomes is run on the emulator, in
 * several orders of lanes and blocks, and held against what the outputs hold before. Every tensor
 * ends at a page that must not be touched; outputs and working memory are NaN before. */
#ifndef DEVICE_CASE_H
#define DEVICE_CASE_H

#include "runtime/op_case.h"
#include "ptx_launch.h"
#include "guard_page.h"
#include "kernels/kernels.h"
#include "cuda/device_huffman.h"
#include "cuda/device_lower.h"
#include "cuda/device_plan.h"
#include "cuda/device_product.h"
#include "cuda/blas.h"
#include "cuda/kernels/half_bits.h"
#include "cuda/pack_forms.h"
#include "cuda/pack_relative.h"
#include "op_interface/op_attr.h"

static const uint32_t orders[] = {0, 1, 2, 77};
#define WORK_BYTES (1u << 20)

/* Memory of the host serves as the device's: addresses are the same. */
static bool half_products;  /* by tensor cores, with factors of 16 bits */
static uint32_t processors; /* multiprocessors to plan for; 0: as of a large device */

struct conv_case {
    uint32_t images, groups, channels, outputs, h, w, kh, kw;
    int32_t stride, dilation;
};

/* There are one image and several, groups, windows of one tap and of many, and pixels and terms
 * that end within tiles and slices. */
static const struct conv_case shared_convs[] = {
    {1, 1, 30, 20, 13, 17, 3, 3, 2, 1}, {2, 2, 16, 17, 9, 7, 3, 3, 1, 2},
    {3, 1, 131, 70, 5, 7, 1, 1, 1, 1},  {1, 3, 26, 16, 1, 70, 1, 5, 3, 1},
    {2, 1, 40, 65, 4, 3, 2, 3, 1, 1},   {1, 1, 33, 9, 9, 9, 5, 2, 2, 2}};

/* Opens a convolution with three inputs, which are not given yet. */
static inline void open_conv(struct one_op *t, const struct conv_case *c,
                             const struct pith_kernels *kernels)
{
    one_op_open(t, PITH_OP_CONV, 3, 1);
    t->kernels = kernels;
    t->attr[ATTR_CONV_GROUP] = (int32_t)c->groups;
    one_op_list(t, ATTR_CONV_STRIDES, 2, (int32_t[]){c->stride, 1});
    one_op_list(t, ATTR_CONV_DILATIONS, 2, (int32_t[]){c->dilation, 1});
    one_op_list(t, ATTR_CONV_PADS, 4, (int32_t[]){1, 0, 1, 2});
}
static struct pith_plan plan = {.arena = NULL, .arena_bytes = UINT64_MAX};

static inline void run_actions(const struct lowering *l, uint32_t order)
{
    for (uint32_t i = 0; i < l->n_actions; i++) {
        const struct action *a = &l->action[i];
        uint32_t *to = (uint32_t *)(uintptr_t)a->to;
        if (a->kind == ACTION_LAUNCH)
            ptx_launch(a->kernel, a->grid, l->args + a->arg, order);
        else if (a->kind == ACTION_COPY)
            memmove(to, (const void *)(uintptr_t)a->from, a->bytes);
        else
            for (uint64_t k = 0; k < a->bytes / 4; k++)
                to[k] = a->value;
    }
}

static inline size_t bytes_of(const struct tview *t)
{
    return shape_elems(&t->shape) * pith_type_bytes(t->type);
}

static inline double value_at(const struct tview *t, size_t i)
{
    return (double)((const float *)t->data)[i];
}

/* bound NULL: the same bits, but those of NaNs. Else element i may be bound[i] off. */
static inline void check_output(const char *name, uint32_t order, const struct tview *got,
                                const struct tview *expected, const double *bound)
{
    size_t each = pith_type_bytes(got->type), n = shape_elems(&got->shape);
    for (size_t i = 0; i < n; i++) {
        const uint8_t *a = (const uint8_t *)got->data + i * each;
        const uint8_t *b = (const uint8_t *)expected->data + i * each;
        if (memcmp(a, b, each) == 0)
            continue;
        double x = got->type == PITH_F32 ? value_at(got, i) : 0;
        double y = got->type == PITH_F32 ? value_at(expected, i) : 0;
        bool both_nan = x != x && y != y;
        if (got->type != PITH_F32 || !(both_nan || (bound && fabs(x - y) <= bound[i])))
            fail_msg("%s, order %u, element %zu: expected %.9g, got %.9g", name, order, i, y, x);
    }
}

/* Weights as the device has them. */
static inline struct guarded pack_constants(const struct lowering *l)
{
    struct guarded g = guard_new(l->constant_bytes, 1);
    for (uint32_t i = 0; i < l->n_constants; i++)
        assert_int_equal(
            pith_device_pack(&l->constant[i], (uint8_t *)g.data + l->constant[i].offset), PITH_OK);
    return g;
}

/* What the device makes of the step, in each order. false: it has no kernel for it. behind: steps
 * that it is to do, too, whose last output is then looked at alone; or NULL. */
static inline bool try_device_joined(const char *name, const struct step *product,
                                     const struct device_join *behind, const double *bound)
{
    const struct step *s = behind ? behind->last : product;
    struct lowering l = {.plan = &plan,
                         .half = half_products,
                         .processors = processors,
                         .arena = (uintptr_t)plan.arena};
    if (behind)
        l.behind = *behind;
    struct guarded work = guard_new(WORK_BYTES, 1), out[ONE_OP_MAX];
    struct tview expected[ONE_OP_MAX];
    l.work = (uintptr_t)work.data;
    for (uint32_t i = 0; i < s->args.n_out; i++) {
        expected[i] = *s->args.out[i];
        out[i] = guard_new(bytes_of(&expected[i]), 1);
        s->args.out[i]->data = out[i].data;
    }
    bool known = pith_device_step(&l, product);
    struct guarded constants = pack_constants(&l);
    if (known && l.n_constants) {
        l.n_actions = l.n_args = 0;
        l.constants = (uintptr_t)constants.data;
        known = pith_device_step(&l, product);
    }
    assert_true(!known || l.joined == (behind ? behind->n : 0));
    assert_false(l.no_memory);
    assert_true(l.work_bytes <= WORK_BYTES);
    for (size_t k = 0; known && k < sizeof orders / sizeof *orders; k++) {
        memset(work.data, 0xff, WORK_BYTES);
        for (uint32_t i = 0; i < s->args.n_out; i++)
            memset(out[i].data, 0xff, bytes_of(&expected[i]));
        run_actions(&l, orders[k]);
        for (uint32_t i = 0; i < s->args.n_out; i++)
            check_output(name, orders[k], s->args.out[i], &expected[i], bound);
    }
    for (uint32_t i = 0; i < s->args.n_out; i++) {
        s->args.out[i]->data = expected[i].data;
        guard_free(&out[i]);
    }
    guard_free(&work);
    guard_free(&constants);
    pith_device_lowering_free(&l);
    return known;
}

static inline bool try_device(const char *name, const struct step *s, const double *bound)
{
    return try_device_joined(name, s, NULL, bound);
}

/* A constant of the plan with the elements of t, in i8 or u8, until t has others. */
static inline struct weight byte_weight(const struct tview *t)
{
    const size_t n = shape_elems(&t->shape);
    return (struct weight){.type = t->type,
                           .shape = t->shape,
                           .count = n,
                           .nnz = n,
                           .support = SUPPORT_DENSE,
                           .grid = GRID_PLAIN,
                           .code = CODE_PLAIN,
                           .index_stream = {t->data, n}};
}

/* Inputs behind which nothing may be read. */
static inline void guard_inputs(struct one_op *t, struct guarded *in)
{
    for (uint32_t i = 0; i < t->args.n_in; i++) {
        size_t bytes = t->in[i].data ? bytes_of(&t->in[i]) : 0;
        in[i] = guard_new(bytes, 1);
        if (!bytes)
            continue;
        memcpy(in[i].data, t->in[i].data, bytes);
        free(t->in[i].data);
        t->in[i].data = in[i].data;
    }
}

#endif
