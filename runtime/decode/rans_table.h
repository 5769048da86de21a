/* SPDX-License-Identifier: MIT */
/* rans_table.h - frequencies of symbols in rANS streams: reading them from a file, and the
 * look-up table that decodes them (docs/format-streams.md, section 10). */
#ifndef PITH_RANS_TABLE_H
#define PITH_RANS_TABLE_H

#include "decode/bit_reader.h"
#include "kernels/kernel_decode.h"
#include "pith_types.h"

#define RANS_SYMBOLS 256u
#define RANS_SLOTS (1u << RANS_BITS)

enum rans_form { RANS_ONE = 0, RANS_LEVELS = 1, RANS_CURVE = 2 };

/* Levels: frequencies on a scale of logarithms. */
#define RANS_LEVEL_BITS 7u
#define RANS_LEVEL_RAW 7u /* Rice parameter for: each level as it is */
#define RANS_LEVEL_SMALL                                                                           \
    1u /* frequency 1; 0: the symbol does not occur; others: a step of weight */
#define RANS_MAX_EIGHTHS 135u
/* A curve: 2^(-(a d / 32 + b d^2 / 4096) / 8) at a distance of d half symbols. */
#define RANS_CURVE_TOP 128u
#define RANS_CENTRE_BITS 9u
#define RANS_SLOPE_BITS 8u
#define RANS_BEND_BITS 10u

struct rans_table {
    uint16_t n_symbols; /* largest symbol that may occur + 1 */
    bool single;        /* symbol n_symbols - 1 alone: it takes no bits */
    bool escapes;       /* `escape` stands for one of the rare symbols */
    uint8_t escape;
    uint8_t rare_bits; /* of the number of one */
    uint16_t n_rare;
    uint8_t rare[RANS_SYMBOLS]; /* `escape`, and symbols below n_symbols without a frequency */
    /* frequency of s: start[s + 1] - start[s], 0..4095; start[n_symbols] is RANS_SLOTS */
    uint16_t start[RANS_SYMBOLS + 1];
};

/* All of a table. PITH_ERR_CORRUPT; *t is then unspecified. */
enum pith_status pith_rans_read_table(const uint8_t *bytes, size_t n_bytes, struct rans_table *t);

/* entries: [RANS_SLOTS], as the kernels read them. t is not single. */
void pith_rans_build_entries(const struct rans_table *t, uint32_t *entries);

#endif
