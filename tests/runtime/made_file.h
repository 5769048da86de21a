/* SPDX-License-Identifier: MIT */
/* made_file.h - files of the format made by hand: chunks under either header with right checksums,
 * and the status that the gate gives them, read from a page that nothing follows. */
#ifndef MADE_FILE_H
#define MADE_FILE_H

#include <stdlib.h>
#include <string.h>
#include "validate/format.h"
#include "guard_page.h"

/* A file under construction; sealed with right checksums. */
struct made {
    uint8_t data[1u << 18];
    size_t bytes;
};

static inline void put(struct made *f, const void *p, size_t n)
{
    assert_true(f->bytes + n <= sizeof f->data);
    memcpy(f->data + f->bytes, p, n);
    f->bytes += n;
}

static inline void seal_compact(struct made *f)
{
    uint8_t crc[4];
    store_le32(crc, pith_crc32c(0, f->data, f->bytes));
    put(f, crc, 4);
}

struct piece {
    const char *tag;
    const void *p;
    size_t n;
};

/* The table's checksum of a file with the full header of n chunks. */
static inline void seal_table(struct made *f, uint32_t n)
{
    size_t table_end = FULL_TABLE_AT + (size_t)n * FULL_ENTRY_BYTES;
    store_le32(f->data + table_end, pith_crc32c(0, f->data, table_end));
}

/* Entry i of the table: tag 4, checksum 4, offset 8, length 8. */
static inline uint8_t *entry_of(struct made *f, uint32_t i)
{
    return f->data + FULL_TABLE_AT + (size_t)i * FULL_ENTRY_BYTES;
}

/* The chunks under the full header. */
static inline void seal_full(struct made *f, const struct piece *piece, uint32_t n)
{
    size_t at = FULL_TABLE_AT + (size_t)n * FULL_ENTRY_BYTES + FULL_CRC_BYTES;
    memset(f, 0, sizeof *f);
    memcpy(f->data, FULL_MAGIC, 8);
    store_le32(f->data + FULL_VERSION_AT, FORMAT_VERSION);
    store_le32(f->data + FULL_COUNT_AT, n);
    for (uint32_t i = 0; i < n; i++) {
        uint8_t *e = entry_of(f, i);
        at = memcmp(piece[i].tag, "DATA", 4) ? at : (at + 63) / 64 * 64;
        memcpy(e, piece[i].tag, 4);
        store_le32(e + 4, pith_crc32c(0, piece[i].p, piece[i].n));
        store_le64(e + 8, at);
        store_le64(e + 16, piece[i].n);
        assert_true(at + piece[i].n <= sizeof f->data);
        memcpy(f->data + at, piece[i].p, piece[i].n);
        at += piece[i].n;
    }
    store_le64(f->data + FULL_LENGTH_AT, at);
    seal_table(f, n);
    f->bytes = at;
}

/* The status that the gate gives; the last byte lies before an unmapped page. */
static inline enum pith_status read_file(const void *p, size_t n, uint32_t flags,
                                         struct pith_error *err)
{
    struct graph g;
    struct tview *shapes;
    uint64_t need = 0;
    struct guarded blob = guard_new(n, 1);
    memcpy(blob.data, p, n);
    enum pith_status st = pith_graph_need(blob.data, n, flags, &need, err);
    if (st == PITH_OK) {
        void *mem = aligned_alloc(64, (need + 64) & ~UINT64_C(63));
        st = pith_graph_read((struct graph_bytes){blob.data, n, flags}, NULL,
                             (struct graph_room){mem, need}, &g, &shapes, err);
        free(mem);
    }
    guard_free(&blob);
    return st;
}

/* A compact file of a graph, tables (none where n_tables is 0) and data. */
static inline void make_parts(struct made *f, const char *graph, size_t n, const char *tables,
                              size_t n_tables, const char *data, size_t n_data)
{
    const uint8_t head[] = {0xb9, 0x53, 0x01, (uint8_t)n}, table[] = {0x02, (uint8_t)n_tables};
    f->bytes = 0;
    assert_true(n < 128 && n_tables < 128);
    put(f, head, sizeof head);
    if (n_tables)
        put(f, table, sizeof table);
    put(f, "\x7f", 1);
    put(f, graph, n);
    put(f, tables, n_tables);
    put(f, data, n_data);
    seal_compact(f);
}

static inline enum pith_status read_parts(const char *graph, size_t n, const char *tables,
                                          size_t n_tables, const char *data, size_t n_data,
                                          struct pith_error *err)
{
    static struct made f;
    make_parts(&f, graph, n, tables, n_tables, data, n_data);
    return read_file(f.data, f.bytes, 0, err);
}

/* The same without tables and data. */
static inline enum pith_status read_graph(const char *graph, size_t n, struct pith_error *err)
{
    return read_parts(graph, n, "", 0, "", 0, err);
}

/* Bytes written as a string, and how many. */
#define GRAPH(bytes) bytes, sizeof bytes - 1

#endif
