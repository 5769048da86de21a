/* SPDX-License-Identifier: MIT */
/* container.h - from bytes to a validated graph (docs/format.md).
 *
 * The two calls below are the only gate between a file and the kernels: after pith_graph_read
 * returned PITH_OK every number in *g is in range, every shape follows from the shape rules, and
 * every stream lies inside the image. What entropy-coded streams contain is checked by their
 * decoders while they are expanded (once, when a plan is built). */
#ifndef PITH_CONTAINER_H
#define PITH_CONTAINER_H

#include "kernels/crc32c.h"
#include "validate/graph.h"

struct pith_opts;

/* What a graph consists of, before it is read. */
struct graph_counts {
    uint64_t bytes, kept_bytes; /* pith_graph_need; up to its weights */
    uint64_t n_refs;            /* inputs of all nodes */
    uint64_t n_grids;           /* inputs and outputs of nodes that may run on bytes as chains do */
    uint64_t lowered_bytes;     /* of all nodes' args->lowered */
    uint32_t n_values, n_nodes, n_weights;
    uint32_t n_changing; /* nodes that do no more than change a grid */
    uint32_t n_weighted; /* nodes that may read an input in file form */
    uint32_t n_kept;     /* at most so many weights are coded, or read so */
};

static inline void graph_count_node(struct graph_counts *c, const struct op_info *info,
                                    uint32_t n_in)
{
    const bool changes = (info->traits.flags & TRAIT_GRID) != 0;
    c->n_refs += n_in;
    c->n_changing += changes;
    c->n_weighted += (info->flags & (OP_WEIGHT | OP_TABLE)) != 0;
    c->n_grids += changes || info->lowered_most ? 0 : n_in + 1;
    c->lowered_bytes += (info->lowered_most + 7u) & ~7u;
}

enum pith_status pith_graph_count(const void *blob, size_t bytes, uint32_t flags,
                                  struct graph_counts *counts, struct pith_error *err);

/* Bytes of memory (64-byte aligned) that pith_graph_read will use for this image. Checks the
 * header, the chunk table and, unless PITH_FLAG_NO_CHECKSUM, the checksums. */
enum pith_status pith_graph_need(const void *blob, size_t bytes, uint32_t flags,
                                 uint64_t *mem_bytes, struct pith_error *err);

/* Of flags, beside those of struct pith_opts: the same bytes were accepted before. Texts, which no
 * option changes, are not checked again. */
#define GRAPH_AGAIN (1u << 31)

struct graph_bytes {
    const void *blob;
    size_t bytes;
    uint32_t flags;
};
struct graph_room {
    void *mem; /* 64-byte aligned */
    uint64_t bytes;
};

/* Parses and validates everything. *g and all it points to live in room.mem (names and streams in
 * the blob). Of opts (NULL: none) it takes batch, which replaces dim 0 of inputs whose batch is
 * open (0: 1), and changes. value_shapes: shapes and types of all g->n_values values, in room.mem.
 * PITH_ERR_SPACE: room.bytes is below g->bytes, which is set then, too. */
enum pith_status pith_graph_read(struct graph_bytes file, const struct pith_opts *opts,
                                 struct graph_room room, struct graph *g,
                                 struct tview **value_shapes, struct pith_error *err);

/* One chunk's content; PITH_ERR_ARGUMENT when the image has none with this tag. The image was
 * accepted before. */
enum pith_status pith_chunk_find(const void *blob, size_t bytes, uint32_t tag,
                                 struct stream *chunk);

#endif
