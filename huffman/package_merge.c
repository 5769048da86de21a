/* SPDX-License-Identifier: MIT */
/* Package-merge (Larmore and Hirschberg, "A fast algorithm for optimal length-limited Huffman
 * codes", JACM 37, 1990).
 *
 * Coins: each symbol has one coin of its weight at every level 1..L. From the deepest level up,
 * neighbours in the sorted list are packed in pairs and merged with the coins of the next level.
 * The 2n - 2 cheapest items of the last list solve the problem: the length of a symbol is the
 * number of its coins among them.
 *
 * Coins of one level are taken cheapest first, so it is enough to remember for each place of each
 * list whether it is a coin or a package: walking back from the last list, the number of coins in
 * the part taken says how many of the lightest symbols gain a bit there. Ties: coin before
 * package, smaller symbol first; so the result is the same everywhere. */
#include "package_merge.h"
#include <stdlib.h>
#include <string.h>

#define MAX_LEN 12u
#define MAX_ITEMS (2 * PITH_SYMBOLS)

struct work {
    uint64_t leaf[PITH_SYMBOLS];
    uint8_t symbol[PITH_SYMBOLS]; /* of leaf[i]; ascending by (weight, symbol) */
    uint64_t list[2][MAX_ITEMS];
    uint8_t is_leaf[MAX_LEN][MAX_ITEMS];
    uint32_t n_leaves;
};

static void sort_leaves(struct work *w, const uint64_t hist[PITH_SYMBOLS])
{
    for (uint32_t s = 0; s < PITH_SYMBOLS; s++) {
        uint32_t i = w->n_leaves;
        if (!hist[s])
            continue;
        for (; i > 0 && w->leaf[i - 1] > hist[s]; i--) {
            w->leaf[i] = w->leaf[i - 1];
            w->symbol[i] = w->symbol[i - 1];
        }
        w->leaf[i] = hist[s];
        w->symbol[i] = (uint8_t)s;
        w->n_leaves++;
    }
}

/* to: leaves merged with the pairs of from[0..n); returns its size. */
static uint32_t merge(const struct work *w, const uint64_t *from, uint32_t n, uint64_t *to,
                      uint8_t *is_leaf)
{
    uint32_t out = 0, leaf = 0, pair = 0;
    while (leaf < w->n_leaves || pair + 1 < n) {
        bool take_leaf =
            leaf < w->n_leaves && (pair + 1 >= n || w->leaf[leaf] <= from[pair] + from[pair + 1]);
        is_leaf[out] = take_leaf;
        if (take_leaf) {
            to[out++] = w->leaf[leaf++];
        } else {
            to[out++] = from[pair] + from[pair + 1];
            pair += 2;
        }
    }
    return out;
}

enum pith_status pith_package_merge(const uint64_t hist[PITH_SYMBOLS], uint32_t max_len,
                                    uint8_t len[PITH_SYMBOLS])
{
    struct work *w = calloc(1, sizeof *w);
    if (!w)
        return PITH_ERR_MEMORY;
    sort_leaves(w, hist);
    uint32_t n = 0;
    for (uint32_t level = 0; level < max_len; level++)
        n = merge(w, w->list[level & 1], n, w->list[~level & 1], w->is_leaf[level]);
    memset(len, 0, PITH_SYMBOLS);
    uint32_t taken = 2 * w->n_leaves - 2;
    for (uint32_t level = max_len; level-- > 0;) {
        uint32_t leaves = 0;
        for (uint32_t i = 0; i < taken; i++)
            leaves += w->is_leaf[level][i];
        for (uint32_t i = 0; i < leaves; i++)
            len[w->symbol[i]]++;
        taken = 2 * (taken - leaves);
    }
    free(w);
    return PITH_OK;
}
