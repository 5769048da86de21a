/* SPDX-License-Identifier: MIT */
/* layer_reason.c - the largest of the errors that meet in a layer: numbers cut at the ends of a
 * grid, numbers rounded to it, weights that changed, or inputs that came with an error already. */
#include "layer_reason.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "measure/difference.h"
#include "op_interface/op_traits.h"
#include "base/snr.h"

#define HALF_DB 3.0103 /* half the squared error */

/* ---- the layer ------------------------------------------------------------------------------- */

static const char *label_of(const struct pith_model *m, const struct pith_node *node)
{
    return node->name[0] ? node->name : m->values[node->out[0]].name;
}

static const struct pith_node *node_of_label(const struct pith_model *m, const char *label)
{
    for (uint32_t i = 0; i < m->n_nodes; i++)
        if (strcmp(label_of(m, &m->nodes[i]), label) == 0)
            return &m->nodes[i];
    return NULL;
}

/* The error of what node reads, as far back as a value of both models is found; infinite: there is
 * none. */
static double input_db(const struct pith_model *m, const struct pith_comparison *c,
                       const struct pith_node *node)
{
    for (uint32_t back = 0; node && node->n_in > 0 && back < m->n_nodes; back++) {
        node = pith_model_producer(m, node->in[0]);
        for (uint32_t i = 0; node && i < c->n_layers; i++)
            if (strcmp(c->layers[i].layer, label_of(m, node)) == 0)
                return c->layers[i].snr_db;
    }
    return INFINITY;
}

/* ---- its weights ----------------------------------------------------------------------------- */

/* That of the layer, or of the constant, called so; found->layer is NULL where there is none. */
static enum cli_exit find_weight(const struct pith_model *m, const char *layer, const char *tensor,
                                 struct pith_weight_ref *found)
{
    struct pith_weight_ref *refs = calloc(m->n_nodes + 1u, sizeof *refs);
    if (!refs)
        return cli_no_memory();
    *found = (struct pith_weight_ref){0};
    uint32_t n = pith_model_all_weights(m, refs);
    for (uint32_t i = 0; i < n && !found->layer && layer; i++)
        if (strcmp(refs[i].layer, layer) == 0)
            *found = refs[i];
    for (uint32_t i = 0; i < n && !found->layer && tensor && tensor[0]; i++)
        if (strcmp(refs[i].tensor, tensor) == 0)
            *found = refs[i];
    free(refs);
    return EXIT_DONE;
}

static double weight_snr(const float *a, const float *b, uint64_t n)
{
    struct pith_difference_sums s = {0};
    pith_difference_add(&s, NULL, a, b, n);
    return pith_difference_snr_db(&s);
}

/* Are a weight's rows axis 0? */
static bool rows_first(const struct pith_model *m, const struct pith_weight_ref *w)
{
    return pith_op_rows_first(w->op, m->nodes[w->node].attr);
}

/* Integers b, row by row with the scale that fits a best; transposed: [cols, rows]. */
static double integer_weight_snr(const float *a, const int8_t *b, uint64_t rows, uint64_t cols,
                                 bool transposed)
{
    double aa = 0, dd = 0;
    for (uint64_t o = 0; o < rows; o++) {
        double ab = 0, bb = 0, row = 0;
        for (uint64_t k = 0; k < cols; k++) {
            double x = (double)a[o * cols + k], q = b[transposed ? k * rows + o : o * cols + k];
            row += x * x;
            ab += x * q;
            bb += q * q;
        }
        aa += row;
        dd += fmax(bb > 0 ? row - ab * ab / bb : row, 0);
    }
    return pith_snr_db(aa, dd);
}

static uint64_t count_kept(const float *x, uint64_t n)
{
    uint64_t kept = 0;
    for (uint64_t i = 0; i < n; i++)
        kept += x[i] != 0;
    return kept;
}

/* The weights of a layer in both models, and how far they are apart. */
struct weights {
    const struct pith_const *a, *b; /* NULL: nothing to compare */
    bool integers;                  /* in b */
    double snr_db;
};

