/* SPDX-License-Identifier: MIT */
/* test_cache.c - keys and values that stay in memory of the caller (opts.caches): the same bits as
 * where they are copied, and nothing else of that memory is written. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include "test_run.h"
#include "model/model_sizes.h"
#include "op_interface/op_attr.h"
#include "pith_host.h"
#include "pith_pack.h"
#include "sample_models.h"

enum { WIDTH = 5, GROUPS = 2, MOST = 12, ROOM = 13, AT = 64 / sizeof(float) };
enum { Q, K, V, PAST_K, PAST_V }; /* inputs */
enum { PRESENT_K, PRESENT_V, Y }; /* outputs */

/* What the network does with the keys. OPEN_BATCH: attends, and the batch of the file is open. */
enum use { ATTENDS, ALSO_READ, OTHER_WAY_ROUND, PAST_READ, OPEN_BATCH };

/* k: axis 1 where rows come before heads, else 2. shared: heads of q for each of the keys. */
struct form {
    uint32_t batch, groups, shared, k_axis, v_axis;
    enum use use;
};

static void set_dims(const struct form *f, uint32_t axis, uint32_t heads, uint32_t n,
                     uint32_t dim[4])
{
    const uint32_t to[4] = {f->batch, axis == 1 ? n : heads, axis == 1 ? heads : n, WIDTH};
    memcpy(dim, to, sizeof to);
}

static uint32_t add_form_input(struct pith_model *m, const struct form *f, const char *name,
                               uint32_t axis, uint32_t heads, uint32_t n)
{
    uint32_t dim[4];
    set_dims(f, axis, heads, n, dim);
    return m->inputs[m->n_inputs++] = add_value(m, name, PITH_F32, 4, dim);
}

/* present = Concat(past, what is new); y = Attention(q, present_k, present_v). P is 3, S 2. */
static struct pith_buffer decoder(const struct form *f)
{
    struct pith_model *m = sample_new();
    struct pith_buffer packed = {0};
    struct pith_error err = {0};
    char sizes[200];
    m->batch_open = f->use == OPEN_BATCH;
    add_form_input(m, f, "q", 2, f->groups * f->shared, 2);
    add_form_input(m, f, "k", f->k_axis, f->groups, 2);
    add_form_input(m, f, "v", f->v_axis, f->groups, 2);
    add_form_input(m, f, "past_k", f->k_axis, f->groups, 3);
    add_form_input(m, f, "past_v", f->v_axis, f->groups, 3);
    struct sample_random r = sample_random_of(1);
    const uint32_t factor =
        f->use == ALSO_READ ? add_constant(m, &r, "factor", 1, (uint32_t[]){1}) : 0;
    const uint32_t v = add_node(m, PITH_OP_RELU, "relu", "new_v", 1, (uint32_t[]){V})->out[0];
    struct pith_node *k_node =
        add_node(m, PITH_OP_CONCAT, "join_k", "present_k", 2,
                 f->use == OTHER_WAY_ROUND ? (uint32_t[]){K, PAST_K} : (uint32_t[]){PAST_K, K});
    k_node->attr[ATTR_AXIS] = (int32_t)f->k_axis;
    struct pith_node *v_node =
        add_node(m, PITH_OP_CONCAT, "join_v", "present_v", 2, (uint32_t[]){PAST_V, v});
    v_node->attr[ATTR_AXIS] = (int32_t)f->v_axis;
    m->outputs[m->n_outputs++] = k_node->out[0];
    m->outputs[m->n_outputs++] = v_node->out[0];
    struct pith_node *node = add_node(m, PITH_OP_ATTENTION, "attend", "y", 3,
                                      (uint32_t[]){Q, k_node->out[0], v_node->out[0]});
    node->attr[ATTR_ATTENTION_LAYOUT] = (f->k_axis == 1) << 1 | (f->v_axis == 1) << 2;
    m->outputs[m->n_outputs++] = node->out[0];
    if (f->use == ALSO_READ)
        m->outputs[m->n_outputs++] =
            add_node(m, PITH_OP_MUL, "more", "z", 2, (uint32_t[]){factor, k_node->out[0]})->out[0];
    if (f->use == PAST_READ) {
        node = add_node(m, PITH_OP_CONCAT, "more", "z", 2, (uint32_t[]){PAST_K, K});
        node->attr[ATTR_AXIS] = (int32_t)f->k_axis;
        m->outputs[m->n_outputs++] = node->out[0];
    }
    snprintf(sizes, sizeof sizes,
             "size P 3 %d\nsize S 2 9\ndim 0 2 S\ndim 1 %u S\ndim 2 %u S\ndim 3 %u P\ndim 4 %u P",
             MOST, f->k_axis, f->v_axis, f->k_axis, f->v_axis);
    SUCCEEDS(pith_model_infer_shapes(m, &err) || pith_model_read_sizes(m, sizes, &err) ||
             pith_model_pack(m, NULL, &packed, &err));
    pith_model_free(m);
    return packed;
}

