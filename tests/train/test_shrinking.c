/* SPDX-License-Identifier: MIT */
/* Networks that get smaller while they train: which units feed which, grids and their learned step,
 * weights removed by count and by rate, dead units gone whole, and a model that is left alone when
 * the run fails. */
#include <stdint.h>
#include "test_run.h"
#include <math.h>
#include <stdio.h>
#include "train/small_network.h"
#include "pith_pack.h"
#include "train/shrink/parametrization.h"
#include "train/shrink/grid.h"
#include "train/shrink/gradual_pruning.h"
#include "train/shrink/channel_dependency.h"

/* ---- shared values --------------------------------------------------------------------------- */

/* Two groups of two centroids: a centroid's gradient is the sum of its members', half of it here.
 * In the second group they passed each other: they are sorted, with them the members' numbers and
 * the moments; in the first both became 3, and the second goes on by one float. */
TEST(test_centroids_by_hand)
{
    float data[6], grad[6] = {1, 2, 4, 8, 16, 32}, sum[4], centroid[4] = {0},
                   value[4] = {3, 3, 5, 4}, first[4] = {1, 2, 3, 4}, second[4] = {5, 6, 7, 8};
    uint8_t index[6] = {0, 1, 0, 1, 0, 1};
    struct pith_codebook b = {
        .n_centroids = 2, .n_groups = 2, .group_elems = 3, .centroid = centroid, .index = index};
    struct pith_const c = {.count = 6, .data = data, .codebook = &b};
    struct tape_parameter p = {.count = 6, .data = data, .grad = grad};
    struct parametrization f = {
        .p = &p, .c = &c, .n = 4, .value = value, .grad = sum, .first = first, .second = second};
    pith_latent_gather(&f, 0.5f);
    assert_memory_equal(sum, ((float[]){2.5f, 1, 8, 20}), sizeof sum);
    pith_latent_store(&f);
    const float next = nextafterf(3, INFINITY);
    assert_memory_equal(centroid, ((float[]){3, next, 4, 5}), sizeof centroid);
    assert_memory_equal(index, ((uint8_t[]){0, 1, 0, 0, 1, 0}), sizeof index);
    assert_memory_equal(data, ((float[]){3, next, 3, 4, 5, 4}), sizeof data);
    assert_memory_equal(value, ((float[]){3, 3, 4, 5}), sizeof value);
    assert_memory_equal(first, ((float[]){1, 2, 4, 3}), sizeof first);
    assert_memory_equal(second, ((float[]){5, 6, 8, 7}), sizeof second);
}

/* ---- units ----------------------------------------------------------------------------------- */

TEST(test_links_of_lenet)
{
    struct pith_model *m = sample_lenet5(1);
    struct channel_link link[16];
    struct pith_weight_ref refs[16];
    struct pith_error err = {0};
    uint32_t n;
    assert_true(m->n_nodes <= 16);
    assert_int_equal(pith_model_infer_shapes(m, &err), PITH_OK);
    assert_int_equal(pith_channel_dependencies(m, link, refs, &n), PITH_OK);
    assert_int_equal(n, 4);
    assert_int_equal(link[0].source, PITH_VALUE_NONE); /* reads the picture */
    for (uint32_t i = 1; i < n; i++)
        assert_int_equal(link[i].source, i - 1);
    for (uint32_t i = 0; i < n; i++) {
        assert_int_not_equal(link[i].bias, PITH_VALUE_NONE);
        assert_int_equal(m->values[link[i].bias].constant->count, refs[i].rows);
    }
    pith_model_free(m);
}

/* Two nodes read the hidden layer: no node has its units alone. */
TEST(test_links_end_at_branches)
{
    struct pith_model *m = network_of(3, false);
    struct channel_link link[16];
    struct pith_weight_ref refs[16];
    uint32_t n;
    assert_int_equal(pith_channel_dependencies(m, link, refs, &n), PITH_OK);
    assert_int_equal(n, 2);
    assert_int_equal(link[1].source, 0);
    sample_done(m, m->nodes[1].out[0]);
    assert_int_equal(pith_channel_dependencies(m, link, refs, &n), PITH_OK);
    assert_int_equal(link[1].source, PITH_VALUE_NONE);
    pith_model_free(m);
}

