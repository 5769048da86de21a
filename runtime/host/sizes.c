/* SPDX-License-Identifier: MIT */
/* sizes.c - the open sizes of a file, which its meta text "sizes" names, line by line:
 *
 *     size NAME VALUE MAX      VALUE: by which the file has its numbers
 *     dim INPUT DIM FORMULA    a dimension of an input
 *     attr NODE SLOT FORMULA   an entry of a node's attributes
 *     most N FORMULA           what may not be more: positions, of which a table has N; where a
 *                              size S is at least L, N is 0 and FORMULA is L - S
 */
#include "host/size_expression.h"
#include "host/sizes.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_NUMBERS (1u << 20)
#define MAX_LIMITS 4096u

/* A number of the file that follows the sizes. */
struct number {
    struct pith_change at;
    struct size_expression e;
    char text[96];
};

struct limit {
    uint32_t most;
    struct size_expression e;
};

struct pith_sizes {
    struct size_names names;
    uint32_t n_limits;
    struct limit *limit;
    uint32_t value[SIZE_NAMES], max[SIZE_NAMES];
    uint32_t n_numbers;
    struct number *number;
    struct pith_change *changes; /* [n_numbers] */
};

static enum pith_status corrupt(struct pith_error *err, const char *line, size_t n)
{
    return pith_error_set(err, PITH_ERR_CORRUPT, "the file's open sizes are broken: '%.*s'",
                          (int)(n < 60 ? n : 60), line);
}

/* *list with room for one element more than n; it has room at powers of two. false: no memory, or
 * there are `most`. */
static bool grow(void **list, uint32_t n, uint32_t most, size_t each)
{
    if (n >= most)
        return false;
    if (n & (n - 1))
        return true;
    void *grown = realloc(*list, (n ? 2 * (size_t)n : 1) * each);
    *list = grown ? grown : *list;
    return grown != NULL;
}

static bool add_number(struct pith_sizes *s, struct pith_change at, const struct size_expression *e)
{
    void *list = s->number;
    const bool ok = grow(&list, s->n_numbers, MAX_NUMBERS, sizeof *s->number);
    s->number = list;
    if (!ok)
        return false;
    struct number *number = &s->number[s->n_numbers++];
    *number = (struct number){.at = at, .e = *e};
    pith_size_print(e, &s->names, number->text, sizeof number->text);
    return true;
}

static bool add_limit(struct pith_sizes *s, uint32_t most, const struct size_expression *e)
{
    void *list = s->limit;
    const bool ok = grow(&list, s->n_limits, MAX_LIMITS, sizeof *s->limit);
    s->limit = list;
    if (ok)
        s->limit[s->n_limits++] = (struct limit){most, *e};
    return ok;
}

/* One line without its end. */
static bool read_line(struct pith_sizes *s, const char *line, size_t n)
{
    struct size_line l;
    if (!pith_size_line(line, n, &s->names, &l))
        return false;
    switch (l.kind) {
    case SIZE_LINE_SIZE:
        s->value[l.name] = l.a;
        s->max[l.name] = l.b;
        return true;
    case SIZE_LINE_MOST:
        return add_limit(s, l.a, &l.e);
    case SIZE_LINE_DIM:
        return add_number(s, (struct pith_change){PITH_CHANGE_INPUT, l.a * PITH_MAX_RANK + l.b, 0},
                          &l.e);
    case SIZE_LINE_ATTR:
        break;
    }
    return add_number(s, (struct pith_change){l.a, l.b, 0}, &l.e);
}

static enum pith_status read_text(struct pith_sizes *s, const char *text, size_t n,
                                  struct pith_error *err)
{
    for (size_t at = 0; at < n;) {
        const char *end = memchr(text + at, '\n', n - at);
        size_t length = end ? (size_t)(end - text) - at : n - at;
        if (!read_line(s, text + at, length))
            return corrupt(err, text + at, length);
        at += length + 1;
    }
    return PITH_OK;
}

enum pith_status pith_sizes_read(const char *text, size_t n, struct pith_sizes **sizes,
                                 struct pith_error *err)
{
    struct pith_sizes *s = calloc(1, sizeof *s);
    enum pith_status st =
        s ? read_text(s, text, n, err) : pith_error_set(err, PITH_ERR_MEMORY, "out of memory");
    if (!st && !(s->changes = calloc(s->n_numbers + 1u, sizeof *s->changes)))
        st = pith_error_set(err, PITH_ERR_MEMORY, "out of memory");
    if (st)
        pith_sizes_free(s);
    else
        *sizes = s;
    return st;
}

enum pith_status pith_sizes_open(const void *blob, size_t bytes, struct pith_sizes **sizes,
                                 struct pith_error *err)
{
    const char *text = NULL;
    size_t n = 0;
    if (!blob || !sizes)
        return PITH_ERR_ARGUMENT;
    if (!pith_blob_meta(blob, bytes, "sizes", &text, &n))
        return pith_sizes_read(text, n, sizes, err);
    *sizes = NULL;
    return PITH_OK;
}

