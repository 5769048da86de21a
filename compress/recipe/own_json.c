/* SPDX-License-Identifier: MIT */
#include "own_json.h"

#include <string.h>

#include "stage_rows.h"

/* ---- hints ----------------------------------------------------------------------------------- */

static enum pith_status read_hint(const struct json_place *p, json_t *object,
                                  struct pith_train_hint *h)
{
    const char *key;
    json_t *v;
    double weight = 0;
    *h = (struct pith_train_hint){0};
    json_object_foreach(object, key, v)
    {
        const struct json_place at = {p->where, key, p->err};
        enum pith_status st = PITH_OK;
        if (strcmp(key, "student") == 0)
            h->student = json_string_value(v);
        else if (strcmp(key, "teacher") == 0)
            h->teacher = json_string_value(v);
        else if (strcmp(key, "weight") == 0)
            st = pith_json_read_number(&at, v, 0, 1e9, &weight);
        else
            return pith_json_no_such_key(&at, "hints");
        if (st)
            return st;
    }
    h->weight = (float)weight;
    if (!h->teacher)
        h->teacher = h->student;
    return h->student && h->weight > 0 ? PITH_OK
                                       : pith_json_bad(p, "a list of {student, teacher, weight}");
}

static enum pith_status read_hints(const struct json_place *p, json_t *list, struct pith_stage *s)
{
    size_t n = json_array_size(list);
    if (n == 0 || n > PITH_STAGE_HINTS)
        return pith_json_bad(p, "a list of 1 to 16 hints");
    for (s->train.n_hints = 0; s->train.n_hints < n; s->train.n_hints++) {
        enum pith_status st =
            read_hint(p, json_array_get(list, s->train.n_hints), &s->hints[s->train.n_hints]);
        if (st)
            return st;
    }
    return PITH_OK;
}

static json_t *write_hints(const struct pith_stage *s)
{
    json_t *list = json_array();
    for (uint32_t i = 0; i < s->train.n_hints; i++) {
        const struct pith_train_hint *h = &s->hints[i];
        json_t *hint = json_pack("{ss,ss}", "student", h->student, "teacher", h->teacher);
        pith_json_put(&hint, "weight", pith_float_to_json(h->weight));
        pith_json_append(&list, hint);
    }
    return list;
}

/* ---- all of them ----------------------------------------------------------------------------- */

const struct own_json *pith_own_json(const struct pith_option_own *own)
{
    static const struct own_json all[] = {{&pith_own_hints, read_hints, write_hints}};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (all[i].own == own)
            return &all[i];
    return NULL;
}