/* ---- grid ------------------------------------------------------------------------------------ */

/* Levels of 0.5 up to 3; steps have 8 bits of mantissa; gradients that push further out are 0; the
 * step goes half of the way to sum x k / sum k k, at half of the rate a quarter. */
TEST(test_grid_by_hand)
{
    static const float x[] = {0.24f, 0.25f, -0.25f, 0.74f, 0.75f, 1.6f, 5, -5, NAN, INFINITY};
    static const int32_t level[] = {0, 1, -1, 1, 2, 3, 3, -3, 0, 3};
    static const float at[] = {2, -2, 2, -2, 1.74f, 1.75f, 2};
    static const uint8_t alive[] = {1, 1, 1, 1, 1, 1, 0};
    float grad[] = {-1, 1, 1, -1, -1, -1, -1};
    struct grid g;
    pith_grid_init(&g, 3, 0);
    assert_true(g.exact == 1e-30f && g.step > 0);
    pith_grid_init(&g, 3, INFINITY);
    assert_true(g.exact == 1e30f && isfinite(g.step));
    pith_grid_init(&g, 3, 0.1f);
    assert_true(g.exact == 0.1f && g.step == 0.10009765625f);
    pith_grid_init(&g, 3, 0.5f);
    assert_true(g.exact == 0.5f && g.step == 0.5f && g.levels == 3);
    for (size_t i = 0; i < sizeof x / sizeof *x; i++)
        assert_int_equal(pith_grid_level(&g, x[i]), level[i]);
    pith_grid_gradient(&g, 7, at, alive, grad);
    assert_memory_equal(grad, ((float[]){0, 0, 1, -1, -1, 0, -1}), sizeof grad);
    pith_grid_gradient(&g, 7, at, NULL, grad);
    assert_true(grad[6] == 0);
    pith_grid_learn(&g, &(struct grid_fit){8, 0}, 1);
    pith_grid_learn(&g, &(struct grid_fit){-8, 10}, 1);
    pith_grid_learn(&g, &(struct grid_fit){INFINITY, 10}, 1);
    assert_true(g.exact == 0.5f && g.step == 0.5f);
    pith_grid_learn(&g, &(struct grid_fit){9, 10}, 0.5);
    assert_true(fabsf(g.exact - 0.6f) < 1e-7f && g.step == 0.6015625f);
    pith_grid_learn(&g, &(struct grid_fit){8, 10}, 1);
    assert_true(fabsf(g.exact - 0.7f) < 1e-7f && g.step == 0.69921875f);
}

/* What is alive goes half of its way to the middle of its level; the squared gradient is forgotten
 * by a hundredth. */
TEST(test_numbers_by_hand)
{
    float value[4] = {0.6f, 0.6f, -1.1f, 0.2f}, importance[2] = {1, 0}, data[4],
          grad[4] = {1, 1, 1, 1}, factor[2] = {1, 2};
    uint8_t mask[4] = {1, 0, 1, 1};
    struct pith_const c = {.count = 4, .data = data, .mask = mask};
    struct tape_parameter p = {.count = 4, .data = data, .grad = grad};
    struct grid g;
    struct parametrization f = {.p = &p,
                                .c = &c,
                                .n = 4,
                                .value = value,
                                .grad = grad,
                                .grid = &g,
                                .factor = factor,
                                .cols = 2};
    struct pruned_tensor w = {.importance = importance};
    pith_grid_init(&g, 3, 0.5f);
    pith_latent_damp(&f, 0.5f, 0, 3);
    for (int i = 0; i < 4; i++)
        assert_true(fabsf(value[i] - ((float[]){0.55f, 0.6f, -1.05f, 0.2f})[i]) < 1e-6f);
    pith_latent_spread(&f, value, data);
    assert_memory_equal(data, ((float[]){0.5f, 0, -2, 0}), sizeof data);
    pith_latent_gather_range(&f, 0.25f, 1, 4);
    assert_memory_equal(grad, ((float[]){1, 0, 0.5f, 0.5f}), sizeof grad);
    pith_gradual_observe(&w, 0, 2, (const float[]){3, 2});
    assert_true(fabsf(importance[0] - 1.08f) < 1e-6f && fabsf(importance[1] - 0.04f) < 1e-6f);
}

