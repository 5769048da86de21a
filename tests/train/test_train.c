/* SPDX-License-Identifier: MIT */
/* Training a small network on four clouds of points: it learns, by every method; masks and
 * codebooks hold; threads do not matter; what goes wrong leaves the model as it was. */
#include <stdint.h>
#include "test_run.h"
#include <math.h>
#include "quantize/network_run.h"
#include "train/small_network.h"

static struct pith_model *network(void)
{
    return network_of(3, false);
}

TEST(test_learns)
{
    static const struct {
        enum pith_optimizer optimizer;
        enum pith_schedule schedule;
        float rate;
    } ways[] = {{PITH_ADAM, PITH_COSINE, 0.02f},
                {PITH_ADAMW, PITH_CONSTANT, 0.02f},
                {PITH_SGD, PITH_STEPS, 0.1f},
                {PITH_NESTEROV, PITH_ONE_CYCLE, 0.2f}};
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        struct pith_model *m = network();
        struct pith_train_opts o = small_options();
        o.optimizer = ways[i].optimizer;
        o.schedule = ways[i].schedule;
        o.rate = ways[i].rate;
        o.weight_decay = 1e-4f;
        struct pith_train_result r = trained_on(m, &o, true);
        if (!(r.val_accuracy > 0.85 && r.accuracy > 0.8 && r.val_loss < 0.5))
            fail_msg("way %zu: %g %g %g", i, r.val_accuracy, r.accuracy, r.val_loss);
        assert_int_equal(r.epochs, 6);
        assert_int_equal(r.n_trained, HIDDEN * INPUTS + HIDDEN + CLASSES * HIDDEN + CLASSES);
        pith_model_free(m);
    }
}

/* Of all samples, whatever batch they were in: of weights that stay, what validation says. */
TEST(test_loss_of_an_epoch)
{
    struct pith_model *m = network();
    struct pith_train_opts o = small_options();
    o.schedule = PITH_CONSTANT;
    o.rate = 1e-20f;
    o.epochs = 1;
    struct pith_train_result r = trained_on(m, &o, true);
    assert_true(r.loss > 0.1 && fabs(r.loss - r.val_loss) < 1e-5);
    pith_model_free(m);
}

TEST(test_mask_holds)
{
    struct pith_model *m = network();
    struct pith_const *c = constant(m, "w1");
    float *w = c->data, before[HIDDEN * INPUTS];
    attach_mask(m);
    memcpy(before, w, sizeof before);
    struct pith_train_opts o = small_options();
    trained_on(m, &o, true);
    uint32_t moved = 0;
    for (uint64_t k = 0; k < c->count; k++) {
        if (!c->mask[k])
            assert_true(w[k] == 0);
        moved += w[k] != before[k];
    }
    assert_true(moved > HIDDEN * INPUTS / 2); /* units that are never active do not move */
    pith_model_free(m);
}

TEST(test_codebook_holds)
{
    struct pith_model *m = network();
    struct pith_const *c = constant(m, "w1");
    attach_codebook(m);
    struct pith_train_opts o = small_options();
    struct pith_train_result r = trained_on(m, &o, true);
    const struct pith_codebook *b = c->codebook;
    uint64_t members[4] = {0};
    for (uint32_t i = 1; i < 4; i++)
        assert_true(b->centroid[i] > b->centroid[i - 1]);
    assert_true(b->centroid[3] - b->centroid[0] > 0.1f);
    for (uint64_t k = 0; k < c->count; k++) {
        assert_true(((float *)c->data)[k] == b->centroid[b->index[k]]);
        members[b->index[k]]++;
        if (k >= 4) /* those that shared a centroid still do */
            assert_int_equal(b->index[k], b->index[k - 4]);
    }
    for (uint32_t i = 0; i < 4; i++)
        assert_int_equal(members[i], HIDDEN * INPUTS / 4);
    assert_true(r.loss < 1.3);
    pith_model_free(m);
}

TEST(test_threads_do_not_matter)
{
    float first[HIDDEN * INPUTS];
    for (uint32_t threads = 1; threads <= 4; threads *= 2) {
        struct pith_model *m = network();
        struct pith_train_opts o = small_options();
        o.threads = threads;
        trained_on(m, &o, true);
        const float *w = constant(m, "w1")->data;
        if (threads == 1)
            memcpy(first, w, sizeof first);
        assert_memory_equal(first, w, sizeof first);
        pith_model_free(m);
    }
}

static bool at_once(void *user)
{
    return ++*(int *)user == 3;
}

