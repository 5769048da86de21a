/* SPDX-License-Identifier: MIT */
/* test_generator.c - a decoder run token by token, and how tokens are chosen. */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include "test_run.h"
#include "model/model_sizes.h"
#include "op_interface/op_attr.h"
#include "pith_host.h"
#include "pith_pack.h"
#include "sample_models.h"

enum { WIDTH = 4 };

/* Which names the ends have, and whether the cache's is missing. */
struct names {
    const char *ids, *past, *present;
    bool extra; /* an input that nothing reads, to be given */
    bool heads; /* past is [2, P, 2], not [P, 4] */
};

/* present = Concat(past [P, 4], table[ids [1, S]]); scores [P + S, 4] = -present */
static struct pith_buffer decoder(const struct names *names)
{
    static const uint32_t ids[] = {1, 2}, table[] = {WIDTH, WIDTH};
    const uint32_t axis = names->heads, heads = 1 + axis, past[] = {2, 3, WIDTH / heads};
    struct sample_random r = sample_random_of(1);
    struct pith_model *m = sample_new();
    struct pith_buffer packed = {0};
    struct pith_error err = {0};
    m->inputs[m->n_inputs++] = add_value(m, names->ids, PITH_I64, 2, ids);
    m->inputs[m->n_inputs++] = add_value(m, names->past, PITH_F32, 1 + heads, past + 1 - axis);
    if (names->extra)
        m->inputs[m->n_inputs++] = add_value(m, "extra", PITH_F32, 2, (uint32_t[]){1, WIDTH});
    uint32_t t = add_constant(m, &r, "table", 2, table);
    for (uint32_t i = 0; i < WIDTH * WIDTH; i++)
        ((float *)(uintptr_t)m->values[t].constant->data)[i] = i % 5 == 1 ? -1.0f : 1.0f;
    uint32_t v = add_node(m, PITH_OP_GATHER, "look", "rows", 2, (uint32_t[]){t, 0})->out[0];
    struct pith_node *node = add_node(m, PITH_OP_RESHAPE, "flat", "new", 1, &v);
    int32_t *dims = node->attr + ATTR_RESHAPE_DIMS;
    dims[0] = (int32_t)(1 + heads);
    dims[1] = 2;
    dims[1 + axis] = -1;
    dims[2 + axis] = (int32_t)(WIDTH / heads);
    node = add_node(m, PITH_OP_CONCAT, "join", names->present, 2, (uint32_t[]){1, node->out[0]});
    node->attr[ATTR_AXIS] = (int32_t)axis;
    v = node->out[0];
    node = add_node(m, PITH_OP_UNARY, "turn", "logits", 1, &v);
    node->attr[0] = UNARY_NEG;
    m->outputs[m->n_outputs++] = v;
    m->outputs[m->n_outputs++] = node->out[0];
    SUCCEEDS(pith_model_infer_shapes(m, &err) ||
             pith_model_read_sizes(m,
                                   axis ? "size P 3 6\nsize S 2 9\ndim 0 1 S\ndim 1 1 P"
                                        : "size P 3 6\nsize S 2 9\ndim 0 1 S\ndim 1 0 P",
                                   &err) ||
             pith_model_pack(m, NULL, &packed, &err));
    pith_model_free(m);
    return packed;
}

/* A generator of a file that is in memory. */
struct opened {
    struct pith_buffer file;
    struct pith_plans *p;
    struct pith_generator *g;
    struct pith_error err;
    const float *logits; /* of the last run, n numbers a token */
    uint32_t n;
};

static struct opened open_generator(struct pith_buffer file, const struct pith_opts *opts)
{
    struct opened o = {.file = file};
    if (pith_plans_open(file.data, file.bytes, opts, &o.p, &o.err) ||
        pith_generator_open(o.p, &o.g, &o.err))
        fail_msg("%s", o.err.text);
    return o;
}

static enum pith_status run(struct opened *o, const int64_t *ids, uint32_t n)
{
    return pith_generator_run(o->g, ids, n, &o->logits, &o->n, &o->err);
}

