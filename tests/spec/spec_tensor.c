/* SPDX-License-Identifier: MIT */
/* spec_tensor.c - types, dimensions, and what follows from a tensor's fields (F1, F5, F6). */
#include "spec_tensor.h"

const char *const type_name[] = {"",   "f32", "f16", "bf16", "f64", "i8",
                                 "u8", "i16", "u16", "i32",  "i64", "bool"};
const uint8_t type_bytes[] = {0, 4, 2, 2, 8, 1, 1, 2, 2, 4, 8, 1};

bool huffman_indices(const struct tensor *t)
{
    return (t->grid == 2 || t->grid == 4) && !t->rans && !t->classes;
}

bool coded_indices(const struct tensor *t)
{
    return t->grid == 2 || t->grid == 4;
}

uint32_t read_type(struct span *s)
{
    uint64_t at = s->at;
    uint32_t type = u8(s);
    must(type >= 2 && type <= 11, at, "a type byte is 2..11 (f32 is not written)");
    return type;
}

uint32_t read_dim(struct span *s)
{
    return (uint32_t)varint_in(s, 1, MAX_DIM, "a dimension is 1..2^31-1");
}

uint32_t index_width(uint32_t n_centroids)
{
    uint32_t b = 1;
    while (1u << b < n_centroids) {
        b++;
    }
    return b;
}

uint64_t plain_bytes(const struct tensor *t)
{
    return t->grid == 0 ? t->nnz * type_bytes[t->type]
                        : (t->nnz * index_width(t->n_centroids) + 7) / 8;
}