/* Whatever a step or a number became, levels are levels. */
TEST(test_grid_at_the_limits)
{
    static const float steps[] = {0, 1e-45f, 1e-38f, 3e38f};
    static const float x[] = {NAN, INFINITY, -INFINITY, 3e38f, -1e-45f, 0};
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++)
        for (size_t k = 0; k < sizeof x / sizeof *x; k++) {
            struct grid g;
            pith_grid_init(&g, 7, steps[i]);
            int32_t q = pith_grid_level(&g, x[k]);
            assert_true(g.step > 0 && isfinite(7 * g.step));
            assert_in_range(q + 7, 0, 14);
            assert_true(q == 0 || !isnan(x[k]));
            const struct grid_fit tiny = {1e-60, 1}, vast = {1e60, 1};
            for (int t = 0; t < 200; t++)
                pith_grid_learn(&g, i % 2 ? &tiny : &vast, 1);
            assert_true(g.step > 0 && isfinite(7 * g.step));
        }
}

/* At the end of a run, where nothing is learned any more, a step that moved would move all levels.
 */
TEST(test_step_rests_with_the_rate)
{
    struct grid g, half;
    pith_grid_init(&g, 7, 0.5f);
    half = g;
    pith_grid_learn(&g, &(struct grid_fit){3, 4}, 0);
    pith_grid_learn(&half, &(struct grid_fit){3, 4}, 0.5);
    assert_true(g.step == 0.5f && half.step == 0.5625f);
}

TEST(test_numbers_settle_at_their_levels)
{
    float x[] = {0.1f, 0.3f, -0.7f, 9, 0.3f, 0.3f};
    static const float want[] = {0.1f, 0.4f, -0.6f, 6.25f, 0.3f, 0.3f};
    uint8_t mask[] = {1, 1, 1, 1, 0, 1};
    struct grid g;
    pith_grid_init(&g, 7, 0.5f);
    struct pith_const c = {.mask = mask};
    struct parametrization f = {.c = &c, .n = 6, .value = x, .grid = &g};
    pith_latent_damp(&f, 0.5f, 1, 5); /* the first and last are others' */
    for (int i = 0; i < 6; i++)
        assert_true(fabsf(x[i] - want[i]) < 1e-6f);
    pith_latent_damp(&f, 0, 0, 6);
    assert_true(x[0] == 0.1f);
    f.grid = NULL; /* what may be any number has nowhere to go */
    pith_latent_damp(&f, 0.5f, 0, 6);
    assert_true(x[0] == 0.1f);
}

/* ---- whole runs ------------------------------------------------------------------------------ */

static uint64_t nonzeros(const struct pith_const *c)
{
    uint64_t n = 0;
    for (uint64_t k = 0; k < c->count; k++)
        n += ((const float *)c->data)[k] != 0;
    return n;
}

static struct pith_train_opts shrinking(void)
{
    struct pith_train_opts o = small_options();
    o.epochs = 12;
    o.prune_every = 4;
    return o;
}

