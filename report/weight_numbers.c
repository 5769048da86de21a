/* SPDX-License-Identifier: MIT */
/* weight_numbers.c - weights of any stored form as floats, and as pictures. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/error_fill.h"
#include "report/chart/chart_picture.h"
#include "facts.h"
#include "op_interface/op_traits.h"

enum { MOST_SIDE = 16384, MOST_NAMES = 6 };

/* ---- numbers --------------------------------------------------------------------------------- */

static bool take_numbers(const struct pith_value *v, float *x)
{
    const struct pith_const *c = v->constant;
    for (uint64_t i = 0; i < c->count; i++)
        switch (v->type) {
        case PITH_F32:
            x[i] = ((const float *)c->data)[i];
            break;
        case PITH_I8:
            x[i] = ((const int8_t *)c->data)[i];
            break;
        case PITH_U8:
            x[i] = ((const uint8_t *)c->data)[i];
            break;
        default:
            return false;
        }
    return true;
}

/* Integers q of a row as q * s with the s that leaves the least squared error. */
static void scale_row(const float *like, float *q, uint64_t cols)
{
    double ab = 0, bb = 0;
    for (uint64_t k = 0; k < cols; k++) {
        ab += (double)like[k] * (double)q[k];
        bb += (double)q[k] * (double)q[k];
    }
    const float s = bb > 0 ? (float)(ab / bb) : 0;
    for (uint64_t k = 0; k < cols; k++)
        q[k] *= s;
}

/* x: [cols, rows], afterwards [rows, cols]. False: no memory. */
static bool transpose(float *x, uint64_t rows, uint64_t cols)
{
    float *was = malloc((size_t)(rows * cols) * sizeof *was + 1);
    if (!was)
        return false;
    memcpy(was, x, (size_t)(rows * cols) * sizeof *was);
    for (uint64_t o = 0; o < rows; o++)
        for (uint64_t k = 0; k < cols; k++)
            x[o * cols + k] = was[k * rows + o];
    free(was);
    return true;
}

enum pith_status pith_weight_numbers(const struct pith_model *m, const struct pith_weight_ref *ref,
                                     const float *like, float *x, bool *integers)
{
    const struct pith_value *v = &m->values[ref->value];
    if (!take_numbers(v, x))
        return PITH_ERR_UNSUPPORTED;
    *integers = v->type != PITH_F32;
    if (!*integers || !like)
        return PITH_OK;
    const bool rows_first = pith_op_rows_first(ref->op, m->nodes[ref->node].attr);
    const uint64_t rows = rows_first ? ref->rows : ref->cols;
    const uint64_t cols = rows_first ? ref->cols : ref->rows;
    if (!rows_first && !transpose(x, rows, cols))
        return PITH_ERR_MEMORY;
    for (uint64_t o = 0; o < rows; o++)
        scale_row(like + o * cols, x + o * cols, cols);
    *integers = false;
    return PITH_OK;
}

static void list_names(const struct pith_weight_ref *ref, uint32_t n, char *text, size_t room)
{
    size_t at = 0;
    text[0] = '\0';
    for (uint32_t i = 0; i < n && i < MOST_NAMES && at < room; i++)
        at += (size_t)snprintf(text + at, room - at, "%s%s", i ? ", " : "", ref[i].layer);
    if (n > MOST_NAMES && at < room)
        snprintf(text + at, room - at, ", ... (%u in all)", n);
}

static const struct pith_weight_ref *find_weight(const struct pith_weight_ref *ref, uint32_t n,
                                                 const char *layer)
{
    if (!layer)
        return n == 1 ? ref : NULL;
    for (uint32_t i = 0; i < n; i++)
        if (strcmp(ref[i].layer, layer) == 0)
            return &ref[i];
    for (uint32_t i = 0; i < n; i++)
        if (strcmp(ref[i].tensor, layer) == 0)
            return &ref[i];
    return NULL;
}

static enum pith_status read_weight(const struct pith_model *m, const struct pith_weight_ref *ref,
                                    struct pith_weight_array *weight, struct pith_error *err)
{
    const struct pith_value *v = &m->values[ref->value];
    struct pith_weight_array w = {
        .layer = ref->layer, .rank = v->rank, .count = v->constant->count};
    bool integers;
    memcpy(w.dim, v->dim, sizeof w.dim);
    w.x = malloc((size_t)w.count * sizeof *w.x + 1);
    if (!w.x)
        return pith_error_no_memory(err);
    if (pith_weight_numbers(m, ref, NULL, w.x, &integers)) {
        free(w.x);
        return pith_error_fill(err, PITH_ERR_UNSUPPORTED,
                               "layer '%s': its weights are neither "
                               "floats nor 8-bit integers",
                               ref->layer);
    }
    *weight = w;
    return PITH_OK;
}

