/* SPDX-License-Identifier: MIT */
#ifndef MODEL_COPY_H
#define MODEL_COPY_H

#include "pith_model.h"

/* A model of its own with the same names, values and supports. The caller owns *copy. */
enum pith_status pith_stage_copy_model(const struct pith_model *m, struct pith_model **copy,
                                       struct pith_error *err);

#endif
