/* SPDX-License-Identifier: MIT */
/* walk_piece.h - nodes of a network that a walk (layer_walk.h) runs on all samples before it goes
 * on: a model of its own, whose inputs are what it reads of earlier pieces. */
#ifndef WALK_PIECE_H
#define WALK_PIECE_H

#include "layer_walk.h"

struct kept_value {
    uint8_t *data; /* owns: [n_samples, bytes]; NULL: not made yet, or read for the last time */
    uint64_t bytes;
    uint32_t last; /* the node that reads it last; n_nodes: an output */
};

#define NO_LAYER UINT32_MAX

struct walk_state {
    const struct layer_walk *walk;
    struct walk_state *original; /* the same walk over the float network, or NULL */
    uint32_t done;               /* nodes of it that were run */
    const struct pith_model *m;
    struct kept_value *kept;    /* [n_values] */
    uint32_t *number;           /* [n_values] in the piece, or PITH_VALUE_NONE */
    uint32_t *layer_of;         /* [n_nodes] the layer whose product it is, or NO_LAYER */
    uint32_t n_samples, n_held; /* all; of these, the last so many are held out */
    struct pith_error *err;
};

/* A piece: nodes [first, last) of the network, as a model over arrays of its own. */
struct piece {
    uint32_t first, last;
    struct pith_model m;
    uint32_t *origin; /* [m.n_values] number in the network */
};

/* A value of a piece, each time it is made. Where that is more than memory should hold, every
 * second is forgotten, again and again, which leaves some of all iterations and samples. */
struct recorder {
    const struct piece *piece;
    uint32_t value; /* in the piece */
    uint64_t bytes; /* of one */
    uint8_t *data;  /* owns: [n, bytes] */
    uint64_t n, room;
    uint64_t every, seen; /* one in `every` is kept */
    bool no_memory;
};

uint64_t pith_value_bytes(const struct pith_value *v);

/* Runs nodes [p->first, p->last) on all samples; what is read behind them is kept, and what nobody
 * reads any more is forgotten. */
enum pith_status pith_run_piece(struct walk_state *s, struct piece *p);

/* Runs them for the sake of one value, which r keeps; nothing else changes. */
enum pith_status pith_record_piece(struct walk_state *s, struct piece *p, uint32_t value,
                                   struct recorder *r);

#endif
