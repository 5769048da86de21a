/* SPDX-License-Identifier: MIT */
/* Sharing tables. Each histogram in turn joins the group where the sum of payload and table grows
 * least, or opens a group of its own. A group's cost is exact: the optimal code of the summed
 * histogram. Before paying for that, a candidate is priced under the group's table as it stands;
 * joining can save no more than the newcomer's own table, so groups far beyond that are passed
 * over. Order and ties are those of the input: the same tensors give the same tables. */
#include <stdlib.h>
#include <string.h>
#include "gap_symbols.h"
#include "huff_write.h"
#include "rans_encode.h"

/* Histograms and supports share by the same rule; `item` is one of either. A histogram is coded by
 * Huffman or by rANS. */
struct kind {
    size_t item_bytes;
    size_t code_bytes;
    bool (*is_empty)(const void *item);
    void (*add)(void *sum, const void *item);
    enum pith_status (*build)(const void *item, void *code);
    uint64_t (*cost_bits)(const void *code, const void *item);
    size_t (*table_bytes)(const void *code);
};

/* A symbol that the group's table lacks is priced at the longest code when screening. */
#define LACKING_BITS 12u

/* ---- the two kinds --------------------------------------------------------------------------- */

static bool histogram_is_empty(const void *item)
{
    const uint64_t *h = item;
    for (uint32_t s = 0; s < PITH_SYMBOLS; s++)
        if (h[s])
            return false;
    return true;
}

static void histogram_add(void *sum, const void *item)
{
    uint64_t *to = sum;
    const uint64_t *from = item;
    for (uint32_t s = 0; s < PITH_SYMBOLS; s++)
        to[s] += from[s];
}

static enum pith_status histogram_build(const void *item, void *code)
{
    return pith_huff_build(item, code);
}

static uint64_t histogram_cost(const void *code, const void *item)
{
    const struct pith_huff_code *c = code;
    const uint64_t *h = item;
    uint64_t bits = 0;
    for (uint32_t s = 0; s < PITH_SYMBOLS; s++)
        bits += h[s] * (huff_has_code(c, s) ? c->len[s] : LACKING_BITS);
    return bits;
}

static size_t histogram_table(const void *code)
{
    return pith_huff_table_bytes(code);
}

static bool profile_is_empty(const void *item)
{
    return ((const struct pith_support_profile *)item)->nnz == 0;
}

static void profile_add(void *sum, const void *item)
{
    pith_support_profile_sum(sum, item);
}

static enum pith_status profile_build(const void *item, void *code)
{
    return pith_support_build(item, code);
}

static uint64_t profile_cost(const void *code, const void *item)
{
    const struct pith_support_code *c = code;
    struct support_histogram h;
    if (!pith_support_histogram(item, c, &h))
        return UINT64_MAX;
    return histogram_cost(&c->huff, h.hist) + h.extra_bits;
}

static size_t profile_table(const void *code)
{
    return pith_support_table_bytes(code);
}

static const struct kind histogram_kind = {sizeof(uint64_t[PITH_SYMBOLS]),
                                           sizeof(struct pith_huff_code),
                                           histogram_is_empty,
                                           histogram_add,
                                           histogram_build,
                                           histogram_cost,
                                           histogram_table};
static const struct kind profile_kind = {sizeof(struct pith_support_profile),
                                         sizeof(struct pith_support_code),
                                         profile_is_empty,
                                         profile_add,
                                         profile_build,
                                         profile_cost,
                                         profile_table};

static enum pith_status rans_build(const void *item, void *code)
{
    pith_rans_build(item, code);
    return PITH_OK;
}

static uint64_t rans_cost(const void *code, const void *item)
{
    const struct pith_rans_code *c = code;
    uint64_t known[PITH_SYMBOLS], bits = 0;
    memcpy(known, item, sizeof known);
    for (uint32_t s = 0; s < PITH_SYMBOLS; s++)
        if (!pith_rans_has_code(c, s)) {
            bits += known[s] * LACKING_BITS;
            known[s] = 0;
        }
    return bits + pith_rans_cost_bits(c, known);
}

static size_t rans_table(const void *code)
{
    return ((const struct pith_rans_code *)code)->table_bytes;
}

static const struct kind rans_kind = {sizeof(uint64_t[PITH_SYMBOLS]),
                                      sizeof(struct pith_rans_code),
                                      histogram_is_empty,
                                      histogram_add,
                                      rans_build,
                                      rans_cost,
                                      rans_table};

/* ---- groups ---------------------------------------------------------------------------------- */

struct groups {
    const struct kind *kind;
    uint32_t n;
    uint32_t reference_bits;
    uint8_t *sum;   /* [n] items */
    uint8_t *code;  /* [n] codes */
    uint64_t *cost; /* [n] payload and table bits */
    uint8_t *trial_sum, *trial_code;
};

