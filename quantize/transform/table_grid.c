/* SPDX-License-Identifier: MIT */
/* table_grid.c - see table_grid.h.
 *
 * A row's step reaches its largest number with 127 (of weights of more than 8 bits, 32767) steps,
 * so nothing is cut. Rows with few large numbers waste most of their steps; there one codebook for
 * all rows, the k-means optimum of evenly spaced numbers of the table, is better. */
#include "table_grid.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "quantize/codebook/codebook_build.h"
#include "base/error_fill.h"
#include "node_list.h"
#include "base/normal_scale.h"
#include "core/op_number.h"
#include "op_interface/op_attr.h"
#include "base/snr.h"
#include "quantize/layer/radix.h"

#define SAMPLED (1u << 18) /* numbers that a codebook is made of, at most */

/* ---- the numbers of a table ------------------------------------------------------------------ */

enum table_kind { BY_ROW, BY_COLUMN, BY_CODEBOOK };

/* One table, shared by all its lookups. */
struct table {
    const struct pith_const *floats;
    enum table_kind kind; /* BY_COLUMN: a layer's weight, [columns, rows] */
    uint32_t rows, cols;
    enum pith_type type;
    uint32_t bits;
    void *data;                      /* integers or indices, [rows, cols] or the other way round */
    const struct pith_const *shared; /* BY_COLUMN: the weight; NULL: data */
    const struct pith_const *scales; /* BY_COLUMN: [rows], the layer's; NULL: scale */
    float *scale;                    /* [rows], or centroids */
    uint32_t n_centroids;
    double noise;         /* squared error */
    uint32_t whole, real; /* values: the integers, and scale */
};

struct writer {
    const struct integer_plan *p;
    struct integer_network *net;
    struct node_list list;
    struct table *table; /* owns: [n] */
    uint32_t n;
    struct pith_error *err;
};

static double row_scale(const struct writer *w, const float *x, uint32_t n, double most)
{
    double largest = 0;
    for (uint32_t i = 0; i < n; i++)
        largest = fmax(largest, fabs((double)x[i]));
    double scale = largest > 0 ? (double)pith_normal_scale(largest / most) : 1;
    return w->p->opts->fixed_bits ? pith_radix_above(scale) : scale;
}

static bool make_by_row(struct writer *w, struct table *t)
{
    bool wide = pith_weight_bits(w->p->opts) > 8;
    double most = wide ? 32767 : 127;
    const float *x = t->floats->data;
    t->kind = BY_ROW;
    t->type = wide ? PITH_I16 : PITH_I8;
    t->bits = wide ? 16 : 8;
    t->data = pith_model_alloc(w->p->m, t->floats->count, wide ? 2 : 1);
    t->scale = pith_model_alloc(w->p->m, t->rows, sizeof *t->scale);
    t->noise = 0;
    for (uint32_t r = 0; r < t->rows && t->data && t->scale; r++) {
        t->scale[r] = (float)row_scale(w, x + (size_t)r * t->cols, t->cols, most);
        for (size_t i = (size_t)r * t->cols; i < (r + (size_t)1) * t->cols; i++) {
            double q = fmax(-most, fmin(most, rint((double)x[i] / (double)t->scale[r])));
            double d = (double)((float)q * t->scale[r]) - (double)x[i];
            t->noise += d * d;
            if (wide)
                ((int16_t *)t->data)[i] = (int16_t)q;
            else
                ((int8_t *)t->data)[i] = (int8_t)q;
        }
    }
    return t->data && t->scale;
}

/* The codebook of every so many numbers. */
static enum pith_status find_centroids(const struct table *t, struct codebook_build *b)
{
    const float *x = t->floats->data;
    uint64_t step = (t->floats->count + SAMPLED - 1) / SAMPLED, n = t->floats->count / step;
    float *sample = malloc((size_t)n * sizeof *sample);
    for (uint64_t i = 0; i < n && sample; i++)
        sample[i] = x[i * step];
    *b = (struct codebook_build){
        .group_elems = n, .n_groups = 1, .wanted = KMEANS_MAX, .init = PITH_CLUSTER_EXACT};
    enum pith_status st = sample ? pith_codebook_build(b, sample, NULL) : PITH_ERR_MEMORY;
    free(sample);
    return st;
}