/* The caches of both, with numbers around them that nothing may change. */
struct memory {
    struct pith_cache cache[2];
    _Alignas(64) float k[1024], v[1024];
};

#define UNTOUCHED -7.25f

static void clear_memory(struct memory *m, const struct form *f, uint32_t room)
{
    for (uint32_t i = 0; i < 1024; i++)
        m->k[i] = m->v[i] = UNTOUCHED;
    m->cache[0] = (struct pith_cache){PAST_K, PRESENT_K, f->k_axis, room, m->k + AT};
    m->cache[1] = (struct pith_cache){PAST_V, PRESENT_V, f->v_axis, room, m->v + AT};
}

static struct pith_plans *open_plans(const struct pith_buffer *b, struct pith_opts *opts,
                                     struct memory *m)
{
    struct pith_plans *p = NULL;
    opts->n_caches = m ? 2 : 0;
    opts->caches = m ? m->cache : NULL;
    assert_int_equal(pith_plans_open(b->data, b->bytes, opts, &p, NULL), PITH_OK);
    return p;
}

static enum pith_status plan_at(struct pith_plans *p, uint32_t past, uint32_t n,
                                struct pith_plan **plan)
{
    assert_int_equal(pith_sizes_set(pith_plans_sizes(p), "P", past, NULL), PITH_OK);
    assert_int_equal(pith_sizes_set(pith_plans_sizes(p), "S", n, NULL), PITH_OK);
    return pith_plans_get(p, 1, plan, NULL);
}

/* Cache c holds t, and around it nothing was written. */
static void check_cache(const struct pith_cache *c, const float *memory,
                        const struct pith_tensor *t, const struct form *f)
{
    const uint32_t rows = c->axis == 1 ? f->batch : f->batch * f->groups;
    const uint32_t each = c->axis == 1 ? f->groups * WIDTH : WIDTH, length = t->dim[c->axis];
    const float *value = t->data;
    for (uint32_t i = 0; i < 1024; i++) {
        const uint32_t at = i - AT, row = at / (c->room * each), in_row = at % (c->room * each);
        const bool inside = i >= AT && row < rows && in_row < length * each;
        assert_true(memory[i] == (inside ? value[row * length * each + in_row] : UNTOUCHED));
    }
}

/* The inputs of `plan` that are no past, from a counter; the past of `plain` from `state`. */
static void fill(struct pith_plan *plain, struct pith_plan *cached, struct sample_random *r)
{
    for (uint32_t i = Q; i <= V; i++) {
        struct pith_tensor t;
        pith_plan_input(plain, i, &t);
        float *x = pith_plan_input_data(plain, i);
        for (uint64_t k = 0; k < t.bytes / sizeof *x; k++)
            x[k] = sample_gauss(r);
        memcpy(pith_plan_input_data(cached, i), x, (size_t)t.bytes);
    }
}

