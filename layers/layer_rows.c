/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "base/error_fill.h"
#include "numeric/im2col.h"
#include "layer_moments.h"
#include "core/op_number.h"
#include "op_interface/op_attr.h"
#include "op_interface/op_traits.h"

static struct shape shape_of(const struct pith_value *v)
{
    struct shape s = {.rank = v->rank};
    memcpy(s.dim, v->dim, v->rank * sizeof *v->dim);
    return s;
}

static bool is_conv(const struct pith_node *node)
{
    return node->op == PITH_OP_CONV;
}

/* Only weights whose inputs are rows: a matrix product, a convolution of one to three axes, a
 * recurrent state. */
static bool can(const struct pith_model *m, const struct pith_node *node)
{
    uint32_t w = pith_node_weight(m, node);
    bool recurs = pith_op_is(node->op, TRAIT_RECURS);
    if (w == PITH_VALUE_NONE || (!recurs && !pith_node_by_rows(node)))
        return false;
    const struct pith_value *v = &m->values[w], *x = &m->values[node->in[0]];
    bool conv = is_conv(node) && x->rank >= 3 && x->rank <= 5;
    bool product = !is_conv(node) && v->rank == 2 && x->rank >= 1 &&
                   (recurs || x->dim[x->rank - 1] == v->dim[1]);
    return !x->constant && x->type == PITH_F32 && (conv || product);
}

/* Blocks of a convolution's rows are of whole channels. */
uint32_t pith_layer_blocks(const struct pith_model *m, const struct pith_node *node)
{
    if (!can(m, node))
        return 0;
    const struct pith_value *v = &m->values[node->in[1]];
    const uint64_t n = v->constant->count / v->dim[0];
    const bool grouped = pith_op_groups(node->op, node->attr) > 1;
    uint32_t blocks = 1;
    while (n / blocks > PITH_LAYER_MOST_COLUMNS || (blocks <= v->dim[1] && v->dim[1] % blocks != 0))
        blocks++;
    return blocks > v->dim[1] || (blocks > 1 && grouped) ? 0 : blocks;
}

static bool multiplies(const struct pith_node *node, uint32_t value)
{
    return node->n_in > 1 && node->in[1] == value;
}

/* The bias is added to sums that are not scaled before, nor is it multiplied. */
static bool bias_is_plain(const struct pith_node *node)
{
    if (node->op == PITH_OP_RECURRENT)
        return node->attr[ATTR_RECURRENT_KIND] != RECURRENT_GRU ||
               node->attr[ATTR_RECURRENT_LINEAR_BEFORE_RESET];
    return node->op != PITH_OP_GEMM || (attr_f32(node->attr, ATTR_GEMM_ALPHA) == 1.0f &&
                                        attr_f32(node->attr, ATTR_GEMM_BETA) == 1.0f);
}

uint32_t pith_weight_bias(const struct pith_model *m, uint32_t value)
{
    uint32_t bias = PITH_VALUE_NONE;
    for (uint32_t i = m->n_nodes; i-- > 0;)
        bias = multiplies(&m->nodes[i], value) ? pith_node_bias(&m->nodes[i]) : bias;
    for (uint32_t i = 0; i < m->n_nodes && bias != PITH_VALUE_NONE; i++) {
        const struct pith_node *node = &m->nodes[i];
        const bool layer = multiplies(node, value);
        uint32_t uses = 0;
        for (uint32_t k = 0; k < node->n_in; k++)
            uses += node->in[k] == bias;
        if (uses != layer || (layer && (pith_node_bias(node) != bias || !bias_is_plain(node))))
            return PITH_VALUE_NONE;
    }
    return bias;
}

static enum pith_status read_input(const void *of, uint64_t sample, float *x,
                                   struct pith_error *err)
{
    return pith_layer_input_read(of, sample, x, err);
}

