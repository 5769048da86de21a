/* SPDX-License-Identifier: MIT */
/* class_encode.h - streams under static tables by classes (docs/format-streams.md, section
 * 12): a model is fitted to one tensor or to several, and codes each. */
#ifndef CLASS_ENCODE_H
#define CLASS_ENCODE_H

#include "decode/class_decode.h"

/* A tensor. A code counts its integers from 0: 0 (also where nothing is stored), plus or minus (1 +
 * rank among the centroids of its sign). */
struct class_input {
    const struct weight *w; /* shape, codebook, support, trellis */
    const uint8_t *index;   /* [w->count] */
    const uint8_t *mask;    /* [w->count]; NULL: all stored */
};

struct class_code {
    struct class_model model;
    size_t table_bytes;
    uint8_t table[CLASS_TABLE_MAX];
};

/* Whether it can be coded so: no stored element of a sparse tensor is 0, and with a trellis each
 * integer is one of its state. PITH_ERR_ARGUMENT: it cannot; PITH_ERR_MEMORY. */
enum pith_status pith_class_check(const struct class_input *in);

/* Called for each element in the order of the stream, with its integer. */
typedef void class_see_fn(void *arg, const struct class_walk *w, uint32_t lane,
                          const struct class_around *around, int32_t q);
/* Statuses as of pith_class_check. */
enum pith_status pith_class_walk(const struct class_input *in, uint32_t lanes, class_see_fn *see,
                                 void *arg);

/* The model for the sum of n tensors, all with a trellis or all without. PITH_ERR_ARGUMENT as
 * above; PITH_ERR_MEMORY. */
enum pith_status pith_class_fit(const struct class_input *in, uint32_t n, struct class_code *code);

/* The stream of in. dst: [cap]; NULL: counted only. PITH_ERR_ARGUMENT:
 * an element has no code; PITH_ERR_SPACE; PITH_ERR_MEMORY. */
enum pith_status pith_class_encode(const struct class_model *m, const struct class_input *in,
                                   uint8_t *dst, size_t cap, size_t *bytes);

#endif
