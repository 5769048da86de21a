/* SPDX-License-Identifier: MIT */
/* rate_table.h - what integers cost an adaptive coder, in bits. */
#ifndef RATE_TABLE_H
#define RATE_TABLE_H

#include <stddef.h>
#include <stdint.h>

#define RATE_MOST 127

struct rate_table {
    uint64_t count[2 * RATE_MOST + 1]; /* of integer i at i + RATE_MOST */
    double bits[2 * RATE_MOST + 1];
    double total; /* bits of all that was counted */
};

void pith_rate_count(struct rate_table *t, const int16_t *q, size_t n);
/* bits from count: those that a coder pays which learns the counts as it goes. */
void pith_rate_finish(struct rate_table *t);

#endif
