/* SPDX-License-Identifier: MIT */
/* value_observer.h - the statistics of one value while they grow. */
#ifndef VALUE_OBSERVER_H
#define VALUE_OBSERVER_H

#include "histogram_window.h"
#include "run_sums.h"

enum observed_detail {
    OBSERVE_NOTHING = 0,
    OBSERVE_SUMS = 1, /* no histogram */
    OBSERVE_HISTOGRAM = 2
};

struct value_observer {
    enum observed_detail detail;
    float min, max;              /* n > 0 */
    struct pith_value_stats sum; /* but its histogram; owns channel */
    struct histogram_window window;
    uint64_t *count;       /* owns: of the window */
    struct run_sums *part; /* owns: [n_channels], or of pieces; of one sample */
    size_t outer, inner;   /* numbers lie [outer, n_channels, inner] */
    run_sums_fn *run_sums;
    bool has_nan;
    bool lost; /* something was infinite, or observed without statistics: only extremes and n are
                  kept */
};

/* For a value of v's shape, with channels along `axis`; axis PITH_MAX_RANK: without. Owned memory
 * is released by clear, also after a failure. PITH_ERR_MEMORY. */
enum pith_status pith_observer_start(struct value_observer *o, const struct pith_value *v,
                                     enum observed_detail detail, uint32_t axis);
void pith_observer_clear(struct value_observer *o);
/* Takes the fastest loops that cpu_mask (as pith_opts) allows. Results do not depend on it. */
void pith_observer_use_cpu(struct value_observer *o, uint32_t cpu_mask);

/* One sample more: x, [elements of the value], at least 1. A sample with a NaN is only noted. The
 * result does not depend on the team. */
/* The shape of the next sample, where it may be another; the channels stay. */
void pith_observer_shape(struct value_observer *o, const uint32_t *dim, uint32_t rank);
void pith_observer_see(struct value_observer *o, const float *x, size_t n,
                       const struct count_team *team);
/* Adds what another run saw of the same value: v's extremes and v->stats. */
void pith_observer_merge(struct value_observer *o, const struct pith_value *v);
/* Adds the statistics s of a part of a Concat's result; if o has channels, the part's are those
 * from `channel` on. Nothing else is added to o. */
void pith_observer_join(struct value_observer *o, const struct value_observer *part,
                        const struct pith_value_stats *s, uint32_t channel);
/* *stats: a copy in m's memory; NULL where there are none. PITH_ERR_MEMORY. */
enum pith_status pith_observer_result(const struct value_observer *o, struct pith_model *m,
                                      struct pith_value_stats **stats);

#endif
