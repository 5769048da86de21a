/* SPDX-License-Identifier: MIT */
/* Soft assignment: the exact derivative, what is left at temperature 0, and a training in which
 * weights change their centroid for the better. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "points.h"
#include "pith_host.h"
#include "pith_train.h"
#include "test_train_shrink.h"

enum { COUNT = 24, GROUP = 12, CENTROIDS = 4, ALL_CENTROIDS = COUNT / GROUP * CENTROIDS };

static const float centroid[ALL_CENTROIDS] = {-1, -0.25f, 0.5f, 1, -2, -1, 0.5f, 1.5f};

static struct soft_assign *soft_of(float temperature)
{
    struct soft_assign *s;
    assert_true(pith_soft_new(COUNT, GROUP, CENTROIDS, centroid, temperature, &s));
    return s;
}

static void numbers(float *x, uint8_t *alive)
{
    struct sample_random r = sample_random_of(3);
    for (uint32_t k = 0; k < COUNT; k++) {
        x[k] = sample_gauss(&r);
        alive[k] = k % 5 != 0;
    }
}

static double form(const struct soft_assign *s, const float *x, const float *c,
                   const uint8_t *alive)
{
    float w[COUNT];
    double sum = 0;
    pith_soft_values(s, x, c, alive, w);
    for (uint32_t k = 0; k < COUNT; k++)
        sum += sin(1.0 + k) * (double)w[k];
    return sum;
}

static void gradients(void **state)
{
    (void)state;
    const float step = 2e-3f;
    for (int way = 0; way < 4; way++) {
        float x[COUNT], c[ALL_CENTROIDS], g[COUNT], dx[COUNT], dc[ALL_CENTROIDS];
        uint8_t alive[COUNT];
        struct soft_assign *s = soft_of(way & 1 ? 0.2f : 1.0f);
        pith_soft_cool(s, 0.1, 0.8);
        numbers(x, alive);
        memcpy(c, centroid, sizeof c);
        for (uint32_t k = 0; k < COUNT; k++)
            g[k] = (float)sin(1.0 + k);
        const uint8_t *some = way & 2 ? alive : NULL;
        pith_soft_gradient(s, x, c, some, g, dx, dc);
        for (uint32_t k = 0; k < COUNT + ALL_CENTROIDS; k++) {
            float *at = k < COUNT ? &x[k] : &c[k - COUNT], was = *at;
            *at = was + step;
            double up = form(s, x, c, some);
            *at = was - step;
            double slope = (up - form(s, x, c, some)) / (2 * (double)step);
            *at = was;
            double is = (double)(k < COUNT ? dx[k] : dc[k - COUNT]);
            if (!(fabs(slope - is) <= 1e-3 + 2e-3 * fabs(slope)))
                fail_msg("way %d, number %u: %g, by differences %g", way, k, is, slope);
        }
        pith_soft_free(s);
    }
}

/* Cold: values are centroids, gradients those of their members' sums. */
static void settles(void **state)
{
    (void)state;
    float x[COUNT], w[COUNT], g[COUNT], dx[COUNT], dc[ALL_CENTROIDS];
    uint8_t alive[COUNT], index[COUNT];
    struct soft_assign *s = soft_of(1);
    numbers(x, alive);
    pith_soft_values(s, x, centroid, NULL, w);
    pith_soft_nearest(s, x, centroid, index);
    uint32_t between = 0;
    for (uint32_t k = 0; k < COUNT; k++)
        between += fabsf(w[k] - centroid[k / GROUP * CENTROIDS + index[k]]) > 0.01f;
    assert_true(between > COUNT / 2);
    pith_soft_cool(s, 0.8, 0.8);
    pith_soft_values(s, x, centroid, alive, w);
    double sum[ALL_CENTROIDS] = {0};
    for (uint32_t k = 0; k < COUNT; k++) {
        uint32_t j = k / GROUP * CENTROIDS + index[k];
        g[k] = (float)k - 7.0f;
        sum[j] += alive[k] ? (double)g[k] : 0;
        assert_true(w[k] == (alive[k] ? centroid[j] : 0));
        for (uint32_t i = k / GROUP * CENTROIDS; i < (k / GROUP + 1) * CENTROIDS; i++)
            assert_true(fabsf(x[k] - centroid[j]) <= fabsf(x[k] - centroid[i]));
    }
    pith_soft_gradient(s, x, centroid, alive, g, dx, dc);
    for (uint32_t k = 0; k < COUNT; k++)
        assert_true(dx[k] == 0);
    for (uint32_t j = 0; j < ALL_CENTROIDS; j++)
        assert_true(fabs((double)dc[j] - sum[j]) < 1e-4);
    pith_soft_free(s);
}

