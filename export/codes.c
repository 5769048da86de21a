/* SPDX-License-Identifier: MIT */
/* codes.c - weights of integers under two Huffman codes of the network, for a limit of flash. A
 * step decodes the filters of two outputs, computes these of all pixels, and goes on: each weight
 * is decoded once a run, or of a sparse step each nonzero and its distance. It hence cannot write
 * over its input. */
#include "network.h"

#define SHORTEST 8u /* of the longest code: bits of the decoder's table */
#define LONGEST 12u

struct filter_rows pith_export_rows(const struct step *s)
{
    const struct window_shape *g = &s->g;
    if (s->kind == STEP_POINTWISE)
        return (struct filter_rows){g->c, 1};
    if (s->kind != STEP_CONV)
        return (struct filter_rows){s->product.k, 1};
    return g->dil_w == 1 ? (struct filter_rows){g->kw * g->c, g->kh}
                         : (struct filter_rows){g->c, g->kh * g->kw};
}

static uint64_t padded_bytes(const struct step *s)
{
    const struct filter_rows r = pith_export_rows(s);
    return (uint64_t)(s->outputs + 1) / 2 * 2 * r.segments * ((r.size + 3) / 4 * 4);
}

static void count(void *hist, uint32_t code, uint8_t v)
{
    ((uint64_t(*)[PITH_SYMBOLS])hist)[code][v]++;
}

/* Of all symbols of a step; *ring: the most bytes of two outputs. */
static enum pith_status count_weights(const struct network *net, struct step *s,
                                      uint64_t hist[CODES][PITH_SYMBOLS], uint32_t *ring)
{
    struct byte_out row = {0};
    *ring = pith_export_symbols(s, pith_export_is_sparse(net, s, NULL), &row, count, hist);
    const enum pith_status st = row.failed ? PITH_ERR_MEMORY : PITH_OK;
    pith_out_clear(&row);
    return st;
}

/* The code of symbols that are at most `longest` bits long, and the bytes of all. */
static enum pith_status code_of(const uint64_t hist[PITH_SYMBOLS], uint32_t longest,
                                struct pith_huff_code *code, uint64_t *bytes)
{
    uint64_t bits = 0, n = 0;
    for (uint32_t v = 0; v < PITH_SYMBOLS; v++)
        n += hist[v];
    *code = (struct pith_huff_code){0};
    enum pith_status st = n ? pith_huff_build_limited(hist, longest, code) : PITH_OK;
    for (uint32_t v = 0; v < PITH_SYMBOLS && !st; v++)
        bits += hist[v] * code->len[v];
    *bytes = (bits + 7) / 8;
    return st;
}

/* Bytes that the weights of a step take without a code, in the form that weights.c gives them. */
static uint64_t plain_bytes(const struct network *net, const struct step *s,
                            const uint64_t hist[PITH_SYMBOLS])
{
    uint32_t values = 0;
    for (uint32_t v = 0; v < PITH_SYMBOLS; v++)
        values += hist[v] > 0;
    if (pith_export_is_sparse(net, s, NULL))
        return s->product.symbols;
    return values <= 16 ? (uint64_t)s->outputs * s->product.k / 2 : padded_bytes(s);
}

static enum pith_status make_codes(struct network *net)
{
    uint64_t hist[CODES][PITH_SYMBOLS] = {{0}};
    enum pith_status st = PITH_OK;
    for (uint32_t i = 0; i < net->n_steps && !st; i++)
        if (net->step[i].product.ring)
            st = count_weights(net, &net->step[i], hist, &net->step[i].product.ring);
    for (uint32_t c = 0; c < CODES; c++) {
        uint64_t least = UINT64_MAX;
        for (uint32_t longest = SHORTEST; longest <= LONGEST && !st; longest++) {
            struct pith_huff_code code;
            uint64_t bytes;
            st = code_of(hist[c], longest, &code, &bytes);
            if (!st && bytes + (2ull << longest) < least) {
                least = bytes + (2ull << longest);
                net->code[c] = code;
                net->longest_code[c] = longest;
            }
        }
    }
    return st;
}

bool pith_export_code_next(struct network *net, enum pith_status *st)
{
    struct step *best = NULL;
    uint64_t most = 0;
    for (uint32_t i = 0; i < net->n_steps && !*st; i++) {
        struct step *s = &net->step[i];
        uint64_t hist[CODES][PITH_SYMBOLS] = {{0}}, coded = 0;
        uint32_t ring;
        if (s->product.ring || !s->product.w ||
            (s->kind != STEP_CONV && s->kind != STEP_POINTWISE && s->kind != STEP_PRODUCT &&
             s->kind != STEP_PRODUCT_F32))
            continue;
        *st = count_weights(net, s, hist, &ring);
        s->product.symbols = 0;
        for (uint32_t c = 0; c < CODES && !*st; c++) {
            struct pith_huff_code code;
            uint64_t bytes;
            *st = code_of(hist[c], LONGEST, &code, &bytes);
            coded += bytes;
            for (uint32_t v = 0; v < PITH_SYMBOLS; v++)
                s->product.symbols += hist[c][v];
        }
        const uint64_t plain = plain_bytes(net, s, hist[VALUES]);
        if (!*st && plain > coded && plain - coded > most) {
            most = plain - coded;
            best = s;
        }
    }
    if (!best || *st)
        return false;
    best->product.ring = 1; /* until it is counted with the others */
    *st = make_codes(net);
    return true;
}