/* n: columns of a row, the inputs that one output sums over. */
enum pith_status pith_layer_rows_of(const struct layer_input *in, struct layer_rows *rows,
                                    struct pith_error *err)
{
    const struct pith_model *m = pith_layer_walk_model(in->walk);
    const struct pith_node *node = in->node;
    const struct pith_value *w = &m->values[node->in[1]];
    const uint32_t blocks = pith_layer_blocks(m, node);
    *rows = (struct layer_rows){.n = (size_t)(w->constant->count / w->dim[0] / blocks),
                                .groups = blocks * pith_op_groups(node->op, node->attr),
                                .elems = in->elems,
                                .read = read_input,
                                .of = in};
    rows->places = in->elems / (rows->n * rows->groups);
    if (!is_conv(node))
        return PITH_OK;
    struct shape x = shape_of(&m->values[node->in[0]]), k = shape_of(w),
                 y = shape_of(&m->values[node->out[0]]);
    const struct window v = pith_window_conv(node->attr, &x, &k, &y);
    rows->places = in->elems / (rows->groups * (rows->n / v.taps) * v.in) * v.out;
    return pith_layer_rows_window(rows, &v) ? PITH_OK : pith_error_no_memory(err);
}

bool pith_layer_rows_window(struct layer_rows *rows, const struct window *window)
{
    rows->taps = window->taps;
    rows->in = window->in;
    rows->out = window->out;
    rows->place = malloc(window->out * window->taps * sizeof *rows->place);
    if (rows->place)
        pith_im2col_places(window, rows->place);
    return rows->place != NULL;
}

void pith_layer_rows_end(struct layer_rows *rows)
{
    free(rows->place);
    *rows = (struct layer_rows){0};
}

void pith_layer_row(const struct layer_rows *rows, const float *x, uint32_t group, uint64_t place,
                    float *row)
{
    if (!rows->place) {
        memcpy(row, x + (place * rows->groups + group) * rows->n, rows->n * sizeof *row);
        return;
    }
    const size_t channels = rows->n / rows->taps;
    x += (place / rows->out * rows->groups + group) * channels * rows->in;
    const struct im2col_input from = {.data = x, .by_place = 1, .by_channel = rows->in};
    pith_im2col_row(&from, rows->place + place % rows->out * rows->taps, rows->taps, channels, row);
}

#define BESIDE 8u /* channels: chains of additions that hide each other's latency */

/* Of up to BESIDE channels, under one tap. */
static inline __attribute__((always_inline)) void
add_taps(const struct layer_rows *rows, const float *x, size_t tap, size_t channels, double *sum)
{
    for (size_t at = 0; at < rows->out; at++) {
        const int64_t place = rows->place[at * rows->taps + tap];
        for (size_t c = 0; c < channels && place >= 0; c++)
            sum[c] += (double)x[c * rows->in + (size_t)place];
    }
}

static void add_windows(const struct layer_rows *rows, const float *x, double *sum, size_t step)
{
    const size_t channels = rows->groups * rows->n / rows->taps;
    for (size_t c = 0; c < channels; c += BESIDE, x += BESIDE * rows->in)
        for (size_t tap = 0; tap < rows->taps; tap++) {
            const size_t n = channels - c < BESIDE ? channels - c : BESIDE;
            double some[BESIDE] = {0};
            if (n == BESIDE)
                add_taps(rows, x, tap, BESIDE, some);
            else
                add_taps(rows, x, tap, n, some);
            for (size_t i = 0; i < n; i++)
                sum[((c + i) * rows->taps + tap) * step] += some[i];
        }
}

void pith_layer_row_sums(const struct layer_rows *rows, const float *x, double *sum, size_t step)
{
    const size_t all = rows->groups * rows->n;
    if (!rows->place) {
        for (size_t i = 0; i < rows->places * all; i++)
            sum[i % all * step] += (double)x[i];
        return;
    }
    for (uint64_t image = 0; image < rows->places / rows->out; image++)
        add_windows(rows, x + image * (all / rows->taps) * rows->in, sum, step);
}