enum pith_status pith_weight_read(const struct pith_model *m, const char *layer,
                                  struct pith_weight_array *weight, struct pith_error *err)
{
    if (!m || !weight)
        return PITH_ERR_ARGUMENT;
    struct pith_weight_ref *ref = calloc(m->n_nodes + (size_t)1, sizeof *ref);
    if (!ref)
        return pith_error_no_memory(err);
    const uint32_t n = pith_model_all_weights(m, ref);
    const struct pith_weight_ref *found = find_weight(ref, n, layer);
    char names[400];
    enum pith_status st;
    list_names(ref, n, names, sizeof names);
    if (found)
        st = read_weight(m, found, weight, err);
    else if (n == 0)
        st = pith_error_fill(err, PITH_ERR_ARGUMENT, "the network has no weights");
    else if (layer)
        st = pith_error_fill(err, PITH_ERR_ARGUMENT, "no layer '%.60s'; there are: %s", layer,
                             names);
    else
        st = pith_error_fill(err, PITH_ERR_ARGUMENT, "several layers have weights: %s", names);
    free(ref);
    return st;
}

/* ---- pictures -------------------------------------------------------------------------------- */

/* Rows are the first axis, columns the second; what is behind them is a tile of height and width.
 */
struct tiles {
    uint64_t rows, cols, height, width, gap;
    uint64_t fold; /* columns of rows side by side, where rows are many and short */
};

static struct tiles tiles_of(const struct pith_weight_array *w)
{
    struct tiles t = {1, 1, 1, 1, 0, 1};
    for (uint32_t i = 0; i < w->rank; i++)
        *(i == 0            ? &t.rows
          : i == 1          ? &t.cols
          : i + 1 < w->rank ? &t.height
                            : &t.width) *= w->dim[i];
    if (w->rank == 1) { /* one row */
        t.cols = t.rows;
        t.rows = 1;
    }
    t.gap = t.height * t.width > 1;
    while (t.gap && t.rows * t.height > 4 * t.fold * t.fold * t.cols * t.width)
        t.fold++;
    return t;
}

/* Three times the root of the mean square: a few large weights do not make the others pale. */
static double scale_of(const float *x, uint64_t n)
{
    double sum = 0, finite = 0;
    for (uint64_t i = 0; i < n; i++)
        if (isfinite(x[i])) {
            sum += (double)x[i] * (double)x[i];
            finite++;
        }
    return sum > 0 ? 3 * sqrt(sum / finite) : 1;
}

/* The number of the weight at a pixel; UINT64_MAX: between weights. */
static uint64_t weight_at(const struct tiles *t, uint64_t x, uint64_t y)
{
    const uint64_t wide = t->width + t->gap, high = t->height + t->gap;
    const uint64_t row = y / high * t->fold + x / (t->cols * wide), col = x / wide % t->cols;
    if (y % high >= t->height || x % wide >= t->width || row >= t->rows)
        return UINT64_MAX;
    return ((row * t->cols + col) * t->height + y % high) * t->width + x % wide;
}

enum pith_status pith_weight_picture(const struct pith_weight_array *w, uint32_t most,
                                     struct pith_buffer *png, uint32_t side[2])
{
    const struct tiles t = tiles_of(w);
    uint64_t high = (t.rows + t.fold - 1) / t.fold * (t.height + t.gap) - t.gap;
    uint64_t wide = t.fold * t.cols * (t.width + t.gap) - t.gap;
    if (w->count == 0)
        return PITH_ERR_UNSUPPORTED;
    if (!most && (high > MOST_SIDE || wide > MOST_SIDE))
        return PITH_ERR_LIMIT;
    high = most && high > most ? most : high;
    wide = most && wide > most ? most : wide;
    const double largest = scale_of(w->x, w->count);
    uint8_t *pixels = malloc((size_t)(high * wide * 3));
    if (!pixels)
        return PITH_ERR_MEMORY;
    memset(pixels, 200, (size_t)(high * wide * 3)); /* the lines between kernels */
    for (uint64_t y = 0; y < high; y++)
        for (uint64_t x = 0; x < wide; x++) {
            const uint64_t at = weight_at(&t, x, y);
            if (at != UINT64_MAX)
                pith_colour_pixel((double)w->x[at], largest, pixels + (y * wide + x) * 3);
        }
    side[0] = (uint32_t)wide;
    side[1] = (uint32_t)high;
    const enum pith_status st = pith_png_encode(pixels, (uint32_t)wide, (uint32_t)high, 3, png);
    free(pixels);
    return st;
}

enum pith_status pith_weight_png(const struct pith_weight_array *weight, struct pith_buffer *png,
                                 struct pith_error *err)
{
    uint32_t side[2];
    if (!weight || !weight->x || !png)
        return PITH_ERR_ARGUMENT;
    const enum pith_status st = pith_weight_picture(weight, 0, png, side);
    if (st == PITH_ERR_LIMIT)
        return pith_error_fill(err, st,
                               "layer '%s' has more than %d weights in a row or column: "
                               "write a .npy",
                               weight->layer ? weight->layer : "", MOST_SIDE);
    if (st == PITH_ERR_UNSUPPORTED)
        return pith_error_fill(err, st, "layer '%s' has no weights",
                               weight->layer ? weight->layer : "");
    return st ? pith_error_fill(err, st, "out of memory") : PITH_OK;
}