static void close_generator(struct opened *o)
{
    pith_generator_close(o->g);
    pith_plans_close(o->p);
    pith_buffer_free(&o->file);
}

/* Row i of the table is least at i + 1 (of the last row at 3 no more), so the best of -row is that.
 */
TEST(test_cache)
{
    static const struct names all[] = {{"ids", "past_key_values.0", "present.0", false, false},
                                       {"decoder_input_ids", "past.x", "present.x", false, false},
                                       {"tokens", "past_x", "present_x", false, false}};
    for (size_t k = 0; k < sizeof all / sizeof *all; k++) {
        struct opened o = open_generator(decoder(&all[k]), NULL);
        assert_int_equal(pith_generator_check(o.g, 7, &o.err), PITH_OK);
        assert_int_equal(pith_generator_check(o.g, 8, &o.err), PITH_ERR_ARGUMENT);
        assert_string_equal(o.err.text, "size P is 7, 0 to 6 are possible");
        for (int again = 0; again < 2; again++) {
            const int64_t prompt[] = {2, 1, 0};
            int64_t id;
            pith_generator_restart(o.g);
            assert_int_equal(run(&o, prompt, 3), PITH_OK);
            assert_int_equal(o.n, WIDTH);
            id = pith_choose_token(o.logits, o.n, 0, 0, NULL);
            assert_int_equal(id, 1);
            assert_int_equal(run(&o, &id, 1), PITH_OK);
            id = pith_choose_token(o.logits, o.n, 0, 0, NULL);
            assert_int_equal(id, 2);
            /* All rows so far, oldest first; the last is what was given. */
            static const uint32_t least[] = {3, 2, 1, 2};
            for (uint32_t i = 0; i < 4 * WIDTH; i++)
                assert_true(o.logits[(int)i - 3 * WIDTH] ==
                            (i % WIDTH == least[i / WIDTH] ? 1 : -1));
        }
        close_generator(&o);
    }
}

/* Scores read the cache of two heads, whose rows then cannot lie apart: it is copied. */
TEST(test_copied_cache)
{
    enum { TOKENS = 7 };
    static const int64_t ids[TOKENS] = {2, 1, 0, 3, 3, 0, 2};
    struct opened o =
        open_generator(decoder(&(struct names){"ids", "past.x", "present.x", false, true}), NULL);
    for (int again = 0; again < 2; again++) {
        pith_generator_restart(o.g);
        for (uint32_t length = 1; length <= TOKENS; length++) {
            assert_int_equal(run(&o, ids + length - 1, 1), PITH_OK);
            const float *all = o.logits + 2 - 4 * length; /* [2, length, 2] */
            for (uint32_t i = 0; i < 4 * length; i++) {
                const uint32_t head = i / (2 * length), token = i / 2 % length;
                const int64_t element = ids[token] * WIDTH + head * 2 + i % 2;
                assert_true(all[i] == (element % 5 == 1 ? 1.0f : -1.0f));
            }
        }
        assert_int_equal(run(&o, ids, 1), PITH_ERR_ARGUMENT);
    }
    close_generator(&o);
}

