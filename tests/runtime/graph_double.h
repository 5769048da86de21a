/* SPDX-License-Identifier: MIT */
/* graph_double.h - graphs made by hand in place of the container reader: a test that includes this
 * defines pith_graph_count and pith_graph_read itself, so that planning is tested apart from the
 * file format. Include it in one file of a program only.
 *
 *     gd_clear();
 *     uint32_t x = gd_input(4, 1, 3, 8, 8);
 *     uint32_t w = gd_weight(data, 4, 6, 3, 1, 1);
 *     uint32_t y = gd_node(PITH_OP_CONV, NULL, 1, 2, x, w);
 *     gd_output(y);
 *
 * Inputs first, then weights, then nodes: values are numbered in that order. */
#ifndef GRAPH_DOUBLE_H
#define GRAPH_DOUBLE_H

#include <stdlib.h>
#include <string.h>
#include "test_run.h"
#include "backwards.h"
#include "validate/container.h"
#include "op_interface/op_exec.h"
#include "validate/region.h"
#include "pith_runtime.h"
#include "core/op_number.h"

#define GD_MAX 256u
#define GD_MAX_IN 16u

static struct gd {
    struct graph g;
    struct graph_input input[GD_MAX];
    struct weight weight[GD_MAX];
    struct graph_node node[GD_MAX];
    struct graph_name weight_name[GD_MAX], output_name[GD_MAX];
    uint32_t output[GD_MAX];
    struct tview value[2 * GD_MAX];
    uint32_t in[GD_MAX][GD_MAX_IN];
    int32_t attr[GD_MAX][PITH_OP_MAX_SLOTS];
} gd;

static inline void gd_clear(void)
{
    memset(&gd, 0, sizeof gd);
}

static inline uint32_t gd_value(const struct shape *s)
{
    gd.value[gd.g.n_values] = (struct tview){PITH_F32, *s, NULL};
    return gd.g.n_values++;
}

static inline struct shape gd_shape(uint32_t rank, va_list dims)
{
    struct shape s = {.rank = rank};
    for (uint32_t i = 0; i < rank; i++)
        s.dim[i] = va_arg(dims, uint32_t);
    return s;
}

static inline uint32_t gd_input(uint32_t rank, ...)
{
    va_list dims;
    va_start(dims, rank);
    struct graph_input *in = &gd.input[gd.g.n_inputs++];
    in->type = PITH_F32;
    in->shape = gd_shape(rank, dims);
    va_end(dims);
    return gd_value(&in->shape);
}

/* The input made last holds elements of this type. */
static inline void gd_input_type(enum pith_type type)
{
    gd.input[gd.g.n_inputs - 1].type = type;
    gd.value[gd.g.n_inputs - 1].type = type;
}

/* data: borrowed, the elements. */
static inline uint32_t gd_weight(const float *data, uint32_t rank, ...)
{
    va_list dims;
    va_start(dims, rank);
    struct weight *w = &gd.weight[gd.g.n_weights++];
    *w = (struct weight){.type = PITH_F32, .shape = gd_shape(rank, dims), .n_groups = 1};
    va_end(dims);
    w->count = w->nnz = w->group_elems = shape_elems(&w->shape);
    w->index_stream = (struct stream){(const uint8_t *)data, (size_t)w->count * sizeof *data};
    return gd_value(&w->shape);
}

/* The same of another type. */
static inline uint32_t gd_weight_of(enum pith_type type, const void *data, const struct shape *s)
{
    struct weight *w = &gd.weight[gd.g.n_weights++];
    *w = (struct weight){.type = type, .shape = *s, .n_groups = 1};
    w->count = w->nnz = w->group_elems = shape_elems(s);
    w->index_stream = (struct stream){data, (size_t)w->count * pith_type_bytes(type)};
    uint32_t v = gd_value(s);
    gd.value[v].type = type;
    return v;
}

/* A node with attributes from set (NULL: defaults). Returns its first output. */
static inline uint32_t gd_node_of(enum pith_op op, void (*set)(int32_t *attr, void *arg), void *arg,
                                  uint32_t n_out, uint32_t n_in, const uint32_t *in)
{
    const struct tview *views[GD_MAX_IN];
    struct tview *outs[GD_MAX_IN];
    uint32_t n = gd.g.n_nodes++, first = gd.g.n_values;
    struct graph_node *node = &gd.node[n];
    assert_true(n < GD_MAX && n_in <= GD_MAX_IN && n_out <= GD_MAX_IN);
    *node = (struct graph_node){
        .info = pith_op_get(op), .n_in = n_in, .n_out = n_out, .first_out = first};
    assert_non_null(node->info);
    pith_op_attr_defaults(node->info, gd.attr[n]);
    if (set)
        set(gd.attr[n], arg);
    memset(gd.in[n], 0x7f, sizeof gd.in[n]); /* no value: an input read past its end shows */
    memcpy(gd.in[n], in, n_in * sizeof *in);
    for (uint32_t i = 0; i < n_in; i++)
        views[i] = in[i] == PITH_NO_VALUE ? NULL : &gd.value[in[i]];
    for (uint32_t i = 0; i < n_out; i++)
        outs[i] = &gd.value[gd_value(&(struct shape){0})];
    struct op_args args = {.info = node->info,
                           .attr = gd.attr[n],
                           .n_in = n_in,
                           .n_out = n_out,
                           .in = views,
                           .out = outs};
    assert_int_equal(node->info->shape(&args), PITH_OK);
    return first;
}

