/* SPDX-License-Identifier: MIT */
/* device_case.h - steps as the device runs them: what a step becomes is run on the emulator, in
 * several orders of lanes and blocks, and held against what the outputs hold before. Every tensor
 * ends at a page that must not be touched; outputs and working memory are NaN before. */
#ifndef DEVICE_CASE_H
#define DEVICE_CASE_H

#include "runtime/op_case.h"
#include "emu_launch.h"
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
#include "half_values.h"

static const uint32_t orders[] = {0, 1, 2, 77};
#define N_ORDERS (sizeof orders / sizeof *orders)
#define WORK_BYTES (1u << 20)

static struct pith_kernels reference;

static __attribute__((constructor)) void fill_reference(void)
{
    pith_kernels_fill(&reference, 0);
}

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

/* A case in 16 bits: floats of the step are numbers of a type (enum value_type), exactly, and so
 * its outputs are rounded; but for some that stay f32. */
static bool types_alternate = true;
static bool in_halves;            /* the program runs all cases so */
static uint32_t values, stay_f32; /* stay_f32: 0 none, 1 input 0, 2 the other inputs, 3 outputs */

static inline bool is_halved(uint32_t input, bool is_output)
{
    return values && (is_output ? stay_f32 != 3 : stay_f32 != (input ? 2 : 1));
}

static inline uint32_t bits_of(float f)
{
    return values == VALUE_F16 ? f16_of_f32(f) : bf16_of_f32(f);
}

static inline float rounded_to_values(float f)
{
    return half_values(values == VALUE_BF16)[bits_of(f)];
}