TEST(test_by_count)
{
    static const enum pith_score scores[] = {PITH_SCORE_RATE, PITH_SCORE_FISHER,
                                             PITH_SCORE_MAGNITUDE};
    for (size_t i = 0; i < 3; i++) {
        struct pith_model *m = network_of(3, false);
        struct pith_train_opts o = shrinking();
        o.sparsity = 0.75;
        o.score = scores[i];
        struct pith_train_result r = trained_on(m, &o, false);
        const struct pith_const *w1 = constant(m, "w1"), *w2 = constant(m, "w2");
        uint64_t kept = nonzeros(w1) + nonzeros(w2);
        assert_int_equal(r.kept, kept);
        assert_true(kept <= 30 && kept >= 15); /* a quarter of 120, less what died with its unit */
        assert_true(r.accuracy > 0.85);
        for (uint64_t k = 0; k < w1->count; k++)
            assert_true(w1->mask[k] || ((float *)w1->data)[k] == 0);
        pith_model_free(m);
    }
}

/* The same weights whether they are given as a share or as a number. */
TEST(test_by_number)
{
    struct pith_model *share = network_of(3, false), *number = network_of(3, false);
    struct pith_train_opts o = shrinking();
    o.sparsity = 0.75;
    trained_on(share, &o, false);
    o.sparsity = 0;
    o.keep_weights = 30;
    trained_on(number, &o, false);
    const struct pith_const *a = constant(share, "w1"), *b = constant(number, "w1");
    assert_memory_equal(a->data, b->data, a->count * sizeof(float));
    assert_true(nonzeros(a) < a->count / 2);
    struct pith_data *data = clouds(0);
    struct pith_train_result r;
    struct pith_error err = {0};
    o.keep_weights = 120;
    assert_int_equal(pith_train(number, data, NULL, &o, &r, &err), PITH_ERR_ARGUMENT);
    assert_non_null(strstr(err.text, "120 weights cannot be kept: the model has 120"));
    o.keep_weights = 30;
    o.sparsity = 0.5;
    assert_int_equal(pith_train(number, data, NULL, &o, &r, &err), PITH_ERR_ARGUMENT);
    pith_data_free(data);
    pith_model_free(share);
    pith_model_free(number);
}

TEST(test_dead_units_are_gone)
{
    struct pith_model *m = network_of(3, false);
    struct pith_train_opts o = shrinking();
    o.sparsity = 0.85;
    trained_on(m, &o, false);
    const float *w1 = constant(m, "w1")->data, *w2 = constant(m, "w2")->data;
    const float *b1 = constant(m, "b1")->data;
    uint32_t dead = 0;
    for (uint32_t unit = 0; unit < HIDDEN; unit++) {
        uint32_t in = 0, out = 0;
        for (uint32_t k = 0; k < INPUTS; k++)
            in += w1[unit * INPUTS + k] != 0;
        for (uint32_t k = 0; k < CLASSES; k++)
            out += w2[k * HIDDEN + unit] != 0;
        assert_int_equal(in > 0, out > 0);
        assert_true(in > 0 || b1[unit] == 0);
        dead += in == 0;
    }
    assert_true(dead >= 2);
    pith_model_free(m);
}

TEST(test_grid_holds)
{
    struct pith_model *m = network_of(3, false);
    struct pith_train_opts o = shrinking();
    o.levels = 3;
    o.bias_levels = 7;
    struct pith_train_result r = trained_on(m, &o, false);
    assert_true(r.accuracy > 0.9);
    assert_true(r.bytes > 20 && r.bytes < 120);
    static const char *const names[] = {"w1", "b1", "w2", "b2"};
    for (size_t i = 0; i < 4; i++) {
        const struct pith_const *c = constant(m, names[i]);
        int32_t levels = i % 2 ? 7 : 3;
        assert_non_null(c->codebook);
        assert_int_equal(c->codebook->n_centroids, 2 * levels + 1);
        float step = c->codebook->centroid[levels + 1];
        for (int32_t k = -levels; k <= levels; k++)
            assert_true(c->codebook->centroid[k + levels] == (float)k * step);
        for (uint64_t k = 0; k < c->count; k++)
            assert_true(((float *)c->data)[k] == c->codebook->centroid[c->codebook->index[k]]);
    }
    pith_model_free(m);
}

