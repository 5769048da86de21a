/* SPDX-License-Identifier: MIT */
/* block_reconstruct.h - block reconstruction (BRECQ, Li et al., 2021): layers of a block trained
 * together towards what the float network has behind the block. */
#ifndef BLOCK_RECONSTRUCT_H
#define BLOCK_RECONSTRUCT_H

#include "pith_compress.h"

/* struct pith_block_improver.improve; user: const struct pith_stage_means *. A block that cannot be
 * trained stays as it is. */
enum pith_status pith_reconstruct_block(void *user, struct pith_block *block,
                                        struct pith_error *err);

#endif
