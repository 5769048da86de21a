/* SPDX-License-Identifier: MIT */
/* test_sizes_of_plans.c - plans of one file for changing sizes: what a size of 0 leaves out, what
 * it cannot, and which plans are kept. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include "test_run.h"
#include "model/model_sizes.h"
#include "op_interface/op_attr.h"
#include "pith_host.h"
#include "pith_pack.h"
#include "sample_models.h"

/* ---- allocations that are counted (tests/module.mk has the linker replace these) ------------- */

static uint64_t allocations;

void *__real_malloc(size_t n);
void *__wrap_malloc(size_t n);
void *__wrap_malloc(size_t n)
{
    allocations++;
    return __real_malloc(n);
}

void *__real_calloc(size_t n, size_t size);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_calloc(size_t n, size_t size)
{
    allocations++;
    return __real_calloc(n, size);
}

void *__real_realloc(void *p, size_t n);
void *__wrap_realloc(void *p, size_t n);
void *__wrap_realloc(void *p, size_t n)
{
    allocations++;
    return __real_realloc(p, n);
}

void *__real_aligned_alloc(size_t align, size_t n);
void *__wrap_aligned_alloc(size_t align, size_t n);
void *__wrap_aligned_alloc(size_t align, size_t n)
{
    allocations++;
    return __real_aligned_alloc(align, n);
}

/* ---- models --------------------------------------------------------------------------------- */

enum { X, Y, ONE, N_ENDS };

/* x [P, 3] and y [P + 2, 3], where P is 2, and a constant [1, 3]. */
static struct pith_model *begin(void)
{
    static const uint32_t x[] = {2, 3}, y[] = {4, 3}, one[] = {1, 3};
    struct sample_random r = sample_random_of(1);
    struct pith_model *m = sample_new();
    m->inputs[m->n_inputs++] = add_value(m, "x", PITH_F32, 2, x);
    m->inputs[m->n_inputs++] = add_value(m, "y", PITH_F32, 2, y);
    add_constant(m, &r, "one", 2, one);
    return m;
}

static uint32_t step(struct pith_model *m, uint32_t op, const char *name, uint32_t a, uint32_t b)
{
    const uint32_t in[] = {a, b};
    char out[32];
    snprintf(out, sizeof out, "%s_out", name);
    return add_node(m, op, name, out, b == PITH_VALUE_NONE ? 1 : 2, in)->out[0];
}

static int32_t *attr(struct pith_model *m)
{
    return m->nodes[m->n_nodes - 1].attr;
}

/* Rows 0 to P - 1 of y. */
static uint32_t first_rows(struct pith_model *m)
{
    uint32_t v = step(m, PITH_OP_SLICE, "slice", Y, PITH_VALUE_NONE);
    int32_t *a = attr(m);
    a[ATTR_SLICE_AXES] = a[ATTR_SLICE_STARTS] = a[ATTR_SLICE_ENDS] = 1;
    a[ATTR_SLICE_ENDS + 1] = 2;
    return v;
}

/* P times the constant. */
static uint32_t repeated(struct pith_model *m)
{
    uint32_t v = step(m, PITH_OP_TILE, "tile", ONE, PITH_VALUE_NONE);
    attr(m)[ATTR_TILE_REPEATS] = 2;
    attr(m)[ATTR_TILE_REPEATS + 1] = 2;
    attr(m)[ATTR_TILE_REPEATS + 2] = 1;
    return v;
}

static struct pith_buffer finish(struct pith_model *m, uint32_t output, const char *sizes)
{
    struct pith_buffer packed = {0};
    struct pith_error err = {0};
    m->outputs[m->n_outputs++] = output;
    SUCCEEDS(pith_model_infer_shapes(m, &err) || pith_model_read_sizes(m, sizes, &err) ||
             pith_model_pack(m, NULL, &packed, &err));
    pith_model_free(m);
    return packed;
}

static struct pith_plans *open_plans(const struct pith_buffer *b)
{
    struct pith_plans *p = NULL;
    assert_int_equal(pith_plans_open(b->data, b->bytes, NULL, &p, NULL), PITH_OK);
    return p;
}

static enum pith_status plan_at(struct pith_plans *p, uint32_t size, struct pith_plan **plan,
                                struct pith_error *err)
{
    assert_int_equal(pith_sizes_set(pith_plans_sizes(p), "P", size, err), PITH_OK);
    return pith_plans_get(p, 0, plan, err);
}

