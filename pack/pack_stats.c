/* SPDX-License-Identifier: MIT */
/* pack_stats.c - what calibrate saw and chose, written (docs/format.md, section 10). */
#include "base/error_fill.h"
#include "pack.h"
#include "pith_value_stats.h"
#include "validate/stats_read.h"

_Static_assert(STATS_SUM_BYTES == 4 * PITH_SUM_DIGITS, "a digit is 32 bits");
_Static_assert(STATS_MAX_BINS == PITH_HISTOGRAM_BINS, "bins");

/* A carried sum as two's complement; only the last digit has a sign, which fits into its 32 bits
 * for |sum| < 2^319. */
static void write_sum(struct byte_out *o, const struct pith_exact_sum *s)
{
    uint8_t bytes[STATS_SUM_BYTES];
    struct pith_exact_sum t = *s;
    pith_exact_sum_carry(&t);
    for (uint32_t i = 0; i < PITH_SUM_DIGITS; i++)
        store_le32(bytes + (size_t)4 * i, (uint32_t)(uint64_t)t.digit[i]);
    uint32_t lowest = 0, end = STATS_SUM_BYTES;
    while (lowest < STATS_SUM_BYTES && bytes[lowest] == 0)
        lowest++;
    if (lowest == STATS_SUM_BYTES) {
        pith_out_varint(o, 0);
        pith_out_varint(o, 0);
        return;
    }
    while (end - lowest > 1 && ((bytes[end - 1] == 0 && bytes[end - 2] < 128) ||
                                (bytes[end - 1] == 255 && bytes[end - 2] >= 128)))
        end--;
    pith_out_varint(o, lowest);
    pith_out_varint(o, end - lowest);
    pith_out_bytes(o, bytes + lowest, end - lowest);
}

static void write_histogram(struct byte_out *o, const struct pith_histogram *h)
{
    pith_out_varint(o, h->n_bins);
    if (h->n_bins == 0)
        return;
    pith_out_svarint(o, h->exponent);
    pith_out_svarint(o, h->first);
    for (uint32_t i = 0; i < h->n_bins;) {
        uint32_t run = 1;
        pith_out_varint(o, h->count[i]);
        while (h->count[i] == 0 && i + run < h->n_bins && h->count[i + run] == 0)
            run++;
        if (h->count[i] == 0)
            pith_out_varint(o, run - 1);
        i += run;
    }
}

static void write_stats(struct byte_out *o, const struct pith_value_stats *s)
{
    pith_out_varint(o, s->n_samples);
    pith_out_varint(o, s->n_zero);
    write_sum(o, &s->sum);
    write_sum(o, &s->sum_squares);
    write_histogram(o, &s->histogram);
    if (s->n_channels == 0)
        return;
    pith_out_varint(o, s->n_channels);
    pith_out_u8(o, s->channel_axis);
    for (uint32_t c = 0; c < s->n_channels; c++) {
        pith_out_le32(o, f32_bits(s->channel[c].min));
        pith_out_le32(o, f32_bits(s->channel[c].max));
        write_sum(o, &s->channel[c].sum);
    }
}

static void write_grid(struct byte_out *o, const struct pith_grid *g)
{
    pith_out_u8(o, (uint32_t)g->type);
    pith_out_u8(o, g->bits);
    pith_out_u8(o, (uint32_t)g->method);
    pith_out_svarint(o, g->zero_point);
    pith_out_varint(o, g->n);
    if (g->n > 1)
        pith_out_u8(o, g->axis);
    for (uint32_t i = 0; i < g->n; i++)
        pith_out_le32(o, f32_bits(g->scale[i]));
}

enum pith_status pith_pack_stats(const struct pith_model *m, const struct pack_numbers *numbers,
                                 struct byte_out *o, struct pith_error *err)
{
    uint32_t next = 0;
    for (uint32_t i = 0; i < numbers->n; i++) {
        const struct pith_value *v = &m->values[numbers->order[i]];
        bool observed = v->n_observed > 0 && v->min <= v->max;
        const struct pith_value_stats *s = observed ? v->stats : NULL;
        if (!observed && !v->grid)
            continue;
        pith_out_varint(o, i - next);
        pith_out_u8(o, (s ? STATS_KEPT : 0) | (s && s->n_channels ? STATS_CHANNELS : 0) |
                           (v->grid ? STATS_GRID : 0));
        pith_out_le32(o, observed ? f32_bits(v->min) : 0);
        pith_out_le32(o, observed ? f32_bits(v->max) : 0);
        pith_out_varint(o, observed ? v->n_observed : 0);
        if (s)
            write_stats(o, s);
        if (v->grid)
            write_grid(o, v->grid);
        next = i + 1;
    }
    return o->failed ? pith_error_no_memory(err) : PITH_OK;
}
