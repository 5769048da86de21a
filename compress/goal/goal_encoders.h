/* SPDX-License-Identifier: MIT */
/* goal_encoders.h - the ways there are to make a smaller file of a network, each with one number.
 */
#ifndef GOAL_ENCODERS_H
#define GOAL_ENCODERS_H

#include "pith_goal_compress.h"

#define GOAL_ENCODERS 7u

struct goal_encoders;

/* An encoder that changes a copy of the network and packs it. */
struct copy_encoder {
    struct goal_encoders *all;
    enum pith_status (*change)(struct pith_model *copy, const struct goal_encoders *e,
                               double quality, struct pith_error *err);
    bool fast_coder;
};

struct goal_encoders {
    const struct pith_model *m; /* normalizations folded */
    struct pith_goal_eval *eval;
    const struct pith_goal *goal;
    const struct pith_goal_compress_opts *opts;
    struct pith_goal_encoder list[GOAL_ENCODERS]; /* in the order they are to be tried */
    struct copy_encoder copying[GOAL_ENCODERS];   /* the user of list[i], but for the sweep */
    uint32_t n;
    struct sweep_encoder *sweep; /* owns; NULL: none is needed */
    /* As of struct pith_goal_progress. May be NULL. */
    void (*progress)(void *watcher, const char *part, uint64_t done, uint64_t all);
    void *watcher;
};

/* The list. PITH_ERR_MEMORY. */
enum pith_status pith_goal_encoders_fill(struct goal_encoders *e, struct pith_error *err);
void pith_goal_encoders_free(struct goal_encoders *e); /* accepts zeros */
/* The file of a model, coded as the options say. */
enum pith_status pith_goal_pack(struct pith_model *m, const struct goal_encoders *e,
                                struct pith_buffer *file, struct pith_error *err);
/* The only data set there is; NULL: several inputs, or states, which cannot be gone through layer
 * by layer. */
struct pith_data *pith_goal_only_data(const struct goal_encoders *e);

#endif