/* A run that fails, here for an input of another type, leaves the cache as it was. */
TEST(test_failed_run)
{
    struct opened o =
        open_generator(decoder(&(struct names){"ids", "past.x", "present.x", true, false}), NULL);
    const float zero[WIDTH] = {0};
    const int64_t ids[] = {0, 3};
    struct pith_tensor right = {.type = PITH_F32,
                                .rank = 2,
                                .dim = {1, WIDTH},
                                .data = (void *)(uintptr_t)zero,
                                .bytes = sizeof zero};
    struct pith_tensor wrong = right;
    wrong.type = PITH_I32;
    assert_int_equal(pith_generator_give(o.g, 2, &right), PITH_OK);
    for (int i = 0; i < 4; i++)
        assert_int_equal(run(&o, ids + i % 2, 1), PITH_OK);
    for (uint32_t failed = 1; failed < 3; failed++) {
        assert_int_equal(pith_generator_give(o.g, 2, &wrong), PITH_OK);
        assert_int_equal(run(&o, ids, failed), PITH_ERR_ARGUMENT);
    }
    assert_int_equal(pith_generator_give(o.g, 2, &right), PITH_OK);
    assert_int_equal(run(&o, ids, 1), PITH_OK);
    for (uint32_t i = 0; i < 5; i++) /* rows 0, 3, 0, 3, 0: of 0 element 1 is the largest */
        assert_int_equal(pith_choose_token(o.logits - (4 - (int)i) * WIDTH, WIDTH, 0, 0, NULL),
                         i % 2 ? 0 : 1);
    close_generator(&o);
}

/* A state without its next value is an input that must be given, or paired by hand. */
TEST(test_other_names)
{
    struct opened o =
        open_generator(decoder(&(struct names){"ids", "before", "after", false, false}), NULL);
    const int64_t ids[] = {1, 0, 2};
    assert_int_equal(run(&o, ids, 1), PITH_ERR_ARGUMENT);
    assert_string_equal(o.err.text, "input 'before' has no value");
    float x[2 * WIDTH] = {0};
    struct pith_tensor t = {.name = "before",
                            .name_bytes = 6,
                            .type = PITH_F32,
                            .rank = 2,
                            .dim = {2, WIDTH},
                            .bytes = sizeof x,
                            .data = x};
    assert_int_equal(pith_generator_give(o.g, 0, &t), PITH_ERR_ARGUMENT); /* the ids */
    assert_int_equal(pith_generator_give(o.g, 2, &t), PITH_ERR_ARGUMENT);
    assert_int_equal(pith_generator_give(o.g, 1, &t), PITH_OK);
    /* without a cache all tokens run again, at most the last nine */
    for (uint32_t i = 0; i < 4; i++)
        assert_int_equal(run(&o, ids, 3), PITH_OK);
    struct pith_plan *plan;
    assert_int_equal(pith_plans_get(o.p, 1, &plan, &o.err), PITH_OK);
    assert_int_equal(pith_plan_input(plan, 0, &t), PITH_OK);
    assert_int_equal(t.dim[1], 9);
    for (uint32_t i = 0; i < 9; i++)
        assert_int_equal(((const int64_t *)pith_plan_input_data(plan, 0))[i], ids[i % 3]);
    assert_int_equal(pith_generator_pair(o.g, 0, 0), PITH_ERR_ARGUMENT);
    pith_generator_restart(o.g);
    assert_int_equal(pith_generator_pair(o.g, 1, 0), PITH_OK);
    assert_int_equal(run(&o, ids, 3), PITH_OK);
    assert_int_equal(run(&o, ids, 3), PITH_OK);
    assert_int_equal(run(&o, ids, 3), PITH_OK);
    assert_int_equal(run(&o, ids, 3), PITH_ERR_ARGUMENT); /* P 9 */
    assert_int_equal(pith_generator_pair(o.g, 1, 0), PITH_ERR_ARGUMENT);
    assert_int_equal(pith_generator_give(o.g, 1, &t), PITH_ERR_ARGUMENT);
    close_generator(&o);
}

/* ids [1, S]; new = relu(rows of a table), next value of y; scores y + new. growing: also
 * present.x = Concat(past.x, new), in whose memory new then lies. */
