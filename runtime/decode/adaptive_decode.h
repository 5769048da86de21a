/* SPDX-License-Identifier: MIT */
/* adaptive_decode.h - adaptive streams (docs/format-streams.md, section 8): the integers of a row,
 * which class_decode.h hands out, and floats. */
#ifndef ADAPTIVE_DECODE_H
#define ADAPTIVE_DECODE_H

#include "decode/class_model.h"

#define ADAPTIVE_NODES 14u  /* levels that are counted from zero outwards */
#define ADAPTIVE_FAR 7u     /* bits of a level behind them, at most */
#define ADAPTIVE_INPUTS 5u  /* counters of a decision, at most */
#define ADAPTIVE_CHOICES 8u /* sets of weights by the expected size; of signs 4 by the level */

enum { STORED, LARGER_FIRST, LARGER, SIGN, ADAPTIVE_KINDS };

struct adaptive_coder {
    uint32_t low, high, code;
    const uint8_t *at, *end; /* decoder */
    uint64_t missing;        /* bytes read past the end */
    uint8_t *out;            /* encoder; NULL: only counts */
    uint64_t out_bytes, out_cap;
};

struct adaptive_column {
    uint32_t stored, negative; /* counters */
};

/* Counters of the decision "larger than this level". */
struct adaptive_node {
    uint32_t expected[64], both[16][16], near[64], beside[256], all;
};

struct adaptive {
    struct adaptive_coder coder;
    struct adaptive_node node[1 + ADAPTIVE_NODES]; /* 0 and 1: level 0 of each quantizer */
    uint32_t sign_pair[4][9][9], sign_around[11][9], sign_balance[11];
    uint32_t far[ADAPTIVE_FAR];
    uint32_t float_sign, exponent[256];
    int32_t weight[2][ADAPTIVE_KINDS][1 + ADAPTIVE_CHOICES][ADAPTIVE_INPUTS + 1];
    uint16_t rate[256];
    int16_t stretch[4096];
    uint64_t floats;                /* to come */
    uint32_t zero_bits;             /* of floats: low bits of the mantissa that are 0 everywhere */
    struct adaptive_column *column; /* [cols] */
};

/* May w be coded so: integers of a codebook, or floats, whose support is not in the stream? */
bool pith_adaptive_allows(const struct weight *w);

/* Memory behind struct adaptive; 8-byte aligned. */
size_t pith_adaptive_bytes(const struct weight *w);

/* mem: that many bytes. PITH_ERR_CORRUPT. */
enum pith_status pith_adaptive_open(struct adaptive *a, const struct weight *w, void *mem);

/* The row at hand. false: an integer is out of range. */
bool pith_adaptive_row(struct adaptive *a, struct class_walk *w);

/* The next n floats. With the last one the end of the stream is tested. PITH_ERR_CORRUPT. */
enum pith_status pith_adaptive_floats(struct adaptive *a, float *value, uint32_t n);

/* Whether the stream ends here. */
bool pith_adaptive_ended(const struct adaptive *a);

#endif