/* A size that is 0 is 1 in a file; the model keeps it. */
TEST(test_empty_is_packed_as_1)
{
    struct pith_model *m = begin();
    struct pith_buffer packed[2] = {{0}};
    struct pith_error err = {0};
    const uint32_t in[] = {step(m, PITH_OP_RELU, "relu", X, PITH_VALUE_NONE), Y};
    m->outputs[m->n_outputs++] = add_node(m, PITH_OP_CONCAT, "join", "joined", 2, in)->out[0];
    attr(m)[ATTR_AXIS] = 0;
    assert_int_equal(pith_model_infer_shapes(m, &err), PITH_OK);
    assert_int_equal(pith_model_read_sizes(m, "size P 2 9\ndim 0 0 P\ndim 1 0 P + 2", &err),
                     PITH_OK);
    for (uint32_t p = 0; p < 2; p++) {
        assert_int_equal(pith_model_set_sizes(m, &p, &err), PITH_OK);
        assert_int_equal(pith_model_pack(m, NULL, &packed[p], &err), PITH_OK);
        assert_int_equal(m->sizes[0].value, p);
        assert_int_equal(m->values[X].dim[0], p);
    }
    assert_int_equal(packed[0].bytes, packed[1].bytes);
    assert_memory_equal(packed[0].data, packed[1].data, packed[0].bytes);
    pith_buffer_free(&packed[0]);
    pith_buffer_free(&packed[1]);
    pith_model_free(m);
}

/* Concat(Relu(x), first rows of y + P constants, y) */
static struct pith_buffer joined(void)
{
    struct pith_model *m = begin();
    uint32_t a = step(m, PITH_OP_RELU, "relu", X, PITH_VALUE_NONE), b = first_rows(m),
             c = step(m, PITH_OP_ADD, "add", b, repeated(m));
    const uint32_t in[] = {a, c, Y};
    uint32_t v = add_node(m, PITH_OP_CONCAT, "join", "joined", 3, in)->out[0];
    attr(m)[ATTR_AXIS] = 0;
    /* nodes: relu, slice, tile, add, join */
    return finish(m, v, "size P 2 9\ndim 0 0 P\ndim 1 0 P + 2\nattr 1 19 P\nattr 2 1 P");
}

TEST(test_empty_is_left_out)
{
    struct pith_buffer b = joined();
    struct pith_plans *p = open_plans(&b);
    static const uint32_t sizes[] = {0, 2, 9, 1, 0};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        const uint32_t n = sizes[i];
        struct pith_plan *plan;
        struct pith_tensor t;
        struct pith_error err = {0};
        if (plan_at(p, n, &plan, &err))
            fail_msg("P %u: %s", n, err.text);
        assert_int_equal(pith_plan_input(plan, 0, &t), PITH_OK);
        assert_int_equal(t.dim[0], n);
        assert_int_equal(t.bytes, n * 12);
        assert_int_equal(pith_plan_layer_count(plan) == 1, n == 0);
        float *x = pith_plan_input_data(plan, 0), *y = pith_plan_input_data(plan, 1);
        for (uint32_t k = 0; k < n * 3; k++)
            x[k] = -1.0f;
        for (uint32_t k = 0; k < (n + 2) * 3; k++)
            y[k] = (float)k;
        assert_int_equal(pith_plan_run(plan), PITH_OK);
        assert_int_equal(pith_plan_output(plan, 0, &t), PITH_OK);
        assert_int_equal(t.dim[0], n + n + n + 2);
        const float *out = pith_plan_output_data(plan, 0);
        for (uint32_t k = 0; k < n * 3; k++)
            assert_true(out[k] == 0.0f && out[(n + k / 3) * 3 + k % 3] != (float)k);
        for (uint32_t k = 0; k < (n + 2) * 3; k++)
            assert_true(out[n * 6 + k] == (float)k);
    }
    pith_plans_close(p);
    pith_buffer_free(&b);
}

