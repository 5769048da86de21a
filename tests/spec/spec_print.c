/* SPDX-License-Identifier: MIT */
/* spec_print.c - the lines about tensors. */
#include "spec_print.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include "spec_tables.h"
#include "spec_values.h"

static uint64_t fnv1a(const uint8_t *p, uint64_t n)
{
    uint64_t h = UINT64_C(0xCBF29CE484222325);
    for (uint64_t i = 0; i < n; i++) {
        h = (h ^ p[i]) * UINT64_C(0x100000001B3);
    }
    return h;
}

void print_shape(uint32_t type, uint32_t rank, const uint32_t *dim)
{
    printf(" %s [", type_name[type]);
    for (uint32_t i = 0; i < rank; i++) {
        printf("%s%" PRIu32, i == 0 ? "" : ",", dim[i]);
    }
    printf("]");
}

void print_tensor(uint64_t number, const struct tensor *t)
{
    static const char *const support[] = {"dense", "bitmap", "coded", "sparse"};
    uint8_t *value = read_values(t);
    printf("tensor %" PRIu64, number);
    print_shape(t->type, t->rank, t->dim);
    bool floats =
        t->type == 1; /* of integers the library keeps what they are, not their codebook */
    printf(" nnz %" PRIu64 " centroids %" PRIu32 " groups %" PRIu64 " hash %016" PRIx64 "\n",
           t->nnz, floats ? t->n_centroids : 0, floats ? t->n_groups : 1,
           fnv1a(value, t->count * type_bytes[t->type]));
    printf(" support %s grid %s code %s", support[t->support],
           t->integers != 0 ? "scaled"
           : t->grid == 0   ? "plain"
           : t->grid < 3    ? "codebook"
                            : "codebooks",
           t->adaptive          ? t->trellis > 0 ? "adaptive trellis" : "adaptive"
           : t->planes          ? "planes"
           : t->rans            ? "rans"
           : t->classes         ? t->trellis ? "classes trellis" : "classes"
           : huffman_indices(t) ? "huffman"
                                : "plain");
    if (t->support == CODED && t->nnz > 0) {
        const struct table *s = &tables[t->support_table];
        printf(" support_table %" PRIu64 " %s", t->support_table,
               s->patterns ? "patterns" : "gaps");
    }
    if (coded_indices(t) && t->nnz > 0) {
        printf(" index_table %" PRIu64, t->index_table);
    }
    printf("\n");
    free(value);
}
