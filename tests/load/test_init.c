/* SPDX-License-Identifier: MIT */
/* test_init.c - networks that have learned nothing: shapes and sizes of the known ones, how their
 * weights are spread, and that a seed gives the same weights everywhere. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include "test_run.h"
#include "pith_init.h"
#include "pith_load.h"
#include "pith_pack.h"
#include "sample_models.h"

static struct pith_model *network(const char *name, uint64_t seed)
{
    struct pith_model *m = NULL;
    struct pith_error err = {0};
    SUCCEEDS(pith_architecture_new(name, NULL, &m, &err) ||
             (seed && pith_model_draw_weights(m, seed, &err)));
    return m;
}

static uint64_t count_parameters(const struct pith_model *m)
{
    uint64_t n = 0;
    for (uint32_t i = 0; i < m->n_values; i++)
        n += m->values[i].constant ? m->values[i].constant->count : 0;
    return n;
}

static const struct pith_value *find(const struct pith_model *m, const char *name)
{
    for (uint32_t i = 0; i < m->n_values; i++)
        if (strcmp(m->values[i].name, name) == 0)
            return &m->values[i];
    fail_msg("no value '%s'", name);
    return NULL;
}

TEST(known_networks_have_their_sizes)
{
    static const struct {
        const char *name;
        uint32_t side, channels, nodes, weights, classes;
        uint64_t parameters;
    } known[] = {{"lenet5", 28, 1, 9, 4, 10, 431080},
                 {"lenet300", 28, 1, 6, 3, 10, 266610},
                 {"digits", 28, 1, 10, 4, 10, 20522},
                 {"dscnn", 49, 1, 30, 10, 12, 24332},
                 {"resnet20", 32, 3, 73, 20, 10, 271098}};
    struct pith_weight_ref refs[128];
    uint32_t n = 0;
    for (; n < sizeof known / sizeof *known; n++) {
        struct pith_model *m = network(known[n].name, 0);
        assert_string_equal(pith_architecture_name(n), known[n].name);
        assert_non_null(pith_architecture_summary(n));
        assert_true(m->batch_open && m->n_inputs == 1 && m->n_outputs == 1);
        const struct pith_value *x = &m->values[m->inputs[0]], *y = &m->values[m->outputs[0]];
        assert_true(x->rank == 4 && x->dim[1] == known[n].channels && x->dim[2] == known[n].side);
        assert_true(y->rank == 2 && y->dim[1] == known[n].classes);
        assert_int_equal(m->n_nodes, known[n].nodes);
        assert_int_equal(pith_model_weights(m, refs), known[n].weights);
        assert_int_equal(count_parameters(m), known[n].parameters);
        pith_model_free(m);
    }
    assert_null(pith_architecture_name(n));
    assert_null(pith_architecture_summary(n));
}

TEST(an_unknown_name_is_refused)
{
    struct pith_model *m = NULL;
    struct pith_error err = {0};
    assert_int_equal(pith_architecture_new("lenet6", NULL, &m, &err), PITH_ERR_ARGUMENT);
    assert_string_equal(err.text, "no architecture 'lenet6'");
    assert_null(m);
    assert_int_equal(pith_architecture_new(NULL, NULL, &m, &err), PITH_ERR_ARGUMENT);
    assert_int_equal(pith_architecture_new("lenet5", NULL, NULL, &err), PITH_ERR_ARGUMENT);
}

/* Mean and variance of a constant, and its largest element in standard deviations. */
static void check_spread(const struct pith_model *m, const char *name, double variance)
{
    const struct pith_const *c = find(m, name)->constant;
    const float *w = c->data;
    double sum = 0, squares = 0, n = (double)c->count;
    for (uint64_t i = 0; i < c->count; i++) {
        sum += (double)w[i];
        squares += (double)w[i] * (double)w[i];
        assert_true(fabs((double)w[i]) <= 6 * sqrt(variance));
    }
    /* five deviations of either estimate; that of squares is sqrt(2 / n) of the variance */
    if (fabs(sum / n) > 5 * sqrt(variance / n) ||
        fabs(squares / n / variance - 1) > 5 * sqrt(2 / n))
        fail_msg("%s: mean %g, mean square %g, expected %g", name, sum / n, squares / n, variance);
}