static struct pith_buffer two_states(bool growing)
{
    struct sample_random r = sample_random_of(1);
    struct pith_model *m = sample_new();
    struct pith_buffer packed = {0};
    struct pith_error err = {0};
    const uint32_t length = growing ? 2 : 1;
    m->inputs[m->n_inputs++] = add_value(m, "ids", PITH_I64, 2, (uint32_t[]){1, length});
    m->inputs[m->n_inputs++] = add_value(m, "past.y", PITH_F32, 2, (uint32_t[]){length, WIDTH});
    if (growing)
        m->inputs[m->n_inputs++] = add_value(m, "past.x", PITH_F32, 2, (uint32_t[]){3, WIDTH});
    uint32_t t = add_constant(m, &r, "table", 2, (uint32_t[]){WIDTH, WIDTH});
    for (uint32_t i = 0; i < WIDTH * WIDTH; i++)
        ((float *)(uintptr_t)m->values[t].constant->data)[i] = (float)(1 + i);
    uint32_t v = add_node(m, PITH_OP_GATHER, "look", "rows", 2, (uint32_t[]){t, 0})->out[0];
    struct pith_node *node = add_node(m, PITH_OP_RESHAPE, "flat", "flat", 1, &v);
    int32_t *dims = node->attr + ATTR_RESHAPE_DIMS;
    dims[0] = 2;
    dims[1] = -1;
    dims[2] = WIDTH;
    v = add_node(m, PITH_OP_RELU, "relu", "present.y", 1, node->out)->out[0];
    m->outputs[m->n_outputs++] = v;
    if (growing) {
        node = add_node(m, PITH_OP_CONCAT, "join", "present.x", 2, (uint32_t[]){2, v});
        node->attr[ATTR_AXIS] = 0;
        m->outputs[m->n_outputs++] = node->out[0];
    }
    v = add_node(m, PITH_OP_ADD, "add", "logits", 2, (uint32_t[]){1, v})->out[0];
    m->outputs[m->n_outputs++] = v;
    SUCCEEDS(pith_model_infer_shapes(m, &err) ||
             (growing &&
              pith_model_read_sizes(m, "size P 3 60\nsize S 2 9\ndim 0 1 S\ndim 1 0 S\ndim 2 0 P",
                                    &err)) ||
             pith_model_pack(m, NULL, &packed, &err));
    pith_model_free(m);
    return packed;
}

static void check_sum(const float *logits, int64_t last, int64_t id)
{
    for (int64_t i = 0; i < WIDTH; i++) /* last -1: zeros, before the first run */
        assert_true(logits[i] ==
                    (float)(1 + WIDTH * id + i + (last < 0 ? 0 : 1 + WIDTH * last + i)));
}

/* A cache grows while another state lies in the memory that it had. */
TEST(test_states_share_memory)
{
    struct opened o = open_generator(two_states(true), NULL);
    for (int again = 0; again < 2; again++) {
        pith_generator_restart(o.g);
        for (int64_t i = 0; i < 40; i++) {
            const int64_t id = i * i % WIDTH;
            assert_int_equal(run(&o, &id, 1), PITH_OK);
            check_sum(o.logits, i ? (i - 1) * (i - 1) % WIDTH : -1, id);
            /* more tokens than y has room for: the cache has grown, and may again */
            const int64_t many[9] = {0};
            for (uint32_t more = 2; more <= 8; more += 3)
                assert_int_equal(run(&o, many, more), PITH_ERR_ARGUMENT);
        }
    }
    close_generator(&o);
}

static int stop_in(void *user)
{
    int *left = user;
    return *left > 0 && --*left == 0;
}

/* A stopped run adds no tokens; where it wrote over the states there are none left. */
TEST(test_stopped_run)
{
    for (int growing = 0; growing < 2; growing++) {
        int left = 0;
        struct pith_opts opts = {.size_bytes = sizeof opts, .stop = stop_in, .stop_user = &left};
        struct opened o = open_generator(two_states(growing), &opts);
        int64_t last = -1;
        for (int64_t i = 0; i < 12; i++) {
            const int64_t id = (i + 1) % WIDTH, other = i % WIDTH;
            left = i % 3 ? 0 : 1 + (int)i / 3 % 2;
            if (left) {
                assert_int_equal(run(&o, &other, 1), PITH_ERR_STOPPED);
                last = growing ? last : -1;
            }
            assert_int_equal(run(&o, &id, 1), PITH_OK);
            check_sum(o.logits, last, id);
            last = id;
        }
        close_generator(&o);
    }
}

