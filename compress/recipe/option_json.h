/* SPDX-License-Identifier: MIT */
/* option_json.h - options by their rows (pith_stage_options.h) as JSON. */
#ifndef OPTION_JSON_H
#define OPTION_JSON_H

#include "json_value.h"
#include "pith_stage_options.h"

/* One key of a stage, by the table of `kind`; texts are borrowed from v. */
enum pith_status pith_option_from_json(const struct json_place *p, json_t *v,
                                       enum pith_stage_kind kind, struct pith_stage *s);
/* Adds to *object (pith_json_put) what always matters and what is not as by default. */
void pith_options_to_json(const struct pith_stage *s, enum pith_stage_kind kind, json_t **object);

#endif
