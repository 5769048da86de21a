/* SPDX-License-Identifier: MIT */
/* network_text.h - networks as one line of text, imported and run. One test program includes it
 * behind cmocka's header.
 *
 *     "x f32 [N,seq,4]; ids i64 [1,seq] | Gather{axis=1} ~9x4 ids -> e; Add x e -> y | y"
 *
 *     inputs     name, type, dimensions: numbers or formulas of sizes, without blanks
 *     nodes      operator, or name:operator, attributes in braces (1: an integer, 1, or 1,2: a list
 * of them, 1.5: a number, else a text), inputs, results. ' is an input that is left out constants
 * 3: an integer of rank 0, [1,2]: a list of integers, 1.5: a number of rank 0, ~9x4: numbers
 * between -1 and 1, #1x8: the integers 0, 1, ... 7 outputs */
#ifndef NETWORK_TEXT_H
#define NETWORK_TEXT_H

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "core/tensor.h"
#include "host/size_expression.h"
#include "onnx/onnx_read.h"
#include "pith_host.h"
#include "pith_onnx.h"
#include "pith_pack.h"
#include "proto_builder.h"

/* What sizes are, "N=2 seq=5". */
struct bound_sizes {
    struct size_names names;
    uint32_t value[SIZE_NAMES];
};

static inline struct bound_sizes bind_sizes(const char *text)
{
    struct bound_sizes b = {0};
    char name[SIZE_NAME_BYTES];
    for (int n = 0; *text; text += n) {
        uint32_t value;
        assert_int_equal(sscanf(text, " %63[^=]=%u%n", name, &value, &n), 2);
        b.value[pith_size_add_name(&b.names, name, strlen(name))] = value;
    }
    return b;
}

/* Cuts *text behind the next `end`; the part before it, without blanks around. */
static inline char *next_part(char **text, char end)
{
    char *part = *text, *to = strchr(part, end);
    *text = to ? to + 1 : part + strlen(part);
    if (to)
        *to = 0;
    part += strspn(part, " ");
    for (char *last = part + strlen(part); last > part && last[-1] == ' ';)
        *--last = 0;
    return part;
}

static inline void add_text_input(struct proto *g, char *part, const struct bound_sizes *bound)
{
    struct proto shape = {0}, tensor = {0}, kind = {0}, info = {0};
    const char *name = next_part(&part, ' '), *type = next_part(&part, ' ');
    static const struct {
        const char *name;
        int type;
    } types[] = {{"f32", 1}, {"u8", 2},  {"i8", 3},   {"u16", 4},  {"i16", 5},
                 {"i32", 6}, {"i64", 7}, {"bool", 9}, {"f16", 10}, {"f64", 11}};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (strcmp(types[i].name, type) == 0)
            proto_int(&tensor, 1, types[i].type);
    part += *part == '[';
    part[strcspn(part, "]")] = 0;
    while (*part) {
        const char *text = next_part(&part, ',');
        struct proto dim = {0};
        struct size_names names = bound ? bound->names : (struct size_names){0};
        struct size_expression e;
        int32_t v = 0;
        if (!bound && text[strspn(text, "0123456789")] == 0)
            proto_int(&dim, 1, atoll(text));
        else if (bound && pith_size_parse(text, strlen(text), &names, false, &e) &&
                 pith_size_value(&e, bound->value, &v))
            proto_int(&dim, 1, v);
        else if (*text != '?')
            proto_text(&dim, 2, text);
        proto_message(&shape, 1, dim);
    }
    proto_message(&tensor, 2, shape);
    proto_message(&kind, 1, tensor);
    proto_text(&info, 1, name);
    proto_message(&info, 2, kind);
    proto_message(g, GRAPH_INPUT, info);
}

static inline void add_text_attr(struct proto *node, char *part)
{
    const char *name = next_part(&part, '=');
    struct proto a = {0};
    proto_text(&a, 1, name);
    if (isalpha((unsigned char)*part)) {
        proto_text(&a, 4, part);
        proto_int(&a, 20, 3);
    } else if (strchr(part, '.')) {
        proto_float(&a, 2, strtof(part, NULL));
        proto_int(&a, 20, 1);
    } else if (strchr(part, ',')) {
        while (*part)
            proto_int(&a, 8, atoi(next_part(&part, ',')));
        proto_int(&a, 20, 7);
    } else {
        proto_int(&a, 3, atoi(part));
        proto_int(&a, 20, 2);
    }
    proto_message(node, 5, a);
}