/* k = Concat(past.x [E, 1, P, 4], new [E, 1, S, 4]), which attention reads; new = rows + given
 * [E, 1, 1, 4]. twice: so is that of another input, which is fed with the same output; state: which
 * of the two has it as Concat. */
static struct pith_buffer attending(bool twice, uint32_t state)
{
    struct sample_random r = sample_random_of(1);
    struct pith_model *m = sample_new();
    struct pith_buffer packed = {0};
    struct pith_error err = {0};
    const uint32_t past[] = {2, 1, 3, WIDTH};
    m->inputs[m->n_inputs++] = add_value(m, "ids", PITH_I64, 2, (uint32_t[]){1, 2});
    m->inputs[m->n_inputs++] = add_value(m, state ? "other" : "past.x", PITH_F32, 4, past);
    m->inputs[m->n_inputs++] = add_value(m, "given", PITH_F32, 4, (uint32_t[]){2, 1, 1, WIDTH});
    if (twice)
        m->inputs[m->n_inputs++] = add_value(m, state ? "past.x" : "other", PITH_F32, 4, past);
    uint32_t v = add_constant(m, &r, "table", 2, (uint32_t[]){WIDTH, WIDTH});
    v = add_node(m, PITH_OP_GATHER, "look", "rows", 2, (uint32_t[]){v, 0})->out[0];
    struct pith_node *node = add_node(m, PITH_OP_RESHAPE, "flat", "flat", 1, &v);
    static const int32_t dims[] = {4, 1, 1, -1, WIDTH};
    memcpy(node->attr + ATTR_RESHAPE_DIMS, dims, sizeof dims);
    const uint32_t new =
        add_node(m, PITH_OP_ADD, "new", "new", 2, (uint32_t[]){node->out[0], 2})->out[0];
    uint32_t y[2], present[2];
    for (uint32_t i = 0; i <= twice; i++) {
        node = add_node(m, PITH_OP_CONCAT, i ? "join2" : "join", i == state ? "present.x" : "both",
                        2, (uint32_t[]){i ? 3 : 1, new});
        node->attr[ATTR_AXIS] = 2;
        v = present[i] = node->out[0];
        y[i] = add_node(m, PITH_OP_ATTENTION, i ? "attend2" : "attend", i ? "y2" : "y", 3,
                        (uint32_t[]){new, v, v})
                   ->out[0];
    }
    m->outputs[m->n_outputs++] = present[state];
    if (twice)
        y[0] = add_node(m, PITH_OP_ADD, "sum", "sum", 2, y)->out[0];
    m->outputs[m->n_outputs++] = add_node(m, PITH_OP_RELU, "relu", "logits", 1, y)->out[0];
    SUCCEEDS(pith_model_infer_shapes(m, &err) ||
             pith_model_read_sizes(m,
                                   twice ? "size P 3 60\nsize S 2 9\nsize E 2 90\ndim 0 1 S\n"
                                           "dim 1 0 E\ndim 1 2 P\ndim 2 0 E\ndim 3 0 E\ndim 3 2 P"
                                         : "size P 3 60\nsize S 2 9\nsize E 2 90\ndim 0 1 S\n"
                                           "dim 1 0 E\ndim 1 2 P\ndim 2 0 E",
                                   &err) ||
             pith_model_pack(m, NULL, &packed, &err));
    pith_model_free(m);
    return packed;
}

/* Texts whose other sizes grow and shrink, and two inputs with one next value: the scores of plans
 * that copy all. */
