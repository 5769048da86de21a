/* SPDX-License-Identifier: MIT */
#ifndef STAGE_JSON_H
#define STAGE_JSON_H

#include <jansson.h>
#include "error_fill.h"
#include "pith_compress.h"

/* A stage from its JSON object; strings are borrowed from it. where: "recipe.json: stage 2". */
enum pith_status pith_stage_from_json(json_t *object, const char *where, struct pith_stage *stage,
                                      struct pith_error *err);
/* A new reference; NULL without memory. */
json_t *pith_stage_to_json(const struct pith_stage *stage);
/* Sets a key to a new reference. Without memory the whole object goes, and *object is NULL: so what
 * is left at the end is whole, or nothing. */
void pith_json_put(json_t **object, const char *key, json_t *value);
/* The text of json (NULL: none), malloc'ed; flags as json_dumps takes them. NULL without memory,
 * where json_dumps may leave out what it could not write. Numbers get the fewest digits (15 to 17)
 * that read back as the same: 0.9 stays 0.9, and a recipe repeats its thresholds exactly. */
char *pith_json_text(const json_t *json, size_t flags);

#endif
