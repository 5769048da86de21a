/* SPDX-License-Identifier: MIT */
#ifndef TRAIN_JSON_H
#define TRAIN_JSON_H

#include "json_value.h"
#include "pith_compress.h"

/* One key of a stage that trains; strings are borrowed from v. */
enum pith_status pith_train_key_from_json(const struct json_place *p, json_t *v,
                                          struct pith_stage *s);
/* Adds all keys to *object (pith_json_put). */
void pith_train_keys_to_json(const struct pith_stage *s, json_t **object);

#endif
