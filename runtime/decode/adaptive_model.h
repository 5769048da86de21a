/* SPDX-License-Identifier: MIT */
/* adaptive_model.h - the state of the adaptive code while it walks through a weight: the same
 * for the decoder (adaptive_decode.c) and the encoder, which differ in one function, code_bit
 * (docs/format-streams.md, section 8).
 *
 *     for each element of a live row and a live column:
 *         stored? zero?   rank (distance from zero)   sign      each a few binary decisions
 *
 * A decision has some counters, one in each context that may predict it (its row, its column, its
 * neighbours, its place in the kernel, the size that is expected of it ...). A counter holds a
 * probability that moves by about 1/(n + 1.4) at the n-th decision, so that two are enough for a
 * first estimate. The probabilities are mixed as logarithms of odds by weights that learn
 * (Mahoney's logistic mixing, 2005, in integers): by one set for all elements and one for the
 * expected size. The mean of both is corrected by how it went so far (an adaptive probability map,
 * as in PAQ).
 *
 * The matrix is [rows, cols]: dimension 0 and all others; a vector is one row. Integers only: the
 * same bits on every machine. Shifts of negative numbers round down. */
#ifndef PITH_ADAPTIVE_MODEL_H
#define PITH_ADAPTIVE_MODEL_H

#include "decode/codebook_decode.h"
#include "decode/weight.h"
#include "decode/trellis.h"

#define ADAPTIVE_MAX ((UINT32_C(1) << 28) - 1) /* elements of such a tensor */

/* Matrix form of a shape. */
static inline uint64_t adaptive_rows(const struct weight *w)
{
    return w->shape.rank < 2 ? 1 : w->shape.dim[0];
}

#define ADAPTIVE_INPUTS 13u              /* counters of a decision and a constant */
#define ADAPTIVE_NODES 14u               /* ranks that are counted from zero outwards */
#define FAR_BITS 7u                      /* of a rank behind them: 242 ranks */
#define COUNTER_HALF (UINT32_C(1) << 31) /* 22 bits of probability, 10 of count */
#define COUNTER_COUNT 1023u
#define MIX_ONE 65536
#define MIX_LIMIT (16 * MIX_ONE)
#define REFINED 33u /* points of a probability map */

enum decision_kind {
    KIND_STORED,
    KIND_RANK,
    KIND_RANK_MORE, /* from node 2 on */
    KIND_SIGN,
    KIND_FLAG,
    DECISION_KINDS
};
/* Sets of weights that a kind chooses among, one behind the other. */
#define SIZE_CHOICES 32u
#define SIGN_CHOICES 4u /* ranks */
#define FLAG_CHOICES 3u /* no source, a dead unit of it, a live one */
#define ALL_CHOICES (3 * SIZE_CHOICES + SIGN_CHOICES + FLAG_CHOICES)

struct adaptive_column {
    uint32_t stored, sign; /* counters */
    uint32_t map_sign;     /* counter; of all columns of an input map, kept in the first */
    uint32_t mean : 24;    /* of sizes, 8 fraction bits: at most 256 * 512 + 64 */
    uint32_t count : 8;
    int16_t size;   /* with its sign, of the element in the row before, or, behind, of this row */
    uint16_t above; /* size of the one in the row before that */
    uint16_t rank;  /* moving average of ranks, 4 fraction bits */
    uint8_t last;   /* the element coded last in this column: 0 none, rank class * 2 + sign */
    uint8_t live;   /* bit 0: live; bit 1: an element was stored */
};

struct adaptive_coder {
    uint32_t low, high, code;
    const uint8_t *at, *end; /* decoder */
    uint64_t missing;        /* bytes read past the end */
    uint8_t *out;            /* encoder; NULL: only counts */
    uint64_t out_bytes, out_cap;
};

/* The codebook of the group at hand. */
struct adaptive_group {
    struct codebook_reader codebooks;
    uint64_t end;
    uint32_t n_negative, n_positive; /* centroids below and above zero */
    bool has_zero;
    float values[256];
};