/* One sample that no network has a finite answer to. */
static struct pith_data *beyond_numbers(void)
{
    const float x[INPUTS] = {3e38f, 3e38f, 3e38f, 3e38f, 3e38f, 3e38f};
    const int64_t label = 1;
    return labelled_points(1, x, &label);
}

TEST(test_stop_and_best)
{
    struct pith_model *m = network();
    struct pith_train_opts o = small_options();
    int steps = 0;
    o.stop = at_once;
    o.user = &steps;
    assert_int_equal(trained_on(m, &o, true).epochs, 1);
    assert_int_equal(steps, 3);
    pith_model_free(m);
    m = network();
    o = small_options();
    o.rate = 3.0f; /* too much: later epochs are worse than some earlier one */
    o.schedule = PITH_CONSTANT;
    o.keep_best = true;
    o.epochs = 40;
    o.patience = 3;
    struct pith_train_result r = trained_on(m, &o, true);
    assert_true(r.epochs < 40);
    assert_int_equal(r.best_epoch, r.epochs - 3);
    pith_model_free(m);
    m = network();
    o.keep_best = false; /* the same run ends at the same epoch, and holds what it has then */
    assert_int_equal(trained_on(m, &o, true).epochs, r.epochs);
    pith_model_free(m);
}

/* Where no epoch's loss is a number the run ends with its last network, and says so. */
TEST(test_no_best)
{
    struct pith_model *m = network();
    struct pith_data *data = clouds(0), *val = beyond_numbers();
    struct pith_train_opts o = small_options();
    struct pith_train_result r;
    struct pith_error err = {0};
    float before[HIDDEN * INPUTS];
    memcpy(before, constant(m, "w1")->data, sizeof before);
    o.keep_best = true;
    SUCCEEDS(pith_train(m, data, val, &o, &r, &err));
    assert_true(isnan(r.val_loss));
    assert_int_equal(r.best_epoch, 6);
    assert_true(r.accuracy > 0.8);
    assert_memory_not_equal(before, constant(m, "w1")->data, sizeof before);
    pith_data_free(data);
    pith_data_free(val);
    pith_model_free(m);
}

TEST(test_teacher)
{
    struct pith_model *teacher = network(), *m = network();
    struct pith_train_opts o = small_options();
    trained_on(teacher, &o, true);
    float *w = constant(m, "w2")->data;
    for (uint32_t k = 0; k < CLASSES * HIDDEN; k++)
        w[k] *= -1;
    o.teacher = teacher;
    o.loss = PITH_DISTILL;
    struct pith_train_result r = trained_on(m, &o, true);
    assert_true(r.val_accuracy > 0.85);
    assert_true(isnan(r.accuracy));
    pith_model_free(teacher);
    pith_model_free(m);
}

static void refuse(const struct pith_train_opts *o, int64_t wrong, enum pith_status status,
                   const char *words)
{
    struct pith_model *m = network();
    struct pith_data *data = clouds(wrong);
    struct pith_train_result r;
    struct pith_error err = {0};
    float before[HIDDEN * INPUTS];
    const float *w = constant(m, "w1")->data;
    memcpy(before, w, sizeof before);
    assert_int_equal(pith_train(m, data, NULL, o, &r, &err), status);
    if (!strstr(err.text, words))
        fail_msg("'%s' does not say '%s'", err.text, words);
    assert_memory_equal(before, w, sizeof before);
    pith_data_free(data);
    pith_model_free(m);
}

TEST(test_refusals)
{
    struct pith_train_opts o = small_options();
    refuse(&o, CLASSES, PITH_ERR_CORRUPT, "label 4, the network has classes 0..3");
    o.batch = 1024;
    refuse(&o, 0, PITH_ERR_ARGUMENT, "512 samples are less than one batch of 1024");
    o = small_options();
    o.optimizer = PITH_SGD;
    o.rate = 1e30f;
    refuse(&o, 0, PITH_ERR_GOAL, "the loss is not finite at step 2");
}

#define REFUSE(words, ...)                                                                         \
    do {                                                                                           \
        struct pith_train_opts o = small_options();                                                \
        __VA_ARGS__;                                                                               \
        refuse(&o, 0, PITH_ERR_ARGUMENT, words);                                                   \
    } while (0)