/* Counts down what user points to. */
static bool at_step(void *user)
{
    uint32_t *left = user;
    return --*left == 0;
}

/* How many weights the last 16 of 640 steps, at the rate of the first, bring to other levels. */
static uint32_t still_moving(float damping)
{
    struct pith_model *at[2];
    uint32_t n = 0;
    for (int i = 0; i < 2; i++) {
        struct pith_train_opts o = shrinking();
        uint32_t stop = i ? 624 : 641;
        o.epochs = 40;
        o.schedule = PITH_CONSTANT;
        o.levels = 3;
        o.oscillation_damping = damping;
        o.stop = at_step;
        o.user = &stop;
        at[i] = network_of(3, false);
        trained_on(at[i], &o, false);
    }
    const struct pith_codebook *a = constant(at[0], "w1")->codebook,
                               *b = constant(at[1], "w1")->codebook;
    for (uint32_t k = 0; k < HIDDEN * INPUTS; k++)
        n += a->index[k] != b->index[k];
    pith_model_free(at[0]);
    pith_model_free(at[1]);
    return n;
}

TEST(test_dampened_weights_settle)
{
    uint32_t free = still_moving(0), dampened = still_moving(0.2f);
    assert_true(free > 0 && dampened == 0);
}

/* Steps between removals that do not divide the run, or are more than it has: the requested share
 * is gone where the schedule ends, and the best epoch is one of those behind that. */
TEST(test_target_is_reached)
{
    static const uint32_t every[] = {100, 1000};
    for (size_t i = 0; i < 4; i++) {
        struct pith_model *m = network_of(3, false);
        struct pith_train_opts o = shrinking();
        o.sparsity = 0.75;
        o.prune_every = every[i % 2];
        o.keep_best = i >= 2;
        struct pith_train_result r = train_with(m, &o, clouds(0), clouds(0));
        uint64_t kept = nonzeros(constant(m, "w1")) + nonzeros(constant(m, "w2"));
        assert_int_equal(r.kept, kept);
        assert_true(kept <= 30 && kept >= 10);
        assert_true(r.best_epoch >= 10);
        pith_model_free(m);
    }
}

/* Patience waits for the requested sparsity, and then is none without end. */
TEST(test_patience_waits)
{
    static const uint32_t levels[] = {0, 3};
    for (size_t i = 0; i < 2; i++) {
        struct pith_model *m = network_of(3, false);
        struct pith_data *data = clouds(0), *val = clouds(0);
        struct pith_train_opts o = shrinking();
        o.sparsity = 0.75;
        o.levels = levels[i];
        o.patience = 2;
        o.keep_best = true;
        struct pith_train_result r = train_with(m, &o, data, val);
        assert_true(r.best_epoch >= 10 && r.best_epoch <= r.epochs);
        assert_true(r.kept > 0 && r.kept <= 30 && r.accuracy > 0.8 && r.val_accuracy > 0.8);
        pith_model_free(m);
    }
}

/* Before any epoch is thin enough: the network is what those steps made of it. */
TEST(test_stop_before_the_target)
{
    struct pith_model *m = network_of(3, false);
    struct pith_data *data = clouds(0), *val = clouds(0);
    struct pith_train_opts o = shrinking();
    struct pith_train_result r;
    struct pith_error err = {0};
    uint32_t steps = 3;
    o.sparsity = 0.5;
    o.levels = 7;
    o.keep_best = true;
    o.stop = at_step;
    o.user = &steps;
    SUCCEEDS(pith_train(m, data, val, &o, &r, &err));
    assert_true(r.epochs == 1 && r.best_epoch == 1 && isfinite(r.val_loss));
    assert_int_equal(r.kept, nonzeros(constant(m, "w1")) + nonzeros(constant(m, "w2")));
    assert_true(r.kept > 60);
    pith_data_free(data);
    pith_data_free(val);
    pith_model_free(m);
}

