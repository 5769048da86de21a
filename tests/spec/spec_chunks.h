/* SPDX-License-Identifier: MIT */
/* spec_chunks.h - the two headers and the chunks behind them: F1 (chunks), F2, F3. All checksums
 * are tested before anything else is believed (F13). */
#ifndef SPEC_CHUNKS_H
#define SPEC_CHUNKS_H

#include "spec_bytes.h"

enum { DATA, GRPH, HUFF, HIST, META, NAME, STAT, N_CHUNKS };

/* What read_header finds in the file; a chunk that is not there is empty. */
extern bool compact; /* the header */
extern struct span chunk[N_CHUNKS];
extern bool has_chunk[N_CHUNKS];

void read_header(void);

#endif
