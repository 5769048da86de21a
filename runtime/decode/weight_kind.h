/* SPDX-License-Identifier: MIT */
/* weight_kind.h - what a weight is made of, and what its streams must hold for every reader: the
 * readers of chunks (weight_open.c, weight_chunks.c) and of single rows (weight_rows.c) accept the
 * same files. */
#ifndef WEIGHT_KIND_H
#define WEIGHT_KIND_H

#include "core/build_choice.h" /* the files that use it include it: link_budget.sh */
#include "core/f32_bits.h"
#include "decode/weight.h"

/* These hold what a build leaves out (build_choice.h): the compiler drops what only such weights
 * need. */
static inline bool is_sparse(const struct weight *w)
{
    return BUILT_SPARSE && w->support != SUPPORT_DENSE;
}

static inline bool has_codebook(const struct weight *w)
{
    return BUILT_PART(CODEBOOKS) && w->grid == GRID_CODEBOOK;
}

static inline bool has_bitmap(const struct weight *w)
{
    return BUILT_PART(BITMAPS) && w->support == SUPPORT_BITMAP;
}

/* f32 elements, byte by byte. */
static inline bool has_planes(const struct weight *w)
{
    return BUILT_PART(PLANES) && w->code == CODE_PLANES;
}

static inline uint64_t stored_values(const struct weight *w)
{
    return is_sparse(w) ? w->nnz : w->count;
}

static inline bool is_scaled(const struct weight *w)
{
    return BUILT_PART(WORDS) && w->scaled;
}

/* Of a plain element in the file. */
static inline uint32_t plain_bytes(const struct weight *w)
{
    return pith_type_bytes(is_scaled(w) ? (enum pith_type)w->scaled : w->type);
}

/* The next four are called when memory is counted and when it is cut: alike both times. */
static inline bool uses_gaps(const struct weight *w)
{
    return BUILT_PART(GAPS) && w->support == SUPPORT_GAPS && w->nnz > 0;
}

static inline bool uses_index_table(const struct weight *w)
{
    return BUILT_PART(HUFFMAN) && has_codebook(w) && w->code == CODE_HUFFMAN &&
           stored_values(w) > 0;
}

static inline bool uses_rans(const struct weight *w)
{
    return BUILT_PART(RANS) && has_codebook(w) && w->code == CODE_RANS && stored_values(w) > 0;
}

static inline bool learns(const struct weight *w)
{
    return BUILT_PART(ADAPTIVE) && w->code == CODE_ADAPTIVE;
}

/* Its support, too, is in its stream. */
static inline bool uses_classes(const struct weight *w)
{
    return has_codebook(w) && (learns(w) || (BUILT_PART(RANS) && w->code == CODE_CLASSES));
}

static inline bool has_adaptive_floats(const struct weight *w)
{
    return learns(w) && w->grid == GRID_PLAIN;
}

/* n_centroids in 1..256, by one comparison of the unsigned difference. */
static inline bool codebook_size_ok(const struct weight *w)
{
    return w->n_centroids - 1 <= 255 && w->group_elems != 0;
}

/* A bitmap's length follows from the count; positions are 32 bits. */
static inline bool bitmap_size_ok(const struct weight *w)
{
    return w->count <= UINT32_MAX &&
           w->support_stream.n_bytes == w->count / 8 + (w->count % 8 != 0);
}

/* The stored bytes of a plain stream are exactly n fields of `bits`. The gate cut the stream to
 * this length; who made a weight otherwise has not. */
bool pith_plain_size_ok(const struct stream *s, uint64_t n, uint32_t bits);
/* Indices that are not coded, or not needed. */
bool pith_plain_indices_ok(const struct weight *w, uint64_t n);
/* Bits behind the last of n plain indices are 0; requires pith_plain_size_ok. */
bool pith_plain_padding_ok(const struct weight *w, uint64_t n);
/* A whole number that i8 holds; -0 is none. */
static inline bool pith_centroid_is_i8(float v)
{
    return v >= -128.0f && v <= 127.0f && f32_bits((float)(int32_t)v) == f32_bits(v);
}

/* i8 weights have codebooks of such. */
bool pith_centroids_ok(const struct weight *w, const float *v);

#endif