/* Steps of several lengths up to the most, twice. used: whether a step's plan keeps the keys. */
static void run_steps(const struct form *f, struct pith_opts *opts, bool keys_used)
{
    static const uint32_t step[] = {2, 1, 3, 1, 1, 4};
    struct pith_buffer b = decoder(f);
    struct memory *m = aligned_alloc(64, sizeof *m);
    struct sample_random r = sample_random_of(3);
    float *past[2] = {calloc(1024, sizeof(float)), calloc(1024, sizeof(float))};
    assert_true(m && past[0] && past[1]);
    clear_memory(m, f, ROOM);
    struct pith_plans *with = open_plans(&b, opts, m), *without = open_plans(&b, opts, NULL);
    for (uint32_t again = 0; again < 2; again++) {
        clear_memory(m, f, ROOM);
        for (uint32_t i = 0, length = 0; i < sizeof step / sizeof *step; length += step[i++]) {
            struct pith_plan *plain, *cached;
            struct pith_tensor a, c;
            assert_int_equal(plan_at(without, length, step[i], &plain), PITH_OK);
            assert_int_equal(plan_at(with, length, step[i], &cached), PITH_OK);
            fill(plain, cached, &r);
            const bool used = keys_used || (f->use >= OTHER_WAY_ROUND && length == 0);
            assert_int_equal(pith_plan_output_data(cached, PRESENT_K) == m->cache[0].data, used);
            assert_ptr_equal(pith_plan_output_data(cached, PRESENT_V), m->cache[1].data);
            for (uint32_t k = 0; k < 2 && length; k++) {
                pith_plan_input(plain, PAST_K + k, &a);
                memcpy(pith_plan_input_data(plain, PAST_K + k), past[k], (size_t)a.bytes);
            }
            if (!used && length)
                memcpy(pith_plan_input_data(cached, PAST_K), pith_plan_input_data(plain, PAST_K),
                       (size_t)(pith_plan_input(plain, PAST_K, &a), a.bytes));
            assert_int_equal(pith_plan_run(plain), PITH_OK);
            assert_int_equal(pith_plan_run(cached), PITH_OK);
            for (uint32_t k = 0; k < pith_plan_output_count(plain); k++) {
                pith_plan_output(plain, k, &a);
                pith_plan_output(cached, k, &c);
                assert_int_equal(a.bytes, c.bytes);
                if (k < 2 && (k == 1 || used))
                    check_cache(&m->cache[k], k ? m->v : m->k, &a, f);
                else
                    assert_memory_equal(a.data, c.data, a.bytes);
                if (k < 2)
                    memcpy(past[k], a.data, (size_t)a.bytes);
            }
        }
    }
    free(past[0]);
    free(past[1]);
    pith_plans_close(with);
    pith_plans_close(without);
    free(m);
    pith_buffer_free(&b);
}

TEST(test_same_bits)
{
    for (uint32_t i = 0; i < 2 * 2 * 2 * 2 * 2 * 3; i++) {
        const struct form f = {.batch = 1 + i % 2,
                               .groups = 1 + i / 2 % 2,
                               .shared = 1 + i / 4 % 2,
                               .k_axis = 1 + i / 8 % 2,
                               .v_axis = 1 + i / 16 % 2};
        struct pith_opts opts = {.size_bytes = sizeof opts};
        if (i / 32 == 1)
            opts.cpu_mask = PITH_CPU_REF;
        if (i / 32 == 2)
            assert_int_equal(pith_threads_start(&opts, 3), PITH_OK);
        run_steps(&f, &opts, true);
        pith_threads_stop(&opts);
    }
}

/* Where the rows of two heads lie apart, nothing but Attention can read them; of one, anything. */
TEST(test_other_readers)
{
    struct pith_opts opts = {.size_bytes = sizeof opts};
    static const struct form all[] = {
        {1, 2, 1, 2, 2, ALSO_READ},       {1, 1, 2, 2, 2, ALSO_READ},
        {2, 2, 1, 1, 2, ALSO_READ},       {1, 2, 1, 1, 2, ALSO_READ},
        {1, 2, 1, 2, 2, OTHER_WAY_ROUND}, {1, 1, 1, 2, 1, OTHER_WAY_ROUND},
        {1, 1, 1, 1, 1, PAST_READ},
    };
    static const bool used[] = {false, true, false, true, false, false, false};
    for (uint32_t i = 0; i < sizeof all / sizeof *all; i++)
        run_steps(&all[i], &opts, used[i]);
}

