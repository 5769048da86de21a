/* SPDX-License-Identifier: MIT */
/* pith_adaptive_model.h - what the adaptive code knows about a weight while it goes through it: the
 * same for the decoder (adaptive_decode.c) and the encoder, who differ in one function, code_bit
 * (docs/format-streams.md, section 8).
 *
 *     for each element of a live row and a live column:
 *         stored? zero?   sign   distance from zero        each a few binary decisions
 *
 * A decision has some counters, one in each context that may know something about it (its row, its
 * column, its neighbours, its place in the kernel ...). A counter holds a probability that moves by
 * about 1/(n + 1.4) at the n-th look, so that it is worth something after two; the probabilities
 * are mixed as logarithms of odds with weights that learn (Mahoney's logistic mixing, in integers).
 *
 * The matrix is [rows, cols]: dimension 0 and all others; a vector is one row. Integers only: the
 * same bits everywhere. All shifts of negative numbers round down. */
#ifndef PITH_ADAPTIVE_MODEL_H
#define PITH_ADAPTIVE_MODEL_H

#include "pith_codebook_decode.h"
#include "pith_row_slices.h"
#include "pith_trellis.h"

#define ADAPTIVE_INPUTS 8u
#define ADAPTIVE_FEW                                                                               \
    16u /* centroids of a sign that are counted from zero outwards, not numbered in bits */
#define COUNTER_HALF (UINT32_C(1) << 31) /* 22 bits of probability, 10 of count */
#define COUNTER_SEEN 1023u
#define MIX_ONE 65536
#define MIX_LIMIT (16 * MIX_ONE)

enum adaptive_set { SET_SUPPORT, SET_SIGN, SET_RANK, SET_RANK_MORE, SET_FLAG, ADAPTIVE_SETS };

struct adaptive_column {
    uint32_t stored, sign; /* counters */
    uint32_t map_sign;     /* counter; of all columns of an input map, kept in the first */
    uint16_t rank;         /* moving average of distances, 4 fraction bits */
    uint8_t last; /* the element coded last in this column: 0 none, rank class * 2 + sign */
    uint8_t live; /* bit 0: live; bit 1: an element was stored */
};

/* The second model (pith_adaptive_second.h). */
#define SECOND_INPUTS 13u
#define SECOND_NODES 14u   /* ranks told by contexts */
#define SECOND_CHOICES 32u /* sets of weights */
#define SECOND_RANKS 4u    /* of signs */
#define SECOND_WEIGHTS (3 * SECOND_CHOICES + SECOND_RANKS)
enum second_set { SECOND_STORED, SECOND_RANK, SECOND_RANK_MORE, SECOND_SIGN, SECOND_SETS };

struct adaptive_second_column {
    uint32_t mean : 24; /* of sizes, 8 fraction bits: at most 256 * 512 + 64 */
    uint32_t seen : 8;
    int16_t last;   /* size and sign of the element in the row before, or, behind, of this row */
    uint16_t above; /* size of the one in the row before that */
};

/* How much of the model a tensor can reach. */
struct second_sizes {
    uint32_t places, quantizers;
};

struct adaptive_second {
    uint32_t mean, seen, row, row_seen; /* of the tensor, of the row */
    uint32_t before[3];                 /* sizes of the row's last elements */
    int32_t agreement, balance; /* of the row's signs: with the row above; among each other */
    /* what size is expected of the element: of row and column together, of each, of those around */
    uint32_t expected, of_row, of_column, near;
    uint32_t sign_pair[4][9][9], sign_above[7][11], sign_balance[11];
    uint32_t refined[SECOND_SETS][33];
    int32_t weight[2][SECOND_SETS][SECOND_INPUTS];
    /* counters: of stored by the quantizer, then of each node of a rank */
    uint32_t by_expected[2 + SECOND_NODES][64], by_both[2 + SECOND_NODES][16][16],
        by_near[2 + SECOND_NODES][64];
    /* as much as the tensor reaches, behind the struct */
    uint32_t *sign_sum;                               /* [4, 11, places] */
    int32_t (*chosen)[SECOND_WEIGHTS][SECOND_INPUTS]; /* [quantizers] */
    struct adaptive_second_column *column;            /* [cols] */
    struct second_sizes sizes;
};

struct adaptive {
    /* coder */
    uint32_t low, high, code;
    const uint8_t *at, *end; /* decoder */
    uint64_t missing;        /* bytes wanted past the end */
    uint8_t *out;            /* encoder; NULL: only counts */
    uint64_t out_bytes, out_cap;

    /* the tensor */
    const struct weight *w;
    uint64_t rows, cols; /* rows of the slice at hand */
    uint32_t place,
        place_row;      /* elements of a channel in a row (KH*KW), of one of its lines (KW) */
    uint32_t zero_bits; /* plain grid: low bits of the mantissa that are 0 everywhere */
    bool selects;       /* elements are told stored or not, rows and columns live or not */
    bool few;           /* centroids of the first group, ADAPTIVE_FEW of each sign at most */
    struct codebook_reader codebooks;
    uint64_t group_end;
    uint32_t n_negative, n_positive; /* centroids of the group below and above zero */
    bool has_zero;

    /* where it is */
    uint64_t row, col;           /* in the slice */
    uint64_t element;            /* of the tensor */
    uint64_t nnz;                /* stored elements of the slice */
    uint64_t left;               /* of them to come, of sparse tensors; else a number above 0 */
    uint64_t taken;              /* decoder: of them handed out */
    struct row_slices slices;    /* decoder: to come */
    uint64_t last_row, last_col; /* live ones */
    uint64_t open_left;          /* elements to come in live rows and columns */
    bool row_any;
    uint32_t run; /* one bit for each of the last 8 elements of the row: stored */
    uint32_t row_rank;
    uint32_t state; /* of the trellis; 0 without one */
    bool odd;       /* the element's level */
    int32_t size;   /* with its sign, in the second model */

    /* what was learned */
    uint32_t fresh; /* counter of an element about which nothing is known */
    uint32_t row_stored;
    uint32_t beside[2][64], densities[64], places[128], kernel[64], near_ranks[256];
    uint32_t by_state[PITH_TRELLIS_MOST_STATES];
    uint32_t sign_beside[81], sign_place[64];
    uint32_t row_flag[4];
    uint32_t flag_before[3][4], flag_around[3][64], flag_channel[3][16], flag_place[3][64];
    uint32_t rank_all[2][256];
    uint32_t rank_row[16][8], rank_column[16][8], rank_beside[16][16], rank_level[16][64];
    uint32_t zero[4];
    uint32_t exponent[256];
    int32_t weight[2][ADAPTIVE_SETS][ADAPTIVE_INPUTS]; /* of each quantizer of the trellis */

    uint16_t rate[256];
    int16_t stretch[4096];
    float codebook[256];
    struct adaptive_second *second; /* NULL: the first model */
    struct adaptive_column *column; /* [cols] */
    uint8_t *row_live;              /* [rows] */
    uint8_t *source_live;           /* [rows of the tensor that w refers to] */
};

struct adaptive_element {
    bool stored;
    uint8_t index;
    uint32_t bits; /* plain grid: of the f32 */
};

#endif
