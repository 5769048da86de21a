/* SPDX-License-Identifier: MIT */
/* onnx_export_sizes.c - a network with open sizes as ONNX. The graph is written several times with
 * different sizes, and all integers that nodes read are recorded. All else has to be the same. An
 * integer that differs gets a formula of the sizes, and nodes in front of all others compute it
 * from the shapes of the inputs:
 *
 *     ids --Shape--Gather(1)--> seq --Mul(2)--Add(1)--> 2*seq + 1 --Concat(1, ., 16)--> Reshape
 */
#include "onnx_export.h"
#include "base/error_fill.h"
#include "kernels/crc32c.h"
#include "onnx/onnx_fit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LARGE_BYTES 64u /* of a tensor, a checksum is compared */
#define MOST_NUMBERS (1u << 24)

/* What a formula, or the shape of an input, is called in the file. */
struct made_value {
    char *text, *name;
};

struct export_sizes {
    struct onnx_fit fit;
    struct size_names names;
    uint32_t pass;                    /* being recorded; fit.n_passes: the file is written */
    int64_t *number[ONNX_FIT_PASSES]; /* owns: [n], in the order of writing */
    uint32_t n, room, at;
    Onnx__NodeProto **node; /* in the arena: to stand first */
    uint32_t n_nodes, node_room;
    struct made_value *made; /* in the arena */
    uint32_t n_made, made_room;
    bool unfit;     /* an integer follows no formula */
    bool no_memory; /* for sizes that were tried */
};

static bool is_written(const struct export_sizes *s)
{
    return s->pass == s->fit.n_passes;
}

/* ---- numbers -------------------------------------------------------------------------------- */

/* The place of n numbers, which a recording pass keeps. */
static uint32_t take_numbers(struct onnx_export *x, const int64_t *v, uint32_t n)
{
    struct export_sizes *s = x->sizes;
    const uint32_t at = s->at;
    if (is_written(s)) {
        s->unfit |= at + n > s->n;
        s->at += s->unfit ? 0 : n;
        return at;
    }
    if (s->pass == 0 && n <= MOST_NUMBERS && at + n > s->room) {
        const uint32_t room = 2 * (at + n);
        for (uint32_t k = 0; k < s->fit.n_passes; k++) {
            int64_t *grown = realloc(s->number[k], room * sizeof *grown);
            x->failed = x->failed || !grown;
            s->number[k] = grown ? grown : s->number[k];
        }
        s->room = x->failed ? s->room : room;
    }
    if (at + n > s->room || (s->pass > 0 && at + n > s->n))
        s->unfit = true;
    else if (!x->failed)
        memcpy(s->number[s->pass] + at, v, n * sizeof *v);
    s->at += s->unfit ? 0 : n;
    return at;
}

static bool is_open(const struct export_sizes *s, uint32_t at)
{
    for (uint32_t k = 1; k < s->fit.n_passes; k++)
        if (s->number[k][at] != s->number[0][at])
            return true;
    return false;
}

static bool is_formula(struct export_sizes *s, const struct pith_sized *sized, uint32_t n,
                       struct size_expression *e)
{
    for (uint32_t i = 0; i < n; i++)
        if (pith_size_parse(sized[i].formula, strlen(sized[i].formula), &s->names, false, e) &&
            pith_onnx_fits(&s->fit, e))
            return true;
    return false;
}

/* The network's own formulas were tested at import with many sizes: they come first. */
static bool find_formula(struct onnx_export *x, uint32_t at, struct size_expression *e)
{
    struct export_sizes *s = x->sizes;
    bool found = true;
    for (uint32_t k = 0; k < s->fit.n_passes && found; k++) {
        found = s->number[k][at] <= INT32_MAX && s->number[k][at] >= -INT32_MAX;
        s->fit.number[k] = (int32_t)s->number[k][at];
    }
    if (!found)
        return false;
    if (is_formula(s, x->m->sized, x->m->n_sized, e))
        return true;
    for (uint32_t i = 0; i < x->m->n_nodes; i++)
        if (is_formula(s, x->m->nodes[i].sized, x->m->nodes[i].n_sized, e))
            return true;
    return pith_onnx_fit(&s->fit, e);
}

/* ---- nodes that stand first ----------------------------------------------------------------- */