static double noise_of_indices(const struct table *t)
{
    const float *x = t->floats->data;
    const uint8_t *index = t->data;
    double sum = 0;
    for (uint64_t i = 0; i < t->floats->count; i++) {
        double d = (double)t->scale[index[i]] - (double)x[i];
        sum += d * d;
    }
    return sum;
}

static bool make_by_codebook(struct writer *w, struct table *t)
{
    struct codebook_build b = {0};
    bool made = !find_centroids(t, &b);
    t->kind = BY_CODEBOOK;
    t->type = PITH_U8;
    t->bits = 8;
    t->data = pith_model_alloc(w->p->m, t->floats->count, 1);
    t->scale = pith_model_alloc(w->p->m, KMEANS_MAX, sizeof *t->scale);
    if (made && t->data && t->scale) {
        t->n_centroids = b.used_most;
        memcpy(t->scale, b.centroid, b.used_most * sizeof *t->scale);
        b.group_elems = t->floats->count;
        pith_codebook_assign(&b, t->scale, t->floats->data, NULL, t->data);
        t->noise = noise_of_indices(t);
    }
    pith_codebook_build_end(&b);
    return made && t->data && t->scale;
}

/* What was pruned is the integer 0; and a machine of fixed point multiplies by shifting. */
static bool may_have_codebook(const struct writer *w, const struct table *t)
{
    return !t->floats->mask && !w->p->opts->fixed_bits && pith_weight_bits(w->p->opts) <= 8 &&
           fabs(row_scale(w, t->floats->data, (uint32_t)t->floats->count, 1)) <= 0x1p126;
}

static bool make_own(struct writer *w, struct table *t)
{
    struct table other = *t;
    if (!make_by_row(w, t))
        return false;
    if (!may_have_codebook(w, t))
        return true;
    if (!make_by_codebook(w, &other))
        return false;
    if (other.noise < t->noise)
        *t = other;
    return true;
}

/* The layer whose weight value v of the float network is; NULL: none, or not as it stands. */
static const struct integer_layer *layer_with(const struct writer *w, uint32_t v)
{
    for (uint32_t i = 0; i < w->net->n_layers; i++) {
        const struct integer_layer *l = &w->net->layers[i];
        const struct pith_node *node = &w->p->m->nodes[l->node];
        if (node->in[1] == v && l->transposed && !pith_weight_factor(w->p, l->node).scales_weights)
            return l;
    }
    return NULL;
}

static const struct pith_const *constant_with(const struct pith_model *m, const void *data)
{
    for (uint32_t v = 0; v < m->n_values; v++)
        if (m->values[v].constant && m->values[v].constant->data == data)
            return m->values[v].constant;
    return NULL;
}

static const float *scales_of(const struct integer_layer *l)
{
    return l->shared.first ? l->shared.first->real_scale : l->real_scale;
}

static bool take_layers(struct writer *w, struct table *t, const struct integer_layer *l)
{
    const float *x = t->floats->data;
    t->kind = BY_COLUMN;
    t->type = l->wide ? PITH_I16 : PITH_I8;
    t->bits = w->p->node[l->node].weight_bits;
    t->shared = constant_with(&w->net->m, l->stored);
    t->scales = l->apart && l->real.w_factor == 1 ? constant_with(&w->net->m, scales_of(l)) : NULL;
    t->scale = pith_model_alloc(w->p->m, t->rows, sizeof *t->scale);
    for (uint32_t r = 0; r < t->rows && t->scale; r++) {
        t->scale[r] = (float)(l->scale[r] / l->real.w_factor);
        for (size_t i = (size_t)r * t->cols; i < (r + (size_t)1) * t->cols; i++) {
            double d = (double)((float)l->q[i] * t->scale[r]) - (double)x[i];
            t->noise += d * d;
        }
    }
    return t->shared && t->scale;
}

