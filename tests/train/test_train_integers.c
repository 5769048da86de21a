/* SPDX-License-Identifier: MIT */
/* Training with integers in the loop: weights end on their grids, grids of values are learned,
 * nothing else of the model changes; threads do not matter; what cannot be is refused and leaves no
 * trace. */
#include <stdint.h>
#include "test_run.h"
#include <math.h>
#include "train/tape/fake_quant_graph.h"
#include "train/tape/tape.h"
#include "train/tape/tape_state.h"
#include "train/small_network.h"

struct trained {
    struct pith_model *m;
    struct pith_train_result r;
    enum pith_status status;
    struct pith_error err;
};

/* wrong: the label of one sample, or 0. */
static struct trained train_on(int64_t wrong, const struct pith_train_opts *o, bool mask)
{
    struct trained t = {.m = network_of(3, false)};
    struct pith_data *data = clouds(wrong), *val = clouds(0);
    struct pith_train_opts with = *o;
    if (mask)
        attach_mask(t.m);
    if (!with.integers)
        with.integers = attach_integers(t.m);
    else
        attach_integers(t.m);
    t.status = pith_train(t.m, data, val, &with, &t.r, &t.err);
    pith_data_free(data);
    pith_data_free(val);
    return t;
}

static struct trained train(const struct pith_train_opts *o, bool mask)
{
    return train_on(0, o, mask);
}

/* Every weight is k * step of its row. */
static void check_weights(const struct pith_const *c, uint64_t rows, int32_t lowest,
                          int32_t highest)
{
    const struct pith_codebook *b = c->codebook;
    const float *w = c->data;
    assert_non_null(b);
    assert_int_equal(b->n_groups, rows);
    assert_int_equal(b->n_centroids, highest - lowest + 1);
    for (uint64_t k = 0; k < c->count; k++) {
        const float *of = b->centroid + k / b->group_elems * b->n_centroids;
        float step = of[-lowest + 1];
        assert_true(step > 0 && of[-lowest] == 0);
        if (c->mask && !c->mask[k])
            assert_true(w[k] == 0);
        else
            assert_true(w[k] == of[b->index[k]] && w[k] == (float)(b->index[k] + lowest) * step);
    }
}

TEST(test_ends_on_grids)
{
    for (int mask = 0; mask < 2; mask++) {
        struct pith_train_opts o = small_options();
        struct trained t = train(&o, mask);
        if (t.status)
            fail_msg("%s", t.err.text);
        check_weights(constant(t.m, "w1"), HIDDEN, -4, 3);
        check_weights(constant(t.m, "w2"), 1, -127, 127);
        assert_null(constant(t.m, "b1")->codebook);
        assert_int_equal(t.m->n_nodes, 3);
        assert_int_equal(t.r.n_parameters, (INPUTS + 1 + CLASSES) * HIDDEN + CLASSES);
        assert_int_equal(t.r.n_trained, t.r.n_parameters);
        const struct pith_grid *x = t.m->values[t.m->inputs[0]].grid;
        const struct pith_grid *a = t.m->values[t.m->nodes[1].out[0]].grid;
        assert_true(x->scale[0] == 0.3f && x->zero_point == 5);
        assert_true(a->scale[0] != 0.4f && a->scale[0] > 0.05f && a->scale[0] < 2);
        assert_true(a->zero_point == 0 && a->bits == 4 && a->type == PITH_U8);
        /* what floats reach in as many epochs, about, with all weights and with a third of them
         * gone */
        double enough = mask ? 0.6 : 0.85;
        if (!(t.r.accuracy > enough && t.r.val_accuracy > enough))
            fail_msg("%g %g", t.r.accuracy, t.r.val_accuracy);
        pith_model_free(t.m);
    }
}

TEST(test_threads_do_not_matter)
{
    float first[HIDDEN * INPUTS], scale = 0;
    for (uint32_t threads = 1; threads <= 2; threads++) {
        struct pith_train_opts o = small_options();
        o.threads = threads;
        struct trained t = train(&o, false);
        const float *w = constant(t.m, "w1")->data;
        float is = t.m->values[t.m->nodes[1].out[0]].grid->scale[0];
        if (threads == 1) {
            memcpy(first, w, sizeof first);
            scale = is;
        }
        assert_memory_equal(first, w, sizeof first);
        assert_true(scale == is);
        pith_model_free(t.m);
    }
}