/* Room for one element more at powers of two. */
static void *grow(struct onnx_export *x, void *list, uint32_t n, uint32_t *room, size_t each)
{
    if (n < *room)
        return list;
    void *grown = pith_export_alloc(x, n ? 2 * (uint64_t)n : 16, each);
    if (!grown)
        return list;
    if (n)
        memcpy(grown, list, n * each);
    *room = n ? 2 * n : 16;
    return grown;
}

/* Returns the name of what it gives; NULL: no memory. */
static const char *first_node(struct onnx_export *x, const char *op, const char *a, const char *b,
                              Onnx__NodeProto **node)
{
    struct export_sizes *s = x->sizes;
    const char *name = pith_export_name(x, "size");
    Onnx__NodeProto *made = pith_export_node(x, op, "");
    s->node = grow(x, s->node, s->n_nodes, &s->node_room, sizeof *s->node);
    if (x->failed)
        return NULL;
    x->graph.n_node--;
    s->node[s->n_nodes++] = made;
    pith_export_input(made, a);
    pith_export_input(made, b);
    pith_export_output(made, name);
    if (node)
        *node = made;
    return name;
}

static const char *find_made(const struct export_sizes *s, const char *text)
{
    for (uint32_t i = 0; i < s->n_made; i++)
        if (strcmp(s->made[i].text, text) == 0)
            return s->made[i].name;
    return NULL;
}

static const char *keep_made(struct onnx_export *x, const char *text, const char *name)
{
    struct export_sizes *s = x->sizes;
    s->made = grow(x, s->made, s->n_made, &s->made_room, sizeof *s->made);
    char *copy = name && !x->failed ? pith_model_strdup(x->arena, text) : NULL;
    if (copy)
        s->made[s->n_made++] = (struct made_value){copy, (char *)(uintptr_t)name};
    return name;
}

/* [n] integers. */
static const char *constant(struct onnx_export *x, const int64_t *v, uint32_t n)
{
    Onnx__NodeProto *node = NULL;
    const char *name = first_node(x, "Constant", NULL, NULL, &node);
    if (name)
        pith_export_ints(x, node, "value_ints", v, n);
    return name;
}

static const char *number(struct onnx_export *x, int64_t v)
{
    char text[32];
    snprintf(text, sizeof text, "%lld", (long long)v);
    const char *name = find_made(x->sizes, text);
    return name ? name : keep_made(x, text, constant(x, &v, 1));
}

/* The graph's input is of f16 where the model's is f32. */
static const char *shape_of(struct onnx_export *x, uint32_t input)
{
    const uint32_t value = x->m->inputs[input];
    const char *of = x->end_names && x->end_names[value] ? x->end_names[value] : x->names[value];
    char text[32];
    snprintf(text, sizeof text, "shape %u", input);
    const char *name = find_made(x->sizes, text);
    return name ? name : keep_made(x, text, first_node(x, "Shape", of, NULL, NULL));
}

/* Size i, from a dimension that is times * size + plus; NULL: there is none. */
static const char *size_value(struct onnx_export *x, uint32_t i)
{
    struct export_sizes *s = x->sizes;
    const char *name = find_made(s, s->names.name[i]);
    for (uint32_t k = 0; k < x->m->n_sized && !name && !x->failed; k++) {
        const char *formula = x->m->sized[k].formula;
        struct size_expression e;
        int64_t times = 0, plus = 0;
        bool alone = pith_size_parse(formula, strlen(formula), &s->names, false, &e);
        for (uint32_t t = 0; alone && t < e.n_terms; t++) {
            const struct size_term *term = &e.term[t];
            alone = term->n_factors == 0 || (term->n_factors == 1 && term->factor[0] == i);
            *(term->n_factors ? &times : &plus) += term->times;
        }
        if (!alone || e.divisor != 1 || times <= 0)
            continue;
        name = first_node(x, "Gather", shape_of(x, x->m->sized[k].slot / PITH_MAX_RANK),
                          number(x, x->m->sized[k].slot % PITH_MAX_RANK), NULL);
        name = plus ? first_node(x, "Sub", name, number(x, plus), NULL) : name;
        name = times > 1 ? first_node(x, "Div", name, number(x, times), NULL) : name;
        keep_made(x, s->names.name[i], name);
    }
    return name;
}

static const char *formula_value(struct onnx_export *x, const struct size_expression *e);

