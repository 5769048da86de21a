/* SPDX-License-Identifier: MIT */
/* bias_correct.c - with weights w' = q s in the place of w, the mean of an output channel moves by
 * (w' - w) mean(x), and a constant moves it back (Nagel et al., "Data-Free Quantization Through
 * Weight Equalization and Bias Correction", 2019; here with the inputs that the layers before
 * really give).
 *
 * The mean of (w - w') x over a sample needs no sums of the layer: it is w - w' times the mean of
 * all patches. Of these means, one a sample, the mean is what the bias gets, where it is more than
 * twice its standard error: an insignificant mean would be overfitted.
 *
 * What the layer's inputs lost themselves is deliberately not made up for. Where a range was cut,
 * what is lost lies in few large numbers, and shifting all others by their mean does harm:
 * MobileNet-v2 fell from 24 to 13 dB that way. */
#include "bias_correct.h"

#include <math.h>
#include <stdlib.h>

#include "base/in_parallel.h"
#include "integer_rows.h"

/* So many samples go through a layer's weights together. */
#define BESIDE 16u

/* Of some samples. */
struct sample_sums {
    const struct integer_rows *rows;
    uint64_t positions, size; /* groups * cols */
    uint64_t first;
    uint32_t n;
    bool failed[BESIDE];
    double *x;    /* [size, BESIDE] sums of rows, 0 behind n */
    double *goal; /* [rows, BESIDE] of the float network's sums; NULL: not wanted */
};

/* Means over the positions of each sample of (w - q s) x, or of y - q s x, y being what the float
 * network has there: loss [BESIDE]. */
static void mean_losses(const struct sample_sums *s, uint64_t o, double *loss)
{
    const struct integer_layer *l = s->rows->l;
    const uint64_t cols = l->shape.cols, group = o / (l->shape.rows / l->shape.groups);
    const float *w = l->real.w + o * cols;
    const int16_t *q = l->q + o * cols;
    const double *x = s->x + group * cols * BESIDE;
    double lost[BESIDE] = {0}, has[BESIDE] = {0};
    for (uint64_t k = 0; k < cols; k++, x += BESIDE) {
        const double is = (double)q[k] * l->scale[o], e = (double)w[k] * l->real.w_factor - is;
        for (uint32_t i = 0; i < BESIDE; i++) {
            lost[i] += e * x[i];
            has[i] += is * x[i];
        }
    }
    for (uint32_t i = 0; i < BESIDE; i++) {
        if (s->goal && l->to_results)
            lost[i] = s->goal[o * BESIDE + i] - has[i];
        loss[i] = lost[i] / (double)s->positions * pith_layer_input_scale(l, o);
    }
}

static void correct(struct integer_layer *l, const double *sum, const double *squares, uint32_t n)
{
    l->n_corrected = 0;
    for (uint64_t o = 0; o < l->shape.rows && n > 1; o++) {
        double mean = sum[o] / n, variance = fmax(squares[o] / n - mean * mean, 0) * n / (n - 1);
        if (isfinite(mean) && mean * mean > 4 * variance / n) {
            l->bias_shift[o] += mean;
            l->n_corrected++;
        }
    }
    pith_layer_store(l);
}

static bool begin_sums(struct sample_sums *s, const struct integer_rows *r)
{
    s->rows = r;
    s->positions = r->x.places;
    s->size = r->x.groups * r->x.n;
    s->x = malloc((size_t)s->size * BESIDE * sizeof *s->x);
    if (r->goal.n)
        s->goal = malloc((size_t)r->l->shape.rows * BESIDE * sizeof *s->goal);
    return s->x && (s->goal || !r->goal.n);
}

/* Of sample number first + i, or of none, as lane i. */
static void add_sample(void *arg, uint32_t i)
{
    struct sample_sums *s = arg;
    const struct integer_rows *r = s->rows;
    struct row_reader at;
    double *x = s->x + i, *goal = s->goal ? s->goal + i : NULL;
    for (uint64_t k = 0; k < s->size; k++)
        x[k * BESIDE] = 0;
    if (i >= s->n)
        return;
    s->failed[i] = !pith_row_reader_open(&at, r);
    if (!s->failed[i])
        pith_row_reader_sample(&at, s->first + i);
    if (!s->failed[i])
        pith_layer_row_sums(&r->x, at.x, x, BESIDE);
    for (uint64_t o = 0; goal && o < r->l->shape.rows; o++)
        goal[o * BESIDE] = 0;
    if (goal && !s->failed[i])
        pith_layer_row_sums(&r->goal, at.y, goal, BESIDE);
    pith_row_reader_close(&at);
}

static void add_losses(const struct sample_sums *s, double *sum, double *squares)
{
    double lost[BESIDE];
    for (uint64_t o = 0; o < s->rows->l->shape.rows; o++) {
        mean_losses(s, o, lost);
        for (uint32_t i = 0; i < s->n; i++) {
            sum[o] += lost[i];
            squares[o] += lost[i] * lost[i];
        }
    }
}

enum pith_status pith_bias_correct(const struct layer_inputs *in, const struct pith_opts *runtime,
                                   struct integer_layer *l)
{
    const uint64_t rows = l->shape.rows;
    struct integer_rows r;
    struct sample_sums s = {0};
    double *sum = calloc(rows, sizeof *sum), *squares = calloc(rows, sizeof *squares);
    bool room = !pith_integer_rows(in, l, &r) && begin_sums(&s, &r) && sum && squares;
    for (uint32_t n = 0; n < in->n_samples && room; n += BESIDE) {
        s.n = in->n_samples - n < BESIDE ? in->n_samples - n : BESIDE;
        s.first = n;
        pith_in_parallel(runtime, BESIDE, add_sample, &s);
        for (uint32_t i = 0; i < BESIDE; i++)
            room = room && !s.failed[i];
        add_losses(&s, sum, squares);
    }
    if (room)
        correct(l, sum, squares, in->n_samples);
    pith_integer_rows_end(&r);
    free(s.x);
    free(s.goal);
    free(sum);
    free(squares);
    return room ? PITH_OK : PITH_ERR_MEMORY;
}
