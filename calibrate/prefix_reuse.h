/* SPDX-License-Identifier: MIT */
/* prefix_reuse.h - prefix reuse of calibration trials: runs whose beginning is always the same
 * begin in the middle; what is alive there is kept once for each sample and put back. */
#ifndef PITH_PREFIX_REUSE_H
#define PITH_PREFIX_REUSE_H

#include "pith_model.h"

#define NO_STEP UINT32_MAX

struct prefix_reuse {
    uint32_t
        step; /* the middle is behind this node; NO_STEP: none is set, or there cannot be one */
    /* the rest is private */
    const struct pith_model *m;
    struct value_place *place; /* owns: [n_values] */
    uint32_t *alive;           /* owns: [n_values], of which n_alive are */
    uint32_t n_alive, n_samples;
    uint8_t **kept; /* owns: [n_samples] those alive, one behind the other; NULL: not kept */
    size_t each_bytes, bytes, most_bytes; /* alive in a sample; kept, at most */
};

/* most_bytes: that may be kept at a time; what does not fit runs whole. PITH_ERR_MEMORY; close in
 * any case. */
enum pith_status pith_prefix_open(struct prefix_reuse *w, const struct pith_model *m,
                                  uint32_t n_samples, size_t most_bytes);
void pith_prefix_close(struct prefix_reuse *w);
/* Value v lies at x in each run. Before a middle is set, all values are observed. */
void pith_prefix_see(struct prefix_reuse *w, uint32_t v, void *x, size_t bytes, bool is_f32);
/* Where it lies; NULL: it was not observed, or is no f32. */
float *pith_prefix_place(const struct prefix_reuse *w, uint32_t v, size_t *n);
/* From now on behind node `step`, or NO_STEP: nothing is kept any more, unless it was set already.
 * There is no middle in networks with loops or branches, nor where a live value was not observed.
 */
void pith_prefix_set(struct prefix_reuse *w, uint32_t step);
/* While sample i runs, when node `step` has run and nothing after it: keeps what is alive, if there
 * is room. */
void pith_prefix_keep(struct prefix_reuse *w, uint32_t i);
/* Puts it back; false: it is not kept. */
bool pith_prefix_back(const struct prefix_reuse *w, uint32_t i);

#endif