TEST(test_other_dimensions)
{
    static const uint32_t elements[] = {2, 80, 1, 3};
    float value[80 * WIDTH];
    for (uint32_t i = 0; i < 80 * WIDTH; i++)
        value[i] = (float)(i % 7) * 0.3f - 1;
    for (uint32_t form = 0; form < 3; form++) {
        struct pith_buffer b = attending(form > 0, form == 1);
        struct pith_plans *p[2];
        struct pith_generator *g[2];
        struct pith_error err = {0};
        for (uint32_t k = 0; k < 2; k++) {
            struct pith_opts opts = {.size_bytes = sizeof opts,
                                     .flags = k ? PITH_FLAG_NO_FUSION : 0};
            assert_int_equal(pith_plans_open(b.data, b.bytes, &opts, &p[k], &err), PITH_OK);
            assert_int_equal(pith_generator_open(p[k], &g[k], &err), PITH_OK);
            if (form)
                assert_int_equal(pith_generator_pair(g[k], form == 1 ? 1 : 3, 0), PITH_OK);
        }
        for (uint32_t text = 0; text < sizeof elements / sizeof *elements; text++) {
            const uint32_t e = elements[text];
            const struct pith_tensor t = {.type = PITH_F32,
                                          .rank = 4,
                                          .dim = {e, 1, 1, WIDTH},
                                          .bytes = e * WIDTH * sizeof(float),
                                          .data = value};
            const float *logits[2];
            uint32_t n;
            for (uint32_t k = 0; k < 2; k++) {
                pith_generator_restart(g[k]);
                assert_int_equal(pith_generator_give(g[k], 2, &t), PITH_OK);
            }
            for (int64_t i = 0; i < 20; i++) {
                const int64_t id = i * i % WIDTH;
                for (uint32_t k = 0; k < 2; k++)
                    assert_int_equal(pith_generator_run(g[k], &id, 1, &logits[k], &n, &err),
                                     PITH_OK);
                for (int j = 0; j < (int)(e * WIDTH); j++)
                    assert_float_equal(logits[0][WIDTH - 1 - j], logits[1][WIDTH - 1 - j], 1e-5);
            }
        }
        for (uint32_t k = 0; k < 2; k++) {
            pith_generator_close(g[k]);
            pith_plans_close(p[k]);
        }
        pith_buffer_free(&b);
    }
}

/* Caches of the caller are none of a generator. */
TEST(test_own_caches)
{
    struct pith_buffer b = decoder(&(struct names){"ids", "past.x", "present.x", false, false});
    struct pith_plans *p = NULL;
    struct pith_generator *g = NULL;
    struct pith_error err = {0};
    static _Alignas(64) float memory[9 * WIDTH];
    struct pith_cache cache = {1, 0, 0, 9, memory};
    struct pith_opts opts = {.size_bytes = sizeof opts, .n_caches = 1, .caches = &cache};
    assert_int_equal(pith_plans_open(b.data, b.bytes, &opts, &p, &err), PITH_OK);
    assert_int_equal(pith_generator_open(p, &g, &err), PITH_ERR_ARGUMENT);
    assert_non_null(strstr(err.text, "opts.caches"));
    pith_plans_close(p);
    pith_buffer_free(&b);
}

TEST(test_best)
{
    static const float x[] = {NAN, -2, 3, 3, NAN, 1};
    uint64_t random = 1;
    assert_int_equal(pith_choose_token(x, 6, 0, 0, &random), 2);
    assert_int_equal(pith_choose_token(x, 6, 1, 0, NULL), 2);
    assert_int_equal(pith_choose_token(x, 1, 1, 0, &random), 0);
    assert_int_equal(pith_choose_token(x, 0, 1, 0, &random), 0);
    for (int i = 0; i < 100; i++) {
        assert_int_equal(pith_choose_token(x, 6, 1e-3f, 0, &random) / 2, 1);
        assert_int_equal(pith_choose_token(x, 6, 1000, 2, &random) / 2, 1);
    }
}

