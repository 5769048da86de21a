/* SPDX-License-Identifier: MIT */
/* weights.c - the form of each weight in flash: as it is, as two codes of four bits a byte where it
 * has at most 16 values, or its nonzeros alone where these are few enough to be faster. What the
 * values are decides, not how the network's file holds them. */
#include <stdio.h>
#include <string.h>
#include "huffman/bit_writer.h"
#include "writer.h"

#define CENTROIDS 16u
#define PAIRS_BYTES 512u

/* The number of v among the n values so far, to which it is added; CENTROIDS: there are too many.
 */
static uint32_t code_of(uint32_t v, uint32_t value[CENTROIDS], uint32_t *n)
{
    uint32_t at = 0;
    while (at < *n && value[at] != v)
        at++;
    if (at == *n && at < CENTROIDS)
        value[(*n)++] = v;
    return at;
}

/* ---- integers ---------------------------------------------------------------------------------
 */

/* The table for the values of p and 0. UINT32_MAX: too many, or it saves less than it takes. */
static uint32_t table_of(struct writer *w, uint32_t step, const int8_t *p, uint64_t n)
{
    struct palette q = {.n = 1, .step = step}; /* 0 is one */
    bool small = true;
    for (uint64_t i = 0; i < n; i++) {
        small = small && p[i] >= -8 && p[i] <= 7;
        if (code_of((uint8_t)p[i], q.value, &q.n) == CENTROIDS)
            return UINT32_MAX;
    }
    for (uint32_t v = 0; v < CENTROIDS && small; v++) /* integers of four bits share one table */
        q.value[v] = (uint8_t)(v - 8u);
    q.n = small ? CENTROIDS : q.n;
    for (uint32_t i = 0; i < w->n_palettes; i++)
        if (memcmp(w->palette[i].value, q.value, sizeof q.value) == 0)
            return i;
    if (n / 2 <= PAIRS_BYTES || w->n_palettes == MOST_PALETTES)
        return UINT32_MAX;
    w->palette[w->n_palettes] = q;
    uint32_t pair[256];
    for (uint32_t i = 0; i < 256; i++)
        pair[i] = q.value[i & 15] | q.value[i >> 4] << 8;
    pith_c_u16_array(w, 'p', step, pair, 256);
    return w->n_palettes++;
}

/* A row's nonzeros: their number, distances and values. Where positions lie more than 255 apart,
 * zeros stand between. */
static void sparse_row(struct byte_out *o, const int8_t *p, uint32_t size)
{
    const size_t at = o->bytes;
    uint32_t last = 0, n = 0;
    pith_out_u8(o, 0);
    pith_out_u8(o, 0);
    for (uint32_t i = 0; i < size; i++)
        if (p[i] || i == last + 255) {
            pith_out_u8(o, (uint8_t)(i - last));
            pith_out_u8(o, (uint8_t)p[i]);
            last = i;
            n++;
        }
    if (!o->failed) {
        o->data[at] = (uint8_t)n;
        o->data[at + 1] = (uint8_t)(n >> 8);
    }
}

uint32_t pith_export_symbols(const struct step *s, bool sparse, struct byte_out *row,
                             symbol_fn *take, void *to)
{
    const struct filter_rows r = pith_export_rows(s);
    const uint32_t rows = (s->outputs + 1) / 2 * 2 * r.segments, padded = (r.size + 3) / 4 * 4;
    uint32_t most = 0, pair = 0;
    for (uint32_t i = 0; i < rows; i++) {
        const bool there = i / r.segments < s->outputs; /* an odd output stands beside zeros */
        const int8_t *p = s->product.w + (size_t)i * r.size;
        row->bytes = 0;
        if (sparse)
            sparse_row(row, p, there ? r.size : 0);
        for (uint32_t c = 0; c < padded && !sparse; c++)
            pith_out_u8(row, there && c < r.size ? (uint8_t)p[c] : 0);
        for (size_t k = 0; k < row->bytes && !row->failed && (!sparse || k < 2); k++)
            take(to, sparse, row->data[k]);
        for (size_t k = 2; k < row->bytes && !row->failed && sparse; k += 2)
            take(to, DISTANCES, row->data[k]);
        for (size_t k = 3; k < row->bytes && !row->failed && sparse; k += 2)
            take(to, VALUES, row->data[k]);
        pair = (i % (2 * r.segments) ? pair : 0) + (uint32_t)row->bytes;
        most = pair > most ? pair : most;
    }
    return most;
}