/* The first epoch is validated by another network, whose answers are all the same. */
static enum pith_status make_constant(void *user, const struct pith_model *m,
                                      struct pith_model **made, struct pith_error *err)
{
    (void)err;
    ++*(int *)user;
    assert_int_equal(m->n_nodes, 3); /* without what rounds */
    check_weights(m->values[m->nodes[0].in[1]].constant, HIDDEN, -4, 3);
    assert_non_null(m->values[m->nodes[1].out[0]].grid);
    *made = network_of(3, false);
    memset(constant(*made, "w2")->data, 0, HIDDEN * CLASSES * sizeof(float));
    return PITH_OK;
}

TEST(test_validated_as_made)
{
    int calls = 0;
    struct pith_model *m = network_of(3, false);
    struct pith_train_integers q = *attach_integers(m);
    pith_model_free(m);
    struct pith_train_opts o = small_options();
    q.make = make_constant;
    q.user = &calls;
    o.epochs = 2;
    o.integers = &q;
    struct trained t = train(&o, false);
    assert_int_equal(t.status, PITH_OK);
    assert_int_equal(calls, 2);
    assert_true(t.r.val_accuracy == 0.25 && t.r.accuracy > 0.3);
    pith_model_free(t.m);
}

/* Steps are powers of two, all of them. */
TEST(test_radix)
{
    int e;
    struct pith_model *m = network_of(3, false);
    struct pith_train_integers q = *attach_integers(m);
    pith_model_free(m);
    struct pith_train_opts o = small_options();
    q.radix = true;
    o.integers = &q;
    struct trained t = train(&o, false);
    assert_int_equal(t.status, PITH_OK);
    const struct pith_codebook *b = constant(t.m, "w1")->codebook;
    for (uint32_t r = 0; r < HIDDEN; r++)
        assert_true(frexpf(b->centroid[r * b->n_centroids + 5], &e) == 0.5f);
    assert_true(frexpf(t.m->values[t.m->nodes[1].out[0]].grid->scale[0], &e) == 0.5f);
    pith_model_free(t.m);
}

static void refused(struct pith_train_opts *o, const char *why)
{
    struct trained t = train(o, false);
    assert_int_equal(t.status, PITH_ERR_ARGUMENT);
    if (!strstr(t.err.text, why))
        fail_msg("'%s' instead of '%s'", t.err.text, why);
    assert_int_equal(t.m->n_nodes, 3);
    assert_null(constant(t.m, "w1")->codebook);
    assert_true(t.m->values[t.m->nodes[1].out[0]].grid->scale[0] == 0.4f);
    pith_model_free(t.m);
}

TEST(test_refusals)
{
    struct pith_model *m = network_of(3, false);
    const struct pith_train_integers good = *attach_integers(m);
    struct pith_train_value v[2] = {good.values[0], good.values[1]};
    struct pith_train_weight w = good.weights[0];
    struct pith_train_integers q = good;
    struct pith_train_opts o = small_options();
    o.levels = 3;
    refused(&o, "does not go with levels");
    o = small_options();
    o.integers = &q;
    q.values = v;
    v[1].value = v[1].like = m->nodes[0].in[1];
    refused(&o, "no value");
    v[1] = good.values[1];
    v[1].like = 12345;
    refused(&o, "not listed");
    v[1] = good.values[1];
    v[0].like = v[1].value; /* each refers to the other's grid: there is none */
    v[1].like = v[0].value;
    refused(&o, "not listed");
    v[0] = good.values[0];
    v[0].like = v[1].value = v[1].like = 1u << 20; /* listed, but no value */
    refused(&o, "no value");
    v[0] = good.values[0];
    v[1] = good.values[1];
    v[1].value = v[1].like = m->nodes[0].out[0];
    refused(&o, "no grid");
    q = good;
    q.weights = &w;
    q.n_weights = 1;
    w.highest = 128;
    refused(&o, "from -128 to 127");
    w = good.weights[0];
    w.value = m->inputs[0];
    refused(&o, "no weight");
    pith_model_free(m);
}