void pith_sizes_free(struct pith_sizes *sizes)
{
    if (!sizes)
        return;
    free(sizes->limit);
    free(sizes->number);
    free(sizes->changes);
    free(sizes);
}

uint32_t pith_sizes_count(const struct pith_sizes *sizes)
{
    return sizes ? sizes->names.n : 0;
}

enum pith_status pith_sizes_get(const struct pith_sizes *sizes, uint32_t i, const char **name,
                                uint32_t *value, uint32_t *max)
{
    if (!sizes || !name || !value || !max || i >= sizes->names.n)
        return PITH_ERR_ARGUMENT;
    *name = sizes->names.name[i];
    *value = sizes->value[i];
    *max = sizes->max[i];
    return PITH_OK;
}

static uint32_t named(const struct pith_sizes *s, const char *name, struct pith_error *err)
{
    uint32_t at = pith_size_name(&s->names, name, strlen(name));
    if (at == UINT32_MAX)
        pith_error_set(err, PITH_ERR_ARGUMENT, "no open size is called '%.60s'", name);
    return at;
}

enum pith_status pith_size_out_of_range(const char *name, uint64_t value, uint32_t max,
                                        struct pith_error *err)
{
    return pith_error_set(err, PITH_ERR_ARGUMENT,
                          "size %s is %" PRIu64 ", 0 to %" PRIu32 " are possible", name, value,
                          max);
}

enum pith_status pith_sizes_set(struct pith_sizes *sizes, const char *name, uint32_t value,
                                struct pith_error *err)
{
    if (!sizes || !name)
        return PITH_ERR_ARGUMENT;
    uint32_t i = named(sizes, name, err);
    if (i == UINT32_MAX)
        return PITH_ERR_ARGUMENT;
    if (value > sizes->max[i])
        return pith_size_out_of_range(sizes->names.name[i], value, sizes->max[i], err);
    sizes->value[i] = value;
    return PITH_OK;
}

enum pith_status pith_sizes_set_max(struct pith_sizes *sizes, const char *name, uint32_t max,
                                    struct pith_error *err)
{
    if (!sizes || !name)
        return PITH_ERR_ARGUMENT;
    uint32_t i = named(sizes, name, err);
    if (i == UINT32_MAX)
        return PITH_ERR_ARGUMENT;
    if (max < sizes->value[i] || max > INT32_MAX)
        return pith_error_set(err, PITH_ERR_ARGUMENT,
                              "size %s is %" PRIu32 ": its largest value cannot be %" PRIu32,
                              sizes->names.name[i], sizes->value[i], max);
    sizes->max[i] = max;
    return PITH_OK;
}

static const struct number *dim_of(const struct pith_sizes *s, uint32_t input, uint32_t dim)
{
    for (uint32_t i = 0; i < s->n_numbers; i++)
        if (s->number[i].at.node == PITH_CHANGE_INPUT &&
            s->number[i].at.slot == input * PITH_MAX_RANK + dim)
            return &s->number[i];
    return NULL;
}

enum pith_status pith_sizes_formula(const struct pith_sizes *sizes, uint32_t input, uint32_t dim,
                                    const char **formula)
{
    if (!sizes || !formula || dim >= PITH_MAX_RANK || input > INT32_MAX / PITH_MAX_RANK)
        return PITH_ERR_ARGUMENT;
    const struct number *number = dim_of(sizes, input, dim);
    if (!number)
        return PITH_ERR_ARGUMENT;
    *formula = number->text;
    return PITH_OK;
}

enum pith_status pith_size_check_limit(const struct size_expression *e,
                                       const struct size_names *names, uint32_t most,
                                       const uint32_t *value, struct pith_error *err)
{
    char text[96];
    int32_t is;
    if (pith_size_value(e, value, &is) && is <= (int64_t)most)
        return PITH_OK;
    pith_size_print(e, names, text, sizeof text);
    return pith_error_set(err, PITH_ERR_ARGUMENT, "%s would be more than %" PRIu32 "%s", text, most,
                          most ? ", which is all that a table has" : ": a size is too small");
}

static enum pith_status check_limits(const struct pith_sizes *s, const uint32_t *value,
                                     struct pith_error *err)
{
    enum pith_status st = PITH_OK;
    for (uint32_t i = 0; i < s->n_limits && !st; i++)
        st = pith_size_check_limit(&s->limit[i].e, &s->names, s->limit[i].most, value, err);
    return st;
}

/* The dimension that number i is; NULL: its input is not known. */
static const uint32_t *given_dim(const struct pith_sizes *s, uint32_t i,
                                 const struct pith_tensor *inputs, uint32_t n_inputs)
{
    uint32_t input = s->number[i].at.slot / PITH_MAX_RANK,
             dim = s->number[i].at.slot % PITH_MAX_RANK;
    if (s->number[i].at.node != PITH_CHANGE_INPUT || input >= n_inputs ||
        inputs[input].rank > PITH_MAX_RANK || dim >= inputs[input].rank)
        return NULL;
    return &inputs[input].dim[dim];
}

