/* SPDX-License-Identifier: MIT */
/* spec_tables.c - the list of tables (F6), and what a support table has before its Huffman table
 * (S5). */
#include "spec_tables.h"
#include <stdlib.h>
#include <string.h>

struct table *tables;
static uint64_t n_tables, tables_room;
struct span huff_chunk;

static uint32_t exponent(const struct table *t, uint32_t symbol)
{
    return t->d + ((symbol - (1u << t->d)) >> t->m);
}

static void read_support_head(struct bits *b, struct table *t)
{
    t->patterns = field(b, 1) == 1;
    if (t->patterns) {
        t->w = field(b, 1) == 1 ? 8 : 4;
    } else {
        t->d = field(b, 3);
        t->m = field(b, 2);
        must(t->m <= t->d, b->at / 8, "mantissa_bits must be at most direct_bits");
    }
}

static void check_support_symbols(const struct table *t, uint64_t at)
{
    for (uint32_t s = 0; s < 256; s++) {
        if (t->h.present[s] && t->patterns) {
            must(t->w == 8 || s < 16, at, "a pattern of 4 is below 16");
        } else if (t->h.present[s] && s >= 1u << t->d) {
            must(exponent(t, s) <= 31, at, "a gap's exponent must be at most 31");
        }
    }
}

static uint64_t new_table(enum table_kind kind)
{
    if (n_tables == tables_room) {
        tables_room = tables_room * 2 + 16;
        tables = realloc(tables, tables_room * sizeof *tables);
        if (tables == NULL) {
            refuse("limit", 0, "out of memory");
        }
    }
    struct table *t = &tables[n_tables];
    memset(t, 0, sizeof *t);
    must(left(&huff_chunk) > 0, huff_chunk.at, "a tensor needs a table that is not there");
    struct span s = cut(&huff_chunk, varint_in(&huff_chunk, 1, 4096, "a table has 1..4096 bytes"));
    struct bits b = bits_of(s);
    t->kind = kind;
    if (kind == FOR_CLASSES) {
        t->model = s;
        return n_tables++;
    }
    if (kind == FOR_SUPPORT) {
        read_support_head(&b, t);
    }
    if (kind == FOR_RANS) {
        read_rans(&b, &t->rans);
    } else {
        read_huffman(&b, &t->h);
    }
    padding(&b);
    if (kind == FOR_SUPPORT) {
        check_support_symbols(t, s.at);
    }
    return n_tables++;
}

uint64_t table_reference(struct span *s, uint32_t r4, enum table_kind kind)
{
    uint64_t at = s->at, r = r4;
    if (r == 0) {
        return new_table(kind);
    }
    if (r == 15) {
        r = varint_in(s, 15, UINT64_MAX, "a long table reference is 15 or more");
    }
    must(r <= n_tables, at, "a reference to a table that nothing referred to");
    must(tables[n_tables - r].kind == kind, at, "a table of the other kind");
    return n_tables - r;
}

/* S5: the gap of a symbol and its extra bits. */
uint64_t read_gap(struct bits *b, const struct table *t, uint32_t symbol)
{
    if (symbol < 1u << t->d) {
        return symbol;
    }
    uint32_t e = exponent(t, symbol);
    uint64_t f = (symbol - (1u << t->d)) & ((1u << t->m) - 1);
    return (((UINT64_C(1) << t->m) + f) << (e - t->m)) + field(b, e - t->m);
}
