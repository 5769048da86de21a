/* SPDX-License-Identifier: MIT */
/* package_merge.h - optimal length-limited code lengths. */
#ifndef PACKAGE_MERGE_H
#define PACKAGE_MERGE_H

#include "pith_huffman.h"

/* len[s] for every s with hist[s] > 0, others 0: the lengths of a complete prefix code of least
 * cost among those with lengths <= max_len. At least two symbols occur, 2^max_len of them at most;
 * sum of hist < 2^60. PITH_ERR_MEMORY. */
enum pith_status pith_package_merge(const uint64_t hist[PITH_SYMBOLS], uint32_t max_len,
                                    uint8_t len[PITH_SYMBOLS]);

#endif
