/* SPDX-License-Identifier: MIT */
/* pith_goal_search.h - the smallest file within a goal, over whatever makes files: one number for
 * the whole network, found in a few calls.
 *
 * An encoder makes a file of a quality: a step, a multiplier lambda. Larger is smaller and worse,
 * to first order by a power; so the search goes along logarithms, by a line through all that was
 * measured, inside the bracket. Measurements on few samples have errors, so what is known of powers
 * beforehand counts as well, and each further miss is aimed lower. */
#ifndef PITH_GOAL_SEARCH_H
#define PITH_GOAL_SEARCH_H

#include "pith_goal_loss.h"

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

#define PITH_GOAL_CALLS 8u   /* of encoders, in a search; those of a last resort come on top */
#define PITH_GOAL_POINTS 24u /* that a search can keep */
#define PITH_GOAL_COSTLY 3u  /* layers listed, in which a file loses most */

/* A layer that much is lost in. */
struct pith_goal_cost {
    char layer[48]; /* its name, cut to fit; "": none */
    double share;   /* of what all layers lose together, as the encoder reckons it */
};

struct pith_goal_encoder {
    const char *name;               /* a word for messages */
    double finest, first, coarsest; /* of quality; > 0, ascending */
    uint32_t most;                  /* calls of this one; 0: what is left */
    bool instead;                   /* only where nothing before it is within the goal */
    bool last_resort;               /* its calls, `most` of them, do not count as others do */
    bool early;                     /* made first, so that there is a file however short the time */
    /* *file: the caller's. PITH_ERR_UNSUPPORTED or _ARGUMENT: this network, or its data, are not
     * for this encoder, and the search goes on with the next; err has the reason. */
    enum pith_status (*encode)(void *user, double quality, struct pith_buffer *file,
                               struct pith_error *err);
    /* Of the file made last, the most first. May be NULL: unknown. */
    void (*costly)(void *user, struct pith_goal_cost cost[PITH_GOAL_COSTLY]);
    void *user;
};

/* A file that was made. */
struct pith_goal_point {
    const char *encoder;
    double quality;
    bool early;          /* its encoder is */
    uint64_t bytes, ram; /* ram: 0 where nothing limits it */
    double latency;      /* seconds; likewise */
    struct pith_goal_loss loss;
    double excess; /* of the loss (pith_goal_excess), with one standard error */
    bool small;    /* sizes and latency are within their limits */
    struct pith_goal_cost costly[PITH_GOAL_COSTLY];
    struct pith_buffer file; /* owns */
};

/* Whether it is within every limit: of loss by one standard error, of sizes, of latency. */
bool pith_goal_fits(const struct pith_goal_point *point);
/* Likewise, the loss as measured: what a search that fits nothing ends with. */
bool pith_goal_meets(const struct pith_goal *goal, const struct pith_goal_point *point);

struct pith_goal_search {
    uint32_t size_bytes;
    const struct pith_goal *goal;
    const struct pith_goal_encoder *encoder; /* [n], tried in this order; borrowed */
    uint32_t n;
    /* What point->file loses and, where they are limited, the bytes of its plan and its latency:
     * fills loss, ram, latency. */
    enum pith_status (*measure)(void *user, struct pith_goal_point *point, struct pith_error *err);
    void *user;
    /* May be NULL. started: call number `call` begins. made: with a new point; best: it is better
     * than those before. */
    void (*started)(void *watcher, const struct pith_goal_encoder *e, uint32_t call);
    void (*made)(void *watcher, const struct pith_goal_point *point, bool best);
    bool (*stop)(void *watcher); /* called before each file is made: true ends the search */
    /* Whether the file of point->encoder and point->quality exists from an earlier search. If so,
     * fills point->file (the search owns it) and point->costly; the search measures the file again.
     * Called before `stop`. May be NULL. */
    bool (*recall)(void *watcher, struct pith_goal_point *point);
    void *watcher;
};

struct pith_goal_found {
    struct pith_goal_point point[PITH_GOAL_POINTS]; /* in the order they were made */
    uint32_t n, best; /* best: in point; the smallest within the goal, else what misses least */
    bool met, stopped;
};

/* Better: within the goal and smaller; else within the limits on loss and, where latency is
 * limited, faster, else smaller; else with less loss. Where nothing limits the loss: small enough
 * and with less loss. PITH_ERR_UNSUPPORTED, _ARGUMENT: no encoder took the network (the last one's
 * reason); PITH_ERR_STOPPED: before there was a point; and what the callbacks return. On failure
 * nothing is found, but for what `made` saw.
 */
enum pith_status pith_goal_search(const struct pith_goal_search *search,
                                  struct pith_goal_found *found, struct pith_error *err);
/* One more file, whatever the search would do next: found (of a search, or of zeros) grows by it,
 * and best and met are as they then are. Nothing changes on failure; PITH_ERR_ARGUMENT: there are
 * PITH_GOAL_POINTS. */
enum pith_status pith_goal_search_try(const struct pith_goal_search *search,
                                      const struct pith_goal_encoder *encoder, double quality,
                                      struct pith_goal_found *found, struct pith_error *err);
void pith_goal_found_free(struct pith_goal_found *found); /* accepts zeros */

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
#endif
