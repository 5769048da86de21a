/* SPDX-License-Identifier: MIT */
/* format.h - the numbers of docs/format.md, and how the pieces of the reader fit together.
 *
 *     bytes --container.c--> struct image: where each chunk lies, checksums tested
 *           --graph_read.c-> struct graph: what graph_parse.c, weight_*.c read, streams cut out
 *           --validate.c---> accepted: shapes inferred, names unique, text well-formed
 *
 * Writers include this file too; there is no second copy of any constant. */
#ifndef PITH_FORMAT_H
#define PITH_FORMAT_H

#include "validate/container.h"

#define FORMAT_VERSION 3u

/* A tag as it stands in err->chunk: its four characters, first one lowest. Lower case first
 * letter: ancillary, a reader that does not know it may go on without. */
#define FORMAT_TAG(a, b, c, d)                                                                     \
    ((uint32_t)(a) | (uint32_t)(b) << 8 | (uint32_t)(c) << 16 | (uint32_t)(d) << 24)
#define TAG_ANCILLARY 0x20u /* bit of the first character */

enum chunk_kind {
    CHUNK_DATA,
    CHUNK_GRAPH,
    CHUNK_TABLES,
    CHUNK_HISTORY,
    CHUNK_META,
    CHUNK_NAMES,
    CHUNK_STATS,
    CHUNK_KINDS
};

#define TAG_DATA FORMAT_TAG('D', 'A', 'T', 'A')
#define TAG_GRAPH FORMAT_TAG('G', 'R', 'P', 'H')
#define TAG_TABLES FORMAT_TAG('H', 'U', 'F', 'F')
#define TAG_HISTORY FORMAT_TAG('h', 'i', 's', 't')
#define TAG_META FORMAT_TAG('m', 'e', 't', 'a')
#define TAG_NAMES FORMAT_TAG('n', 'a', 'm', 'e')
#define TAG_STATS FORMAT_TAG('s', 't', 'a', 't')

/* Full header. */
#define FULL_MAGIC "\x89PTH\r\n\x1a\n"
#define FULL_MAGIC_BYTES 8u
#define FULL_VERSION_AT 8u
#define FULL_COUNT_AT 12u
#define FULL_LENGTH_AT 16u
#define FULL_TABLE_AT 24u
#define FULL_ENTRY_BYTES 24u /* tag 4, crc 4, offset 8, length 8 */
#define FULL_CRC_BYTES 4u
#define FULL_MAX_CHUNKS 64u
/* Of the data chunk, and in it of plain elements of as many bytes or more. */
#define FULL_ALIGN 64u

/* Compact header: 2 bytes of magic (the version in the low half of the second), chunk table,
 * chunks, one CRC32C. */
#define COMPACT_MAGIC_0 0xb9u
#define COMPACT_MAGIC_1 0x50u
#define COMPACT_CRC_BYTES 4u
#define COMPACT_ANCILLARY 0x40u /* bit of the tag byte */
#define COMPACT_DATA 0x7fu      /* closes the table; its length is what is left */

#define MAX_INPUTS 65536u
#define MAX_WEIGHTS 65536u
#define MAX_NODES 65536u
#define MAX_VALUES 262144u
#define MAX_OP 65535u
#define MAX_NAME_BYTES 255u
#define MAX_META 1024u
#define MAX_HISTORY 65536u
#define MAX_TEXT_BYTES (UINT64_C(1) << 24)
#define MAX_TABLES (2u * MAX_WEIGHTS)
#define MAX_CENTROIDS 256u
#define MAX_TABLE_BYTES 4096u

/* Graph chunk, first varint: (n_inputs - 1) << 2 | these. */
#define GRAPH_BATCH_OPEN 1u
/* an output list follows; else the last node's first output is the one */
#define GRAPH_OUTPUTS 2u

/* Input byte. */
#define INPUT_RANK 0x0fu
#define INPUT_TYPE 0x10u   /* a type byte follows; else f32 */
#define INPUT_SQUARE 0x20u /* the last two stored dims are equal and stored once */

/* Shape codes, in bits 0-2 of most heads of tensors. */
#define SHAPE_PREV_FIRST 0u /* [dim 0 of the previous tensor] */
#define SHAPE_RANK4_SQUARE 5u
#define SHAPE_PREV 6u
#define SHAPE_RANK 7u
/* Head byte of a tensor. Below HEAD_TYPE: a common one, shape code in bits 0-2, support *
 * COMMON_KINDS + kind in bits 3-6. */
#define COMMON_KINDS 5u   /* plain, codebook, coded codebook, grouped, coded grouped */
#define HEAD_TYPE 0x78u   /* prefix: a type byte and the real head follow */
#define HEAD_VECTOR 0x79u /* adaptive floats, [dim 0 of the previous tensor] */
/* Prefix: a common head of adaptive floats or of several codebooks follows. */
#define HEAD_ADAPTIVE 0x7au
/* Prefix: a common head follows, whose coded indices are rANS-coded, whose plain indices are
 * coded by classes, or whose dense f32 elements are byte planes. */
