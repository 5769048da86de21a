/* SPDX-License-Identifier: MIT */
#include "pattern_json.h"

enum pith_status pith_json_read_patterns(const struct json_place *p, json_t *v, pattern_reader *one,
                                         struct pith_stage *s, uint32_t *n)
{
    const char *pattern;
    json_t *amount;
    if (!json_is_object(v) || json_object_size(v) > PITH_STAGE_LAYERS)
        return pith_json_bad(p, "an object of at most 64 layer patterns");
    *n = 0;
    json_object_foreach(v, pattern, amount)
    {
        const struct json_place at = {p->where, pattern, p->err};
        enum pith_status st = one(&at, amount, s, (*n)++);
        if (st)
            return st;
    }
    return PITH_OK;
}