/* P + S where S is known gives P. */
static uint32_t solve(const struct size_expression *e, const uint32_t *value, const bool *known,
                      uint32_t wanted, uint32_t *found)
{
    struct size_expression left = {.divisor = e->divisor};
    if (e->n_quotients)
        return UINT32_MAX;
    for (uint32_t i = 0; i < e->n_terms; i++) {
        struct size_term t = {.times = e->term[i].times};
        for (uint32_t k = 0; k < e->term[i].n_factors; k++) {
            uint8_t factor = e->term[i].factor[k];
            int64_t product = (int64_t)t.times * value[factor];
            if (!known[factor])
                t.factor[t.n_factors++] = factor;
            else if (product > INT32_MAX || product < -INT32_MAX)
                return UINT32_MAX;
            else
                t.times = (int32_t)product;
        }
        left.term[left.n_terms++] = t;
    }
    return pith_size_solve(&left, wanted, found);
}

/* With the values that its formula's sizes have from other dimensions. */
static enum pith_status misfit(const struct pith_sizes *s, const struct number *number,
                               const struct pith_tensor *inputs, const uint32_t *value,
                               const bool *known, struct pith_error *err)
{
    const uint32_t dim = number->at.slot % PITH_MAX_RANK;
    const struct pith_tensor *t = &inputs[number->at.slot / PITH_MAX_RANK];
    char with[160] = "";
    size_t at = 0;
    for (uint32_t i = 0; i < s->names.n; i++) {
        bool in_formula = false;
        for (uint32_t k = 0; k < number->e.n_terms; k++)
            for (uint32_t j = 0; j < number->e.term[k].n_factors; j++)
                in_formula |= number->e.term[k].factor[j] == i;
        if (in_formula && known[i] && at + SIZE_NAME_BYTES + 20 < sizeof with)
            at += (size_t)sprintf(with + at, "%s%s %" PRIu32, at ? ", " : ", with ",
                                  s->names.name[i], value[i]);
    }
    return pith_error_set(err, PITH_ERR_ARGUMENT,
                          "dim %" PRIu32 " of input '%.*s' is %" PRIu32 ", and has to be %s%s", dim,
                          (int)t->name_bytes, t->name, t->dim[dim], number->text, with);
}

enum pith_status pith_sizes_fit(struct pith_sizes *sizes, const struct pith_tensor *inputs,
                                uint32_t n_inputs, struct pith_error *err)
{
    if (!sizes || !inputs)
        return PITH_ERR_ARGUMENT;
    uint32_t value[SIZE_NAMES];
    bool known[SIZE_NAMES] = {false};
    memcpy(value, sizes->value, sizeof value);
    for (uint32_t round = 0; round < sizes->names.n; round++)
        for (uint32_t i = 0; i < sizes->n_numbers; i++) {
            uint32_t found, name;
            const uint32_t *dim = given_dim(sizes, i, inputs, n_inputs);
            if (!dim)
                continue;
            name = solve(&sizes->number[i].e, value, known, *dim, &found);
            if (name == UINT32_MAX || known[name])
                continue;
            value[name] = found;
            known[name] = true;
            if (found > sizes->max[name])
                return pith_size_out_of_range(sizes->names.name[name], found, sizes->max[name],
                                              err);
        }
    for (uint32_t i = 0; i < sizes->n_numbers; i++) {
        const uint32_t *dim = given_dim(sizes, i, inputs, n_inputs);
        int32_t is;
        if (!dim || (pith_size_value(&sizes->number[i].e, value, &is) && (int64_t)is == *dim))
            continue;
        return misfit(sizes, &sizes->number[i], inputs, value, known, err);
    }
    enum pith_status st = check_limits(sizes, value, err);
    if (!st)
        memcpy(sizes->value, value, sizeof value);
    return st;
}

enum pith_status pith_sizes_apply(struct pith_sizes *sizes, struct pith_opts *opts,
                                  struct pith_error *err)
{
    const size_t end = offsetof(struct pith_opts, changes) + sizeof opts->changes;
    if (!opts || opts->size_bytes < end || opts->size_bytes > PITH_MAX_OPTS_BYTES)
        return PITH_ERR_ARGUMENT;
    enum pith_status st = sizes ? check_limits(sizes, sizes->value, err) : PITH_OK;
    if (st)
        return st;
    for (uint32_t i = 0; sizes && i < sizes->n_numbers; i++) {
        struct pith_change *c = &sizes->changes[i];
        *c = sizes->number[i].at;
        if (!pith_size_value(&sizes->number[i].e, sizes->value, &c->value))
            return pith_error_set(err, PITH_ERR_ARGUMENT, "%s is no dimension with these sizes",
                                  sizes->number[i].text);
    }
    opts->changes = sizes ? sizes->changes : NULL;
    opts->n_changes = sizes ? sizes->n_numbers : 0;
    return PITH_OK;
}