uint32_t pith_export_sparse_pixels(uint32_t pixels)
{
    /* instructions of a weight: 13 for four pixels, 21 for eight, 7 for one */
    return pixels / 8 * 21 + pixels % 8 * 7 < pixels / 4 * 13 + pixels % 4 * 7 ? 8 : 4;
}

bool pith_export_is_sparse(const struct network *net, const struct step *s, uint64_t *instructions)
{
    /* Instructions of 100 weights of a pixel, by counting those of the loops, for each core; of
     * several pixels at once. */
    static const uint32_t dense[3][2] = {{200, 150}, {380, 360}, {530, 600}},
                          sparse[3][2] = {{700, 330}, {700, 330}, {1000, 480}};
    const uint32_t at_once = s->kind == STEP_CONV        ? s->g.ow
                             : s->kind == STEP_POINTWISE ? s->g.oh * s->g.ow
                                                         : 1;
    const bool many = at_once >= 4;
    const uint64_t n = (uint64_t)s->outputs * s->product.k;
    uint64_t nonzeros = 0;
    for (uint64_t i = 0; i < n; i++)
        nonzeros += s->product.w[i] != 0;
    const uint64_t few = nonzeros * sparse[net->cpu->core][many],
                   all = n * dense[net->cpu->core][many];
    if (instructions)
        *instructions = (few < all ? few : all) / 100;
    return few < all && pith_export_rows(s).size <= UINT16_MAX;
}

struct coding {
    const struct network *net;
    struct bit_writer bits;
};

static void say_symbol(void *arg, uint32_t code, uint8_t v)
{
    struct coding *c = arg;
    bw_bits(&c->bits, c->net->code[code].bits[v], c->net->code[code].len[v]);
}

/* The table of a code, with the first weights that have it. */
static void say_table(struct writer *w, uint32_t which)
{
    const struct pith_huff_code *code = &w->net->code[which];
    const uint32_t n = 1u << w->net->longest_code[which];
    uint32_t table[1 << 12] = {0};
    if (w->has_code[which])
        return;
    w->has_code[which] = true;
    for (uint32_t v = 0; v < PITH_SYMBOLS; v++)
        for (uint32_t i = code->bits[v]; i < n && (code->len[v] || v + 1 == code->n_symbols);
             i += 1u << code->len[v])
            table[i] = v | (uint32_t)code->len[v] << 8;
    pith_c_u16_array(w, 'h', which, table, n);
}

static void say_coded(struct writer *w, uint32_t step, bool sparse)
{
    const struct step *s = &w->net->step[step];
    const size_t room = (size_t)(s->product.symbols * 2 + 8);
    uint8_t *stream = pith_model_alloc(w->net->m, room, 1);
    struct byte_out row = {0};
    w->constants.failed = w->constants.failed || !stream;
    if (!stream)
        return;
    say_table(w, VALUES);
    if (sparse)
        say_table(w, DISTANCES);
    struct coding c = {w->net, bit_writer_to(stream, room)};
    pith_export_symbols(s, sparse, &row, say_symbol, &c);
    bw_bits(&c.bits, 0, 16); /* the decoder reads ahead */
    pith_c_u8_array(w, 'w', step, stream, (uint64_t)(bw_close(&c.bits) - stream));
    w->constants.failed = w->constants.failed || row.failed;
    pith_out_clear(&row);
}

static void say_sparse(struct writer *w, uint32_t step, const struct filter_rows *r)
{
    const struct step *s = &w->net->step[step];
    struct byte_out o = {0};
    for (uint32_t i = 0; i < s->outputs * r->segments; i++)
        sparse_row(&o, s->product.w + (size_t)i * r->size, r->size);
    w->constants.failed = w->constants.failed || o.failed;
    if (!o.failed)
        pith_c_bytes_array(
            w, 'w', step,
            (struct int8_rows){(const int8_t *)o.data, 1, (uint32_t)o.bytes, (uint32_t)o.bytes, 1});
    pith_out_clear(&o);
}

