/* SPDX-License-Identifier: MIT */
/* unpack_stats.c - the chunk `stat` back into a model. The gate has checked its syntax; here it
 * must also fit the shapes of the values. */
#include "pith_value_stats.h"
#include "validate/stats_read.h"
#include "unpack.h"

static void read_sum(const struct stats_sum *from, struct pith_exact_sum *s)
{
    uint8_t bytes[STATS_SUM_BYTES];
    bool negative = from->n > 0 && from->bytes[from->n - 1] >= 128;
    memset(bytes, negative ? 255 : 0, sizeof bytes);
    memset(bytes, 0, from->lowest);
    if (from->n > 0)
        memcpy(bytes + from->lowest, from->bytes, from->n);
    for (uint32_t i = 0; i < PITH_SUM_DIGITS; i++)
        s->digit[i] = load_le32(bytes + (size_t)4 * i);
    if (negative)
        s->digit[PITH_SUM_DIGITS - 1] -= INT64_C(1) << 32;
}

static enum pith_status read_histogram(struct pith_model *m, const struct stats_entry *e,
                                       struct pith_histogram *h)
{
    struct reader r = e->bins;
    *h = (struct pith_histogram){.exponent = e->exponent, .first = e->first, .n_bins = e->n_bins};
    h->count = pith_model_alloc(m, h->n_bins, sizeof *h->count);
    if (!h->count)
        return PITH_ERR_MEMORY;
    for (uint32_t i = 0; i < h->n_bins;) {
        uint64_t count;
        uint32_t run = pith_stats_bins_read(&r, &count);
        h->count[i] = count; /* a run of several is of zeros, which it is already */
        i += run;
    }
    return PITH_OK;
}

static enum pith_status read_channels(struct pith_model *m, const struct stats_entry *e,
                                      struct pith_value_stats *s)
{
    struct reader r = e->channels;
    s->n_channels = e->n_channels;
    s->channel_axis = e->channel_axis;
    s->channel = pith_model_alloc(m, s->n_channels, sizeof *s->channel);
    if (!s->channel)
        return PITH_ERR_MEMORY;
    for (uint32_t c = 0; c < s->n_channels; c++) {
        struct stats_sum sum;
        s->channel[c].min = f32_from_bits(rd_le32(&r));
        s->channel[c].max = f32_from_bits(rd_le32(&r));
        pith_stats_sum_read(&r, &sum);
        read_sum(&sum, &s->channel[c].sum);
    }
    return PITH_OK;
}

static enum pith_status read_stats(struct pith_model *m, const struct stats_entry *e,
                                   struct pith_value *v)
{
    struct pith_value_stats *s = pith_model_alloc(m, 1, sizeof *s);
    if (!s)
        return PITH_ERR_MEMORY;
    s->n = e->n;
    s->n_zero = e->n_zero;
    s->n_samples = e->n_samples;
    read_sum(&e->sum, &s->sum);
    read_sum(&e->sum_squares, &s->sum_squares);
    v->stats = s;
    enum pith_status st = read_histogram(m, e, &s->histogram);
    return st || !(e->flags & STATS_CHANNELS) ? st : read_channels(m, e, s);
}

static enum pith_status read_grid(struct pith_model *m, const struct stats_entry *e,
                                  struct pith_value *v)
{
    struct reader r = e->scales;
    struct pith_grid *g = pith_model_alloc(m, 1, sizeof *g);
    float *scale = pith_model_alloc(m, e->n_scales, sizeof *scale);
    if (!g || !scale)
        return PITH_ERR_MEMORY;
    for (uint32_t i = 0; i < e->n_scales; i++)
        scale[i] = f32_from_bits(rd_le32(&r));
    *g = (struct pith_grid){.type = e->grid_type,
                            .bits = (uint8_t)e->grid_bits,
                            .method = (enum pith_range_method)e->grid_method,
                            .zero_point = e->zero_point,
                            .n = e->n_scales,
                            .axis = e->grid_axis,
                            .scale = scale};
    v->grid = g;
    return PITH_OK;
}

static bool fits(const struct pith_value *v, uint32_t n, uint32_t axis)
{
    return axis < v->rank && v->dim[axis] == n;
}

/* What an entry takes: a few bytes can claim 2,048 counts. */
static uint64_t entry_bytes(const struct stats_entry *e)
{
    return sizeof(struct pith_value_stats) + sizeof(struct pith_grid) +
           sizeof(uint64_t) * (uint64_t)e->n_bins +
           sizeof(struct pith_channel_stats) * (uint64_t)e->n_channels +
           sizeof(float) * (uint64_t)e->n_scales;
}

static enum pith_status read_entry(struct pith_model *m, const struct stats_entry *e)
{
    struct pith_value *v = &m->values[e->value];
    enum pith_status st = PITH_OK;
    if (((e->flags & STATS_CHANNELS) && !fits(v, e->n_channels, e->channel_axis)) ||
        ((e->flags & STATS_GRID) && e->n_scales > 1 && !fits(v, e->n_scales, e->grid_axis)))
        return PITH_ERR_CORRUPT;
    if (e->n > 0) {
        v->min = e->min;
        v->max = e->max;
        v->n_observed = e->n;
    }
    if (e->flags & STATS_KEPT)
        st = read_stats(m, e, v);
    return st || !(e->flags & STATS_GRID) ? st : read_grid(m, e, v);
}

enum pith_status pith_unpack_stats(struct pith_model *m, const uint8_t *bytes, size_t n,
                                   uint64_t max_bytes)
{
    struct reader r = reader_of(bytes, n);
    struct stats_entry e;
    uint64_t next = 0, taken = 0;
    enum pith_status st = PITH_OK;
    while (r.left > 0 && !st) {
        if (!pith_stats_entry_read(&r, &next, m->n_values, &e))
            return PITH_ERR_CORRUPT;
        taken += entry_bytes(&e); /* of entries that lie in memory: no overflow */
        st = taken > max_bytes ? PITH_ERR_LIMIT : read_entry(m, &e);
    }
    return st;
}
