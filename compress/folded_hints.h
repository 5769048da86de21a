/* SPDX-License-Identifier: MIT */
/* folded_hints.h - hints of a network whose normalizations are about to be folded away. */
#ifndef FOLDED_HINTS_H
#define FOLDED_HINTS_H

#include "pith_compress.h"

struct folded_hints {
    struct pith_train_hint hint[PITH_STAGE_HINTS];
    const char *value[PITH_STAGE_HINTS]; /* the student's: that very string of the network's, for
                                            numbers change; NULL: nothing has the name */
    uint32_t n;
};

/* Before folding: which value of m each of opts' hints means. */
void pith_hints_before_folding(const struct pith_model *m, const struct pith_train_opts *opts,
                               struct folded_hints *h);
/* Behind it: h->hint name these very values of m, which may be called otherwise now.
 * PITH_ERR_ARGUMENT: one is folded away; what it is part of is told. */
enum pith_status pith_hints_behind_folding(const struct pith_model *m, struct folded_hints *h,
                                           struct pith_error *err);

#endif