#define HEAD_OTHER_CODE 0x7cu
/* Prefix: the head of an adaptive tensor with codebooks follows, whose levels of a trellis are
 * coded: of 8 states, of 16. */
#define HEAD_TRELLIS_8 0x7du
#define HEAD_TRELLIS_16 0x7eu
/* Prefix behind the type: the tensor is f32, integers of that type times scales; a common head of
 * plain elements follows. */
#define HEAD_SCALED 0x7fu
/* The varint behind the shape. */
#define SCALES_ZERO_POINTS 1u /* bit 0: there are zero points */
#define SCALES_MOST                                                                                \
    (2u * (1u + 2u * PITH_MAX_RANK) - 1u) /* 2 * (1 + 2 * axis + blocked) or 2 * 0 */
#define HEAD_SAME_CENTROIDS 0x80u         /* bit of a common head */
/* What would be common heads with the same centroids, but no codebook, are those of adaptive
 * tensors with one codebook: these bits times COMMON_KINDS in bits 3-6. */
#define FORM_SAME_CENTROIDS 1u
#define FORM_SPARSE 2u

/* The word before a list's entries: it is that of the list written before in this node. */
#define LIST_AGAIN 0u

#define TABLE_FAR 15u /* nibble: distance follows as a varint */

/* Node byte: operator in bits 0-5. */
#define NODE_OP 0x3fu /* this value: a varint with the operator - 63 follows */
#define NODE_ATTR 0x40u
#define NODE_WIRED 0x80u

/* Meta keys with a number; others are written out. */
#define META_FIRST_LENGTH 16u               /* key field v >= 16: v - 15 bytes of key follow */
const char *pith_meta_key(uint32_t number); /* NULL: none has that number */

struct image {
    const uint8_t *blob;
    size_t bytes;
    bool compact;
    uint32_t unknown;                 /* tag of the first ancillary chunk not known here; 0: none */
    struct stream chunk[CHUNK_KINDS]; /* bytes NULL: absent */
    uint64_t header_bytes;            /* up to the first chunk, checksums left out */
};

/* Tag of a kind for error messages. */
uint32_t pith_chunk_tag(enum chunk_kind kind);
/* Byte of the compact chunk table. */
uint8_t pith_chunk_compact_tag(enum chunk_kind kind);

/* Header, chunk table, padding and (unless PITH_FLAG_NO_CHECKSUM) checksums. */
enum pith_status pith_image_open(const void *blob, size_t bytes, uint32_t flags, struct image *im,
                                 struct pith_error *err);

/* Says where; returns status. err may be NULL. */
enum pith_status pith_fail(struct pith_error *err, enum pith_status status, uint32_t chunk,
                           uint64_t offset);

/* ---- the meaning of single fields, shared with the packer ---------------------------------- */

/* The common head of a tensor, behind its prefix if it has one. */
uint8_t pith_weight_common_head(const struct weight *w, uint32_t shape_code, bool same_centroids);
/* The head of an adaptive tensor; HEAD_ADAPTIVE: a common head follows. */
uint8_t pith_weight_adaptive_head(const struct weight *w, uint32_t shape_code, bool same_centroids);
/* The one shape code allowed for s behind prev (NULL: first tensor). */
uint32_t pith_shape_code(const struct shape *s, const struct shape *prev);
/* Inputs a node has when its wiring is not written out; 0: it must be. */
uint32_t pith_default_inputs(const struct op_info *info);
/* Whether the value of a field is the default. */
bool pith_field_is_default(const struct attr_field *field, const int32_t *attr);
/* Set in the first byte of a list: all of 2 or more entries are equal and stored once. */
bool pith_list_is_even(const int32_t *list);
bool pith_list_equal(const int32_t *a, const int32_t *b);

/* What the names chunk names, in order: inputs, tensors, nodes, outputs of nodes. */
struct names {
    uint32_t n_values, n_nodes;
    struct graph_name *value; /* [n_values] */
    struct graph_name *node;  /* [n_nodes] */
    bool checked;             /* before: they are read alone */
};

/* Checks of validate.c; order: [n_values] scratch. */
enum pith_status pith_validate_names(const struct image *im, const struct names *names,
                                     uint32_t *order, struct pith_error *err);
enum pith_status pith_validate_texts(const struct image *im, struct pith_error *err);
enum pith_status pith_validate_stats(const struct image *im, uint32_t n_values,
                                     struct pith_error *err);
/* Types and shapes of a node's outputs, in values. in, out: room for its inputs and outputs. */
enum pith_status pith_validate_node(const struct graph_node *node, struct tview *values,
                                    const struct tview **in, struct tview **out);
bool pith_utf8_ok(const uint8_t *p, size_t bytes);

#endif