/* The shares of 100,000 draws are softmax(x / T) of the best, within five standard errors. */
TEST(test_shares)
{
    enum { N = 7, DRAWS = 100000 };
    static const float x[N] = {0.5f, -1.0f, 2.0f, 1.5f, -0.0f, 0.0f, -3.0f};
    for (uint32_t top_k = 0; top_k <= 3; top_k++)
        for (int t = 1; t <= 2; t++) {
            uint32_t count[N] = {0};
            uint64_t random = 7;
            double p[N], sum = 0;
            for (uint32_t i = 0; i < N; i++) {
                uint32_t above = 0;
                for (uint32_t k = 0; k < N; k++)
                    above += x[k] > x[i];
                p[i] = top_k == 0 || above < top_k ? exp((double)x[i] / t) : 0;
                sum += p[i];
            }
            for (int i = 0; i < DRAWS; i++)
                count[pith_choose_token(x, N, (float)t, top_k, &random)]++;
            for (uint32_t i = 0; i < N; i++) {
                const double share = p[i] / sum, off = (double)count[i] / DRAWS - share;
                assert_true(fabs(off) <= 5 * sqrt(share * (1 - share) / DRAWS));
            }
        }
}

/* ids [1, S], rows of a table, a product with a weight, then per column + bias and tanh; read by
 * another output, too, where `shared`. */
static struct pith_buffer scorer(bool behind, bool shared)
{
    static const uint32_t ids[] = {1, 5}, table[] = {9, 33}, weight[] = {33, 70}, bias[] = {70};
    struct sample_random r = sample_random_of(1);
    struct pith_model *m = sample_new();
    struct pith_buffer packed = {0};
    struct pith_error err = {0};
    m->inputs[m->n_inputs++] = add_value(m, "ids", PITH_I64, 2, ids);
    uint32_t t = add_constant(m, &r, "table", 2, table), w = add_constant(m, &r, "w", 2, weight);
    uint32_t b = add_constant(m, &r, "b", 1, bias);
    uint32_t v = add_node(m, PITH_OP_GATHER, "look", "rows", 2, (uint32_t[]){t, 0})->out[0];
    v = add_node(m, PITH_OP_MATMUL, "product", "sums", 2, (uint32_t[]){v, w})->out[0];
    if (behind) {
        v = add_node(m, PITH_OP_ADD, "add", "biased", 2, (uint32_t[]){v, b})->out[0];
        v = add_node(m, PITH_OP_TANH, "cap", "logits", 1, &v)->out[0];
    }
    m->outputs[m->n_outputs++] = v;
    if (shared)
        m->outputs[m->n_outputs++] = add_node(m, PITH_OP_RELU, "more", "more", 1, &v)->out[0];
    SUCCEEDS(pith_model_infer_shapes(m, &err) ||
             pith_model_read_sizes(m, "size S 5 9\ndim 0 1 S", &err) ||
             pith_model_pack(m, NULL, &packed, &err));
    pith_model_free(m);
    return packed;
}

/* Scores of a prompt are those of its last token, which alone are computed where that can be. */
TEST(test_last_row)
{
    static const int64_t prompt[] = {2, 8, 0, 3, 1, 7};
    for (uint32_t k = 0; k < 4; k++) {
        struct opened o = open_generator(scorer(k % 2, k / 2), NULL);
        struct pith_plan *plan;
        struct pith_tensor t;
        const float *all;
        assert_int_equal(run(&o, prompt, 6), PITH_OK);
        assert_int_equal(o.n, 70);
        /* plans of all rows are others */
        assert_int_equal(pith_plans_get(o.p, 1, &plan, &o.err), PITH_OK);
        assert_int_equal(pith_plan_output(plan, 0, &t), PITH_OK);
        assert_int_equal(t.dim[1], 6);
        all = (const float *)t.data + 5 * 70;
        assert_int_equal(o.logits == all, k / 2);
        memcpy(pith_plan_input_data(plan, 0), prompt, sizeof prompt);
        float kept[70];
        memcpy(kept, o.logits, sizeof kept);
        assert_int_equal(pith_plan_run(plan), PITH_OK);
        for (uint32_t i = 0; i < 70; i++)
            assert_float_equal(kept[i], all[i], 1e-5);
        assert_true(fabsf(kept[0] - kept[1]) > 1e-3f);
        close_generator(&o);
    }
}

RUN_TESTS
