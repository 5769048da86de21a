/* SPDX-License-Identifier: MIT */
/* stage_run.h - the kinds of stages that take more than one call. */
#ifndef STAGE_RUN_H
#define STAGE_RUN_H

#include "compress/output/choose_coder.h"
#include "pith_compress.h"

/* Stages in the history. */
uint32_t pith_stage_count_past(const struct pith_model *m);

/* Grids that weights lie on, masks where enough of their elements are +0, and codes for the floats
 * of short tensors; no number changes.
 * PITH_ERR_MEMORY: some may be found. */
enum pith_status pith_find_exact(struct pith_model *m, struct pith_error *err);

/* With the context's data, unless s takes none. */
enum pith_status pith_stage_calibrate(struct pith_model *m, const struct pith_stage *s,
                                      const struct pith_stage_context *context,
                                      struct pith_stage_report *r, struct pith_error *err);

/* seed: of the order of samples. */
enum pith_status pith_stage_train(struct pith_model *m, const struct pith_stage *s,
                                  const struct pith_stage_context *context, uint64_t seed,
                                  struct pith_train_result *result, struct pith_error *err);

/* Prunes a little more, trains, prunes again. layers and *n_layers as for pith_prune, of the last
 * step. */
enum pith_status pith_stage_prune_gradually(struct pith_model *m, const struct pith_stage *s,
                                            const struct pith_stage_context *context, uint64_t seed,
                                            struct pith_stage_report *report,
                                            struct pith_error *err);

#endif
