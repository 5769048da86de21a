/* SPDX-License-Identifier: MIT */
/* own_json.h - options that are lists or objects in recipes, each with its own form. */
#ifndef OWN_JSON_H
#define OWN_JSON_H

#include "json_value.h"
#include "pith_stage_options.h"

struct own_json {
    const struct pith_option_own *own;
    enum pith_status (*read)(const struct json_place *p, json_t *v, struct pith_stage *s);
    json_t *(*write)(const struct pith_stage *s); /* a new reference; NULL without memory */
};

/* NULL: it is a text. */
const struct own_json *pith_own_json(const struct pith_option_own *own);

#endif
