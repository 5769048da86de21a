/* SPDX-License-Identifier: MIT */
/* pith_kernel_context.h - the kernel of context-coded indices (docs/format-streams.md, section 11):
 * adaptive distributions of up to 16 symbols, two of which are averaged for each element, under a
 * range coder of 16 bits. Several symbols' worth of binary decisions are one comparison of 16
 * lanes. Where zeros are frequent a binary decision comes first, by the mean of two adaptive
 * probabilities, as the significance flag of CABAC (Marpe et al. 2003): 16 bits of a distribution
 * cannot say 99.8 %, and a distribution of 16 symbols learns more slowly than one of two. */
#ifndef PITH_KERNEL_CONTEXT_H
#define PITH_KERNEL_CONTEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CONTEXT_SYMBOLS 16u
#define CONTEXT_ACTIVITIES 24u
#define CONTEXT_PLACES 16u
#define CONTEXT_RATES 201u    /* the count of a distribution stops one below */
#define CONTEXT_AVERAGES 45u  /* looks of an average, alike */
#define CONTEXT_DENSITIES 32u /* activities that a decision is told apart by */
#define CONTEXT_AROUND 64u    /* neighbours that are zero or not */

/* Numbers of distributions. */
#define CONTEXT_PLACE_FIRST CONTEXT_ACTIVITIES /* + left * CONTEXT_PLACES + place; left: 0..16 */
#define CONTEXT_ALL (CONTEXT_PLACE_FIRST + (CONTEXT_SYMBOLS + 1u) * CONTEXT_PLACES)
#define CONTEXT_REST_FIRST (CONTEXT_ALL + 1u) /* + symbol of the class */
#define CONTEXT_DISTRIBUTIONS (CONTEXT_REST_FIRST + CONTEXT_SYMBOLS)

/* An alphabet: a symbol has at least 2/65536, whatever the distributions say. */
struct context_alphabet {
    uint16_t keep;                   /* 65536 - 2 n */
    uint16_t least[CONTEXT_SYMBOLS]; /* 2 (n - 1 - i), 0 from n - 1 on */
};

/* What moves with each element: kernels hold it in registers. */
struct context_walk {
    /* the top 16 bits of window are compared with range, 32768..65535 */
    uint64_t window;
    uint32_t range, have; /* have: bits of window that came from the stream */
    const uint8_t *at, *end;
    uint32_t row, col;   /* of dimension 0 and all others */
    uint32_t in_channel; /* col mod place */
    uint32_t left;       /* of the symbol before in this row; 0: none, or zero */
    uint32_t average;    /* magnitude in this row lately */
    uint32_t activity;
    uint32_t run; /* bits 0, 1: the last two elements of this row are not zero */
};

struct context_coder {
    struct context_walk walk;
    bool bad; /* an index that does not exist was read */
    /* symbols are classes of indices: the first index, and the bits that tell which it is */
    uint32_t n_indices;
    uint8_t first[CONTEXT_SYMBOLS], bits[CONTEXT_SYMBOLS];
    uint32_t magnitude[CONTEXT_SYMBOLS];      /* of a class, 2^14 a step */
    struct context_alphabet classes, rest[5]; /* rest[k]: of 2^k symbols */
    uint32_t cols, place;                     /* place: elements of a channel, KH * KW; else 1 */
    uint32_t mean, middle; /* magnitude, and its logarithm: six times its eighths */
    uint32_t *column;      /* [cols] magnitudes in the rows before; bit 31: the last is not zero */
    bool apart;            /* a decision for each element: the level `zero`, or a symbol follows */
    uint32_t zero;
    uint32_t line;                   /* elements of a line of a channel, KW; 0: it has one */
    uint8_t before[CONTEXT_SYMBOLS]; /* what a symbol is as the one before: `left` */
    /* probabilities of not zero: 22 bits, and 10 of looks */
    uint32_t by_density[CONTEXT_DENSITIES], around[CONTEXT_AROUND], anywhere;
    uint16_t rate[CONTEXT_RATES], average_rate[CONTEXT_AVERAGES];
    uint8_t seen[CONTEXT_DISTRIBUTIONS];
    /* [i]: probability of more than i, in 1/65536, falling; 0 from the last symbol on */
    uint16_t more[CONTEXT_DISTRIBUTIONS][CONTEXT_SYMBOLS];
};

/* The next n indices, n elements or fewer before the end of the tensor. Past the end of the stream
 * zeros are read. Any state and bytes are safe. Byte-equal at every level. */
typedef void context_indices_fn(struct context_coder *c, uint8_t *index, size_t n);

#endif
