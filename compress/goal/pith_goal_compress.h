/* SPDX-License-Identifier: MIT */
/* pith_goal_compress.h - the smallest file within a goal, from nothing but a network and samples.
 *
 *     struct pith_goal goal;
 *     pith_goal_init(&goal);
 *     goal.max_drop = 0.005;
 *     struct pith_goal_compress_opts o = {.size_bytes = sizeof o, .feed = &feed, .seed = 1};
 *     struct pith_goal_result r;
 *     if (!pith_goal_compress(model, &goal, &o, &r, &err) && r.met)
 *         write(r.found.point[r.found.best].file) ...
 *     pith_goal_result_free(&r); */
#ifndef PITH_GOAL_COMPRESS_H
#define PITH_GOAL_COMPRESS_H

#include "pith_goal_search.h"
#include "pith_model.h"

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

struct pith_goal_progress {
    const char *part; /* "baseline", "sensitivity", "layer", "encode", "epoch", "measure", "test" */
    uint64_t done, all;         /* of the part: samples, layers, epochs; all 0: unknown */
    uint32_t file;              /* that is being made or measured, from 1; 0: not yet */
    const char *encoder;        /* of it; NULL: not yet */
    double left_low, left_high; /* seconds, from what the files so far took; NAN: unknown */
};

/* Samples of a search, by what they are used for. */
struct pith_goal_samples {
    uint64_t calibrate, select, test; /* steps, of streams */
    bool shared;                      /* those that select test, too */
    bool labels;                      /* and a drop is measured by labels */
};

struct pith_goal_compress_opts {
    uint32_t size_bytes;
    const struct pith_feed *feed; /* what the network is fed; borrowed. Needed */
    uint64_t seed;                /* of the split, and of gradients that are drawn */
    uint32_t threads, cpu_mask;   /* as pith_engine_opts */
    bool for_speed;               /* a full header, Huffman codes; else the smallest file */
    bool estimate;                /* files of codebooks alone, which take a second or so */
    const char *checkpoint;       /* file that what was made is kept in; borrowed; NULL: none */
    bool resume;                  /* with what the checkpoint has, if it is there; else anew */
    const char
        *output; /* where the result of an earlier search was written; borrowed; may be NULL */
    void (*progress)(void *user, const struct pith_goal_progress *p); /* may be NULL */
    /* As of struct pith_goal_search; may be NULL. */
    void (*made)(void *user, const struct pith_goal_point *point, bool best);
    /* Something that is no failure, in a line; may be NULL. */
    void (*warn)(void *user, const char *text);
    bool (*stop)(void *user); /* called after each weight and sample */
    /* Before the first file; may be NULL. */
    void (*begun)(void *user, const struct pith_goal_samples *samples);
    void *user;
    /* [outputs of the network] that the loss of each is multiplied with: with 10 it needs 10 dB
     * more, with 0 it is ignored. Borrowed; NULL: 1. */
    const double *output_weight;
};

struct pith_goal_result {
    struct pith_goal_found found;
    struct pith_goal_loss loss; /* of the best, on the test samples */
    bool shared;                /* they are those that chose */
    bool gated;                 /* they have turned a smaller file down, and so chose as well */
    bool met;
    bool done; /* resumed, and pith_goal_compress_is_done: nothing else is filled but seconds */
    double seconds; /* with those before a break */
    bool timed_out; /* the time given ended the search */
};

/* m is changed in nothing but normalizations that fold. Where the goal is missed, met is false and
 * the best is what misses least. Stopped: with what there is, as found.stopped says.
 * PITH_ERR_ARGUMENT: a goal that limits nothing, or whose pattern does not fit the network; too
 * few samples; a checkpoint of another search (PITH_ERR_VERSION,
 * _CORRUPT: that cannot be read; _IO: that cannot be written); and what pith_goal_eval_new and
 * pith_goal_search return. */
enum pith_status pith_goal_compress(struct pith_model *m, const struct pith_goal *goal,
                                    const struct pith_goal_compress_opts *opts,
                                    struct pith_goal_result *result, struct pith_error *err);
void pith_goal_result_free(struct pith_goal_result *result);
/* After the result was written: the checkpoint keeps its checksum instead of the search's files.
 * PITH_ERR_CORRUPT, _VERSION, _IO, _MEMORY. */
enum pith_status pith_goal_compress_finish(const char *checkpoint, const struct pith_buffer *result,
                                           struct pith_error *err);
/* Whether the checkpoint is that of a finished search and the file at path is its result. */
bool pith_goal_compress_is_done(const char *checkpoint, const char *path);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
#endif
