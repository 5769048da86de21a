/* SPDX-License-Identifier: MIT */
/* pattern_json.h - options of recipes that give amounts to patterns of layer names:
 * {"conv*": 5, "fc1": 4}. */
#ifndef PATTERN_JSON_H
#define PATTERN_JSON_H

#include "json_value.h"
#include "pith_stage_options.h"

/* Keeps entry i: at->key, the pattern, and its amount. */
typedef enum pith_status pattern_reader(const struct json_place *at, json_t *amount,
                                        struct pith_stage *s, uint32_t i);
/* *n: of the patterns, at most PITH_STAGE_LAYERS. */
enum pith_status pith_json_read_patterns(const struct json_place *p, json_t *v, pattern_reader *one,
                                         struct pith_stage *s, uint32_t *n);

#endif
