/* SPDX-License-Identifier: MIT */
#include "check_batch.h"
#include "pith_host.h"
#include "pith_train.h"
#include "train/state/shuffle.h"

#include <math.h>
#include <string.h>

enum { ROWS = 2 };

struct comparison {
    const struct pith_model *m;
    struct tape *single, *both;
};

/* About Gaussian: the sum of four uniform numbers, of variance 4/12, to variance 1. */
static float draw(uint64_t *state)
{
    double sum = 0;
    for (int i = 0; i < 4; i++)
        sum += random_unit(state) - 0.5;
    const double root_of_3 = 1.7;
    return (float)(sum * root_of_3);
}

static void fill(const struct comparison *c)
{
    uint64_t state = 1;
    for (uint32_t s = 0; s < PITH_TRAIN_SLICES; s++)
        for (uint32_t i = 0; i < c->m->n_inputs; i++) {
            struct tape_tensor *x = pith_tape_input(c->both, s, i);
            float *data = x->data;
            for (size_t k = 0; x->type == PITH_F32 && k < shape_elems(&x->shape); k++)
                data[k] = draw(&state);
        }
}

static void fill_single(const struct comparison *c, uint32_t row)
{
    for (uint32_t s = 0; s < PITH_TRAIN_SLICES; s++)
        for (uint32_t i = 0; i < c->m->n_inputs; i++) {
            struct tape_tensor *x = pith_tape_input(c->single, s, i);
            const struct tape_tensor *from = pith_tape_input(c->both, s, i);
            size_t n = shape_elems(&x->shape);
            if (x->type == PITH_F32)
                memcpy(x->data, (const float *)from->data + row * n, n * sizeof(float));
        }
}

static bool alike(size_t n, const float *a, const float *b)
{
    float most = 0, off = 0;
    for (size_t i = 0; i < n; i++)
        if (isfinite(a[i]) || isfinite(b[i])) {
            most = fmaxf(most, fabsf(a[i]));
            off = a[i] - b[i] == a[i] - b[i] ? fmaxf(off, fabsf(a[i] - b[i])) : INFINITY;
        }
    const float relative = 1e-3f, absolute = 1e-6f; /* errors of another order of sums */
    return off <= relative * most + absolute;
}

static bool outputs_alike(const struct comparison *c, uint32_t row)
{
    bool same = true;
    for (uint32_t s = 0; s < PITH_TRAIN_SLICES; s++)
        for (uint32_t i = 0; i < c->m->n_outputs; i++) {
            const struct tape_tensor *y = pith_tape_output(c->single, s, i);
            size_t n = shape_elems(&y->shape);
            same = same && (y->type != PITH_F32 ||
                            alike(n, y->data,
                                  (const float *)pith_tape_output(c->both, s, i)->data + row * n));
        }
    return same;
}

static bool rows_alike(const struct comparison *c)
{
    bool same = true;
    fill(c);
    pith_tape_forward(c->both);
    for (uint32_t row = 0; row < ROWS && same; row++) {
        fill_single(c, row);
        pith_tape_forward(c->single);
        same = outputs_alike(c, row);
    }
    return same;
}

enum pith_status pith_check_batch(const struct pith_model *m, uint32_t threads,
                                  struct pith_error *err)
{
    struct comparison c = {.m = m};
    struct tape_opts o = {.batch = PITH_TRAIN_SLICES, .threads = threads, .unchecked = true};
    enum pith_status status = pith_tape_new(m, &o, &c.single, err);
    o.batch = PITH_TRAIN_SLICES * ROWS;
    if (!status)
        status = pith_tape_new(m, &o, &c.both, err);
    if (!status && !rows_alike(&c))
        status = pith_error_set(err, PITH_ERR_UNSUPPORTED,
                                "input '%.100s' has a fixed batch, and the network mixes samples "
                                "where it gets more: train with a batch of 8",
                                m->values[m->inputs[0]].name);
    pith_tape_free(c.single);
    pith_tape_free(c.both);
    return status;
}
