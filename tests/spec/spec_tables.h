/* SPDX-License-Identifier: MIT */
/* spec_tables.h - the list of tables in HUFF and references to them: F6, its second half. Tables of
 * supports have a head of their own: S5. */
#ifndef SPEC_TABLES_H
#define SPEC_TABLES_H

#include "spec_huffman.h"
#include "spec_rans.h"

enum table_kind { FOR_INDICES, FOR_SUPPORT, FOR_RANS, FOR_CLASSES };

struct table {
    enum table_kind kind;
    struct rans rans;
    struct span model; /* of classes */
    bool patterns;
    uint32_t d, m; /* relative index: direct_bits, mantissa_bits */
    uint32_t w;    /* patterns: elements a symbol */
    struct huffman h;
};

/* The tables that something referred to so far, in the order of the list. It grows, and may move,
 * with each reference: tensors keep a number. */
extern struct table *tables;

/* HUFF without those tables. */
extern struct span huff_chunk;

/* The table's number; r4: the four bits of the reference in the tensor. */
uint64_t table_reference(struct span *s, uint32_t r4, enum table_kind kind);
uint64_t read_gap(struct bits *b, const struct table *t, uint32_t symbol);

#endif
