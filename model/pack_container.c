/* SPDX-License-Identifier: MIT */
/* pack_container.c - chunks put one behind the other under one of the two headers: the mirror image
 * of runtime/container.c (docs/format.md, sections 2 and 3). */
#include <stdlib.h>
#include "pack.h"

void pith_pack_clear(struct pack_file *f)
{
    for (uint32_t k = 0; k < CHUNK_KINDS; k++)
        pith_out_clear(&f->chunk[k]);
}

static bool present(const struct pack_file *f, uint32_t kind)
{
    return kind == CHUNK_DATA || f->chunk[kind].bytes > 0;
}

static size_t to_align(size_t at)
{
    return (FULL_ALIGN - at % FULL_ALIGN) % FULL_ALIGN;
}

/* enum chunk_kind is in the order of the tags, which is the order of the file. */
static void write_full(const struct pack_file *f, struct byte_out *o)
{
    uint32_t n = 0;
    size_t offset[CHUNK_KINDS], at;
    for (uint32_t k = 0; k < CHUNK_KINDS; k++)
        n += present(f, k);
    at = FULL_TABLE_AT + n * FULL_ENTRY_BYTES + FULL_CRC_BYTES;
    for (uint32_t k = 0; k < CHUNK_KINDS; k++) {
        at += k == CHUNK_DATA ? to_align(at) : 0;
        offset[k] = at;
        at += f->chunk[k].bytes;
    }
    pith_out_bytes(o, FULL_MAGIC, FULL_MAGIC_BYTES);
    pith_out_le32(o, FORMAT_VERSION);
    pith_out_le32(o, n);
    pith_out_le64(o, at);
    for (uint32_t k = 0; k < CHUNK_KINDS; k++) {
        if (!present(f, k))
            continue;
        pith_out_le32(o, pith_chunk_tag(k));
        pith_out_le32(o, pith_crc32c(0, f->chunk[k].data, f->chunk[k].bytes));
        pith_out_le64(o, offset[k]);
        pith_out_le64(o, f->chunk[k].bytes);
    }
    pith_out_le32(o, o->failed ? 0 : pith_crc32c(0, o->data, o->bytes));
    for (uint32_t k = 0; k < CHUNK_KINDS; k++) {
        if (k == CHUNK_DATA)
            pith_out_zeros(o, to_align(o->bytes));
        pith_out_bytes(o, f->chunk[k].data, f->chunk[k].bytes);
    }
}

/* Kinds in the order of their compact tags. */
static const enum chunk_kind compact_order[] = {CHUNK_GRAPH, CHUNK_TABLES, CHUNK_HISTORY,
                                                CHUNK_META,  CHUNK_STATS,  CHUNK_DATA};
#define COMPACT_KINDS (sizeof compact_order / sizeof *compact_order)

static void write_compact(const struct pack_file *f, struct byte_out *o)
{
    pith_out_u8(o, COMPACT_MAGIC_0);
    pith_out_u8(o, COMPACT_MAGIC_1 | FORMAT_VERSION);
    for (uint32_t i = 0; i < COMPACT_KINDS; i++) {
        enum chunk_kind k = compact_order[i];
        if (!present(f, k))
            continue;
        pith_out_u8(o, pith_chunk_compact_tag(k));
        if (k != CHUNK_DATA)
            pith_out_varint(o, f->chunk[k].bytes);
    }
    for (uint32_t i = 0; i < COMPACT_KINDS; i++)
        pith_out_bytes(o, f->chunk[compact_order[i]].data, f->chunk[compact_order[i]].bytes);
    pith_out_le32(o, o->failed ? 0 : pith_crc32c(0, o->data, o->bytes));
}

enum pith_status pith_pack_container(const struct pack_file *f, struct pith_buffer *file)
{
    struct byte_out o = {0};
    if (f->compact)
        write_compact(f, &o);
    else
        write_full(f, &o);
    if (o.failed || (f->compact && o.bytes > COMPACT_MAX_BYTES)) {
        enum pith_status st = o.failed ? PITH_ERR_MEMORY : PITH_ERR_SPACE;
        pith_out_clear(&o);
        return st;
    }
    file->data = o.data;
    file->bytes = o.bytes;
    return PITH_OK;
}
