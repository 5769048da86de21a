/* SPDX-License-Identifier: MIT */
/* spec_heads.h - the heads of tensors with all prefixes, shapes, and forms: F5. */
#ifndef SPEC_HEADS_H
#define SPEC_HEADS_H

#include "spec_tensor.h"

/* t: number i of an array of n. last_centroids: of the last tensors that had a
 * codebook, [0] of rank 0 and 1, [1] of the others; 0: none had. */
void read_tensor(struct span *s, struct tensor *t, uint64_t i, uint64_t n, struct span *data,
                 uint32_t *last_centroids);

#endif
