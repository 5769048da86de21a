/* SPDX-License-Identifier: MIT */
#ifndef QUANTIZE_JSON_H
#define QUANTIZE_JSON_H

#include "json_value.h"
#include "pith_stage.h"

enum pith_status pith_quantize_key_from_json(const struct json_place *p, json_t *v,
                                             struct pith_stage *s);
/* A new reference; NULL without memory. */
json_t *pith_quantize_to_json(const struct pith_stage *s);

#endif
