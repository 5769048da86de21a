/* SPDX-License-Identifier: MIT */
/* Operators as the device runs them: what a step becomes is run on the emulator, in several orders
 * of lanes and blocks, and held against the CPU's reference. Every tensor ends at a page that must
 * not be touched; outputs and working memory are NaN before. */
#include "runtime/op_case.h"
#include "emu_launch.h"
#include "guard_page.h"
#include "test_cuda.h"

static const uint32_t orders[] = {0, 1, 2, 77};
#define WORK_BYTES (1u << 20)

/* Memory of the host serves as the device's: addresses are the same. */
static struct pith_plan plan = {.arena = NULL, .arena_bytes = UINT64_MAX};

static void run_actions(const struct lowering *l, uint32_t order)
{
    for (uint32_t i = 0; i < l->n_actions; i++) {
        const struct action *a = &l->action[i];
        uint32_t *to = (uint32_t *)(uintptr_t)a->to;
        if (a->kind == ACTION_LAUNCH)
            emu_launch(a->kernel, a->grid, l->args + a->arg, order);
        else if (a->kind == ACTION_COPY)
            memmove(to, (const void *)(uintptr_t)a->from, a->bytes);
        else
            for (uint64_t k = 0; k < a->bytes / 4; k++)
                to[k] = a->value;
    }
}

static size_t bytes_of(const struct tview *t)
{
    return shape_elems(&t->shape) * pith_type_bytes(t->type);
}

static double value_at(const struct tview *t, size_t i)
{
    return (double)((const float *)t->data)[i];
}

/* bound NULL: the same bits, but those of NaNs. Else element i may be bound[i] off. */
static void check_output(const char *name, uint32_t order, const struct tview *got,
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

/* What the device makes of the step, in each order. false: it has no kernel for it. */
static bool try_device(const char *name, const struct step *s, const double *bound)
{
    struct lowering l = {.plan = &plan};
    struct guarded work = guard_new(WORK_BYTES, 1), out[ONE_OP_MAX];
    struct tview expected[ONE_OP_MAX];
    l.work = (uintptr_t)work.data;
    for (uint32_t i = 0; i < s->args.n_out; i++) {
        expected[i] = *s->args.out[i];
        out[i] = guard_new(bytes_of(&expected[i]), 1);
        s->args.out[i]->data = out[i].data;
    }
    bool known = pith_device_step(&l, s);
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
    pith_device_lowering_free(&l);
    return known;
}

/* Inputs behind which nothing may be read. */
static void guard_inputs(struct one_op *t, struct guarded *in)
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

/* Operators whose cases all run on the device; others may, where they have a kernel. */
static const enum pith_op whole[] = {
    PITH_OP_ADD,        PITH_OP_SUB,          PITH_OP_MUL,        PITH_OP_DIV,     PITH_OP_PRELU,
    PITH_OP_RELU,       PITH_OP_LEAKY_RELU,   PITH_OP_CLIP,       PITH_OP_SIGMOID, PITH_OP_TANH,
    PITH_OP_PAD,        PITH_OP_SLICE,        PITH_OP_TRANSPOSE,  PITH_OP_CONCAT,  PITH_OP_SPLIT,
    PITH_OP_SQUEEZE,    PITH_OP_UNSQUEEZE,    PITH_OP_RESHAPE,    PITH_OP_FLATTEN, PITH_OP_IDENTITY,
    PITH_OP_BATCH_NORM, PITH_OP_HARD_SIGMOID, PITH_OP_HARD_SWISH,
};

static bool is_whole(enum pith_op op)
{
    for (size_t i = 0; i < sizeof whole / sizeof *whole; i++)
        if (whole[i] == op)
            return true;
    return false;
}

static bool run_case(const struct op_case *c)
{
    struct one_op t;
    struct guarded in[ONE_OP_MAX];
    load_case(&t, c);
    assert_int_equal(one_op_shape(&t), PITH_OK);
    guard_inputs(&t, in);
    one_op_run(&t, false);
    struct step s = {.args = t.args};
    bool known = try_device(c->name, &s, NULL);
    if (!known && is_whole(c->op))
        fail_msg("%s: no kernel on the device", c->name);
    one_op_close(&t);
    for (uint32_t i = 0; i < c->n_in; i++)
        guard_free(&in[i]);
    return known;
}

static void test_all_cases(void **state)
{
    (void)state;
    uint32_t known = 0;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        known += run_case(&cases[i]);
    assert_true(known > 120);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_all_cases)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
