/* SPDX-License-Identifier: MIT */
/* pack_integers.c - weights of small integers on their way into the file: a codebook whose
 * centroids are those integers lets them take the bits they need instead of eight, and have codes.
 *
 * The codebook is all integers from -L to L, or from the smallest to the largest one, which takes a
 * few bytes; or, where only few of those occur, these. */
#include "base/error_fill.h"
#include "pack.h"
#include "pith_huffman.h"

#define FEWEST 64u     /* elements: below, the fields of a codebook take what it saves */
#define DESCRIPTION 8u /* bytes of these fields, about */
#define LOWEST (-128)

struct made_codebook {
    struct pith_const content;
    struct pith_codebook codebook;
    float centroid[PITH_SYMBOLS];
    uint8_t index[];
};

/* hist[q - LOWEST] of the elements kept */
static void count_integers(const struct pith_const *k, uint64_t hist[PITH_SYMBOLS])
{
    const int8_t *q = k->data;
    for (uint64_t i = 0; i < k->count; i++)
        hist[q[i] - LOWEST] += !k->mask || k->mask[i];
}

/* Centroids from -L to L; from `low` to `high` where that has fewer bits; those that occur where
 * they are less than half of all. Returns their number. */
static uint32_t choose_centroids(const uint64_t hist[PITH_SYMBOLS], bool in[PITH_SYMBOLS])
{
    int32_t low = 0, high = 0;
    uint32_t n = 0;
    for (int32_t q = 127; q >= LOWEST; q--)
        low = hist[q - LOWEST] ? q : low;
    for (int32_t q = LOWEST; q < 128; q++) {
        high = hist[q - LOWEST] ? q : high;
        n += hist[q - LOWEST] != 0;
    }
    int32_t most = high > -low ? high : -low;
    bool symmetric = most < 128 && pith_index_bits((uint32_t)(2 * most + 1)) <=
                                       pith_index_bits((uint32_t)(high - low + 1));
    int32_t begin = symmetric ? -most : low, end = symmetric ? most : high;
    bool few = 2 * n < (uint32_t)(end - begin + 1);
    uint32_t taken = 0;
    for (int32_t q = LOWEST; q < 128; q++) {
        in[q - LOWEST] = few ? hist[q - LOWEST] != 0 : q >= begin && q <= end;
        taken += in[q - LOWEST];
    }
    return taken;
}

/* What the indices and the codebook take, as plain bits or as codes. */
static enum pith_status coded_bytes(const uint64_t hist[PITH_SYMBOLS], const bool in[PITH_SYMBOLS],
                                    uint32_t n_centroids, uint64_t nnz, bool may_code,
                                    uint64_t *bytes)
{
    uint64_t index_hist[PITH_SYMBOLS] = {0};
    float centroid[PITH_SYMBOLS];
    uint8_t codebook[PITH_SYMBOLS * 8];
    struct pith_huff_code code;
    size_t codebook_bytes;
    for (uint32_t s = 0, i = 0; s < PITH_SYMBOLS; s++) {
        if (!in[s])
            continue;
        centroid[i] = (float)((int32_t)s + LOWEST);
        index_hist[i++] = hist[s];
    }
    enum pith_status st =
        pith_codebook_encode(centroid, 1, n_centroids, codebook, sizeof codebook, &codebook_bytes);
    *bytes = pith_index_pack_bytes(nnz, pith_index_bits(n_centroids));
    if (!st && may_code) {
        st = pith_huff_build(index_hist, &code);
        if (st)
            return st;
        uint64_t coded = (pith_huff_cost_bits(&code, index_hist) + 7) / 8 +
                         pith_huff_table_bytes(&code) + pith_huff_stream_overhead(nnz);
        *bytes = coded < *bytes ? coded : *bytes;
    }
    *bytes += codebook_bytes + DESCRIPTION;
    return st;
}

static void fill(struct made_codebook *made, const struct pith_const *k,
                 const bool in[PITH_SYMBOLS], uint32_t n_centroids)
{
    uint8_t number[PITH_SYMBOLS] = {0};
    const int8_t *q = k->data;
    for (uint32_t s = 0, i = 0; s < PITH_SYMBOLS; s++) {
        if (!in[s])
            continue;
        made->centroid[i] = (float)((int32_t)s + LOWEST);
        number[s] = (uint8_t)i++;
    }
    for (uint64_t i = 0; i < k->count; i++)
        made->index[i] = number[q[i] - LOWEST];
    made->codebook = (struct pith_codebook){.n_centroids = n_centroids,
                                            .group_elems = k->count,
                                            .n_groups = 1,
                                            .centroid = made->centroid,
                                            .index = made->index};
    made->content = *k;
    made->content.codebook = &made->codebook;
}

enum pith_status pith_pack_integers(struct pack_const *c, struct pith_error *err)
{
    const struct pith_const *k = c->value->constant;
    uint64_t hist[PITH_SYMBOLS] = {0}, bytes;
    bool in[PITH_SYMBOLS];
    if (c->value->type != PITH_I8 || c->value->rank < 2 || c->w.nnz < FEWEST || k->codebook)
        return PITH_OK;
    count_integers(k, hist);
    uint32_t n_centroids = choose_centroids(hist, in);
    if (coded_bytes(hist, in, n_centroids, c->w.nnz, c->code != PITH_CODE_PLAIN, &bytes))
        return pith_error_no_memory(err);
    if (bytes >= c->w.nnz)
        return PITH_OK;
    struct made_codebook *made = (void *)pith_out_room(&c->made, sizeof *made + (size_t)k->count);
    if (!made)
        return pith_error_no_memory(err);
    fill(made, k, in, n_centroids);
    c->content = &made->content;
    return PITH_OK;
}