/* new [..], past [..] --Concat along `axis`--> present, all three operands of one Attention: where
 * one row grows, be it of heads or of samples, attention reads what is as dense as any value. */
static void check_one_row(uint32_t axis, uint32_t heads)
{
    const uint32_t rest[4] = {1, heads, 3, 4};
    uint32_t new_dim[4], past_dim[4];
    struct pith_model *m = sample_new();
    struct pith_buffer b = {0};
    struct pith_error err = {0};
    char sizes[100];
    memcpy(new_dim, rest, sizeof rest);
    memcpy(past_dim, rest, sizeof rest);
    new_dim[axis] = 2;
    past_dim[axis] = 3;
    m->inputs[m->n_inputs++] = add_value(m, "new", PITH_F32, 4, new_dim);
    m->inputs[m->n_inputs++] = add_value(m, "past", PITH_F32, 4, past_dim);
    struct pith_node *node = add_node(m, PITH_OP_CONCAT, "join", "present", 2, (uint32_t[]){1, 0});
    node->attr[ATTR_AXIS] = (int32_t)axis;
    const uint32_t v = m->outputs[m->n_outputs++] = node->out[0];
    node = add_node(m, PITH_OP_ATTENTION, "attend", "y", 3, (uint32_t[]){v, v, v});
    m->outputs[m->n_outputs++] = node->out[0];
    snprintf(sizes, sizeof sizes, "size P 3 60\nsize S 2 9\ndim 0 %u S\ndim 1 %u P", axis, axis);
    SUCCEEDS(pith_model_infer_shapes(m, &err) || pith_model_read_sizes(m, sizes, &err) ||
             pith_model_pack(m, NULL, &b, &err));
    pith_model_free(m);
    static _Alignas(64) float memory[1024];
    for (uint32_t i = 0; i < 1024; i++)
        memory[i] = UNTOUCHED;
    struct pith_cache cache = {1, 0, axis, 11, memory};
    struct pith_plans *p[2];
    struct pith_plan *plan[2];
    for (uint32_t k = 0; k < 2; k++) {
        struct pith_opts opts = {.size_bytes = sizeof opts, .n_caches = k, .caches = &cache};
        assert_int_equal(pith_plans_open(b.data, b.bytes, &opts, &p[k], &err), PITH_OK);
        assert_int_equal(pith_plans_get(p[k], 1, &plan[k], &err), PITH_OK);
        struct sample_random r = sample_random_of(5);
        struct pith_tensor t;
        for (uint32_t i = 0; i < 2; i++) {
            pith_plan_input(plan[k], i, &t);
            for (uint64_t j = 0; j < t.bytes / sizeof(float); j++)
                ((float *)pith_plan_input_data(plan[k], i))[j] = sample_gauss(&r);
        }
        assert_int_equal(pith_plan_run(plan[k]), PITH_OK);
    }
    assert_ptr_equal(pith_plan_output_data(plan[1], 0), memory);
    for (uint32_t i = 0; i < 2; i++) {
        struct pith_tensor t;
        pith_plan_output(plan[0], i, &t);
        assert_memory_equal(pith_plan_output_data(plan[1], i), t.data, t.bytes);
    }
    pith_plans_close(p[0]);
    pith_plans_close(p[1]);
    pith_buffer_free(&b);
}

TEST(test_one_row)
{
    check_one_row(0, 1);
    check_one_row(0, 2);
    check_one_row(1, 1);
    check_one_row(2, 1);
}