static void *sum_at(const struct groups *g, uint32_t i)
{
    return g->sum + i * g->kind->item_bytes;
}

static void *code_at(const struct groups *g, uint32_t i)
{
    return g->code + i * g->kind->code_bytes;
}

/* Builds the code of an item and prices both. */
static enum pith_status price(const struct kind *kind, const void *item, void *code, uint64_t *bits)
{
    enum pith_status st = kind->build(item, code);
    *bits = st ? 0 : kind->cost_bits(code, item) + 8 * kind->table_bytes(code);
    return st;
}

static enum pith_status price_joined(const struct groups *g, uint32_t i, const void *item,
                                     uint64_t *bits)
{
    memcpy(g->trial_sum, sum_at(g, i), g->kind->item_bytes);
    g->kind->add(g->trial_sum, item);
    return price(g->kind, g->trial_sum, g->trial_code, bits);
}

/* Worth an exact price: the group's table as it stands costs at most twice the own table more. */
static bool may_gain(const struct groups *g, uint32_t i, const void *item, const void *own_code)
{
    uint64_t own = g->kind->cost_bits(own_code, item);
    uint64_t under = g->kind->cost_bits(code_at(g, i), item);
    return under <= own || under - own <= 16 * (uint64_t)g->kind->table_bytes(own_code);
}

/* Puts item into its cheapest group; *chosen: which. */
static enum pith_status place(struct groups *g, const void *item, uint32_t *chosen)
{
    uint64_t own, best;
    uint32_t best_group = g->n;
    enum pith_status st = price(g->kind, item, code_at(g, g->n), &own);
    best = own;
    for (uint32_t i = 0; i < g->n && st == PITH_OK; i++) {
        uint64_t joined;
        if (!may_gain(g, i, item, code_at(g, g->n)))
            continue;
        st = price_joined(g, i, item, &joined);
        if (st == PITH_OK && joined + g->reference_bits < g->cost[i] + best) {
            best = joined + g->reference_bits - g->cost[i];
            best_group = i;
        }
    }
    if (st)
        return st;
    *chosen = best_group;
    if (best_group == g->n) {
        memcpy(sum_at(g, g->n), item, g->kind->item_bytes);
        g->cost[g->n++] = own;
        return PITH_OK;
    }
    st = price_joined(g, best_group, item, &g->cost[best_group]);
    memcpy(sum_at(g, best_group), g->trial_sum, g->kind->item_bytes);
    memcpy(code_at(g, best_group), g->trial_code, g->kind->code_bytes);
    return st;
}

static enum pith_status share(const struct kind *kind, uint32_t n, const void *items,
                              uint32_t reference_bits, uint32_t *table, uint32_t *n_tables)
{
    struct groups g = {.kind = kind, .reference_bits = reference_bits};
    enum pith_status st = PITH_ERR_MEMORY;
    g.sum = calloc((size_t)n + 1, kind->item_bytes);
    g.code = calloc((size_t)n + 1, kind->code_bytes);
    g.cost = calloc((size_t)n + 1, sizeof *g.cost);
    g.trial_sum = malloc(kind->item_bytes);
    g.trial_code = malloc(kind->code_bytes);
    if (!g.sum || !g.code || !g.cost || !g.trial_sum || !g.trial_code)
        goto out;
    st = PITH_OK;
    for (uint32_t i = 0; i < n && st == PITH_OK; i++) {
        const void *item = (const uint8_t *)items + i * kind->item_bytes;
        if (kind->is_empty(item))
            table[i] = UINT32_MAX;
        else
            st = place(&g, item, &table[i]);
    }
    *n_tables = g.n;
out:
    free(g.sum);
    free(g.code);
    free(g.cost);
    free(g.trial_sum);
    free(g.trial_code);
    return st;
}

enum pith_status pith_huff_share(uint32_t n, const uint64_t (*hist)[PITH_SYMBOLS],
                                 uint32_t reference_bits, uint32_t *table, uint32_t *n_tables)
{
    if (!table || !n_tables)
        return PITH_ERR_ARGUMENT;
    return share(&histogram_kind, n, hist, reference_bits, table, n_tables);
}

enum pith_status pith_support_share(uint32_t n, const struct pith_support_profile *profile,
                                    uint32_t reference_bits, uint32_t *table, uint32_t *n_tables)
{
    if (!profile || !table || !n_tables)
        return PITH_ERR_ARGUMENT;
    return share(&profile_kind, n, profile, reference_bits, table, n_tables);
}

enum pith_status pith_rans_share(uint32_t n, const uint64_t (*hist)[PITH_SYMBOLS],
                                 uint32_t reference_bits, uint32_t *table, uint32_t *n_tables)
{
    return share(&rans_kind, n, hist, reference_bits, table, n_tables);
}
