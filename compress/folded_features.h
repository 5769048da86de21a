/* SPDX-License-Identifier: MIT */
/* folded_features.h - features of a network whose normalizations are about to be folded away. */
#ifndef FOLDED_FEATURES_H
#define FOLDED_FEATURES_H

#include "pith_compress.h"

struct folded_features {
    struct pith_train_feature feature[PITH_STAGE_FEATURES];
    const char *value[PITH_STAGE_FEATURES]; /* the student's: that very string of the network's, for
                                            numbers change; NULL: nothing has the name */
    uint32_t n;
};

/* Before folding: which value of m each of opts' features means. */
void pith_features_before_folding(const struct pith_model *m, const struct pith_train_opts *opts,
                                  struct folded_features *h);
/* Behind it: h->feature name these very values of m, which may be called otherwise now.
 * PITH_ERR_ARGUMENT: one is folded away; what it is part of is told. */
enum pith_status pith_features_behind_folding(const struct pith_model *m, struct folded_features *h,
                                              struct pith_error *err);

#endif
