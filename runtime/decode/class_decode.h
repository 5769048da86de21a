/* SPDX-License-Identifier: MIT */
/* class_decode.h - elements of streams that hold support and indices: under static tables by
 * classes, and adaptive ones (docs/format-streams.md, sections 11 and 8). */
#ifndef CLASS_DECODE_H
#define CLASS_DECODE_H

#include "decode/adaptive_decode.h"
#include "decode/class_model.h"
#include "decode/codebook_decode.h"

/* Words of 16 bits, before `end`. */
struct class_words {
    const uint8_t *end;
    int64_t left; /* below 0: so many more than there are were taken */
};

#define CLASS_NO_INDEX 256

struct classes {
    const struct weight *w;
    struct class_model model;
    struct class_walk walk;
    uint32_t state[CLASS_LANES];
    struct class_words words; /* to come */
    bool has_leans;
    uint64_t at;               /* the next element to be handed out */
    uint64_t ready;            /* elements decoded: whole rows */
    uint64_t taken;            /* stored ones handed out */
    uint8_t *lookup;           /* [classes][RANS_SLOTS]: symbols; NULL: searched for */
    struct adaptive *adaptive; /* instead of model, state and words */
    struct codebook_reader codebooks;
    uint64_t group_end;
    int32_t n_negative, n_positive, has_zero;
    float codebook[256];
    uint16_t index_of[2 * CLASS_LARGEST + 1];
};

/* Memory behind struct classes, 8-byte aligned. fast: with look-up tables. */
size_t pith_classes_bytes(const struct weight *w, bool fast);

/* mem: that many bytes. PITH_ERR_CORRUPT. */
enum pith_status pith_classes_open(struct classes *c, const struct weight *w, void *mem, bool fast);

/* The next n stored elements: their numbers (pos may be NULL) and indices. With the last one the
 * end is tested. PITH_ERR_CORRUPT. */
enum pith_status pith_classes_next(struct classes *c, uint32_t *pos, uint8_t *index, uint32_t n);

/* A table of the file. false: it is no model. */
bool pith_class_read_model(const struct huff_table *table, bool trellis, struct class_model *m);

#endif
