/* SPDX-License-Identifier: MIT */
/* redundant_net.h - a classifier with eight times the hidden units that it needs, its samples, and
 * a goal: what retraining makes smaller. */
#ifndef REDUNDANT_NET_H
#define REDUNDANT_NET_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "pith_goal_compress.h"
#include "measure/small_net.h"
#include "core/op_number.h"

enum { WIDTH = 24, HIDDEN = 64, CLASSES = 4, ROWS = 2000 };

/* The class is the largest of the first n_out inputs, which many hidden units compute, each with an
 * error of its own: as many units as one in eight could do it alone. */
static inline struct pith_model *redundant_net(uint32_t n_out)
{
    struct sample_random r = sample_random_of(3);
    float w[HIDDEN * WIDTH], v[CLASSES * HIDDEN];
    for (uint32_t h = 0; h < HIDDEN; h++) {
        const uint32_t input = h / 2 % n_out;
        const float sign = h % 2 ? -1 : 1;
        for (uint32_t i = 0; i < WIDTH; i++)
            w[h * WIDTH + i] = 0.3f * sample_gauss(&r) + (i == input ? sign : 0);
        for (uint32_t k = 0; k < n_out; k++)
            v[k * HIDDEN + h] = 0.02f * sample_gauss(&r) + (k == input ? 0.25f * sign : 0);
    }
    struct pith_model *m = small_net(WIDTH, HIDDEN, w, true);
    uint32_t y = add_constant(m, &r, "v", 2, (const uint32_t[]){n_out, HIDDEN});
    memcpy(m->values[y].constant->data, v, sizeof *v * n_out * HIDDEN);
    m->outputs[0] =
        add_node(m, PITH_OP_GEMM, "out", "out.out", 2, (const uint32_t[]){m->outputs[0], y})
            ->out[0];
    return sample_shaped(m);
}

static inline struct pith_data *samples(bool labelled)
{
    struct sample_random r = sample_random_of(4);
    float *x = malloc(sizeof *x * ROWS * WIDTH);
    char text[2 * ROWS + 1];
    for (uint32_t i = 0; i < ROWS * WIDTH; i++)
        x[i] = sample_gauss(&r);
    for (uint32_t i = 0; i < ROWS; i++) {
        uint32_t best = 0;
        for (uint32_t k = 1; k < CLASSES; k++)
            best = x[i * WIDTH + k] > x[i * WIDTH + best] ? k : best;
        memcpy(text + 2 * i, (const char[]){(char)('0' + best), '\n', '\0'}, 3);
    }
    char *labels = labelled ? text_file(text) : NULL;
    struct pith_data *data = rows_of(x, ROWS, WIDTH, labels);
    if (labels)
        unlink(labels);
    free(x);
    return data;
}

static inline struct pith_goal goal_of(double time)
{
    struct pith_goal goal;
    pith_goal_init(&goal);
    goal.max_drop = 0.05;
    goal.time = time;
    return goal;
}

#endif