/* ---- nodes ----------------------------------------------------------------------------------- */

static uint32_t value_with(const struct pith_model *m, const struct pith_const *c)
{
    uint32_t v = 0;
    while (m->values[v].constant != c)
        v++;
    return v;
}

static uint32_t add_scales(struct writer *w, const struct table *t)
{
    uint32_t reals[2] = {t->rows, 1};
    if (t->scales)
        return value_with(w->list.m, t->scales);
    if (t->kind == BY_CODEBOOK)
        return pith_list_constant(&w->list, PITH_F32, 1, &t->n_centroids, t->scale);
    return pith_list_constant(&w->list, PITH_F32, 2, reals, t->scale);
}

static void add_constants(struct writer *w, struct table *t)
{
    uint32_t dim[2] = {t->rows, t->cols};
    t->whole = t->kind == BY_COLUMN ? value_with(w->list.m, t->shared)
                                    : pith_list_constant(&w->list, t->type, 2, dim, t->data);
    t->real = add_scales(w, t);
    struct pith_const *c = w->list.m->values[t->whole].constant;
    if (c && t->kind == BY_ROW)
        c->mask = t->floats->mask;
}

/* The table that the float network's constant c has become; NULL: none. */
static struct table *find(const struct writer *w, const struct pith_const *c)
{
    for (uint32_t i = 0; i < w->n; i++)
        if (c && w->table[i].floats == c)
            return &w->table[i];
    return NULL;
}

/* Rows of table value t picked by ids; shape: of the result. */
static uint32_t look_up(struct writer *w, const char *name, uint32_t t, uint32_t ids, int32_t axis,
                        const struct pith_value *shape)
{
    uint32_t y = pith_list_value(&w->list, w->list.m->values[t].type, shape->rank, shape->dim);
    struct pith_node *node =
        pith_list_node(&w->list, name, PITH_OP_GATHER, 2, (uint32_t[]){t, ids}, y);
    if (node)
        node->attr[ATTR_GATHER_AXIS] = axis;
    return y;
}

static uint32_t cast(struct writer *w, const char *name, uint32_t x, enum pith_type to)
{
    const struct pith_value *from = &w->list.m->values[x];
    uint32_t y = pith_list_value(&w->list, to, from->rank, from->dim);
    struct pith_node *node = pith_list_node(&w->list, name, PITH_OP_CAST, 1, &x, y);
    if (node)
        node->attr[ATTR_CAST_TO] = (int32_t)to;
    return y;
}

/* Columns of a layer's weight: [columns, ids..] becomes [ids.., columns]. */
static uint32_t look_up_columns(struct writer *w, const char *name, const struct table *t,
                                uint32_t ids, const struct pith_value *shape)
{
    struct pith_value turned = *shape;
    uint32_t last = shape->rank - 1;
    turned.dim[0] = shape->dim[last];
    memcpy(&turned.dim[1], shape->dim, last * sizeof *turned.dim);
    uint32_t x = look_up(w, name, t->whole, ids, 1, &turned);
    uint32_t y = pith_list_value(&w->list, t->type, shape->rank, shape->dim);
    struct pith_node *node = pith_list_node(&w->list, name, PITH_OP_TRANSPOSE, 1, &x, y);
    if (!node)
        return y;
    node->attr[ATTR_PERM] = (int32_t)shape->rank;
    for (uint32_t i = 0; i < shape->rank; i++)
        node->attr[ATTR_PERM + 1 + i] = i == last ? 0 : (int32_t)i + 1;
    return y;
}

/* A scale for each row that is picked, [ids.., 1]. */
static uint32_t look_up_scales(struct writer *w, const char *name, const struct table *t,
                               uint32_t ids, const struct pith_value *shape)
{
    struct pith_value one = *shape, flat = *shape;
    one.dim[one.rank - 1] = 1;
    if (!t->scales)
        return look_up(w, name, t->real, ids, 0, &one);
    flat.rank--;
    uint32_t x = look_up(w, name, t->real, ids, 0, &flat);
    uint32_t y = pith_list_value(&w->list, PITH_F32, one.rank, one.dim);
    struct pith_node *node = pith_list_node(&w->list, name, PITH_OP_UNSQUEEZE, 1, &x, y);
    if (node) {
        node->attr[ATTR_AXES] = 1;
        node->attr[ATTR_AXES + 1] = (int32_t)flat.rank;
    }
    return y;
}