/* One step of removal by hand: weights of w1 are 1, 2, 3, ..., those of w2 so large that they stay;
 * what w1 makes is no unit's alone. dead_below: of w1. Kept weights of both. */
static uint64_t pruned(struct pith_train_opts *o, float dead_below, uint64_t step)
{
    struct pith_model *m = network_of(3, false);
    struct pith_error err = {0};
    struct tape *t;
    struct gradual_pruning *h;
    uint32_t n;
    float *value[8], grad[HIDDEN * INPUTS];
    sample_done(m, m->nodes[1].out[0]);
    assert_int_equal(pith_tape_new(m, &(struct tape_opts){.batch = 8, .threads = 1}, &t, &err),
                     PITH_OK);
    assert_int_equal(pith_gradual_new(m, t, o, &h, &err), PITH_OK);
    struct pruned_tensor *w = pith_gradual_tensors(h, &n);
    assert_true(n <= 8 && w[0].count == HIDDEN * INPUTS);
    for (uint32_t i = 0; i < n; i++) {
        value[i] = calloc((size_t)w[i].count, sizeof(float));
        for (uint64_t k = 0; k < w[i].count; k++)
            value[i][k] = i == 0 ? (float)(k + 1) : (float)(k + 1000);
    }
    for (uint32_t k = 0; k < HIDDEN * INPUTS; k++)
        grad[k] = 1 + 0.01f * (float)k;
    pith_gradual_observe(&w[0], 0, w[0].count, grad);
    w[0].dead_below = dead_below;
    pith_gradual_step(h, step, 100, value);
    uint64_t kept = pith_gradual_kept(h);
    for (uint32_t i = 0; i < n; i++)
        free(value[i]);
    pith_gradual_free(h);
    pith_tape_free(t);
    pith_model_free(m);
    return kept;
}

TEST(test_one_weight_stays)
{
    struct pith_train_opts o = shrinking();
    o.sparsity = 0.9999;
    o.score = PITH_SCORE_MAGNITUDE;
    o.prune_every = 1;
    assert_int_equal(pruned(&o, 0, 99), 1);
}

TEST(test_threads_do_not_matter)
{
    struct pith_buffer file[3];
    struct pith_error err = {0};
    for (uint32_t i = 0; i < 3; i++) {
        struct pith_model *m = network_of(3, false);
        struct pith_train_opts o = shrinking();
        o.threads = 1u << i;
        o.sparsity = 0.5;
        o.levels = 7;
        trained_on(m, &o, false);
        assert_int_equal(pith_model_pack(m, NULL, &file[i], &err), PITH_OK);
        assert_int_equal(file[i].bytes, file[0].bytes);
        assert_memory_equal(file[i].data, file[0].data, file[0].bytes);
        pith_model_free(m);
    }
    for (int i = 0; i < 3; i++)
        pith_buffer_free(&file[i]);
}

TEST(test_failure_leaves_the_model)
{
    struct pith_model *m = network_of(3, false);
    struct pith_train_opts o = shrinking();
    struct pith_data *data = clouds(CLASSES + 3);
    struct pith_train_result r;
    struct pith_error err = {0};
    struct pith_buffer before, after;
    o.sparsity = 0.5;
    o.levels = 3;
    assert_int_equal(pith_model_pack(m, NULL, &before, &err), PITH_OK);
    assert_int_equal(pith_train(m, data, NULL, &o, &r, &err), PITH_ERR_CORRUPT);
    assert_null(constant(m, "w1")->mask);
    assert_null(constant(m, "w1")->codebook);
    assert_int_equal(pith_model_pack(m, NULL, &after, &err), PITH_OK);
    assert_int_equal(before.bytes, after.bytes);
    assert_memory_equal(before.data, after.data, before.bytes);
    pith_buffer_free(&before);
    pith_buffer_free(&after);
    pith_data_free(data);
    pith_model_free(m);
}

RUN_TESTS