/* What computes something of no elements, or gives none, is refused, and other sizes still run. */
TEST(test_empty_is_refused)
{
    for (int i = 0; i < 3; i++) {
        struct pith_model *m = begin();
        uint32_t v = step(m, i == 0 ? PITH_OP_SOFTMAX : PITH_OP_RELU, "node", X, PITH_VALUE_NONE);
        if (i == 1) {
            v = step(m, PITH_OP_PAD, "pad", v, PITH_VALUE_NONE);
            attr(m)[ATTR_PAD_BEGIN] = attr(m)[ATTR_PAD_END] = 2;
        }
        if (i < 2) {
            v = step(m, PITH_OP_CONCAT, "join", v, Y);
            attr(m)[ATTR_AXIS] = 0;
        }
        struct pith_buffer b = finish(m, v, "size P 2 9\ndim 0 0 P\ndim 1 0 P + 2");
        struct pith_plans *p = open_plans(&b);
        struct pith_plan *plan;
        struct pith_error err = {0};
        assert_int_equal(plan_at(p, 0, &plan, &err), PITH_ERR_UNSUPPORTED);
        assert_non_null(strstr(err.text, "where size P is 0"));
        assert_int_equal(plan_at(p, 1, &plan, &err), PITH_OK);
        pith_plans_close(p);
        pith_buffer_free(&b);
    }
}

/* What other nodes do not take is said of the sizes, not of the file. */
TEST(test_not_taken)
{
    struct pith_model *m = begin();
    const uint32_t v = step(m, PITH_OP_RESHAPE, "flat", X, PITH_VALUE_NONE);
    attr(m)[ATTR_RESHAPE_DIMS] = 1;
    attr(m)[ATTR_RESHAPE_DIMS + 1] = 6;
    struct pith_buffer b = finish(m, v, "size P 2 9\ndim 0 0 P");
    struct pith_plans *p = open_plans(&b);
    struct pith_plan *plan;
    struct pith_error err = {0};
    assert_int_equal(plan_at(p, 3, &plan, &err), PITH_ERR_ARGUMENT);
    assert_string_equal(err.text, "the model does not run where P is 3");
    assert_int_equal(plan_at(p, 2, &plan, &err), PITH_OK);
    pith_plans_close(p);
    pith_buffer_free(&b);
}

/* The same sizes give the same plan, of which the last two stay as they are. */
TEST(test_kept)
{
    struct pith_buffer b = joined();
    struct pith_plans *p = open_plans(&b);
    struct pith_plan *plan, *again, *before = NULL;
    assert_int_equal(pith_sizes_set_max(pith_plans_sizes(p), "P", 1000, NULL), PITH_OK);
    for (uint32_t n = 1; n < 400; n++) {
        float first = -1.0f;
        if (before)
            memcpy(&first, pith_plan_input_data(before, 0), sizeof first);
        assert_int_equal(plan_at(p, n, &plan, NULL), PITH_OK);
        assert_int_equal(plan_at(p, n, &again, NULL), PITH_OK);
        assert_ptr_equal(plan, again);
        if (before)
            assert_true(first == *(float *)pith_plan_input_data(before, 0));
        *(float *)pith_plan_input_data(plan, 0) = (float)n;
        before = plan;
    }
    struct pith_opts opts = {.size_bytes = sizeof opts, .cpu_mask = PITH_CPU_REF};
    pith_plans_forget(p, &opts);
    assert_int_equal(pith_plans_get(p, 0, &plan, NULL), PITH_OK);
    struct pith_tensor t;
    assert_int_equal(pith_plan_input(plan, 0, &t), PITH_OK);
    assert_int_equal(t.dim[0], 399);
    pith_plans_close(p);
    pith_buffer_free(&b);
}

/* Neither a plan nor memory is made for sizes that were used before, also where they take turns. */
TEST(test_seen_sizes_cost_nothing)
{
    struct pith_buffer b = joined();
    struct pith_plans *p = open_plans(&b);
    struct pith_plan *plan[3], *again;
    for (uint32_t n = 0; n < 3; n++)
        assert_int_equal(plan_at(p, 3 + n, &plan[n], NULL), PITH_OK);
    const uint64_t before = allocations;
    for (uint32_t i = 0; i < 30; i++) {
        struct pith_tensor x[2] = {{.rank = 2, .dim = {3 + i % 3, 3}}, {.rank = UINT32_MAX}};
        assert_int_equal(pith_sizes_fit(pith_plans_sizes(p), x, 2, NULL), PITH_OK);
        assert_int_equal(pith_plans_get(p, 0, &again, NULL), PITH_OK);
        assert_ptr_equal(again, plan[i % 3]);
        assert_int_equal(pith_plan_run(again), PITH_OK);
    }
    assert_int_equal(allocations, before);
    pith_plans_close(p);
    pith_buffer_free(&b);
}

RUN_TESTS
