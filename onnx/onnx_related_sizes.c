/* SPDX-License-Identifier: MIT */
/* onnx_related_sizes.c - sizes that a file names apart though one follows others: a mask is as long
 * as the past and the new tokens together, the values of a cache are as many as its keys.
 *
 * An import with unrelated numbers stops at a node whose inputs do not fit together. Other numbers
 * for each size show which dimensions there follow it, and how. Two of them that have to be equal
 * give an equation; it is taken if import goes on with it, for two choices of the other sizes. */
#include "onnx/onnx_open.h"

#include <stdlib.h>

#define MOST_LINES (ONNX_STOP_INPUTS * PITH_MAX_RANK + ONNX_STOP_NUMBERS)
#define MOST_SUMMED 4u /* sizes: 12 sums */
#define STEP 240 /* a multiple of most strides, so that a dimension changes by a whole number */

/* A dimension of what the node reads, or a number that it is given, as the shape of a Reshape:
 * times[i] of size i, and `plus`. */
struct linear {
    uint32_t of; /* the operand, those of numbers alone counted as one */
    int64_t times[SIZE_NAMES];
    int64_t plus;
};

/* *n of them, without the sizes. */
static void take_lines(const struct stop *at, struct linear *line, uint32_t *n)
{
    *n = 0;
    for (uint32_t k = 0; k < at->n; k++)
        for (uint32_t d = 0; d < at->shape[k].rank; d++)
            line[(*n)++] = (struct linear){.of = k, .plus = at->shape[k].dim[d]};
    for (uint32_t k = 0; k < at->n_numbers; k++)
        line[(*n)++] = (struct linear){.of = ONNX_STOP_INPUTS, .plus = at->number[k]};
}

/* *e: size i as the other sizes give it where a and b are equal. false: they do not, or not as a
 * sum of multiples. */
static bool solve(const struct open_import *o, const struct linear *a, const struct linear *b,
                  uint32_t i, struct size_expression *e)
{
    const int64_t own = a->times[i] - b->times[i];
    *e = (struct size_expression){.divisor = 1};
    if (own != 1 && own != -1)
        return false;
    for (uint32_t k = 0; k < o->names.n; k++) {
        const int64_t times = -own * (a->times[k] - b->times[k]);
        if (k == i || times == 0)
            continue;
        if (times < 0 || times > INT16_MAX || e->n_terms == SIZE_TERMS - 1)
            return false;
        e->term[e->n_terms++] = (struct size_term){(int32_t)times, 1, {(uint8_t)k}};
    }
    const int64_t plus = -own * (a->plus - b->plus);
    if (plus < 0 || plus > INT16_MAX || e->n_terms == 0)
        return false;
    if (plus)
        e->term[e->n_terms++] = (struct size_term){(int32_t)plus, 0, {0}};
    return true;
}

/* *reached: where import stops with size i as e says, and with other numbers, too. */
static enum pith_status test_relation(struct open_import *o, const uint32_t *value, uint32_t i,
                                      const struct size_expression *e, uint32_t *reached)
{
    enum pith_status status = PITH_OK;
    *reached = UINT32_MAX;
    for (uint32_t other = 0; other < 2 && !status; other++) {
        uint32_t v[SIZE_NAMES];
        int32_t result = 0;
        struct stop s = {0};
        for (uint32_t k = 0; k < o->names.n; k++)
            v[k] = value[k] + other * (40 + 9 * k);
        if (pith_size_value(e, v, &result) && result > 0) {
            v[i] = (uint32_t)result;
            status = pith_onnx_find_stop(o, v, UINT32_MAX, &s);
        }
        *reached = s.place < *reached ? s.place : *reached;
    }
    return status;
}

static void add_relation(struct open_import *o, uint32_t i, const struct size_expression *e)
{
    struct size_relation *r = &o->relation[o->n_relations++];
    memcpy(r->name, o->names.name[i], sizeof r->name);
    pith_size_print(e, &o->names, r->formula, sizeof r->formula);
}