struct adaptive_sizes {
    uint32_t mean, count, row_mean, row_count; /* of the tensor, of the row */
    uint32_t before[3];                        /* sizes of the row's last elements */
    int32_t agreement, balance; /* of the row's signs: with the row above; among each other */
    /* the size expected of the element: by row and column together, by each, by those around */
    uint32_t expected, of_row, of_column, near;
};

/* A decision's are named after what it knows. */
struct adaptive_counters {
    uint32_t fresh; /* of an element about which nothing is known */
    uint32_t row_stored;
    uint32_t beside[2][64], densities[64], places[128], kernel[64], near_ranks[256];
    uint32_t by_state[PITH_TRELLIS_MOST_STATES];
    /* of stored by the quantizer, then of each node of a rank */
    uint32_t by_expected[2 + ADAPTIVE_NODES][64], by_both[2 + ADAPTIVE_NODES][16][16],
        by_near[2 + ADAPTIVE_NODES][64];
    uint32_t sign_beside[81], sign_place[64], sign_pair[4][9][9], sign_above[7][11],
        sign_balance[11];
    uint32_t row_flag[4];
    uint32_t flag_before[3][4], flag_around[3][64], flag_channel[3][16], flag_place[3][64];
    uint32_t rank_all[2][ADAPTIVE_NODES], rank_row[ADAPTIVE_NODES][8],
        rank_column[ADAPTIVE_NODES][8], rank_beside[ADAPTIVE_NODES][16],
        rank_level[ADAPTIVE_NODES][64];
    uint32_t far_bits[FAR_BITS + 1], far_first[FAR_BITS + 1];
    uint32_t zero[4];
    uint32_t exponent[256];
};

/* Weights of the counters of a decision, and the tables that mixing reads. */
struct adaptive_mix {
    int32_t weight[2][DECISION_KINDS][ADAPTIVE_INPUTS]; /* of each quantizer of the trellis */
    uint32_t refined[DECISION_KINDS][REFINED];
    uint16_t rate[256];
    int16_t stretch[4096];
    int32_t (*chosen)[ALL_CHOICES][ADAPTIVE_INPUTS]; /* [quantizers], in memory of its own */
};

/* As much as the tensor needs, in memory of its own. */
struct adaptive_memory {
    uint32_t *sign_sum; /* [4, 11, sign_places] */
    uint32_t sign_places;
    struct adaptive_column *column; /* [cols] */
    uint8_t *row_live;              /* [rows] */
    uint8_t *source_live;           /* [rows of the source] */
};

struct adaptive {
    struct adaptive_coder coder;

    /* the tensor */
    const struct weight *w;
    uint64_t rows, cols;
    uint32_t place,
        place_row;      /* elements of a channel in a row (KH*KW), of one of its lines (KW) */
    uint32_t zero_bits; /* plain grid: low bits of the mantissa that are 0 everywhere */
    bool selects;       /* elements are stored or not, rows and columns live or not */
    struct adaptive_group group;

    /* where it is */
    uint64_t row, col;
    uint64_t element;            /* of the tensor */
    uint64_t nnz;                /* stored elements */
    uint64_t left;               /* of them to come, of sparse tensors; else a number above 0 */
    uint64_t taken;              /* decoder: of them handed out */
    uint64_t last_row, last_col; /* live ones */
    uint64_t open_left;          /* elements to come in live rows and columns */
    bool row_any;
    uint32_t run; /* one bit for each of the last 8 elements of the row: stored */
    uint32_t row_rank;
    uint32_t state; /* of the trellis; 0 without one */
    bool odd;       /* the element's level */
    int32_t size;   /* of the element, with its sign */

    struct adaptive_sizes sizes;
    struct adaptive_counters counters;
    struct adaptive_mix mix;
    struct adaptive_memory memory;
};

struct adaptive_element {
    bool stored;
    uint8_t index;
    uint32_t bits; /* plain grid: of the f32 */
};

#endif
