/* SPDX-License-Identifier: MIT */
/* quantize_stage.h - the stage `quantize`: its JSON, and calibration before it where none was. */
#ifndef QUANTIZE_STAGE_H
#define QUANTIZE_STAGE_H

#include "json_value.h"
#include "pith_compress.h"

enum pith_status pith_quantize_key_from_json(const struct json_place *p, json_t *v,
                                             struct pith_stage *s);
/* A new reference; NULL without memory. */
json_t *pith_quantize_to_json(const struct pith_stage *s);

/* r->quantize, n_layers, weights and kept. */
enum pith_status pith_stage_quantize(struct pith_model *m, const struct pith_stage *s,
                                     const struct pith_stage_means *means,
                                     struct pith_stage_report *r, struct pith_error *err);

#endif