enum weight_form pith_c_weights(struct writer *w, uint32_t step, const char **pairs)
{
    const struct step *s = &w->net->step[step];
    const struct filter_rows r = pith_export_rows(s);
    const uint32_t size = r.size, padded = (size + 3) / 4 * 4;
    const bool sparse = pith_export_is_sparse(w->net, s, NULL);
    const uint64_t rows = (uint64_t)s->outputs * r.segments, n = rows * size,
                   even = (uint64_t)(s->outputs + 1) / 2 * 2 * r.segments;
    *pairs = "0";
    if (s->product.ring)
        say_coded(w, step, sparse);
    else if (sparse)
        say_sparse(w, step, &r);
    if (s->product.ring || sparse)
        return sparse ? WEIGHT_SPARSE : WEIGHT_BYTES;
    const uint32_t table = table_of(w, step, s->product.w, n);
    if (table == UINT32_MAX) {
        pith_c_bytes_array(w, 'w', step,
                           (struct int8_rows){s->product.w, rows, size, padded, even});
        return WEIGHT_BYTES;
    }
    struct palette *q = &w->palette[table];
    int8_t *codes = pith_model_alloc(w->net->m, even * padded / 2, 1);
    for (uint64_t i = 0; codes && i < even * padded; i++) {
        const uint64_t row = i / padded, c = i % padded;
        const int8_t v = row < rows && c < size ? s->product.w[row * size + c] : 0;
        codes[i / 2] =
            (int8_t)((uint8_t)codes[i / 2] | code_of((uint8_t)v, q->value, &q->n) << i % 2 * 4);
    }
    w->constants.failed = w->constants.failed || !codes;
    if (codes)
        pith_c_bytes_array(w, 'w', step,
                           (struct int8_rows){codes, 1, (uint32_t)(even * padded / 2),
                                              (uint32_t)(even * padded / 2), 1});
    snprintf(q->name, sizeof q->name, "p%u", q->step);
    *pairs = q->name;
    return WEIGHT_CODES;
}

/* ---- floats -----------------------------------------------------------------------------------
 */

/* Codes of `n` floats. false: they are more than 16. */
static bool coded(const float *p, uint64_t n, uint64_t at, uint8_t *codes,
                  uint32_t value[CENTROIDS])
{
    uint32_t used = 0;
    for (uint64_t i = 0; i < n; i++, at++) {
        uint32_t bits;
        memcpy(&bits, p + i, sizeof bits);
        const uint32_t code = code_of(bits, value, &used);
        if (code == CENTROIDS)
            return false;
        codes[at / 2] = (uint8_t)((at % 2 ? codes[at / 2] & 15u : 0u) | code << at % 2 * 4);
    }
    return true;
}

enum weight_form pith_c_float_weights(struct writer *w, uint32_t step, const char **centroids,
                                      uint32_t *apart)
{
    const struct step *s = &w->net->step[step];
    const uint64_t n = (uint64_t)s->outputs * s->product.k;
    uint8_t *codes = pith_model_alloc(w->net->m, n / 2 + 1, 1);
    float *value = pith_model_alloc(w->net->m, (uint64_t)s->outputs * CENTROIDS, sizeof *value);
    bool few = codes && value && n > CENTROIDS;
    uint32_t tables = 1;
    *centroids = "0";
    *apart = 0;
    if (few && !coded(s->product.wf, n, 0, codes, (uint32_t *)(void *)value)) {
        few = s->product.k > 2 * CENTROIDS;
        tables = s->outputs;
        for (uint32_t o = 0; o < tables && few; o++)
            few = coded(s->product.wf + (uint64_t)o * s->product.k, s->product.k,
                        (uint64_t)o * s->product.k, codes,
                        (uint32_t *)(void *)(value + (uint64_t)o * CENTROIDS));
        *apart = CENTROIDS;
    }
    w->constants.failed = w->constants.failed || !codes || !value;
    if (!few) {
        pith_c_f32_array(w, 'w', step, s->product.wf, n);
        return WEIGHT_BYTES;
    }
    pith_c_u8_array(w, 'w', step, codes, (n + 1) / 2);
    pith_c_f32_array(w, 'p', step, value, (uint64_t)tables * CENTROIDS);
    snprintf(w->name_of_table, sizeof w->name_of_table, "p%u", step);
    *centroids = w->name_of_table;
    return WEIGHT_CODES;
}