static bool at_once(void *user)
{
    (void)user;
    return true;
}

/* A label that is no class, met on the way. */
TEST(test_failure_leaves_no_trace)
{
    struct pith_train_opts o = small_options();
    struct trained t = train_on(9, &o, false);
    assert_int_equal(t.status, PITH_ERR_CORRUPT);
    struct pith_model *m = network_of(3, false);
    assert_memory_equal(constant(t.m, "w1")->data, constant(m, "w1")->data,
                        HIDDEN * INPUTS * sizeof(float));
    assert_null(constant(t.m, "w1")->codebook);
    assert_int_equal(t.m->n_nodes, 3);
    assert_true(t.m->values[t.m->nodes[1].out[0]].grid->scale[0] == 0.4f);
    pith_model_free(m);
    pith_model_free(t.m);
    o = small_options();
    o.stop = at_once;
    t = train(&o, false);
    assert_int_equal(t.status, PITH_OK); /* stopped is over: as after one step */
    check_weights(constant(t.m, "w1"), HIDDEN, -4, 3);
    pith_model_free(t.m);
}

/* A file with a batch of one is trained with more. */
TEST(test_fixed_batch)
{
    struct pith_model *m = network_of(3, false);
    struct pith_data *data = clouds(0);
    struct pith_train_opts o = small_options();
    struct pith_train_result r;
    struct pith_error err = {0};
    m->batch_open = false;
    o.integers = attach_integers(m);
    SUCCEEDS(pith_train(m, data, NULL, &o, &r, &err));
    check_weights(constant(m, "w1"), HIDDEN, -4, 3);
    assert_true(m->values[m->nodes[1].out[0]].grid->scale[0] != 0.4f);
    assert_true(r.accuracy > 0.8);
    pith_data_free(data);
    pith_model_free(m);
}

/* ---- the nodes that round -------------------------------------------------------------------- */

/* On the tape, in a layout of either kind: what is given is what the grid has, twice for two
 * readers. */
TEST(test_rounds_on_the_tape)
{
    struct pith_model *m = network_of(3, false);
    const struct pith_train_integers *q = attach_integers(m);
    struct pith_train_opts o = small_options();
    struct fake_graph *g = NULL;
    struct tape *t = NULL;
    struct pith_error err = {0};
    o.integers = q;
    assert_int_equal(pith_fake_graph_open(m, &o, &g, &err), PITH_OK);
    assert_int_equal(m->n_nodes, 5);
    const struct tape_opts opts = {.batch = 16, .threads = 1, .training = true};
    assert_int_equal(pith_tape_new(m, &opts, &t, &err), PITH_OK);
    for (uint32_t s = 0; s < PITH_TRAIN_SLICES; s++) {
        struct tape_tensor *x = pith_tape_input(t, s, 0);
        for (size_t i = 0; i < shape_elems(&x->shape); i++)
            ((float *)x->data)[i] = 0.37f * (float)i - 1.5f;
    }
    pith_tape_forward(t);
    const float *x = pith_tape_input(t, 0, 0)->data;
    const float *rounded = pith_tape_value(t, 0, m->nodes[0].out[0])->data;
    const float *h = pith_tape_value(t, 0, m->nodes[1].out[0])->data;
    const float *w = constant(m, "w1")->data, *b = constant(m, "b1")->data;
    for (int i = 0; i < 2 * INPUTS; i++) {
        float k = fminf(fmaxf(nearbyintf(x[i] / 0.3f), -5), 10);
        assert_true(rounded[i] == k * 0.3f);
    }
    for (int j = 0; j < HIDDEN; j++) {
        double sum = (double)b[j];
        for (int i = 0; i < INPUTS; i++)
            sum += (double)w[j * INPUTS + i] * (double)rounded[i];
        assert_true(fabs(sum - (double)h[j]) < 1e-4);
    }
    pith_tape_free(t);
    pith_fake_graph_close(g, m, false);
    assert_int_equal(m->n_nodes, 3);
    pith_model_free(m);
}

RUN_TESTS
