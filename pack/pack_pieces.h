/* SPDX-License-Identifier: MIT */
/* pack_pieces.h - bytes that are about to be one run, in a file or in memory: short ones copied,
 * long ones borrowed, so that a network on its way into a file is not held twice. */
#ifndef PACK_PIECES_H
#define PACK_PIECES_H

#include "base/byte_out.h"
#include "base/file_write.h"

struct pack_pieces {
    struct byte_out small; /* what is copied, one run behind the other */
    struct byte_out list;  /* struct file_piece[n]; bytes NULL: the next of `small` */
    uint32_t n;
    size_t bytes; /* of all */
};

void pith_pieces_clear(struct pack_pieces *p);
bool pith_pieces_failed(const struct pack_pieces *p);
/* Borrows `bytes` until the pieces are cleared, or copies. */
void pith_pieces_add(struct pack_pieces *p, const void *bytes, size_t n);
void pith_pieces_zeros(struct pack_pieces *p, size_t n); /* n <= 64 */
/* The finished array [p->n]: nothing is added to p from now on. NULL: memory is out. */
const struct file_piece *pith_pieces_all(struct pack_pieces *p);
/* One run in memory that the caller frees; NULL: memory is out. */
uint8_t *pith_pieces_join(struct pack_pieces *p);

#endif
