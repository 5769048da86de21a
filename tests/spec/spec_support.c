/* SPDX-License-Identifier: MIT */
/* spec_support.c - supports (S5). */
#include "spec_support.h"
#include <stdlib.h>
#include <string.h>
#include "spec_coded.h"

uint64_t ones_of_bitmap(struct span s, uint64_t count)
{
    struct bits b = bits_of(s);
    uint64_t n = 0;
    for (uint64_t i = 0; i < count; i++) {
        n += field(&b, 1);
    }
    padding(&b);
    return n;
}

/* S5: one byte an element, 1 where it is stored. */
uint8_t *read_mask(const struct tensor *t)
{
    uint8_t *mask = zeroed(t->count, 1);
    uint64_t at = t->support_data.at;
    if (t->support == 0) {
        memset(mask, 1, t->count);
    } else if (t->support == BITMAP) {
        struct bits b = bits_of(t->support_data);
        for (uint64_t i = 0; i < t->count; i++) {
            mask[i] = (uint8_t)field(&b, 1);
        }
    } else if (t->nnz > 0 && tables[t->support_table].patterns) {
        const struct table *table = &tables[t->support_table];
        uint64_t n = (t->count + table->w - 1) / table->w, ones = 0;
        uint8_t *symbol = read_coded(t->support_data, table, n, NULL);
        for (uint64_t i = 0; i < n * table->w; i++) {
            uint32_t bit = symbol[i / table->w] >> (i % table->w) & 1;
            must(bit == 0 || i < t->count, at, "bits of a pattern beyond the tensor must be 0");
            if (bit == 1) {
                mask[i] = 1;
                ones++;
            }
        }
        must(ones == t->nnz, at, "the patterns' one bits must be nnz");
        free(symbol);
    } else if (t->nnz > 0) {
        uint64_t *gap = zeroed(t->nnz, sizeof *gap), pos = 0;
        free(read_coded(t->support_data, &tables[t->support_table], t->nnz, gap));
        for (uint64_t i = 0; i < t->nnz; i++) {
            must(gap[i] < t->count - pos, at, "a gap leads past the last element");
            pos += gap[i] + 1;
            mask[pos - 1] = 1;
        }
        free(gap);
    }
    return mask;
}