/* line[*n]: all of the node where import stops, as they follow the sizes; as much room behind. */
static enum pith_status follow_lines(struct open_import *o, const uint32_t *value,
                                     const struct stop *at, struct linear *line, uint32_t *n)
{
    struct linear *other = line + MOST_LINES;
    enum pith_status status = PITH_OK;
    uint32_t n_other;
    take_lines(at, line, n);
    for (uint32_t i = 0; i < o->names.n && !status; i++) {
        uint32_t v[SIZE_NAMES];
        struct stop s;
        memcpy(v, value, sizeof v);
        v[i] += STEP;
        status = pith_onnx_find_stop(o, v, at->place, &s);
        take_lines(&s, other, &n_other);
        if (status || s.place < at->place || n_other != *n)
            continue;
        for (uint32_t k = 0; k < *n; k++)
            line[k].times[i] = (other[k].plus - line[k].plus) / STEP;
    }
    for (uint32_t k = 0; k < *n; k++)
        for (uint32_t i = 0; i < o->names.n; i++)
            line[k].plus -= line[k].times[i] * value[i];
    return status;
}

/* The last size that an equation of two of them gives is the one that follows. */
static enum pith_status relate(struct open_import *o, const uint32_t *value, uint32_t place,
                               const struct linear *line, uint32_t n, bool *found)
{
    enum pith_status status = PITH_OK;
    for (uint32_t a = 0; a < n; a++)
        for (uint32_t b = a + 1; b < n; b++)
            for (uint32_t i = o->names.n; i-- > 0 && line[a].of != line[b].of;) {
                struct size_expression e;
                uint32_t reached = 0;
                if (!solve(o, &line[a], &line[b], i, &e))
                    continue;
                status = test_relation(o, value, i, &e, &reached);
                if (status)
                    return status;
                if (reached > place) {
                    *found = true;
                    add_relation(o, i, &e);
                    return PITH_OK;
                }
            }
    return status;
}

/* Where the node shows no equation, as a Slice of a mask from the past on: a size may be the sum of
 * two others. Import comes furthest with the right one. */
static enum pith_status relate_sum(struct open_import *o, const uint32_t *value, uint32_t place,
                                   bool *found)
{
    const uint32_t n = o->names.n;
    struct size_expression best = {0};
    uint32_t of = 0, furthest = place;
    for (uint32_t i = 0; i < n; i++)
        for (uint32_t a = 0; a < n; a++)
            for (uint32_t b = a + 1; b < n; b++) {
                const struct size_expression e = {
                    .divisor = 1,
                    .n_terms = 2,
                    .term = {{1, 1, {(uint8_t)a}}, {1, 1, {(uint8_t)b}}}};
                uint32_t reached = 0;
                if (i == a || i == b)
                    continue;
                enum pith_status status = test_relation(o, value, i, &e, &reached);
                if (status)
                    return status;
                *found = reached > furthest || (*found && reached < furthest);
                if (reached > furthest) {
                    furthest = reached;
                    of = i;
                    best = e;
                }
            }
    if (*found)
        add_relation(o, of, &best);
    return PITH_OK;
}

enum pith_status pith_onnx_relate_sizes(struct open_import *o, const uint32_t *value, bool *found)
{
    struct stop at;
    struct linear *line = NULL;
    uint32_t n = 0;
    *found = false;
    if (o->names.n < 2 || o->n_relations == SIZE_NAMES)
        return PITH_OK;
    enum pith_status status = pith_onnx_find_stop(o, value, UINT32_MAX, &at);
    if (status || at.place == UINT32_MAX)
        return status;
    line = malloc(2 * MOST_LINES * sizeof *line);
    status = line ? follow_lines(o, value, &at, line, &n) : PITH_ERR_MEMORY;
    if (!status)
        status = relate(o, value, at.place, line, n, found);
    if (!status && !*found && o->names.n <= MOST_SUMMED)
        status = relate_sum(o, value, at.place, found);
    free(line);
    return status;
}

/* ---- what was found, in the dimensions of inputs --------------------------------------------- */

/* Terms of the same names become one. false: there are too many. */
static bool add_term(struct size_expression *e, const struct size_term *t)
{
    for (uint32_t i = 0; i < e->n_terms; i++)
        if (e->term[i].n_factors == t->n_factors &&
            memcmp(e->term[i].factor, t->factor, t->n_factors) == 0) {
            e->term[i].times += t->times;
            return true;
        }
    if (e->n_terms == SIZE_TERMS)
        return false;
    e->term[e->n_terms++] = *t;
    return true;
}