/* A constant that is called what it is. */
static inline void add_text_constant(struct proto *g, const char *word)
{
    int64_t dims[8], n = 1, *integers = NULL;
    size_t rank = 0;
    const char *p = word + 1;
    const bool made = *word == '~' || *word == '#', list = *word == '[';
    while (made && *p) {
        dims[rank] = strtoll(p, (char **)(uintptr_t)&p, 10);
        n *= dims[rank++];
        p += *p == 'x';
    }
    for (n = list ? *p != ']' : n; list && *p; p++)
        n += *p == ',';
    if (list)
        dims[rank++] = n;
    float *numbers = calloc((size_t)n + 1, sizeof *numbers);
    integers = calloc((size_t)n + 1, sizeof *integers);
    assert_true(numbers && integers);
    p = word + list;
    for (int64_t i = 0; i < n; i++) {
        numbers[i] =
            *word == '~' ? (float)((i * 37 + n * 11) % 41) / 20.0f - 1.0f : strtof(word, NULL);
        integers[i] = *word == '#' ? i : strtoll(p, (char **)(uintptr_t)&p, 10);
        p += list && *p == ',';
    }
    const bool is_float = *word == '~' || (!made && !list && strchr(word, '.'));
    proto_message(
        g, GRAPH_INITIALIZER,
        is_float
            ? build_tensor(word, BUILD_FLOAT, dims, rank, numbers, (size_t)n * sizeof *numbers)
            : build_tensor(word, BUILD_INT64, dims, rank, integers, (size_t)n * sizeof *integers));
    free(numbers);
    free(integers);
}

/* "Op{attributes} links", the i-th. known: texts of the constants that are there already. */
static inline void add_text_node(struct proto *g, char *part, uint32_t i, char *known)
{
    char op[64], name[16];
    size_t n = strcspn(part, " {:");
    if (part[n] == ':')
        snprintf(name, sizeof name, "%s", next_part(&part, ':'));
    else
        snprintf(name, sizeof name, "n%u", i);
    n = strcspn(part, " {");
    memcpy(op, part, n);
    op[n] = 0;
    char *attrs = part + n, *links = attrs;
    if (*attrs == '{') {
        attrs++;
        links = attrs;
        (void)next_part(&links, '}');
    } else
        attrs = NULL;
    links += strspn(links, " ");
    struct proto node = build_node(op, name, links);
    while (attrs && *attrs)
        add_text_attr(&node, next_part(&attrs, ' '));
    proto_message(g, GRAPH_NODE, node);
    while (*links) {
        char *word = next_part(&links, ' '), quoted[80];
        snprintf(quoted, sizeof quoted, " %s ", word);
        const bool constant = strchr("[~#", *word) || isdigit((unsigned char)*word) ||
                              (*word == '-' && word[1] != '>');
        if (!constant || strstr(known, quoted))
            continue;
        strcat(known, quoted);
        add_text_constant(g, word);
    }
}

/* bound: NULL: sizes stay open. all: every result is an output, and no others are. */
static inline struct proto text_graph_of(const char *text, const struct bound_sizes *bound,
                                         bool all)
{
    char *copy = strdup(text), *rest = copy, *known = calloc(1, strlen(text) * 2 + 1);
    struct proto g = {0};
    assert_true(copy && known);
    char *inputs = next_part(&rest, '|'), *nodes = next_part(&rest, '|'),
         *outputs = next_part(&rest, '|');
    while (*outputs && !all)
        build_output(&g, next_part(&outputs, ' '));
    while (*inputs)
        add_text_input(&g, next_part(&inputs, ';'), bound);
    for (uint32_t i = 0; *nodes; i++) {
        char *node = next_part(&nodes, ';');
        const char *result = strstr(node, "->") + 2;
        char name[32];
        for (int n; all && sscanf(result, " %31s%n", name, &n) == 1; result += n)
            build_output(&g, name);
        add_text_node(&g, node, i, known);
    }
    free(copy);
    free(known);
    return g;
}

/* To which more may be added. */
static inline struct proto text_graph(const char *text)
{
    return text_graph_of(text, NULL, false);
}

