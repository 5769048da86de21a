/* SPDX-License-Identifier: MIT */
/* stage_run.h - the kinds of stages that take more than one call. */
#ifndef STAGE_RUN_H
#define STAGE_RUN_H

#include "pith_compress.h"
#include "pith_pack.h"

/* Stages in the history. */
uint32_t pith_stage_count_past(const struct pith_model *m);

/* All constants of m will be written so. */
void pith_set_coder(struct pith_model *m, enum pith_code code);

/* Sets the code of all constants by the rule of pith_stage.h (PITH_ADAPTIVE_SECONDS). saves: the
 * share by which adaptive streams must be smaller; pack: how the file will be written. What
 * pith_model_pack answers. */
enum pith_status pith_choose_coder(struct pith_model *m, double saves,
                                   const struct pith_pack_opts *pack, struct pith_error *err);

/* Grids that weights lie on, masks where enough of their elements are +0, and codes for the floats
 * of short tensors; no number changes.
 * PITH_ERR_MEMORY: some may be found. */
enum pith_status pith_find_exact(struct pith_model *m, struct pith_error *err);

/* seed: of the order of samples. */
enum pith_status pith_stage_train(struct pith_model *m, const struct pith_stage *s,
                                  const struct pith_stage_means *means, uint64_t seed,
                                  struct pith_train_result *result, struct pith_error *err);

/* Prunes a little more, trains, prunes again. layers and *n_layers as for pith_prune, of the last
 * step. */
enum pith_status pith_stage_prune_gradually(struct pith_model *m, const struct pith_stage *s,
                                            const struct pith_stage_means *means, uint64_t seed,
                                            struct pith_stage_report *report,
                                            struct pith_error *err);

#endif
