/* SPDX-License-Identifier: MIT */
/* byte_out.h - a growing run of bytes, written in the field types of docs/format.md. A failed
 * allocation is remembered, so a writer may write a whole record and test once. */
#ifndef PITH_BYTE_OUT_H
#define PITH_BYTE_OUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct byte_out {
    uint8_t *data; /* owned: pith_out_clear */
    size_t bytes, cap;
    bool failed; /* out of memory: what follows is not kept */
};

void pith_out_clear(struct byte_out *o);
/* Room for n more bytes, counted as written; NULL when memory is out. */
uint8_t *pith_out_room(struct byte_out *o, size_t n);
/* p may be NULL when n is 0. */
void pith_out_bytes(struct byte_out *o, const void *p, size_t n);
void pith_out_u8(struct byte_out *o, uint32_t v);
void pith_out_le32(struct byte_out *o, uint32_t v);
void pith_out_le64(struct byte_out *o, uint64_t v);
void pith_out_varint(struct byte_out *o, uint64_t v);
void pith_out_svarint(struct byte_out *o, int64_t v);

#endif
