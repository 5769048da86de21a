/* SPDX-License-Identifier: MIT */
/* observed_detail.h - how closely each value of a network is looked at. */
#ifndef OBSERVED_DETAIL_H
#define OBSERVED_DETAIL_H

#include "value_observer.h"

struct observed_plan {
    enum observed_detail detail;
    uint32_t axis; /* of channels; PITH_MAX_RANK: not by channel */
    /* The Concat that makes it of values that are looked at as closely: their statistics put
     * together are its own, so it need not be looked at. NULL: it is. */
    const struct pith_node *joins;
    bool in_body; /* of a loop or branch: observed any number of times a run */
};

/* plan: [m->n_values]. PITH_ERR_MEMORY. */
enum pith_status pith_observed_plan(const struct pith_model *m, struct observed_plan *plan);

typedef bool reader_test(const struct pith_model *m, const struct pith_node *node, uint32_t input);
/* mark: [m->n_values]: values that are no output, and all that read them, of which there are some,
 * pass the test. */
void pith_mark_readers(const struct pith_model *m, reader_test *is, bool *mark);

/* Values that depthwise convolutions alone read, whose input channels never mix. */
void pith_mark_depthwise(const struct pith_model *m, bool *mark);

#endif