/* Several samples at once have no cache. */
TEST(test_batch)
{
    const struct form f = {1, 2, 1, 2, 1, OPEN_BATCH};
    struct pith_buffer b = decoder(&f);
    struct memory *m = aligned_alloc(64, sizeof *m);
    struct pith_plan *plan, *plain;
    struct pith_tensor a;
    assert_non_null(m);
    clear_memory(m, &f, ROOM);
    struct pith_opts opts = {.size_bytes = sizeof opts};
    struct pith_plans *with = open_plans(&b, &opts, m), *without = open_plans(&b, &opts, NULL);
    struct sample_random r = sample_random_of(3);
    assert_int_equal(pith_plans_get(with, 2, &plan, NULL), PITH_OK);
    assert_int_equal(pith_plans_get(without, 2, &plain, NULL), PITH_OK);
    for (uint32_t i = Q; i <= PAST_V; i++) {
        pith_plan_input(plain, i, &a);
        assert_int_equal(a.dim[0], 2);
        for (uint64_t k = 0; k < a.bytes / sizeof(float); k++)
            ((float *)pith_plan_input_data(plain, i))[k] = sample_gauss(&r);
        memcpy(pith_plan_input_data(plan, i), pith_plan_input_data(plain, i), (size_t)a.bytes);
    }
    assert_int_equal(pith_plan_run(plan), PITH_OK);
    assert_int_equal(pith_plan_run(plain), PITH_OK);
    for (uint32_t i = PRESENT_K; i <= Y; i++) {
        pith_plan_output(plain, i, &a);
        assert_memory_equal(pith_plan_output_data(plan, i), a.data, a.bytes);
    }
    for (uint32_t i = 0; i < 1024; i++)
        assert_true(m->k[i] == UNTOUCHED && m->v[i] == UNTOUCHED);
    pith_plans_close(with);
    pith_plans_close(without);
    free(m);
    pith_buffer_free(&b);
}

static int observed;

static void observe(void *user, const struct pith_layer *layer, const struct pith_tensor *out)
{
    (void)user;
    (void)layer;
    observed += out->data != NULL;
}

/* Plans that keep every value apart, and numbers that fit nothing, which those refuse, too. */
TEST(test_not_used)
{
    const struct form f = {1, 2, 1, 2, 1, ATTENDS};
    struct pith_buffer b = decoder(&f);
    struct memory *m = aligned_alloc(64, sizeof *m);
    assert_non_null(m);
    for (uint32_t i = 0; i < 13; i++) {
        struct pith_plan *plan;
        struct pith_opts opts = {.size_bytes = sizeof opts};
        /* 3 + 2 rows do not fit; memory has no such address */
        clear_memory(m, &f, i < 8 || i == 12 ? ROOM : i == 8 ? 4 : UINT32_MAX);
        opts.flags = i == 0 || i == 10 ? PITH_FLAG_NO_FUSION : 0;
        opts.observe = i == 1 || i == 11 ? observe : NULL;
        m->cache[0].axis = i == 2 ? 1 : i == 3 ? 4 : 2;
        m->cache[0].input = i == 4 ? 5 : i == 5 ? V : PAST_K;
        m->cache[1].output = i == 6 ? 3 : PRESENT_V;
        m->cache[1].data = i == 7 ? NULL : m->v + AT;
        if (i == 12)
            m->cache[0].data = m->k + AT + 1;
        const bool wrong = i == 3 || i == 4 || i > 5;
        struct pith_plans *p = open_plans(&b, &opts, m);
        assert_int_equal(plan_at(p, 3, 2, &plan), wrong ? PITH_ERR_ARGUMENT : PITH_OK);
        if (!wrong) {
            assert_ptr_not_equal(pith_plan_output_data(plan, PRESENT_K), m->cache[0].data);
            assert_int_equal(pith_plan_output_data(plan, PRESENT_V) == m->cache[1].data, i > 1);
            for (uint32_t k = 0; k < 5; k++) {
                struct pith_tensor t;
                pith_plan_input(plan, k, &t);
                memset(pith_plan_input_data(plan, k), 0, (size_t)t.bytes);
            }
            assert_int_equal(pith_plan_run(plan), PITH_OK);
            assert_true(m->k[AT] == UNTOUCHED);
        }
        pith_plans_close(p);
    }
    assert_true(observed > 0);
    struct pith_need need;
    struct pith_opts opts = {.size_bytes = sizeof opts, .n_caches = 1};
    assert_int_equal(pith_plan_size(b.data, b.bytes, &opts, &need), PITH_ERR_ARGUMENT);
    free(m);
    pith_buffer_free(&b);
}

RUN_TESTS
