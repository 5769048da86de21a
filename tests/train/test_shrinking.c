/* SPDX-License-Identifier: MIT */
/* Networks that get smaller while they train: which units feed which, grids and their learned step,
 * weights removed by count and by rate, dead units gone whole, and a model that is left alone when
 * the run fails. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include "train/small_network.h"
#include "grid.h"
#include "unit_links.h"

/* ---- units --------------------------------------------------------------------------------------
 */

static void test_links_of_lenet(void **state)
{
    (void)state;
    struct pith_model *m = sample_lenet5(1);
    struct unit_link link[16];
    struct pith_weight_ref refs[16];
    struct pith_error err = {0};
    uint32_t n;
    assert_true(m->n_nodes <= 16);
    assert_int_equal(pith_model_infer_shapes(m, &err), PITH_OK);
    assert_int_equal(pith_unit_links(m, link, refs, &n), PITH_OK);
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

/* Two nodes read the hidden layer: its units are nobody's alone. */
static void test_links_end_at_branches(void **state)
{
    (void)state;
    struct pith_model *m = network_of(3, false);
    struct unit_link link[16];
    struct pith_weight_ref refs[16];
    struct pith_error err = {0};
    uint32_t n;
    assert_int_equal(pith_unit_links(m, link, refs, &n), PITH_OK);
    assert_int_equal(n, 2);
    assert_int_equal(link[1].source, 0);
    m->outputs[m->n_outputs++] = m->nodes[1].out[0];
    assert_int_equal(pith_model_infer_shapes(m, &err), PITH_OK);
    assert_int_equal(pith_unit_links(m, link, refs, &n), PITH_OK);
    assert_int_equal(link[1].source, PITH_VALUE_NONE);
    pith_model_free(m);
}

/* ---- grid ---------------------------------------------------------------------------------------
 */

static void test_grid_by_hand(void **state)
{
    (void)state;
    struct grid g;
    const float x[] = {0.24f, -0.26f, 0.8f, -9.0f, 0.4f}, zero[] = {0.5f, 0.6f, 0.9f, 0.9f, 0.5f};
    const int32_t want[] = {0, -1, 2, -2, 1}, later[] = {0, 0, 2, -2, 1};
    float grad[] = {1, 2, 3, 4, 5};
    const uint8_t alive[] = {1, 1, 1, 1, 0};
    pith_grid_init(&g, 2, 0.5f);
    for (int i = 0; i < 5; i++) {
        assert_int_equal(pith_grid_level(&g, x[i], GRID_HALFWAY), want[i]);
        assert_int_equal(pith_grid_level(&g, x[i], zero[i]), later[i]);
    }
    assert_int_equal(pith_grid_level(&g, 0.46f, 0.95f), 0);
    assert_int_equal(pith_grid_level(&g, 0.48f, 0.95f), 1);
    pith_grid_gradient(&g, 5, x, alive, grad);
    assert_true(grad[0] == 1 && grad[1] == 2 && grad[2] == 3);
    assert_true(grad[3] == 0); /* descent would bring it further out */
    grad[3] = -4;
    pith_grid_gradient(&g, 5, x, alive, grad);
    assert_true(grad[3] == -4); /* and this back */
}

/* Of numbers near multiples of 0.3, those that count most nearest, the step finds 0.3 from both
 * sides; 2 bytes hold it. */
static void test_step_is_learned(void **state)
{
    (void)state;
    for (int side = 0; side < 2; side++) {
        uint32_t random = 5, bits;
        struct grid g;
        pith_grid_init(&g, 7, side ? 0.33f : 0.27f);
        for (int t = 0; t < 20; t++) {
            struct grid_fit fit = {0, 0};
            for (int i = 0; i < 64; i++) {
                double weight = i % 2 ? 1 : 100;
                float x = 0.3f * roundf(3 * noise(&random));
                x += (i % 2 ? 0.1f : 0.01f) * noise(&random);
                double k = pith_grid_level(&g, x, GRID_HALFWAY);
                fit.xk += weight * (double)x * k;
                fit.kk += weight * k * k;
            }
            pith_grid_learn(&g, &fit);
        }
        assert_true(fabsf(g.step - 0.3f) < 0.005f);
        memcpy(&bits, &g.step, sizeof bits);
        assert_int_equal(bits & 0xffff, 0);
    }
}

/* ---- whole runs ---------------------------------------------------------------------------------
 */

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

static struct pith_train_result trained(struct pith_model *m, const struct pith_train_opts *o)
{
    struct pith_data *data = clouds(0);
    struct pith_train_result r;
    struct pith_error err = {0};
    if (pith_train(m, data, NULL, o, &r, &err))
        fail_msg("%s", err.text);
    pith_data_free(data);
    return r;
}

static void test_by_count(void **state)
{
    (void)state;
    static const enum pith_score scores[] = {PITH_SCORE_RATE, PITH_SCORE_FISHER,
                                             PITH_SCORE_MAGNITUDE};
    for (size_t i = 0; i < 3; i++) {
        struct pith_model *m = network_of(3, false);
        struct pith_train_opts o = shrinking();
        o.sparsity = 0.75;
        o.score = scores[i];
        struct pith_train_result r = trained(m, &o);
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

static void test_dead_units_are_gone(void **state)
{
    (void)state;
    struct pith_model *m = network_of(3, false);
    struct pith_train_opts o = shrinking();
    o.sparsity = 0.85;
    trained(m, &o);
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

static void test_grid_holds(void **state)
{
    (void)state;
    struct pith_model *m = network_of(3, false);
    struct pith_train_opts o = shrinking();
    o.levels = 3;
    o.bias_levels = 7;
    struct pith_train_result r = trained(m, &o);
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

static void test_rate_trades(void **state)
{
    (void)state;
    double bytes[3];
    static const float lambda[] = {1e-3f, 0.1f, 1.0f};
    for (int i = 0; i < 3; i++) {
        struct pith_model *m = network_of(3, false);
        struct pith_train_opts o = shrinking();
        o.levels = 7;
        o.bias_levels = 7;
        o.rate_weight = lambda[i];
        bytes[i] = trained(m, &o).bytes;
        pith_model_free(m);
    }
    assert_true(bytes[0] > bytes[1] && bytes[1] > bytes[2]);
}

/* With removed weights that may come back, the count is the same. */
static void test_regrowth_keeps_the_count(void **state)
{
    (void)state;
    struct pith_model *m = network_of(3, false);
    struct pith_train_opts o = shrinking();
    o.sparsity = 0.7;
    o.score = PITH_SCORE_FISHER;
    o.regrow = 0.3f;
    uint64_t kept = trained(m, &o).kept;
    assert_true(kept <= 36 && kept >= 18);
    pith_model_free(m);
}

static void test_threads_do_not_matter(void **state)
{
    (void)state;
    struct pith_buffer file[3];
    struct pith_error err = {0};
    for (uint32_t i = 0; i < 3; i++) {
        struct pith_model *m = network_of(3, false);
        struct pith_train_opts o = shrinking();
        o.threads = 1u << i;
        o.sparsity = 0.5;
        o.levels = 7;
        o.rate_weight = 0.05f;
        o.regrow = 0.1f;
        trained(m, &o);
        assert_int_equal(pith_model_pack(m, NULL, &file[i], &err), PITH_OK);
        assert_int_equal(file[i].bytes, file[0].bytes);
        assert_memory_equal(file[i].data, file[0].data, file[0].bytes);
        pith_model_free(m);
    }
    for (int i = 0; i < 3; i++)
        pith_buffer_free(&file[i]);
}

static void test_failure_leaves_the_model(void **state)
{
    (void)state;
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

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_links_of_lenet),
                                       cmocka_unit_test(test_links_end_at_branches),
                                       cmocka_unit_test(test_grid_by_hand),
                                       cmocka_unit_test(test_step_is_learned),
                                       cmocka_unit_test(test_by_count),
                                       cmocka_unit_test(test_dead_units_are_gone),
                                       cmocka_unit_test(test_grid_holds),
                                       cmocka_unit_test(test_rate_trades),
                                       cmocka_unit_test(test_regrowth_keeps_the_count),
                                       cmocka_unit_test(test_threads_do_not_matter),
                                       cmocka_unit_test(test_failure_leaves_the_model)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
