/* SPDX-License-Identifier: MIT */
/* spec_coded.h - coded streams, n symbols under a Huffman table in sub-streams: S3. */
#ifndef SPEC_CODED_H
#define SPEC_CODED_H

#include "spec_tables.h"

/* The caller frees the symbols; gap: room for n of them, or NULL. */
uint8_t *read_coded(struct span s, const struct table *t, uint64_t n, uint64_t *gap);

#endif
