/* SPDX-License-Identifier: MIT */
/* pack.h - from a model to the bytes of a file, in three steps that can be tested apart:
 *
 *     struct pith_model --pack_weight.c--> struct weight with its streams encoded
 *                       --pack_model.c---> struct graph, exactly what a reader gets back
 *     struct graph      --pack_graph.c---> graph, tables and data chunks
 *     struct pith_model --pack_text.c----> names, meta, history
 *     struct pith_model --pack_stats.c---> what calibrate saw and chose
 *     chunks            --pack_container.c-> the file
 *
 * The second half takes what runtime/validate/graph_read.c gives: writing a graph that was read
 * gives the same bytes again. */
#ifndef PACK_H
#define PACK_H

#include "base/byte_out.h"
#include "validate/format.h"
#include "pack_pieces.h"
#include "pith_model.h"

/* Nanoseconds to decode an adaptive element, as those of load_estimate.c: SqueezeNet's file of the
 * sweep. Pruned tensors take less. */
#define ADAPTIVE_NS 370.0
#define PITH_FEWEST_PLANES 4096u /* f32 of a tensor, to be coded byte by byte as a rule */

struct pack_file {
    bool compact;
    struct byte_out chunk[CHUNK_KINDS]; /* empty: absent; that of the data chunk is not used */
    struct byte_out head;               /* of the container */
    struct pack_pieces data;            /* the data chunk; borrows the graph's streams */
    struct pack_pieces whole;           /* made from all of them by pith_pack_container_pieces */
};

void pith_pack_clear(struct pack_file *f);

/* GRPH, HUFF, DATA from g; f->compact is obeyed. PITH_ERR_MEMORY. */
enum pith_status pith_pack_graph(const struct graph *g, struct pack_file *f);

/* f->whole. PITH_ERR_MEMORY. */
enum pith_status pith_pack_container_pieces(struct pack_file *f);
/* The same as one run of bytes. */
enum pith_status pith_pack_container(struct pack_file *f, struct pith_buffer *file);

/* One constant on its way into the file. */
struct pack_const {
    const struct pith_value *value;
    const struct pith_const *content; /* what is written of it: the value's, or made for the file */
    enum pith_code code;              /* the value's; PITH_CODE_PLAIN: nothing is coded */
    struct weight w;
    struct byte_out codebook, support, index; /* what w's streams point to, when made here */
    struct byte_out made;
    bool by_classes; /* may be coded so */
};

/* Support and indices are one stream. */
static inline bool pith_pack_is_streamed(const struct pack_const *c)
{
    return (c->w.code == CODE_ADAPTIVE && c->w.grid == GRID_CODEBOOK) || c->w.code == CODE_CLASSES;
}

/* Streams and tables of all constants. tables: one run of bytes each, n of them. */
struct pack_tables {
    struct byte_out *table;
    uint32_t n;
};
enum pith_status pith_pack_weights(struct pack_const *consts, uint32_t n,
                                   struct pack_tables *tables, struct pith_error *err);
/* c->content of c->value: without a mask, levels or a 0 that an adaptive stream is shorter without.
 */
enum pith_status pith_pack_content(struct pack_const *c, struct pith_error *err);
/* A codebook of its own for c, of value and nnz, where that makes integers smaller. */
enum pith_status pith_pack_integers(struct pack_const *c, struct pith_error *err);
/* c as an adaptive stream if that takes less than other_bytes; else it stays as it is. */
enum pith_status pith_pack_adaptive(struct pack_const *c, uint64_t other_bytes,
                                    struct pith_error *err);
/* w->trellis of c in the support and code of w. PITH_ERR_ARGUMENT: its integers cannot be coded in
 * one stream with where they are; PITH_ERR_MEMORY. */
enum pith_status pith_pack_find_trellis(const struct pack_const *c, struct weight *w);
/* Streams of all, where those are shorter than other codes. */
enum pith_status pith_pack_streams(struct pack_const *consts, uint32_t n,
                                   struct pack_tables *tables, struct pith_error *err);
/* Those coded by classes, if they are large together; others stay as they are. */
enum pith_status pith_pack_classes(struct pack_const *consts, uint32_t n,
                                   struct pack_tables *tables, struct pith_error *err);
/* Bytes of the support and of the indices or elements of c in codes other than streams. */
enum pith_status pith_pack_other_bytes(struct pack_const *c, uint64_t *bytes,
                                       struct pith_error *err);
/* How a model says that w is coded. */
enum pith_code pith_code_of(const struct weight *w);
/* Those of a codebook of w, with the 0 that it was left out of, as the model has them; of more than
 * MAX_CENTROIDS in all groups, which are not looked at, those in the file. */
uint32_t pith_whole_centroids(const struct weight *w);
void pith_pack_weights_clear(struct pack_const *consts, uint32_t n, struct pack_tables *tables);

/* number: file number of each model value, or PITH_VALUE_NONE; order: model value of each file
 * number. */
struct pack_numbers {
    uint32_t *number;
    uint32_t *order;
    uint32_t n; /* values in the file */
};

/* Chunks of text; messages name what is wrong. */
enum pith_status pith_pack_names(const struct pith_model *m, const struct pack_numbers *numbers,
                                 struct byte_out *o, struct pith_error *err);
enum pith_status pith_pack_meta(const struct pith_model *m, struct byte_out *o,
                                struct pith_error *err);
enum pith_status pith_pack_history(const struct pith_model *m, struct byte_out *o,
                                   struct pith_error *err);
enum pith_status pith_pack_stats(const struct pith_model *m, const struct pack_numbers *numbers,
                                 struct byte_out *o, struct pith_error *err);

#endif
