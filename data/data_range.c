/* SPDX-License-Identifier: MIT */
/* data_range.c - which samples: "a:b", "a:b:step" take a, a + step, ... below b; "!a:b:step" takes
 * all others. Missing a is 0, missing b the number of samples. Also numbers and shapes for
 * messages. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "data_source.h"

struct sample_range {
    uint64_t from, to, step;
    bool others;
};

/* Digits up to ':' or the end; none: `missing`. */
static bool read_bound(const char **text, uint64_t missing, uint64_t *v)
{
    const char *p = *text;
    uint64_t n = 0;
    for (; *p >= '0' && *p <= '9'; p++) {
        n = n * 10 + (uint64_t)(*p - '0');
        if (n > DATA_MAX_SAMPLES)
            return false;
    }
    *v = p == *text ? missing : n;
    bool good = *p == ':' || *p == '\0';
    *text = p;
    return good;
}

static bool read_range(const char *text, uint64_t n, struct sample_range *r)
{
    r->others = *text == '!';
    text += r->others;
    if (!read_bound(&text, 0, &r->from) || *text++ != ':')
        return false;
    if (!read_bound(&text, n, &r->to))
        return false;
    r->step = 1;
    if (*text == ':') {
        text++;
        if (!read_bound(&text, 1, &r->step))
            return false;
    }
    return *text == '\0' && r->step >= 1;
}

static bool in_range(const struct sample_range *r, uint64_t i)
{
    bool inside = i >= r->from && i < r->to && (i - r->from) % r->step == 0;
    return inside != r->others;
}

enum pith_status pith_range_choose(const char *text, uint64_t n, const char *name,
                                   uint32_t **chosen, uint64_t *n_chosen, struct pith_error *err)
{
    struct sample_range r;
    char count[32];
    if (!text) {
        *chosen = NULL;
        *n_chosen = n;
        return PITH_OK;
    }
    if (!read_range(text, n, &r))
        return pith_error_fill(err, PITH_ERR_ARGUMENT,
                               "range '%s' is not a:b, a:b:step or !a:b:step", text);
    if (r.to > n)
        return pith_error_fill(err, PITH_ERR_ARGUMENT,
                               "range '%s' goes beyond the %s samples of %s", text,
                               pith_count_text(n, count), name);
    uint64_t total = 0;
    for (uint64_t i = 0; i < n; i++)
        total += in_range(&r, i);
    if (total == 0)
        return pith_error_fill(err, PITH_ERR_ARGUMENT,
                               "range '%s' leaves none of the %s samples of %s", text,
                               pith_count_text(n, count), name);
    uint32_t *list = malloc((size_t)total * sizeof *list);
    if (!list)
        return pith_error_no_memory(err);
    uint64_t k = 0;
    for (uint64_t i = 0; i < n; i++) {
        if (in_range(&r, i))
            list[k++] = (uint32_t)i;
    }
    *chosen = list;
    *n_chosen = total;
    return PITH_OK;
}

const char *pith_values_text(const uint32_t *dim, uint32_t rank, char out[PITH_SHAPE_TEXT])
{
    return rank ? pith_shape_text(dim, rank, out) : strcpy(out, "1 value");
}
