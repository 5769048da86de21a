/* SPDX-License-Identifier: MIT */
/* A run that folds its batch normalization in the end: what is left is on grids, answers nearly as
 * the last epoch did, is validated as it is, and can be put back. */
#include <stdint.h>
#include "test_run.h"
#include <math.h>
#include "train/fold_norms.h"
#include "pith_pack.h"
#include "train/small_network.h"

struct last {
    double val_loss;
};

static void remember(void *user, const struct pith_train_progress *p)
{
    ((struct last *)user)->val_loss = p->val_loss;
}

static struct pith_train_opts folding(struct last *last)
{
    struct pith_train_opts o = small_options();
    o.norms = PITH_NORMS_FOLD;
    o.levels = 7;
    o.bias_levels = 31;
    o.sparsity = 0.4;
    o.prune_every = 4;
    o.progress = remember;
    o.user = last;
    return o;
}

static struct pith_train_result train_network(struct pith_model *m, const struct pith_train_opts *o)
{
    struct pith_data *data = clouds(0);
    return train_with(m, o, data, data);
}

static const struct pith_node *node_called(const struct pith_model *m, const char *name)
{
    for (uint32_t i = 0; i < m->n_nodes; i++)
        if (strcmp(m->nodes[i].name, name) == 0)
            return &m->nodes[i];
    return NULL;
}

/* Effective values lie on the grid; pruned weights are 0 and masked. */
static void check_grid(const struct pith_const *c, uint64_t groups, uint32_t n_centroids)
{
    const struct pith_codebook *b = c->codebook;
    const float *data = c->data;
    assert_non_null(b);
    assert_int_equal(b->n_groups, groups);
    assert_int_equal(b->n_centroids, n_centroids);
    for (uint64_t k = 0; k < c->count; k++) {
        assert_true(!c->mask || c->mask[k] == (data[k] != 0));
        if (!c->mask || c->mask[k])
            assert_true(data[k] == b->centroid[k / b->group_elems * n_centroids + b->index[k]]);
    }
}

TEST(grids_are_left)
{
    struct last last;
    struct pith_train_opts o = folding(&last);
    struct pith_model *m = network_of(3, true);
    struct pith_train_result r = train_network(m, &o);
    assert_int_equal(r.folded, 1);
    assert_null(node_called(m, "norm"));
    const struct pith_node *fc1 = node_called(m, "fc1");
    const struct pith_const *w = m->values[fc1->in[1]].constant;
    check_grid(w, HIDDEN, 15);
    assert_non_null(w->mask);
    check_grid(m->values[fc1->in[2]].constant, 1, 63);
    check_grid(constant(m, "w2"), 1, 15);
    for (uint32_t row = 0; row < HIDDEN; row++) { /* 4 bits behind the leading one */
        uint32_t bits;
        memcpy(&bits, &w->codebook->centroid[15 * row + 8], sizeof bits);
        assert_int_equal(bits & 0x7ffff, 0);
    }
    if (fabs(r.val_loss - last.val_loss) > 0.02)
        fail_msg("held out: %g, %g before it was folded", r.val_loss, last.val_loss);
    assert_true(r.val_accuracy > 0.9);
    pith_model_free(m);
}

/* A run that goes on from what was folded keeps the steps of rows, whatever its options would begin
 * with. (A layer's one step stays, too, until the weights have moved.) */
TEST(grids_go_on)
{
    struct last last;
    struct pith_train_opts o = folding(&last);
    struct pith_model *m = network_of(3, true);
    train_network(m, &o);
    const struct pith_const *w = m->values[node_called(m, "fc1")->in[1]].constant;
    float data[HIDDEN * 8], centroid[HIDDEN * 15];
    assert_true(w->count * sizeof *data <= sizeof data);
    memcpy(data, w->data, w->count * sizeof *data);
    memcpy(centroid, w->codebook->centroid, sizeof centroid);
    o.norms = PITH_NORMS_STAY;
    o.sparsity = 0;
    o.first_step = 0.4f;
    o.rate = 1e-12f;
    train_network(m, &o);
    w = m->values[node_called(m, "fc1")->in[1]].constant;
    check_grid(w, HIDDEN, 15);
    assert_memory_equal(w->data, data, w->count * sizeof *data);
    assert_memory_equal(w->codebook->centroid, centroid, sizeof centroid);
    check_grid(constant(m, "w2"), 1, 15);
    pith_model_free(m);
}

/* The judgement is of what is there: on two levels of bias, another one. */
TEST(validated_as_it_is)
{
    struct last last;
    struct pith_train_opts o = folding(&last);
    struct pith_model *m = network_of(3, true);
    o.bias_levels = 1;
    struct pith_train_result r = train_network(m, &o), again = {.folded = 1};
    struct pith_error err = {0};
    struct pith_data *data = clouds(0);
    struct run run = {.m = m, .val = data, .opts = &o, .err = &err, .result = &again};
    assert_true(r.val_loss > last.val_loss);
    assert_int_equal(pith_norms_validate(&run), PITH_OK);
    assert_true(again.val_loss == r.val_loss && again.val_accuracy == r.val_accuracy);
    pith_data_free(data);
    pith_model_free(m);
}

/* Without a grid for weights or biases, folding alone changes next to nothing. */
TEST(exact_without_grids)
{
    struct last last;
    struct pith_train_opts o = folding(&last);
    struct pith_model *m = network_of(5, true);
    o.levels = o.bias_levels = 0;
    struct pith_train_result r = train_network(m, &o);
    assert_int_equal(r.folded, 1);
    assert_true(fabs(r.val_loss - last.val_loss) < 1e-5);
    assert_null(m->values[node_called(m, "fc1")->in[1]].constant->codebook);
    pith_model_free(m);
}

static void packed(const struct pith_model *m, struct pith_buffer *file)
{
    struct pith_error err = {0};
    SUCCEEDS(pith_model_pack(m, NULL, file, &err));
}

TEST(can_be_put_back)
{
    struct pith_train_opts o = {.bias_levels = 7};
    struct pith_train_result result = {0};
    struct pith_error err = {0};
    struct pith_model *m = network_of(4, true), was;
    struct run run = {.m = m, .opts = &o, .err = &err, .result = &result};
    struct pith_buffer before, after;
    packed(m, &before);
    assert_int_equal(pith_norms_fold(&run, &was), PITH_OK);
    assert_int_equal(result.folded, 1);
    assert_null(node_called(m, "norm"));
    pith_norms_put_back(m, &was);
    packed(m, &after);
    assert_int_equal(before.bytes, after.bytes);
    assert_memory_equal(before.data, after.data, before.bytes);
    pith_buffer_free(&before);
    pith_buffer_free(&after);
    pith_model_free(m);
}

/* Not where an option leaves it: then its scale and shift are on a grid, too. */
TEST(stays_unless_requested)
{
    struct last last;
    struct pith_train_opts o = folding(&last);
    struct pith_model *m = network_of(3, true);
    o.norms = PITH_NORMS_STAY;
    struct pith_train_result r = train_network(m, &o);
    assert_int_equal(r.folded, 0);
    assert_non_null(node_called(m, "norm"));
    assert_non_null(constant(m, "scale")->codebook);
    assert_true(r.val_loss == last.val_loss);
    pith_model_free(m);
}

RUN_TESTS
