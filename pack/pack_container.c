/* SPDX-License-Identifier: MIT */
/* pack_container.c - chunks put one behind the other under one of the two headers: the mirror image
 * of runtime/validate/container.c (docs/format.md, sections 2 and 3). */
#include <stdlib.h>
#include "pack.h"

void pith_pack_clear(struct pack_file *f)
{
    for (uint32_t k = 0; k < CHUNK_KINDS; k++)
        pith_out_clear(&f->chunk[k]);
    pith_out_clear(&f->head);
    pith_pieces_clear(&f->data);
    pith_pieces_clear(&f->whole);
}

static size_t chunk_bytes(const struct pack_file *f, uint32_t kind)
{
    return kind == CHUNK_DATA ? f->data.bytes : f->chunk[kind].bytes;
}

/* Behind what `whole` has. */
static void add_chunk(struct pack_file *f, uint32_t kind)
{
    if (kind != CHUNK_DATA) {
        pith_pieces_add(&f->whole, f->chunk[kind].data, f->chunk[kind].bytes);
        return;
    }
    const struct file_piece *piece = pith_pieces_all(&f->data);
    for (uint32_t i = 0; piece && i < f->data.n; i++)
        pith_pieces_add(&f->whole, piece[i].bytes, piece[i].n);
}

static uint32_t crc_of_pieces(struct pack_pieces *p)
{
    uint32_t crc = 0;
    const struct file_piece *piece = pith_pieces_all(p);
    for (uint32_t i = 0; piece && i < p->n; i++)
        crc = pith_crc32c(crc, piece[i].bytes, piece[i].n);
    return crc;
}

static uint32_t crc_of_chunk(struct pack_file *f, uint32_t kind)
{
    return kind == CHUNK_DATA ? crc_of_pieces(&f->data)
                              : pith_crc32c(0, f->chunk[kind].data, f->chunk[kind].bytes);
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
static void write_full(struct pack_file *f, struct byte_out *o)
{
    uint32_t n = 0;
    size_t offset[CHUNK_KINDS], at;
    for (uint32_t k = 0; k < CHUNK_KINDS; k++)
        n += present(f, k);
    at = FULL_TABLE_AT + n * FULL_ENTRY_BYTES + FULL_CRC_BYTES;
    for (uint32_t k = 0; k < CHUNK_KINDS; k++) {
        at += k == CHUNK_DATA ? to_align(at) : 0;
        offset[k] = at;
        at += chunk_bytes(f, k);
    }
    pith_out_bytes(o, FULL_MAGIC, FULL_MAGIC_BYTES);
    pith_out_le32(o, FORMAT_VERSION);
    pith_out_le32(o, n);
    pith_out_le64(o, at);
    for (uint32_t k = 0; k < CHUNK_KINDS; k++) {
        if (!present(f, k))
            continue;
        pith_out_le32(o, pith_chunk_tag(k));
        pith_out_le32(o, crc_of_chunk(f, k));
        pith_out_le64(o, offset[k]);
        pith_out_le64(o, chunk_bytes(f, k));
    }
    pith_out_le32(o, o->failed ? 0 : pith_crc32c(0, o->data, o->bytes));
    pith_pieces_add(&f->whole, o->data, o->bytes);
    for (uint32_t k = 0; k < CHUNK_KINDS; k++) {
        if (k == CHUNK_DATA)
            pith_pieces_zeros(&f->whole, to_align(f->whole.bytes));
        add_chunk(f, k);
    }
}

/* Kinds in the order of their compact tags. */
static const enum chunk_kind compact_order[] = {
    CHUNK_GRAPH, CHUNK_TABLES, CHUNK_HISTORY, CHUNK_META, CHUNK_STATS, CHUNK_NAMES, CHUNK_DATA};
#define COMPACT_KINDS (sizeof compact_order / sizeof *compact_order)

static void write_compact(struct pack_file *f, struct byte_out *o)
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
    pith_pieces_add(&f->whole, o->data, o->bytes);
    for (uint32_t i = 0; i < COMPACT_KINDS; i++)
        add_chunk(f, compact_order[i]);
    uint8_t *joined = pith_pieces_join(&f->whole);
    size_t n = f->whole.bytes;
    pith_pieces_clear(&f->whole);
    o->bytes = 0; /* the header stands in `joined`, too */
    pith_out_bytes(o, joined, joined ? n : 0);
    pith_out_le32(o, o->failed || !joined ? 0 : pith_crc32c(0, o->data, o->bytes));
    o->failed |= !joined;
    free(joined);
    pith_pieces_add(&f->whole, o->data, o->bytes);
}

enum pith_status pith_pack_container_pieces(struct pack_file *f)
{
    struct byte_out *o = &f->head;
    if (f->compact)
        write_compact(f, o);
    else
        write_full(f, o);
    if (o->failed || pith_pieces_failed(&f->data) || pith_pieces_failed(&f->whole))
        return PITH_ERR_MEMORY;
    return PITH_OK;
}

enum pith_status pith_pack_container(struct pack_file *f, struct pith_buffer *file)
{
    enum pith_status st = pith_pack_container_pieces(f);
    uint8_t *joined = st ? NULL : pith_pieces_join(&f->whole);
    if (!st && !joined)
        st = PITH_ERR_MEMORY;
    if (!st)
        *file = (struct pith_buffer){joined, f->whole.bytes};
    return st;
}
