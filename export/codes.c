/* SPDX-License-Identifier: MIT */
/* codes.c - weights of integers under one Huffman code of the network, for a limit of flash. A step
 * decodes the filters of two outputs, computes these of all pixels, and goes on: each weight is
 * decoded once a run. It hence cannot write over its input. */
#include "network.h"

#define SHORTEST 8u /* of the longest code: bits of the decoder's table */
#define LONGEST 12u

struct filter_rows pith_export_rows(const struct step *s)
{
    const struct window_shape *g = &s->g;
    if (s->kind == STEP_POINTWISE)
        return (struct filter_rows){g->c, 1};
    if (s->kind != STEP_CONV)
        return (struct filter_rows){s->k, 1};
    return g->dil_w == 1 ? (struct filter_rows){g->kw * g->c, g->kh}
                         : (struct filter_rows){g->c, g->kh * g->kw};
}

static uint64_t padded_bytes(const struct step *s)
{
    const struct filter_rows r = pith_export_rows(s);
    return (uint64_t)(s->outputs + 1) / 2 * 2 * r.segments * ((r.size + 3) / 4 * 4);
}

uint32_t pith_export_ring_bytes(const struct step *s)
{
    return s->coded ? (uint32_t)(padded_bytes(s) / ((s->outputs + 1) / 2)) : 0;
}

/* Every weight, and the zeros that pad rows. */
static void count_weights(const struct step *s, uint64_t hist[PITH_SYMBOLS])
{
    const uint64_t n = (uint64_t)s->outputs * s->k;
    for (uint64_t i = 0; i < n; i++)
        hist[(uint8_t)s->w[i]]++;
    hist[0] += padded_bytes(s) - n;
}

static uint64_t coded_bytes(const uint64_t hist[PITH_SYMBOLS], const struct pith_huff_code *code)
{
    uint64_t bits = 0;
    for (uint32_t v = 0; v < PITH_SYMBOLS; v++)
        bits += hist[v] * code->len[v];
    return (bits + 7) / 8;
}

/* Bytes that the weights of a step take without a code, in the form that weights.c gives them. */
static uint64_t plain_bytes(const struct network *net, const struct step *s,
                            const uint64_t hist[PITH_SYMBOLS])
{
    const uint64_t n = (uint64_t)s->outputs * s->k, pixels = (uint64_t)s->g.oh * s->g.ow;
    uint32_t values = 0;
    for (uint32_t v = 0; v < PITH_SYMBOLS; v++)
        values += hist[v] > 0;
    if (pith_export_is_sparse(net, s, pixels >= 4, NULL))
        return 2 * (padded_bytes(s) - hist[0]);
    return values <= 16 ? n / 2 : padded_bytes(s);
}

static enum pith_status make_code(struct network *net)
{
    uint64_t hist[PITH_SYMBOLS] = {0}, least = UINT64_MAX;
    for (uint32_t i = 0; i < net->n_steps; i++)
        if (net->step[i].coded)
            count_weights(&net->step[i], hist);
    for (uint32_t longest = SHORTEST; longest <= LONGEST; longest++) {
        struct pith_huff_code code;
        enum pith_status st = pith_huff_build_limited(hist, longest, &code);
        if (st)
            return st;
        const uint64_t bytes = coded_bytes(hist, &code) + (2ull << longest);
        if (bytes < least) {
            least = bytes;
            net->code = code;
            net->longest_code = longest;
        }
    }
    return PITH_OK;
}

bool pith_export_code_next(struct network *net, enum pith_status *st)
{
    struct step *best = NULL;
    uint64_t most = 0;
    for (uint32_t i = 0; i < net->n_steps && !*st; i++) {
        struct step *s = &net->step[i];
        uint64_t hist[PITH_SYMBOLS] = {0};
        struct pith_huff_code code;
        if (s->coded || !s->w ||
            (s->kind != STEP_CONV && s->kind != STEP_POINTWISE && s->kind != STEP_PRODUCT &&
             s->kind != STEP_PRODUCT_F32))
            continue;
        count_weights(s, hist);
        *st = pith_huff_build_limited(hist, LONGEST, &code);
        const uint64_t plain = plain_bytes(net, s, hist),
                       coded = *st ? plain : coded_bytes(hist, &code);
        if (plain > coded && plain - coded > most) {
            most = plain - coded;
            best = s;
        }
    }
    if (!best || *st)
        return false;
    best->coded = true;
    *st = make_code(net);
    return true;
}