static const char *factor_value(struct onnx_export *x, const struct size_expression *e,
                                uint32_t factor)
{
    if (factor < SIZE_NAMES)
        return size_value(x, factor);
    const struct size_quotient *q = &e->quotient[factor - SIZE_NAMES];
    struct size_expression sum = {.divisor = q->divisor, .n_terms = 1 + (q->plus != 0)};
    sum.term[0] = (struct size_term){q->times, 1, {q->name}};
    sum.term[1].times = q->plus;
    return formula_value(x, &sum);
}

/* The formula as a list of one integer. '/' of ONNX rounds towards 0, so that a sum that may be
 * negative is lifted above it first. */
static const char *formula_value(struct onnx_export *x, const struct size_expression *e)
{
    struct export_sizes *s = x->sizes;
    char text[SIZE_TEXT_BYTES];
    pith_size_print(e, &s->names, text, sizeof text);
    const char *sum = find_made(s, text);
    const int64_t lift = INT32_MAX;
    bool negative = false;
    if (sum)
        return sum;
    for (uint32_t t = 0; t < e->n_terms && !x->failed; t++) {
        const struct size_term *term = &e->term[t];
        const char *product = term->n_factors == 0 ? number(x, term->times) : NULL;
        negative |= term->times < 0;
        for (uint32_t k = 0; k < term->n_factors; k++) {
            const char *size = factor_value(x, e, term->factor[k]);
            s->unfit |= !size;
            if (!size)
                return NULL;
            product = product ? first_node(x, "Mul", product, size, NULL) : size;
        }
        if (term->n_factors && term->times != 1)
            product = first_node(x, "Mul", product, number(x, term->times), NULL);
        sum = sum ? first_node(x, "Add", sum, product, NULL) : product;
    }
    if (e->divisor > 1) {
        const int64_t by = e->divisor;
        sum = negative ? first_node(x, "Add", sum, number(x, lift * by), NULL) : sum;
        sum = first_node(x, "Div", sum, number(x, by), NULL);
        sum = negative ? first_node(x, "Sub", sum, number(x, lift), NULL) : sum;
    }
    return keep_made(x, text, sum);
}

/* ---- what the writer asks for --------------------------------------------------------------- */

const char *pith_export_sized_ints(struct onnx_export *x, const int64_t *v, uint32_t n)
{
    struct export_sizes *s = x->sizes;
    const uint32_t at = take_numbers(x, v, n);
    uint32_t n_open = 0, n_parts = 0;
    if (!is_written(s) || s->unfit || x->failed)
        return NULL;
    for (uint32_t i = 0; i < n; i++)
        n_open += is_open(s, at + i);
    if (n_open == 0)
        return NULL;
    const char **part = pith_export_alloc(x, n, sizeof *part);
    for (uint32_t i = 0, next; i < n && part && !x->failed; i = next) {
        struct size_expression e;
        next = i + 1;
        if (is_open(s, at + i)) {
            const bool found = find_formula(x, at + i, &e);
            s->unfit |= !found;
            part[n_parts++] = found ? formula_value(x, &e) : "";
            continue;
        }
        while (next < n && !is_open(s, at + next))
            next++;
        part[n_parts++] = next == i + 1 ? number(x, v[i]) : constant(x, v + i, next - i);
    }
    if (x->failed || s->unfit)
        return "";
    if (n_parts == 1)
        return part[0];
    const uint32_t widest = x->widest;
    Onnx__NodeProto *concat = NULL;
    x->widest = n_parts > widest ? n_parts : widest;
    const char *name = first_node(x, "Concat", NULL, NULL, &concat);
    x->widest = widest;
    for (uint32_t i = 0; i < n_parts && name; i++)
        pith_export_input(concat, part[i]);
    pith_export_int(x, concat, "axis", 0);
    return name;
}

const char *pith_export_sized_dim(struct onnx_export *x, uint32_t dim, bool *open)
{
    struct export_sizes *s = x->sizes;
    struct size_expression e;
    char text[SIZE_TEXT_BYTES];
    const int64_t v = dim;
    const uint32_t at = take_numbers(x, &v, 1);
    *open = !is_written(s) || (!s->unfit && is_open(s, at));
    if (!is_written(s) || !*open || !find_formula(x, at, &e))
        return NULL;
    pith_size_print(&e, &s->names, text, sizeof text);
    return pith_model_strdup(x->arena, text);
}