static inline void round_tensor(const struct tview *t)
{
    for (size_t i = 0; t && t->data && t->type == PITH_F32 && i < shape_elems(&t->shape); i++)
        ((float *)t->data)[i] = rounded_to_values(((float *)t->data)[i]);
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

/* bound NULL: the same bits, but those of NaNs. Else element i may be bound[i] off; halved: and
 * what rounding makes of it, twice, as what is behind a sum may be applied to its rounded value. */
static inline void check_output(const char *name, uint32_t order, const struct tview *got,
                                const struct tview *expected, const double *bound, bool halved)
{
    const double ulp = !halved ? 0 : values == VALUE_F16 ? 0x1p-11 : 0x1p-8;
    size_t each = pith_type_bytes(got->type), n = shape_elems(&got->shape);
    for (size_t i = 0; i < n; i++) {
        const uint8_t *a = (const uint8_t *)got->data + i * each;
        const uint8_t *b = (const uint8_t *)expected->data + i * each;
        if (memcmp(a, b, each) == 0)
            continue;
        double x = got->type == PITH_F32 ? value_at(got, i) : 0;
        double y = got->type == PITH_F32 ? value_at(expected, i) : 0;
        bool both_nan = x != x && y != y;
        const double rounded = halved ? (double)rounded_to_values((float)y) : y;
        bool near = bound ? fabs(x - y) <= bound[i] + 2 * ulp * fabs(y) + ulp / 4 : x == rounded;
        if (got->type != PITH_F32 || !(both_nan || ((bound || halved) && near)))
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

/* The floats of t in memory of 16 bits, which replaces them for the lowering. */
static inline struct guarded halve(struct lowering *l, const struct tview *t)
{
    struct guarded h = guard_new(2 * shape_elems(&t->shape), 1);
    for (size_t i = 0; i < shape_elems(&t->shape); i++)
        ((uint16_t *)h.data)[i] = (uint16_t)bits_of(((const float *)t->data)[i]);
    pith_device_add_converted(l, &(struct device_converted){t, h.data, values});
    return h;
}

static inline uint32_t halve_inputs(struct lowering *l, const struct op_args *args,
                                    struct guarded *halved)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < args->n_in; i++)
        if (is_halved(i, false) && args->in[i] && args->in[i]->data &&
            args->in[i]->type == PITH_F32 && !(i == 1 && args->weight))
            halved[n++] = halve(l, args->in[i]);
    if (is_halved(1, false) && args->fuse.residual)
        halved[n++] = halve(l, args->fuse.residual);
    return n;
}

static inline void widen(const struct guarded *half, const struct tview *t)
{
    for (size_t i = 0; i < shape_elems(&t->shape); i++)
        ((float *)t->data)[i] =
            half_values(values == VALUE_BF16)[((const uint16_t *)half->data)[i]];
}

/* The same actions in one launch; false: some have no place there. */
static inline bool run_program(const struct lowering *l, uint32_t order)
{
    enum { BLOCKS = 3 };
    struct program_table t = {.blocks = BLOCKS, .room = order % 2 ? 1024 : 32768};
    if (!pith_device_program_table(l, l->action, l->n_actions, NULL, 0, &t))
        return false;
    struct guarded table = guard_new((t.bytes + 15) & ~UINT64_C(15), 1);
    uint8_t *at = table.data;
    memset(at, 0, PROGRAM_STEPS);
    pith_device_program_table(l, l->action, l->n_actions, at, (uintptr_t)at, &t);
    ptx_launch(LAUNCH_program, (const uint32_t[]){BLOCKS, 1, 1}, &t.args, order);
    guard_free(&table);
    return true;
}

/* What a step writes: working memory, and each output, also in 16 bits where half[i] has data. */
struct written {
    const struct step *s;
    struct guarded work, out[ONE_OP_MAX], half[ONE_OP_MAX];
    struct tview expected[ONE_OP_MAX];
};

static inline struct guarded *output_of(struct written *w, uint32_t i)
{
    return w->half[i].data ? &w->half[i] : &w->out[i];
}

static inline size_t bytes_in(const struct written *w, uint32_t i)
{
    return bytes_of(&w->expected[i]) / (w->half[i].data ? 2 : 1);
}

/* Launch by launch or all in one; false: it has no place in one. */
static inline bool run_once(const struct lowering *l, struct written *w, uint32_t order,
                            bool in_one)
{
    memset(w->work.data, 0xff, WORK_BYTES);
    for (uint32_t i = 0; i < w->s->args.n_out; i++)
        memset(output_of(w, i)->data, 0xff, bytes_in(w, i));
    if (in_one)
        return run_program(l, order);
    run_actions(l, order);
    return true;
}

static inline void run_and_check(const char *name, const struct lowering *l, struct written *w,
                                 uint32_t order, bool in_one, const double *bound)
{
    const bool ran = run_once(l, w, order, in_one);
    for (uint32_t i = 0; i < w->s->args.n_out && ran; i++) {
        if (w->half[i].data)
            widen(&w->half[i], w->s->args.out[i]);
        check_output(name, order, w->s->args.out[i], &w->expected[i], bound, w->half[i].data);
    }
}

/* The same bits, but those of NaNs. */
static inline void check_ptx(const char *name, const void *ptx, const void *emulated, size_t bytes)
{
    for (size_t i = 0, n; i < bytes; i += n) {
        float a = 0, b = 0;
        n = bytes - i < sizeof a ? bytes - i : sizeof a;
        memcpy(&a, (const uint8_t *)ptx + i, n);
        memcpy(&b, (const uint8_t *)emulated + i, n);
        if (memcmp(&a, &b, n) == 0 || (isnan(a) && isnan(b)))
            continue;
        fprintf(stderr, "%s: PTX stores other bits than the emulator at byte %zu\n", name, i);
        abort();
    }
}

/* PTX's kernels leave in all memory that is written what the emulator has left there. */
static inline void run_on_ptx(const char *name, const struct lowering *l, struct written *w,
                              bool in_one)
{
    uint8_t *kept[ONE_OP_MAX], *work = malloc(l->work_bytes + 1);
    memcpy(work, w->work.data, l->work_bytes);
    for (uint32_t i = 0; i < w->s->args.n_out; i++) {
        kept[i] = malloc(bytes_in(w, i) + 1);
        memcpy(kept[i], output_of(w, i)->data, bytes_in(w, i));
    }
    for (int both = 0; both <= in_one; both++)
        if (run_once(l, w, ON_PTX, both)) {
            check_ptx(name, w->work.data, work, l->work_bytes);
            for (uint32_t i = 0; i < w->s->args.n_out; i++)
                check_ptx(name, output_of(w, i)->data, kept[i], bytes_in(w, i));
        }
    for (uint32_t i = 0; i < w->s->args.n_out; i++)
        free(kept[i]);
    free(work);
}

/* ORDERS_IN_TURN in the environment: a case runs in the order whose turn it is, and in those in
 * which one of its kernels has not run yet. */
static inline bool runs_in(const struct lowering *l, size_t order, bool has_turn)
{
    static bool ran[LAUNCH_KERNELS][N_ORDERS + 1];
    bool runs = has_turn || !getenv("ORDERS_IN_TURN");
    for (uint32_t i = 0; i < l->n_actions; i++)
        runs |= l->action[i].kind == ACTION_LAUNCH && !ran[l->action[i].kernel][order];
    for (uint32_t i = 0; i < l->n_actions && runs; i++)
        if (l->action[i].kind == ACTION_LAUNCH)
            ran[l->action[i].kernel][order] = true;
    return runs;
}

/* ONLY_KERNELS in the environment: its names, each with spaces around, of which a case has to
 * launch one. */
static inline bool is_wanted(const struct lowering *l)
{
    const char *names = getenv("ONLY_KERNELS");
    bool wanted = !names;
    for (uint32_t i = 0; i < l->n_actions && !wanted; i++) {
        char name[80];
        if (l->action[i].kind != ACTION_LAUNCH)
            continue;
        snprintf(name, sizeof name, " %s ", emu_kernel_name(l->action[i].kernel));
        wanted = strstr(names, name);
    }
    return wanted;
}

static inline void run_in_orders(const char *name, const struct lowering *l, struct written *w,
                                 const double *bound)
{
    static uint32_t round;
    const uint32_t turn = ++round % N_ORDERS;
    if (ptx_given()) {
        run_and_check(name, l, w, orders[0], false, bound);
        run_on_ptx(name, l, w, turn == 0);
        return;
    }
    for (size_t k = 0; k < N_ORDERS; k++)
        if (runs_in(l, k, k == turn))
            run_and_check(name, l, w, orders[k], false, bound);
    /* in one launch orders take turns from case to case */
    if (runs_in(l, N_ORDERS, turn == 0))
        run_and_check(name, l, w, orders[turn], true, bound);
}

/* What the device makes of the step, in each order, by launches and in one. false: it has no kernel
 * for it. behind: steps that it is to do, too, whose last output is then looked at alone; or NULL.
 */
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
    struct written w = {.s = s, .work = guard_new(WORK_BYTES, 1)};
    struct guarded halved[ONE_OP_MAX + 1];
    const uint32_t n_halved = behind ? 0 : halve_inputs(&l, &s->args, halved);
    l.work = (uintptr_t)w.work.data;
    for (uint32_t i = 0; i < s->args.n_out; i++) {
        w.expected[i] = *s->args.out[i];
        w.out[i] = guard_new(bytes_of(&w.expected[i]), 1);
        s->args.out[i]->data = w.out[i].data;
        if (is_halved(0, true) && !behind && w.expected[i].type == PITH_F32)
            w.half[i] = halve(&l, s->args.out[i]);
    }
    bool known = pith_device_step(&l, product);
    struct guarded constants = pack_constants(&l);
    if (known && l.n_constants) {
        l.n_actions = l.n_args = 0;
        l.converted_bytes = 0;
        l.constants = (uintptr_t)constants.data;
        known = pith_device_step(&l, product);
    }
    assert_true(!known || l.joined == (behind ? behind->n : 0));
    assert_false(l.no_memory);
    assert_true(l.work_bytes <= WORK_BYTES);
    if (known && is_wanted(&l))
        run_in_orders(name, &l, &w, bound);
    for (uint32_t i = 0; i < s->args.n_out; i++) {
        s->args.out[i]->data = w.expected[i].data;
        guard_free(&w.out[i]);
        if (w.half[i].data)
            guard_free(&w.half[i]);
    }
    for (uint32_t i = 0; i < n_halved; i++)
        guard_free(&halved[i]);
    guard_free(&w.work);
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

/* Inputs behind which nothing may be read. Where cases are in 16 bits, types and what stays f32
 * take turns. */
static inline void guard_inputs(struct one_op *t, struct guarded *in)
{
    static uint32_t round;
    values = in_halves ? (types_alternate ? VALUE_F16 + round / 4 % 2 : values) : VALUE_F32;
    stay_f32 = (round + round / 4) % 4; /* weights of cases often have four kinds in turn, too */
    round++;
    for (uint32_t i = 0; values && i < t->args.n_in; i++)
        round_tensor(&t->in[i]);
    if (values)
        round_tensor(t->args.fuse.residual);
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

/* All tests of the program, in f32 and in 16 bits. */
#define RUN_IN_BOTH                                                                                \
    int main(void)                                                                                 \
    {                                                                                              \
        const int failed = run_listed_tests(NULL, NULL);                                           \
        in_halves = true;                                                                          \
        return failed ? failed : run_listed_tests(NULL, NULL);                                     \
    }

#endif