TEST(test_values_out_of_range)
{
    REFUSE("not known", o.optimizer = (enum pith_optimizer)4);
    REFUSE("not known", o.schedule = (enum pith_schedule) - 1);
    REFUSE("not known", o.loss = (enum pith_loss)3);
    REFUSE("not known", o.score = (enum pith_score)3);
    REFUSE("not known", o.norms = (enum pith_norms)2);
    REFUSE("epochs", o.epochs = 0);
    REFUSE("multiple of 8", o.batch = 12);
    REFUSE("multiple of 8", o.batch = 0);
    REFUSE("learning rate", o.rate = 0);
    REFUSE("learning rate", o.rate = INFINITY);
    REFUSE("momentum", o.momentum = -0.1f);
    REFUSE("momentum", o.momentum = 1);
    REFUSE("gradient norm", o.clip_norm = -1);
    REFUSE("weight decay", o.weight_decay = -1);
    REFUSE("teacher part", o.teacher_part = 1.5f);
    REFUSE("warm-up", o.warm_up = 1);
    REFUSE("warm-up", o.warm_up = -0.1f);
    REFUSE("needs a teacher", o.loss = PITH_DISTILL);
    REFUSE("sparsity", o.sparsity = 1);
    REFUSE("sparsity", o.sparsity = -0.1);
    REFUSE("prune_until", o.prune_until = 0);
    REFUSE("prune_until", o.prune_until = 1.1f);
    REFUSE("prune_every", o.prune_every = 0);
    REFUSE("127 levels", o.levels = 128);
    REFUSE("127 levels", o.bias_levels = 128);
    REFUSE("127 levels", o.first_step = 0);
    REFUSE("validation data", o.keep_best = true);
    REFUSE("validation data", o.patience = 1);
    REFUSE("folder of the checkpoint", o.resume = true);
    REFUSE("not both", o.keep_weights = 1, o.sparsity = 0.5);
    REFUSE("cannot be kept", o.keep_weights = 1u << 30);
    REFUSE("schedule of steps", o.step_factor = NAN);
    REFUSE("schedule of steps", o.step_factor = -0.1f);
    REFUSE("weight decay", o.weight_decay = INFINITY);
    REFUSE("enough", o.enough = (double)NAN);
    REFUSE("oscillation_damping", o.oscillation_damping = -0.1f);
    REFUSE("oscillation_damping", o.oscillation_damping = 1.5f);
}

/* conv -> Relu -> conv, from and to pictures that both layouts order differently. */
static struct pith_model *pictures_to_pictures(uint64_t seed)
{
    struct sample_random r = sample_random_of(seed);
    struct pith_model *m = sample_new();
    uint32_t x = add_input(m, "x", 4, (const uint32_t[]){1, 3, 6, 5});
    m->batch_open = true;
    for (uint32_t k = 0; k < 2; k++) {
        uint32_t w = add_constant(m, &r, "", 4, (const uint32_t[]){k ? 2 : 8, k ? 8 : 3, 1, 1});
        float *data = m->values[w].constant->data;
        for (uint64_t i = 0; i < m->values[w].constant->count; i++)
            data[i] *= 0.4f;
        x = add_node(m, PITH_OP_CONV, "", "", 2, (const uint32_t[]){x, w})->out[0];
        if (k == 0)
            x = add_node(m, PITH_OP_RELU, "", "", 1, &x)->out[0];
    }
    return sample_done(m, x);
}

/* A network with other weights is found again from what it gives. */
TEST(test_learns_pictures)
{
    enum { N = 64, IN = 3 * 6 * 5, OUT = 2 * 6 * 5 };
    float *x = malloc(N * IN * sizeof *x), *y = malloc(N * OUT * sizeof *y);
    struct sample_random r = sample_random_of(8);
    struct pith_model *goal = pictures_to_pictures(1), *m = pictures_to_pictures(2);
    for (uint32_t i = 0; i < N * IN; i++)
        x[i] = sample_gauss(&r);
    for (uint32_t i = 0; i < N; i++)
        run_network(goal, NULL, x + i * IN, IN, y + i * OUT);
    struct pith_data *data = NULL;
    struct pith_error err = {0};
    assert_int_equal(
        pith_data_of_numbers(&(struct pith_numbers){.rank = 4,
                                                    .dim = (const uint32_t[]){1, 3, 6, 5},
                                                    .n = N,
                                                    .x = x,
                                                    .targets = y,
                                                    .target_elems = OUT},
                             &data, &err),
        PITH_OK);
    struct pith_train_opts o = small_options();
    o.loss = PITH_SQUARED_ERROR;
    o.batch = 8;
    o.epochs = 40;
    o.rate = 0.03f;
    struct pith_train_result result;
    SUCCEEDS(pith_train(m, data, data, &o, &result, &err));
    if (!(result.val_loss < 0.02 && result.loss < 0.02))
        fail_msg("loss %g, %g on the training samples", result.val_loss, result.loss);
    pith_data_free(data);
    pith_model_free(goal);
    pith_model_free(m);
}

RUN_TESTS
