/* SPDX-License-Identifier: MIT */
/* A network whose file has a batch of one learns from its teacher alone: no labels, validated by
 * the teacher's answers; mixed samples have mixed labels. */
#include <stdint.h>
#include "test_run.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "points.h"
#include "pith_host.h"
#include "pith_train.h"
#include "train/train_with.h"

enum { INPUTS = 6, HIDDEN = 12, CLASSES = 4, SAMPLES = 512 };

/* Batch 1, fixed: a Reshape is in the way; Softmax at the end. */
static struct pith_model *network(uint64_t seed)
{
    struct sample_random r = sample_random_of(seed);
    struct pith_model *m = sample_new();
    uint32_t x = add_input(m, "x", 2, (const uint32_t[]){1, INPUTS});
    uint32_t h = add_layer(m, &r, PITH_OP_GEMM, "fc1", x, 2, (const uint32_t[]){HIDDEN, INPUTS});
    h = add_node(m, PITH_OP_TANH, "act", "hidden", 1, &h)->out[0];
    struct pith_node *reshape = add_node(m, PITH_OP_RESHAPE, "shape", "shaped", 1, &h);
    reshape->attr[ATTR_RESHAPE_DIMS] = 2;
    reshape->attr[ATTR_RESHAPE_DIMS + 1] = 1;
    reshape->attr[ATTR_RESHAPE_DIMS + 2] = HIDDEN;
    h = add_layer(m, &r, PITH_OP_GEMM, "fc2", reshape->out[0], 2,
                  (const uint32_t[]){CLASSES, HIDDEN});
    struct pith_node *softmax = add_node(m, PITH_OP_SOFTMAX, "softmax", "p", 1, &h);
    softmax->attr[ATTR_SOFTMAX_AXIS] = 1;
    return sample_done(m, softmax->out[0]);
}

static struct pith_train_opts options(const struct pith_model *teacher)
{
    struct pith_train_opts o;
    pith_train_opts_init(&o, sizeof o);
    o.epochs = 30;
    o.batch = 32;
    o.rate = 0.02f;
    o.threads = 1;
    o.loss = PITH_DISTILL;
    o.teacher = teacher;
    return o;
}

static struct pith_train_result trained(struct pith_model *m, const struct pith_train_opts *o)
{
    return train_with(m, o, points_of(1, SAMPLES, INPUTS), points_of(2, SAMPLES, INPUTS));
}

TEST(learns_from_the_teacher_alone)
{
    struct pith_model *teacher = network(3), *m = network(4);
    struct pith_train_opts o = options(teacher);
    o.epochs = 1;
    o.rate = 1e-9f;
    struct pith_train_result before = trained(m, &o);
    o = options(teacher);
    o.keep_best = true;
    struct pith_train_result r = trained(m, &o);
    assert_true(before.val_accuracy < 0.6);
    if (!(r.val_accuracy > 0.85 && r.val_loss < before.val_loss / 10))
        fail_msg("agreement %g -> %g, loss %g -> %g", before.val_accuracy, r.val_accuracy,
                 before.val_loss, r.val_loss);
    assert_false(m->batch_open);
    assert_int_equal(m->values[m->inputs[0]].dim[0], 1);
    pith_model_free(m);
    m = network(3); /* the teacher itself: nothing is left to learn */
    o.epochs = 1;
    o.rate = 1e-9f;
    r = trained(m, &o);
    assert_true(r.val_accuracy == 1 && r.val_loss < 1e-6);
    pith_model_free(m);
    pith_model_free(teacher);
}

/* The number of threads does not show, with everything on. */
TEST(same_on_all_threads)
{
    struct pith_model *teacher = network(3), *m[2] = {network(4), network(4)};
    struct pith_train_opts o = options(teacher);
    o.epochs = 2;
    o.augment = "noise=0.1,mixup=0.5";
    for (uint32_t i = 0; i < 2; i++) {
        o.threads = 1 + i;
        trained(m[i], &o);
    }
    assert_null(sample_difference(m[0], m[1]));
    pith_model_free(teacher);
    pith_model_free(m[0]);
    pith_model_free(m[1]);
}

RUN_TESTS