static void check_all(const struct pith_model *m, const char *name, float wanted)
{
    const struct pith_const *c = find(m, name)->constant;
    for (uint64_t i = 0; i < c->count; i++)
        assert_true(((const float *)c->data)[i] == wanted);
}

TEST(weights_are_spread_by_fan_in)
{
    struct pith_model *m = network("lenet5", 1);
    check_spread(m, "conv1.w", 1.0 / 25); /* no ReLU behind the convolutions */
    check_spread(m, "conv2.w", 1.0 / 500);
    check_spread(m, "ip1.w", 2.0 / 800);
    check_spread(m, "ip2.w", 1.0 / 500);
    check_all(m, "conv1.b", 0);
    check_all(m, "ip2.b", 0);
    pith_model_free(m);
    m = network("digits", 2); /* a ReLU, then the pool */
    check_spread(m, "conv2.w", 2.0 / 200);
    pith_model_free(m);
    m = network("resnet20", 3); /* normalisation, sum, ReLU */
    check_spread(m, "layer2.0.conv2.w", 2.0 / 288);
    check_spread(m, "linear.w", 1.0 / 64);
    check_all(m, "layer1.2.bn1.scale", 1);
    check_all(m, "layer1.2.bn1.bias", 0);
    check_all(m, "layer1.2.bn1.mean", 0);
    check_all(m, "layer1.2.bn1.var", 1);
    pith_model_free(m);
}

/* Of LeNet-300-100, seed 1; worked out from splitmix64 and IEEE 754 alone. */
TEST(a_seed_is_the_same_everywhere)
{
    struct pith_model *a = network("lenet300", 1), *b = network("lenet300", 1),
                      *c = network("lenet300", 2);
    const float first[3] = {0x1.be702c0p-4f, -0x1.5f378e0p-5f, 0x1.4dc4120p-9f};
    assert_memory_equal(find(a, "ip1.w")->constant->data, first, sizeof first);
    assert_null(sample_difference(a, b));
    assert_non_null(sample_difference(a, c));
    pith_model_free(a);
    pith_model_free(b);
    pith_model_free(c);
}

TEST(what_was_learned_is_forgotten)
{
    struct pith_model *m = sample_lenet5(4), *fresh = sample_lenet5(9);
    assert_int_equal(pith_model_draw_weights(fresh, 7, NULL), PITH_OK);
    sample_compress(m, 0.2, 8);
    m->values[m->inputs[0]].min = 0;
    m->values[m->inputs[0]].max = 1;
    assert_int_equal(pith_model_draw_weights(m, 7, NULL), PITH_OK);
    assert_int_equal(m->n_history, 0);
    const char *what = sample_difference(m, fresh);
    if (what)
        fail_msg("%s", what);
    pith_model_free(m);
    pith_model_free(fresh);
}

TEST(a_network_without_weights_stays_as_it_is)
{
    struct pith_model *m = sample_new();
    struct pith_error err = {0};
    uint32_t x = add_input(m, "x", 2, (const uint32_t[]){1, 4});
    m->outputs[m->n_outputs++] = add_node(m, PITH_OP_RELU, "relu", "y", 1, &x)->out[0];
    assert_int_equal(pith_model_draw_weights(m, 1, &err), PITH_ERR_UNSUPPORTED);
    assert_string_equal(err.text, "the network has no weights to draw");
    pith_model_free(m);
}

/* A file keeps all of it. */
TEST(a_fresh_network_survives_a_file)
{
    struct pith_model *m = network("resnet20", 5), *back = NULL;
    struct pith_buffer file;
    assert_int_equal(pith_model_pack(m, NULL, &file, NULL), PITH_OK);
    assert_int_equal(pith_model_read(file.data, file.bytes, "f", NULL, &back, NULL), PITH_OK);
    const char *what = sample_difference(m, back);
    if (what)
        fail_msg("%s", what);
    pith_buffer_free(&file);
    pith_model_free(m);
    pith_model_free(back);
}

RUN_TESTS
