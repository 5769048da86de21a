/* SPDX-License-Identifier: MIT */
#ifndef STAGE_JSON_H
#define STAGE_JSON_H

#include <jansson.h>
#include "base/error_fill.h"
#include "json_value.h"
#include "pith_recipe.h"

/* A stage from its JSON object; strings are borrowed from it. where: "recipe.json: stage 2". */
enum pith_status pith_stage_from_json(json_t *object, const char *where, struct pith_stage *stage,
                                      struct pith_error *err);
/* The kind that "do" names; 0: none. */
enum pith_stage_kind pith_stage_json_kind(const json_t *object);
/* Sets what the object says, beside "do"; pith_stage_check checks whether options fit each other.
 */
enum pith_status pith_stage_change(json_t *object, const char *where, struct pith_stage *stage,
                                   struct pith_error *err);
enum pith_status pith_stage_check(const char *where, const struct pith_stage *stage,
                                  struct pith_error *err);
/* A new reference; NULL without memory. */
json_t *pith_stage_to_json(const struct pith_stage *stage);
/* As pith_recipe_parse. Takes ownership of root, also on failure. */
enum pith_status pith_recipe_from_json(json_t *root, const char *name, struct pith_recipe **recipe,
                                       struct pith_error *err);

#endif
