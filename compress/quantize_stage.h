/* SPDX-License-Identifier: MIT */
/* quantize_stage.h - the stage `quantize`, and calibration before it where none was. */
#ifndef QUANTIZE_STAGE_H
#define QUANTIZE_STAGE_H

#include "pith_compress.h"

/* r->quantize, n_layers, weights and kept. */
enum pith_status pith_stage_quantize(struct pith_model *m, const struct pith_stage *s,
                                     const struct pith_stage_context *context,
                                     struct pith_stage_report *r, struct pith_error *err);

#endif