static enum cli_exit compare_weights(const struct pith_model *a, const struct pith_model *b,
                                     const char *layer, struct weights *w)
{
    struct pith_weight_ref wa, wb;
    *w = (struct weights){.snr_db = INFINITY};
    if (find_weight(a, layer, NULL, &wa) || find_weight(b, layer, wa.tensor, &wb))
        return EXIT_MEMORY;
    if (!wa.layer || !wb.layer || wa.rows * wa.cols != wb.rows * wb.cols)
        return EXIT_DONE;
    const struct pith_value *va = &a->values[wa.value], *vb = &b->values[wb.value];
    if (va->type != PITH_F32 || (vb->type != PITH_F32 && vb->type != PITH_I8))
        return EXIT_DONE;
    w->a = va->constant;
    w->b = vb->constant;
    w->integers = vb->type == PITH_I8;
    w->snr_db = w->integers ? integer_weight_snr(w->a->data, w->b->data, wa.rows, wa.cols,
                                                 rows_first(a, &wa) != rows_first(b, &wb))
                            : weight_snr(w->a->data, w->b->data, w->a->count);
    return EXIT_DONE;
}

static void describe_float_weights(const struct weights *w, char *text, size_t room)
{
    int n = snprintf(text, room, "its weights differ by %.1f dB: %.3f kept, was %.3f", w->snr_db,
                     (double)count_kept(w->b->data, w->b->count) / (double)w->b->count,
                     (double)count_kept(w->a->data, w->a->count) / (double)w->a->count);
    if (w->b->codebook && n > 0 && (size_t)n < room)
        snprintf(text + n, room - (size_t)n, ", %u centroids", w->b->codebook->n_centroids);
}

/* ---- the reason ------------------------------------------------------------------------------ */

/* What putting the right numbers on the layer's grid does by itself. */
static void describe_grid(const struct pith_difference *d, char *text, size_t room)
{
    int n =
        d->clip_db < d->snr_db + HALF_DB
            ? snprintf(text, room,
                       "%.2g%% of its values are clipped to its range, %.4g to %.4g: this alone "
                       "leaves %.1f dB",
                       100 * d->clipped, d->low, d->high, d->clip_db)
            : snprintf(text, room,
                       "its integers have a step of %.4g: rounding alone leaves %.1f dB", d->step,
                       d->grid_db);
    if (d->dead && n > 0 && (size_t)n < room)
        snprintf(text + n, room - (size_t)n, ", %u of %u channels become 0", d->dead, d->channels);
}

/* A Relu or Clip behind a layer is part of it. */
static const struct pith_node *layer_behind(const struct pith_model *a, const char *label)
{
    const struct pith_node *node = node_of_label(a, label);
    while (node && pith_op_is(node->op, TRAIT_CLAMPS))
        node = pith_model_producer(a, node->in[0]);
    return node;
}

enum cli_exit cli_layer_reason(const struct pith_model *a, const struct pith_model *b,
                               const struct pith_comparison *c, const struct pith_difference *off,
                               char *text, size_t room)
{
    struct weights w;
    const struct pith_node *node = layer_behind(a, off->layer);
    enum cli_exit rc = compare_weights(a, b, node ? label_of(a, node) : off->layer, &w);
    double came = input_db(a, c, node);
    if (rc)
        return rc;
    if (off->nonfinite_a + off->nonfinite_b > 0)
        snprintf(text, room, "%llu of %llu numbers are NaN or infinite in one model only",
                 (unsigned long long)(off->nonfinite_a + off->nonfinite_b),
                 (unsigned long long)off->elements);
    else if (off->integers && off->grid_db < off->snr_db + HALF_DB)
        describe_grid(off, text, room);
    else if (w.a && w.snr_db < came && !w.integers)
        describe_float_weights(&w, text, room);
    else if (w.a && w.snr_db < came)
        snprintf(text, room, "its weights as integers have an SQNR of %.1f dB", w.snr_db);
    else if (isinf(came))
        snprintf(text, room, "computes with integers: inputs are rounded");
    else if (!w.a)
        snprintf(text, room, "has no weights: its inputs have %.1f dB", came);
    else if (isinf(w.snr_db))
        snprintf(text, room, "its weights are equal: its inputs have %.1f dB", came);
    else
        snprintf(text, room, "its inputs have %.1f dB, its weights alone %.1f dB%s", came, w.snr_db,
                 off->integers ? ", its integers less error" : "");
    return EXIT_DONE;
}
