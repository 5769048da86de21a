/* SPDX-License-Identifier: MIT */
/* spec_rans.h - rANS tables and streams: S10. */
#ifndef SPEC_RANS_H
#define SPEC_RANS_H

#include "spec_bytes.h"

struct rans {
    uint32_t n_symbols, escape, n_rare, rare[256];
    bool single, escapes;
    uint32_t begin[257]; /* first of the 4096 numbers that mean the symbol; [n_symbols]: 4096 */
};

void read_rans(struct bits *b, struct rans *t);

/* n symbols; the caller frees them. */
uint8_t *read_rans_stream(struct span s, const struct rans *t, uint64_t n);

#endif