static void write_look_up(struct writer *w, const struct pith_node *node, const struct table *t)
{
    const struct pith_value y = w->list.m->values[node->out[0]];
    uint32_t ids = node->in[1];
    if (t->kind == BY_CODEBOOK) {
        uint32_t index =
            cast(w, node->name, look_up(w, node->name, t->whole, ids, 0, &y), PITH_I32);
        pith_list_node(&w->list, node->name, PITH_OP_GATHER, 2, (uint32_t[]){t->real, index},
                       node->out[0]);
        return;
    }
    uint32_t q = t->kind == BY_COLUMN ? look_up_columns(w, node->name, t, ids, &y)
                                      : look_up(w, node->name, t->whole, ids, 0, &y);
    uint32_t x = cast(w, node->name, q, PITH_F32);
    uint32_t scale = look_up_scales(w, node->name, t, ids, &y);
    pith_list_node(&w->list, node->name, PITH_OP_MUL, 2, (uint32_t[]){x, scale}, node->out[0]);
}

/* ---- the whole ------------------------------------------------------------------------------- */

static double snr_of(const struct table *t)
{
    const float *x = t->floats->data;
    double signal = 0;
    for (uint64_t i = 0; i < t->floats->count; i++)
        signal += (double)x[i] * (double)x[i];
    return pith_snr_db(signal, t->noise);
}

static enum pith_status make_tables(struct writer *w, struct integer_table *made)
{
    const struct pith_model *m = w->p->m;
    w->table = calloc(m->n_nodes + (size_t)1, sizeof *w->table);
    for (uint32_t i = 0; i < m->n_nodes && w->table; i++) {
        const struct pith_value *v = w->p->node[i].table ? &m->values[m->nodes[i].in[0]] : NULL;
        struct table *t = v ? find(w, v->constant) : NULL;
        if (!v)
            continue;
        if (!t) {
            const struct integer_layer *l = layer_with(w, m->nodes[i].in[0]);
            t = &w->table[w->n++];
            *t = (struct table){.floats = v->constant, .rows = v->dim[0], .cols = v->dim[1]};
            if (!(l ? take_layers(w, t, l) : make_own(w, t)))
                return pith_error_no_memory(w->err);
        }
        made[i] = (struct integer_table){t->bits, snr_of(t)};
    }
    return w->table ? PITH_OK : pith_error_no_memory(w->err);
}

static enum pith_status write_nodes(struct writer *w)
{
    struct pith_model *m = &w->net->m;
    if (!pith_node_list_begin(&w->list, m, 5 * (uint64_t)m->n_nodes, 6 * (uint64_t)m->n_nodes))
        return pith_error_no_memory(w->err);
    for (uint32_t i = 0; i < w->n; i++)
        add_constants(w, &w->table[i]);
    for (uint32_t i = 0; i < m->n_nodes; i++) {
        const struct pith_node *node = &m->nodes[i];
        const struct table *t =
            pith_is_table(m, node) ? find(w, m->values[node->in[0]].constant) : NULL;
        if (t)
            write_look_up(w, node, t);
        else
            pith_list_copy(&w->list, node);
    }
    return pith_node_list_end(&w->list, w->err);
}

enum pith_status pith_write_tables(const struct integer_plan *p, struct integer_network *n,
                                   struct integer_table **tables, struct pith_error *err)
{
    struct writer w = {.p = p, .net = n, .err = err};
    struct integer_table *made = calloc(p->m->n_nodes + (size_t)1, sizeof *made);
    enum pith_status st = made ? make_tables(&w, made) : pith_error_no_memory(err);
    if (!st && w.n > 0)
        st = write_nodes(&w);
    free(w.table);
    if (st)
        free(made);
    else
        *tables = made;
    return st;
}
