/* SPDX-License-Identifier: MIT */
/* choose_coder.h - how constants will be written. */
#ifndef CHOOSE_CODER_H
#define CHOOSE_CODER_H

#include "pith_model.h"
#include "pith_pack.h"
#include "pith_stage.h"

/* All constants of m will be written so. */
void pith_set_coder(struct pith_model *m, enum pith_code code);

/* Sets the code of all constants by the rules of pith_stage.h (PITH_RANS_ELEMENTS and those below
 * it). saves: the share by which adaptive streams must be smaller; pack: how the file will be
 * written. What pith_model_pack answers. */
enum pith_status pith_choose_coder(struct pith_model *m, enum pith_encode_goal goal, double saves,
                                   const struct pith_pack_opts *pack, struct pith_error *err);

#endif