bool pith_export_is_recorded(const struct onnx_export *x)
{
    return x->sizes && !is_written(x->sizes);
}

/* Of a large tensor that is only recorded. */
uint64_t pith_export_shorten(struct onnx_export *x, const void **data, uint64_t bytes)
{
    uint32_t *crc = bytes > LARGE_BYTES ? pith_export_alloc(x, 1, sizeof *crc) : NULL;
    if (!crc)
        return bytes;
    *crc = pith_crc32c(0, *data, (size_t)bytes);
    *data = crc;
    return sizeof *crc;
}

Onnx__NodeProto **pith_export_size_nodes(const struct onnx_export *x, uint32_t *n)
{
    *n = x->sizes ? x->sizes->n_nodes : 0;
    return x->sizes ? x->sizes->node : NULL;
}

enum pith_status pith_export_check_sizes(const struct onnx_export *x)
{
    return !x->sizes || !x->sizes->unfit
               ? PITH_OK
               : pith_error_fill(x->err, PITH_ERR_UNSUPPORTED,
                                 "cannot write open sizes as ONNX: a shape follows no formula that "
                                 "the shapes of inputs give");
}

/* ---- passes --------------------------------------------------------------------------------- */

/* Whether the model takes the sizes of pass k, in which some differ from the base. */
static bool takes(struct pith_model *m, struct export_sizes *s, uint32_t k)
{
    bool differ = false;
    for (uint32_t i = 0; i < m->n_sizes; i++) {
        differ |= s->fit.size[k][i] != s->fit.size[0][i];
        if (s->fit.size[k][i] == 0)
            return false;
    }
    const enum pith_status st = differ ? pith_model_set_sizes(m, s->fit.size[k], NULL) : PITH_OK;
    s->no_memory |= st == PITH_ERR_MEMORY;
    return differ && st == PITH_OK;
}

/* Size i alone: two other values. */
static bool choose_alone(struct pith_model *m, struct export_sizes *s, uint32_t i)
{
    const uint32_t v = s->fit.size[0][i];
    const uint32_t other[] = {v - 1, v / 2, v - 3, v + 1, v + 3, v - 2, v + 2, 2 * v, 3 * v, 1};
    uint32_t n = 0;
    for (uint32_t c = 0; c < sizeof other / sizeof *other && n < 2; c++) {
        const uint32_t k = 1 + 2 * i + n;
        if (other[c] > m->sizes[i].max || (n && other[c] == s->fit.size[k - 1][i]))
            continue;
        s->fit.size[k][i] = other[c];
        n += takes(m, s, k);
    }
    return n == 2;
}

/* All sizes, near the base and far from it, each in another way. */
static bool choose_joint(struct pith_model *m, struct export_sizes *s)
{
    static const struct {
        int32_t times, by, plus;
    } ways[] = {{1, 2, 1}, {2, 1, 1}, {1, 3, 2}, {1, 1, 5},  {1, 1, -2}, {1, 1, 2},
                {1, 1, 1}, {3, 1, 0}, {1, 4, 1}, {1, 1, -1}, {1, 2, 0},  {2, 1, 0}};
    const uint32_t n_ways = sizeof ways / sizeof *ways, first = 1 + 2 * m->n_sizes;
    uint32_t n = 0;
    for (uint32_t w = 0; w < 2 * n_ways && n < ONNX_FIT_JOINT + ONNX_FIT_MORE; w++) {
        const uint32_t apart =
            w < n_ways ? 0 : 5; /* sizes that differ alike are one to a formula */
        for (uint32_t i = 0; i < m->n_sizes; i++) {
            const uint32_t way = (w + apart * i) % n_ways;
            const int64_t v = (int64_t)s->fit.size[0][i] * ways[way].times / ways[way].by +
                              ways[way].plus + (ways[way].plus > 0 ? 2 * i : 0);
            s->fit.size[first + n][i] = v > 0 && v <= m->sizes[i].max ? (uint32_t)v : 1;
        }
        n += takes(m, s, first + n);
        if (w + 1 == n_ways && n > ONNX_FIT_JOINT + ONNX_FIT_MORE / 2)
            n = ONNX_FIT_JOINT + ONNX_FIT_MORE / 2; /* room for those */
    }
    s->fit.n_passes = first + n;
    return n >= ONNX_FIT_JOINT;
}

