/* SPDX-License-Identifier: MIT */
/* spec_values.c - the elements of a tensor (S4, S9, F5). */
#include "spec_values.h"
#include <stdlib.h>
#include <string.h>
#include "spec_adaptive.h"
#include "spec_classes.h"
#include "spec_codebook.h"
#include "spec_coded.h"
#include "spec_support.h"

static uint8_t *read_indices(const struct tensor *t)
{
    uint8_t *index;
    if (!coded_indices(t)) {
        struct bits b = bits_of(t->elements);
        index = zeroed(t->nnz, 1);
        for (uint64_t i = 0; i < t->nnz; i++) {
            index[i] = (uint8_t)field(&b, index_width(t->n_centroids));
        }
        padding(&b);
    } else if (t->nnz == 0) {
        index = zeroed(0, 1);
    } else if (t->rans) {
        index = read_rans_stream(t->elements, &tables[t->index_table].rans, t->nnz);
    } else {
        index = read_coded(t->elements, &tables[t->index_table], t->nnz, NULL);
    }
    for (uint64_t i = 0; i < t->nnz; i++) {
        must(index[i] < t->n_centroids, t->elements.at, "an index past the last centroid");
    }
    return index;
}

/* S9 */
static void read_planes(const struct tensor *t, uint8_t *value)
{
    struct span s = t->elements;
    uint32_t *word = zeroed(t->count, sizeof *word);
    for (uint32_t plane = 0; plane < 4; plane++) {
        uint32_t table_bytes = u8(&s);
        uint8_t *symbol;
        if (table_bytes == 0) {
            struct span plain = cut(&s, t->count);
            symbol = zeroed(t->count, 1);
            memcpy(symbol, file + plain.at, t->count);
        } else {
            struct table code;
            memset(&code, 0, sizeof code);
            struct bits b = bits_of(cut(&s, table_bytes));
            read_huffman(&b, &code.h);
            padding(&b);
            uint64_t bytes = varint(&s);
            symbol = read_coded(cut(&s, bytes), &code, t->count, NULL);
        }
        for (uint64_t i = 0; i < t->count; i++) {
            word[i] += (uint32_t)symbol[i] << (8 * plane);
        }
        free(symbol);
    }
    must(left(&s) == 0, s.at, "bytes behind the last plane");
    for (uint64_t i = 0; i < t->count; i++) {
        write_value(t, value, i, word[i] >> 1 | (word[i] & 1) << 31);
    }
    free(word);
}

/* F5, scale prefix */
static int32_t integer(struct span s, uint32_t type, uint64_t i)
{
    uint32_t each = type_bytes[type];
    uint32_t u = file[s.at + i * each];
    if (each == 2) {
        u += (uint32_t)file[s.at + i * 2 + 1] << 8;
    }
    bool negative = (type == 5 && u > 127) || (type == 7 && u > 32767);
    return (int32_t)u - (negative ? (each == 1 ? 256 : 65536) : 0);
}

static void read_scaled_values(const struct tensor *t, uint8_t *value)
{
    uint64_t inner = 1, n_scales = left(&t->scales) / 4;
    for (uint32_t k = t->axis + 1; k < t->rank; k++) {
        inner *= t->dim[k];
    }
    for (uint64_t i = 0; i < t->count; i++) {
        uint64_t at = 0;
        if (n_scales > 1) {
            uint64_t dim = t->dim[t->axis], k = i / inner % dim;
            at =
                t->block == 0
                    ? k
                    : (i / inner / dim * ((dim + t->block - 1) / t->block) + k / t->block) * inner +
                          i % inner;
        }
        struct span one = t->scales;
        one.at += 4 * at;
        uint32_t bits = (uint32_t)fixed(&one, 4);
        float scale;
        memcpy(&scale, &bits, 4);
        int32_t zero = left(&t->zero_points) > 0 ? integer(t->zero_points, t->integers, at) : 0;
        float x = (float)(integer(t->elements, t->integers, i) - zero) * scale;
        memcpy(&bits, &x, 4);
        write_value(t, value, i, bits);
    }
}

/* The effective values: what an element is, where it is stored; zero elsewhere. */
uint8_t *read_values(const struct tensor *t)
{
    uint32_t each = type_bytes[t->type];
    uint8_t *value = zeroed(t->count * each, 1);
    if (t->classes || (t->adaptive && t->grid != 0)) {
        read_class_values(t, value);
        return value;
    }
    if (t->planes) {
        read_planes(t, value);
        return value;
    }
    if (t->integers != 0) {
        read_scaled_values(t, value);
        return value;
    }
    uint8_t *mask = read_mask(t);
    uint8_t *index = t->grid != 0 ? read_indices(t) : NULL;
    uint32_t *centroid = t->grid != 0 ? read_codebook(t) : NULL;
    uint32_t *bits = t->adaptive ? zeroed(t->nnz, sizeof *bits) : NULL;
    uint64_t stored = 0;
    if (bits != NULL) {
        read_adaptive_floats(t, bits);
    }
    for (uint64_t i = 0; i < t->count; i++) {
        if (mask[i] == 0) {
            continue;
        }
        if (bits != NULL) {
            write_value(t, value, i, bits[stored]);
        } else if (t->grid == 0) {
            memcpy(value + i * each, file + t->elements.at + stored * each, each);
        } else {
            uint64_t group = i / (t->count / t->n_groups);
            uint32_t v = centroid[group * t->n_centroids + index[stored]];
            write_value(t, value, i, v);
        }
        stored++;
    }
    free(mask);
    free(index);
    free(centroid);
    free(bits);
    return value;
}