/* ---- training -------------------------------------------------------------------------------- */

enum { INPUTS = 8, HIDDEN = 16, SAMPLES = 512, CLASSES = 4 };

static struct pith_model *network(void)
{
    struct sample_random r = sample_random_of(4);
    struct pith_model *m = sample_new();
    struct pith_error err = {0};
    uint32_t x = add_value(m, "x", PITH_F32, 2, (const uint32_t[]){1, INPUTS});
    m->inputs[m->n_inputs++] = x;
    m->batch_open = true;
    uint32_t h = add_layer(m, &r, PITH_OP_GEMM, "fc1", x, 2, (const uint32_t[]){HIDDEN, INPUTS});
    h = add_node(m, PITH_OP_RELU, "act", "a", 1, &h)->out[0];
    m->outputs[m->n_outputs++] =
        add_layer(m, &r, PITH_OP_GEMM, "fc2", h, 2, (const uint32_t[]){CLASSES, HIDDEN});
    if (pith_model_infer_shapes(m, &err))
        fail_msg("%s", err.text);
    return m;
}

static uint32_t number_of(const struct pith_model *m, const char *name)
{
    for (uint32_t i = 0; i < m->n_values; i++)
        if (strcmp(m->values[i].name, name) == 0)
            return i;
    fail_msg("no constant %s", name);
    return 0;
}

/* fc1 with a mask and three centroids, learned from what it was before; the loss on its data. */
static double learned(float temperature, float average, uint32_t *moved)
{
    struct pith_model *teacher = network(), *m = network();
    uint32_t number = number_of(m, "fc1.weight");
    const struct pith_const *w = m->values[number].constant;
    uint8_t first[HIDDEN * INPUTS];
    sample_prune(m, number, 0.8);
    sample_cluster(m, number, 6, 0);
    memcpy(first, w->codebook->index, sizeof first);
    struct pith_train_opts o;
    pith_train_opts_init(&o, sizeof o);
    o.epochs = 40;
    o.batch = 64;
    o.rate = 0.02f;
    o.threads = 1;
    o.loss = PITH_DISTILL;
    o.teacher = teacher;
    o.assignment_temperature = temperature;
    o.ema = average;
    struct pith_data *data = points_of(9, SAMPLES, INPUTS), *val = points_of(9, SAMPLES, INPUTS);
    struct pith_train_result r;
    struct pith_error err = {0};
    if (pith_train(m, data, val, &o, &r, &err))
        fail_msg("%s", err.text);
    *moved = 0;
    for (uint32_t k = 0; k < HIDDEN * INPUTS; k++) {
        float v = ((float *)w->data)[k];
        assert_true(v == (w->mask[k] ? w->codebook->centroid[w->codebook->index[k]] : 0));
        *moved += w->mask[k] && w->codebook->index[k] != first[k];
    }
    for (uint32_t j = 1; j < w->codebook->n_centroids; j++)
        assert_true(w->codebook->centroid[j] > w->codebook->centroid[j - 1]);
    pith_data_free(data);
    pith_data_free(val);
    pith_model_free(teacher);
    pith_model_free(m);
    return r.val_loss;
}

static void finds_better_centroids(void **state)
{
    (void)state;
    uint32_t moved;
    double fixed = learned(0, 0, &moved);
    assert_int_equal(moved, 0);
    for (int average = 0; average < 2; average++) {
        double soft = learned(0.2f, average ? 0.9f : 0, &moved);
        if (!(soft < 0.8 * fixed && moved > 5))
            fail_msg("loss %g, assigned once %g; %u moved", soft, fixed, moved);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(gradients), cmocka_unit_test(settles),
                                       cmocka_unit_test(finds_better_centroids)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