static bool choose_passes(struct pith_model *m, struct export_sizes *s)
{
    bool ok = true;
    s->fit.n_sizes = m->n_sizes;
    for (uint32_t i = 0; i < m->n_sizes; i++)
        pith_size_add_name(&s->names, m->sizes[i].name, strlen(m->sizes[i].name));
    for (uint32_t k = 0; k < ONNX_FIT_PASSES; k++)
        for (uint32_t i = 0; i < m->n_sizes; i++)
            s->fit.size[k][i] = m->sizes[i].value;
    for (uint32_t i = 0; i < m->n_sizes; i++)
        ok = ok && choose_alone(m, s, i);
    return choose_joint(m, s) && ok;
}

static bool same_node(const Onnx__NodeProto *a, const Onnx__NodeProto *b)
{
    const size_t n = pith_onnx__node_proto__get_packed_size(a);
    uint8_t *data = n == pith_onnx__node_proto__get_packed_size(b) ? malloc(2 * n + 1) : NULL;
    if (data) {
        pith_onnx__node_proto__pack(a, data);
        pith_onnx__node_proto__pack(b, data + n);
    }
    const bool same = data && memcmp(data, data + n, n) == 0;
    free(data);
    return same;
}

/* Two recordings whose bytes differ. */
static enum pith_status describe(const struct pith_buffer file[2], struct pith_error *err)
{
    Onnx__ModelProto *m[2];
    const char *name = "", *op = "";
    for (uint32_t i = 0; i < 2; i++)
        m[i] = pith_onnx__model_proto__unpack(NULL, file[i].bytes, file[i].data);
    for (size_t i = 0; m[0] && m[1] && i < m[0]->graph->n_node && !*op; i++)
        if (i >= m[1]->graph->n_node || !same_node(m[0]->graph->node[i], m[1]->graph->node[i])) {
            name = m[0]->graph->node[i]->name;
            op = m[0]->graph->node[i]->op_type;
        }
    const enum pith_status st =
        *op ? pith_error_fill(err, PITH_ERR_UNSUPPORTED,
                              "cannot write open sizes as ONNX: node '%.200s' (%s) differs with "
                              "other sizes",
                              name, op)
            : pith_error_fill(err, PITH_ERR_UNSUPPORTED,
                              "cannot write open sizes as ONNX: a constant differs with other "
                              "sizes");
    for (uint32_t i = 0; i < 2; i++)
        if (m[i])
            pith_onnx__model_proto__free_unpacked(m[i], NULL);
    return st;
}

static enum pith_status record_all(struct pith_model *m, struct export_sizes *s,
                                   struct pith_error *err)
{
    struct pith_buffer file[2] = {{0}, {0}};
    enum pith_status st = PITH_OK;
    for (s->pass = 0; s->pass < s->fit.n_passes && !st; s->pass++) {
        const bool again = s->pass > 0;
        s->at = 0;
        st = pith_model_set_sizes(m, s->fit.size[s->pass], err);
        st = st ? st : pith_export_file(m, s, &file[again], err);
        if (!st && again &&
            (s->at != s->n || file[0].bytes != file[1].bytes ||
             memcmp(file[0].data, file[1].data, file[0].bytes) != 0))
            st = describe(file, err);
        s->n = s->at;
        if (again)
            pith_buffer_free(&file[1]);
    }
    pith_buffer_free(&file[0]);
    s->pass = s->fit.n_passes;
    s->at = 0;
    return st;
}

enum pith_status pith_export_open_sizes(const struct pith_model *m, struct pith_buffer *file,
                                        struct pith_error *err)
{
    struct export_sizes *s = calloc(1, sizeof *s);
    struct pith_model *copy = NULL;
    enum pith_status st = s ? pith_model_copy(m, &copy, err) : pith_error_no_memory(err);
    if (!st && !choose_passes(copy, s))
        st = s->no_memory ? pith_error_no_memory(err)
                          : pith_error_fill(
                                err, PITH_ERR_UNSUPPORTED,
                                "cannot write open sizes as ONNX: the network takes too few other "
                                "sizes");
    st = st ? st : record_all(copy, s, err);
    st = st ? st : pith_export_file(m, s, file, err);
    for (uint32_t k = 0; s && k < ONNX_FIT_PASSES; k++)
        free(s->number[k]);
    free(s);
    pith_model_free(copy);
    return st;
}