static inline uint32_t gd_node(enum pith_op op, void (*set)(int32_t *attr, void *arg), void *arg,
                               uint32_t n_out, uint32_t n_in, ...)
{
    uint32_t in[GD_MAX_IN];
    va_list values;
    va_start(values, n_in);
    for (uint32_t i = 0; i < n_in; i++)
        in[i] = va_arg(values, uint32_t);
    va_end(values);
    return gd_node_of(op, set, arg, n_out, n_in, in);
}

static inline void gd_output(uint32_t value)
{
    gd.output[gd.g.n_outputs++] = value;
}

/* Fixes the pointers; gd.g is then a graph for the planner's inner functions. */
static inline const struct graph *gd_graph(void)
{
    gd.g.inputs = gd.input;
    gd.g.weights = gd.weight;
    gd.g.nodes = gd.node;
    gd.g.weight_names = gd.weight_name;
    gd.g.outputs = gd.output;
    gd.g.output_names = gd.output_name;
    for (uint32_t n = 0; n < gd.g.n_nodes; n++) {
        gd.node[n].in = gd.in[n];
        gd.node[n].attr = gd.attr[n];
    }
    assert_int_equal(pith_graph_regions(&gd.g), PITH_OK);
    return &gd.g;
}

#ifdef GRAPH_DOUBLE_READER
/* Everything but the values stays in gd; as much memory is requested as by a reader. */
enum pith_status pith_graph_count(const void *blob, size_t bytes, uint32_t flags,
                                  struct graph_counts *c, struct pith_error *err)
{
    (void)blob, (void)bytes, (void)flags, (void)err;
    *c = (struct graph_counts){.kept_bytes = gd.g.n_values * sizeof(struct tview),
                               .n_values = gd.g.n_values,
                               .n_nodes = gd.g.n_nodes,
                               .n_weights = gd.g.n_weights};
    for (uint32_t n = 0; n < gd.g.n_nodes; n++)
        graph_count_node(c, gd.node[n].info, gd.node[n].n_in);
    for (uint32_t i = 0; i < gd.g.n_weights; i++)
        c->n_kept += pith_weight_borrow(&gd.weight[i]) == NULL;
    c->n_kept += c->n_weighted;
    c->bytes = c->kept_bytes + gd.g.n_nodes * sizeof(struct graph_node) +
               c->n_refs * sizeof(uint32_t) + gd.g.n_weights * sizeof(struct weight) +
               gd.g.n_inputs * sizeof(struct graph_input);
    return PITH_OK;
}

enum pith_status pith_graph_read(struct graph_bytes file, const struct pith_opts *opts,
                                 struct graph_room room, struct graph *g,
                                 struct tview **value_shapes, struct pith_error *err)
{
    struct graph_counts c;
    (void)opts;
    pith_graph_count(file.blob, file.bytes, file.flags, &c, err);
    g->bytes = c.bytes;
    if (room.bytes < c.bytes)
        return PITH_ERR_SPACE;
    memset(room.mem, 0xa5, (size_t)room.bytes);
    memcpy(room.mem, gd.value, gd.g.n_values * sizeof(struct tview));
    *value_shapes = room.mem;
    *g = *gd_graph();
    g->bytes = c.bytes;
    g->kept_bytes = gd.g.n_values * sizeof(struct tview);
    return PITH_OK;
}

/* threads: 0 for none, else as many lanes, which run in an odd order. */
static inline struct pith_opts gd_opts(uint32_t batch, uint32_t flags, uint32_t threads)
{
    struct pith_opts opts = {.size_bytes = sizeof opts,
                             .batch = batch,
                             .flags = flags,
                             .threads = threads,
                             .parallel_for = threads ? backwards : NULL};
    return opts;
}

/* Plans the graph in exactly the memory it requests, which is full of junk. The caller frees the
 * result, in which the plan lives. */
/* The image of the double is empty and its constants lie anywhere. Plans keep their places as
 * distances from the image's first byte, which are positive from here on every machine. */
static inline const void *gd_image(void)
{
    return (const void *)(uintptr_t)64;
}

static void *gd_plan(const struct pith_opts *opts, struct pith_plan **plan, struct pith_need *need)
{
    uint64_t work_bytes;
    assert_int_equal(pith_plan_work_bytes(gd_image(), 0, opts, &work_bytes), PITH_OK);
    void *work = aligned_alloc(64, (size_t)work_bytes);
    assert_non_null(work);
    assert_int_equal(pith_plan_need(gd_image(), 0, opts, work, (size_t)work_bytes, need), PITH_OK);
    free(work);
    void *mem = aligned_alloc(need->align, (size_t)need->bytes);
    assert_non_null(mem);
    memset(mem, 0xa5, (size_t)need->bytes);
    assert_int_equal(pith_plan_init(mem, (size_t)need->bytes, gd_image(), 0, opts, plan), PITH_OK);
    return mem;
}
#endif

#endif
