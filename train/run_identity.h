/* SPDX-License-Identifier: MIT */
/* run_identity.h - what decides the bytes in which a run ends, as text: one line each for the model
 * it starts from, the data, the teacher and every option that counts. Two runs with the same text
 * go the same way (on CPUs of one ISA level); threads, processes and reports do not stand in it. */
#ifndef RUN_IDENTITY_H
#define RUN_IDENTITY_H

#include "pith_train.h"

/* val: NULL where there is none. The caller frees *text. PITH_ERR_MEMORY, or what reading a sample
 * returns. */
enum pith_status pith_run_identity(const struct pith_model *m, struct pith_data *train,
                                   struct pith_data *val, const struct pith_train_opts *opts,
                                   char **text, struct pith_error *err);
/* Of such a text. */
uint64_t pith_run_identity_hash(const char *text);

#endif