static bool substitute(struct size_expression *in, uint32_t name, const struct size_expression *by)
{
    struct size_expression e = {.divisor = in->divisor};
    bool fits = true;
    for (uint32_t t = 0; t < in->n_terms && fits; t++) {
        const struct size_term *term = &in->term[t];
        bool has = false;
        for (uint32_t k = 0; k < term->n_factors; k++)
            has = has || term->factor[k] == name;
        if (has && term->n_factors > 1)
            return false;
        for (uint32_t k = 0; has && k < by->n_terms && fits; k++) {
            struct size_term product = by->term[k];
            product.times *= term->times;
            fits = add_term(&e, &product);
        }
        if (!has)
            fits = add_term(&e, term);
    }
    if (fits)
        *in = e;
    return fits;
}

static void drop_name(struct open_import *o, uint32_t name)
{
    const uint32_t behind = --o->names.n - name;
    memmove(o->names.name[name], o->names.name[name + 1], behind * sizeof *o->names.name);
    memmove(&o->picture[name], &o->picture[name + 1], behind * sizeof *o->picture);
    memmove(&o->outermost[name], &o->outermost[name + 1], behind * sizeof *o->outermost);
    o->picture[o->names.n] = o->outermost[o->names.n] = false;
    for (uint32_t i = 0; i < o->n_dims; i++)
        for (uint32_t t = 0; t < o->dims[i].e.n_terms; t++)
            for (uint32_t k = 0; k < o->dims[i].e.term[t].n_factors; k++)
                if (o->dims[i].e.term[t].factor[k] > name)
                    o->dims[i].e.term[t].factor[k]--;
}

/* Everywhere in place of size i, which loses its name. false: `by` is too long somewhere. */
static bool replace(struct open_import *o, uint32_t i, const struct size_expression *by)
{
    bool fits = true;
    for (uint32_t k = 0; k < o->n_dims && fits; k++) {
        struct size_expression e = o->dims[k].e;
        fits = substitute(&e, i, by);
    }
    for (uint32_t k = 0; k < o->n_dims && fits; k++)
        substitute(&o->dims[k].e, i, by);
    if (fits)
        drop_name(o, i);
    return fits;
}

/* Formulas may have sizes that were found to be a number or another size. */
static void apply_ranges(struct open_import *o)
{
    for (uint32_t i = 0; i < o->names.n; i++) {
        const struct size_range *r = pith_onnx_range_of(o, i);
        struct size_expression by = {.divisor = 1, .n_terms = 1};
        if (!r || (!*r->same_as && r->low != r->high))
            continue;
        by.term[0].times = (int32_t)r->low;
        if (!*r->same_as || pith_size_parse(r->same_as, strlen(r->same_as), &o->names, true, &by))
            i -= replace(o, i, &by);
    }
}

/* Dimensions that are open no more. */
static void drop_numbers(struct open_import *o)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < o->n_dims; i++) {
        const struct open_dim *d = &o->dims[i];
        int32_t dim = 0;
        const bool number =
            !d->batch && d->e.n_quotients == 0 && d->e.n_terms == 1 && d->e.term[0].n_factors == 0;
        if (number && pith_size_value(&d->e, NULL, &dim))
            o->shape[d->input].dim[d->dim] = (uint32_t)dim;
        else
            o->dims[n++] = *d;
    }
    o->n_dims = n;
}

void pith_onnx_apply_relations(struct open_import *o)
{
    for (uint32_t r = 0; r < o->n_relations; r++) {
        struct size_expression by;
        const char *name = o->relation[r].name, *formula = o->relation[r].formula;
        const uint32_t i = pith_size_name(&o->names, name, strlen(name)), n = o->names.n;
        if (i == UINT32_MAX || !pith_size_parse(formula, strlen(formula), &o->names, true, &by) ||
            !replace(o, i, &by))
            o->names.n = n;
    }
    apply_ranges(o);
    drop_numbers(o);
}