static inline struct proto network_file(const char *text, const struct bound_sizes *bound, bool all)
{
    return build_model(text_graph_of(text, bound, all), 17);
}

/* A network that is ready to run. */
struct running {
    struct pith_buffer packed;
    struct pith_sizes *sizes;
    struct pith_session *s;
    bool batch_open;
};

static inline void stop_running(struct running *r)
{
    pith_close(r->s);
    pith_sizes_free(r->sizes);
    pith_buffer_free(&r->packed);
}

/* The model of a file, which is released. */
static inline struct pith_model *read_network(struct proto file, const char *text)
{
    struct pith_model *m = NULL;
    struct pith_error err = {0};
    const struct pith_import_opts opts = {.size_bytes = sizeof opts, .max_bytes = 1u << 30};
    if (pith_onnx_read(file.data, file.n, "net.onnx", &opts, &m, &err))
        fail_msg("%s: %s", text, err.text);
    free(file.data);
    return m;
}

/* Inputs depend on their place alone: small integers, or numbers within -1 and 1. */
static inline void fill_inputs(struct pith_plan *plan)
{
    struct pith_tensor t;
    for (uint32_t k = 0; pith_plan_input(plan, k, &t) == PITH_OK; k++) {
        uint8_t *data = pith_plan_input_data(plan, k);
        const uint32_t each = pith_type_bytes(t.type);
        for (uint64_t i = 0; i < t.bytes / each; i++) {
            const float f = (float)((i * 29 + k * 7) % 33) / 16.0f - 1.0f;
            const int64_t n = (int64_t)((i * 5 + k) % (t.type == PITH_BOOL ? 2 : 7));
            memcpy(data + i * each, t.type == PITH_F32 ? (const void *)&f : &n, each);
        }
    }
}

/* m is released. bound: what open sizes become. */
static inline struct running run_network(struct pith_model *m, const struct bound_sizes *bound,
                                         const char *text)
{
    struct running r = {.batch_open = m->batch_open};
    struct pith_error err = {0};
    struct pith_opts o = {.size_bytes = sizeof o};
    if (pith_model_pack(m, NULL, &r.packed, &err) ||
        pith_sizes_open(r.packed.data, r.packed.bytes, &r.sizes, &err))
        fail_msg("%s: %s", text, err.text);
    pith_model_free(m);
    for (uint32_t i = 0; bound && i < bound->names.n; i++) {
        const char *name = bound->names.name[i];
        if (strcmp(name, "N") == 0)
            o.batch = r.batch_open ? bound->value[i] : 1;
        else if (r.sizes && pith_sizes_set(r.sizes, name, bound->value[i], &err))
            fail_msg("%s: %s", text, err.text);
    }
    if (pith_sizes_apply(r.sizes, &o, &err) ||
        pith_open_memory(r.packed.data, r.packed.bytes, &o, &r.s, &err))
        fail_msg("%s: %s", text, err.text);
    fill_inputs(pith_plan_of(r.s));
    assert_int_equal(pith_plan_run(pith_plan_of(r.s)), PITH_OK);
    return r;
}

/* Output i of a is output k of b, to `near` of its size. */
static inline void outputs_agree(const struct running *a, uint32_t i, const struct running *b,
                                 uint32_t k, float near, const char *text)
{
    struct pith_tensor x, y;
    assert_int_equal(pith_plan_output(pith_plan_of(a->s), i, &x), PITH_OK);
    assert_int_equal(pith_plan_output(pith_plan_of(b->s), k, &y), PITH_OK);
    if (x.type != y.type || x.rank != y.rank || memcmp(x.dim, y.dim, x.rank * sizeof *x.dim) != 0)
        fail_msg("%s: output %u has another type or shape", text, i);
    for (uint64_t e = 0; x.type == PITH_F32 && e < x.bytes / sizeof(float); e++) {
        const float p = ((const float *)x.data)[e], q = ((const float *)y.data)[e];
        if (!(fabsf(p - q) <= near * (1 + fabsf(q))) && !(isnan(p) && isnan(q)) &&
            !(isinf(p) && p == q))
            fail_msg("%s: element %u of output %u is %g, expected %g", text, (uint32_t)e, i,
                     (double)p, (double)q);
    }
    if (x.type != PITH_F32 && memcmp(x.data, y.data, (size_t)x.bytes) != 0)
        fail_msg("%s: output %u differs", text, i);
}

#endif
