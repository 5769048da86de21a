/* SPDX-License-Identifier: MIT */
/* layer_moments.c - sums over patches at evenly spaced positions of all samples.
 *
 * Inputs are integers of at most 255, whose products pith_gram.h sums exactly: they are the same
 * everywhere. There are many patches for each weight of a row: what few show is learnt by
 * heart. Rounded adaptively, SqueezeNet v1.1 with weights of 4 bits had 15.2 dB with 8 for
 * each, 16.0 with 24. */
#include "layer_moments.h"

#include <stdlib.h>
#include <string.h>

#define PATCHES_PER_WEIGHT 64u /* of a row, where the samples have so many */
#define LEAST_PATCHES 4096u
#define PIECE 512u /* patches */

static uint64_t patches_per_sample(const struct layer_moments *m)
{
    uint64_t wanted = PATCHES_PER_WEIGHT * m->n, samples = m->in->n_samples;
    wanted = wanted > LEAST_PATCHES ? wanted : LEAST_PATCHES;
    uint64_t each = (wanted + samples - 1) / samples;
    return each < m->patches.positions ? each : m->patches.positions;
}

enum pith_status pith_layer_moments(const struct layer_inputs *in, const struct integer_layer *l,
                                    struct layer_moments *m)
{
    *m = (struct layer_moments){.in = in,
                                .l = l,
                                .patches = pith_layer_patches(in, l),
                                .n = l->shape.cols,
                                .rows = l->shape.rows / l->shape.groups};
    m->per_sample = patches_per_sample(m);
    m->tile = pith_gram_tile();
    m->patch = malloc(m->n * sizeof *m->patch);
    m->x = malloc(m->n * PIECE * sizeof *m->x);
    bool room = m->patch && m->x;
    for (int half = 0; half < (in->goal ? 2 : 1) && room; half++) {
        m->h[half] = malloc(m->n * m->n * sizeof **m->h);
        m->c[half] = in->goal ? malloc(m->rows * m->n * sizeof **m->c) : NULL;
        m->sum_x[half] = malloc(m->n * sizeof **m->sum_x);
        m->sum_y[half] = malloc(m->rows * sizeof **m->sum_y);
        room = m->h[half] && (!in->goal || m->c[half]) && m->sum_x[half] && m->sum_y[half];
    }
    if (in->goal) {
        m->y = malloc(m->rows * PIECE * sizeof *m->y);
        room = room && m->y;
    }
    return room ? PITH_OK : PITH_ERR_MEMORY;
}

void pith_layer_moments_end(struct layer_moments *m)
{
    for (int half = 0; half < 2; half++) {
        free(m->h[half]);
        free(m->c[half]);
        free(m->sum_x[half]);
        free(m->sum_y[half]);
    }
    free(m->patch);
    free(m->x);
    free(m->y);
}

/* ---- a piece --------------------------------------------------------------------------------- */

static void add_piece(struct layer_moments *m, int half, size_t filled)
{
    size_t n = m->n, rows = m->rows;
    struct gram_piece p = {.tile = m->tile,
                           .a = m->x,
                           .b = m->x,
                           .n_a = n,
                           .n_b = n,
                           .count = filled,
                           .triangle = true};
    pith_gram_add(&p, 0, n, m->h[half]);
    if (!m->c[half])
        return;
    p = (struct gram_piece){
        .tile = m->tile, .a = m->y, .b = m->x, .n_a = rows, .n_b = n, .count = filled};
    pith_gram_add(&p, 0, rows, m->c[half]);
    m->count[half] += filled;
    for (size_t k = 0; k < filled; k++) {
        for (size_t i = 0; i < n; i++)
            m->sum_x[half][i] += (double)m->x[k * n + i];
        for (size_t o = 0; o < rows; o++)
            m->sum_y[half][o] += (double)m->y[k * rows + o];
    }
}

/* ---- a group --------------------------------------------------------------------------------- */

static void take_patch(struct layer_moments *m, uint64_t group, uint64_t sample, uint64_t position,
                       size_t to)
{
    pith_patch_row(&m->patches, sample, group, position, m->patch, 1);
    for (size_t k = 0; k < m->n; k++)
        m->x[to * m->n + k] = m->patch[k];
    for (size_t o = 0; o < m->rows && m->y; o++) {
        uint64_t row = group * m->rows + o;
        double unit = pith_layer_input_scale(m->l, row) * pith_patch_unit(&m->patches);
        double y = pith_layer_goal(&m->patches, m->l, sample, row, position);
        m->y[to * m->rows + o] = (float)(y / unit);
    }
}

static void sum_samples(struct layer_moments *m, uint64_t group, int half)
{
    uint64_t positions = m->patches.positions, samples = m->in->n_samples;
    size_t filled = 0;
    for (uint64_t s = (uint64_t)half; s < samples; s += m->c[0] ? 2 : 1)
        for (uint64_t i = 0; i < m->per_sample; i++) {
            /* samples begin at different places, so that together they see all */
            uint64_t at = (i * positions + s * positions / samples) / m->per_sample;
            take_patch(m, group, s, at < positions ? at : positions - 1, filled);
            if (++filled == PIECE) {
                add_piece(m, half, filled);
                filled = 0;
            }
        }
    if (filled)
        add_piece(m, half, filled);
}

/* What the means make, taken away or (sign 1) put back. */
static void move_means(struct layer_moments *m, int half, double sign)
{
    double part = m->count[half] ? sign / (double)m->count[half] : 0;
    const double *x = m->sum_x[half], *y = m->sum_y[half];
    for (size_t i = 0; i < m->n; i++)
        for (size_t k = 0; k < m->n; k++)
            m->h[half][i * m->n + k] += part * (x[i] * x[k]);
    for (size_t o = 0; o < m->rows; o++)
        for (size_t i = 0; i < m->n; i++)
            m->c[half][o * m->n + i] += part * (y[o] * x[i]);
}

void pith_layer_moments_sum(struct layer_moments *m, uint64_t group)
{
    for (int half = 0; half < 2 && m->h[half]; half++) {
        memset(m->h[half], 0, m->n * m->n * sizeof **m->h);
        memset(m->sum_x[half], 0, m->n * sizeof **m->sum_x);
        memset(m->sum_y[half], 0, m->rows * sizeof **m->sum_y);
        m->count[half] = 0;
        if (m->c[half])
            memset(m->c[half], 0, m->rows * m->n * sizeof **m->c);
        sum_samples(m, group, half);
        pith_gram_mirror(m->h[half], m->n);
        if (m->c[half])
            move_means(m, half, -1);
    }
}

void pith_layer_moments_join(struct layer_moments *m)
{
    if (!m->c[0])
        return;
    move_means(m, 0, 1);
    move_means(m, 1, 1);
    for (size_t i = 0; i < m->n * m->n; i++)
        m->h[0][i] += m->h[1][i];
}
