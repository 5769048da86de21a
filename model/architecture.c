/* SPDX-License-Identifier: MIT */
/* architecture.c - the small classic networks, written down layer by layer.
 *
 * Values and constants are named after their layer ("conv1", "conv1.w", "conv1.b"). Memory that
 * runs out while a network is being built is noticed once, at the end: until then the builder goes
 * on without storing anything. */
#include "base/error_fill.h"
#include "core/op_number.h"
#include "op_interface/op_attr.h"
#include "op_interface/op_info.h"
#include "pith_init.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { MAX_VALUES = 256, MAX_NODES = 128, MAX_NAME = 48 };

struct builder {
    struct pith_model *m;
    bool no_memory;
};

/* ---- values and nodes ---------------------------------------------------------------------- */

static uint32_t add_value(struct builder *b, const char *name, uint32_t rank, const uint32_t *dim)
{
    if (b->no_memory)
        return 0;
    struct pith_value *v = &b->m->values[b->m->n_values];
    v->name = pith_model_strdup(b->m, name);
    b->no_memory = !v->name;
    v->type = PITH_F32;
    v->rank = rank;
    for (uint32_t i = 0; i < rank; i++)
        v->dim[i] = dim[i];
    v->min = INFINITY;
    v->max = -INFINITY;
    return b->m->n_values++;
}

static uint32_t add_constant(struct builder *b, const char *layer, const char *part, uint32_t rank,
                             const uint32_t *dim)
{
    char name[MAX_NAME];
    snprintf(name, sizeof name, "%s.%s", layer, part);
    uint32_t v = add_value(b, name, rank, dim);
    struct pith_const *c = b->no_memory ? NULL : pith_model_alloc(b->m, 1, sizeof *c);
    if (c) {
        c->count = 1;
        for (uint32_t i = 0; i < rank; i++)
            c->count *= dim[i];
        c->data = pith_model_alloc(b->m, c->count, sizeof(float));
        b->m->values[v].constant = c;
    }
    b->no_memory = b->no_memory || !c || !c->data;
    return v;
}

/* A node with default attributes; its output is named like it. NULL without memory. */
static struct pith_node *add_node(struct builder *b, uint32_t op, const char *name, uint32_t n_in,
                                  const uint32_t *in)
{
    uint32_t out = add_value(b, name, 0, NULL);
    if (b->no_memory)
        return NULL;
    const struct pith_node like = {.name = b->m->values[out].name,
                                   .op = op,
                                   .n_in = n_in,
                                   .in = (uint32_t *)(uintptr_t)in,
                                   .n_out = 1,
                                   .out = &out};
    struct pith_node *node = &b->m->nodes[b->m->n_nodes];
    b->no_memory = !pith_model_make_node(b->m, &like, node);
    if (b->no_memory)
        return NULL;
    b->m->n_nodes++;
    return node;
}

static uint32_t output_of(const struct pith_node *node)
{
    return node ? node->out[0] : 0;
}

static void set_list(struct pith_node *node, uint32_t slot, uint32_t n, const int32_t *entries)
{
    if (!node)
        return;
    node->attr[slot] = (int32_t)n;
    memcpy(node->attr + slot + 1, entries, n * sizeof *entries);
}

/* ---- layers ---------------------------------------------------------------------------------- */

static uint32_t simple(struct builder *b, uint32_t op, const char *name, uint32_t x)
{
    return output_of(add_node(b, op, name, 1, &x));
}

struct filters {
    uint32_t w[4], groups;  /* O, C / groups, KH, KW */
    int32_t stride, pad[4]; /* top, left, bottom, right, each 0 to have none */
    bool bias;              /* not where batch normalization has its own */
};

static uint32_t conv(struct builder *b, const char *name, uint32_t x, const struct filters *f)
{
    uint32_t in[3] = {x, add_constant(b, name, "w", 4, f->w)};
    if (f->bias)
        in[2] = add_constant(b, name, "b", 1, f->w);
    struct pith_node *node = add_node(b, PITH_OP_CONV, name, f->bias ? 3 : 2, in);
    if (f->stride != 1)
        set_list(node, ATTR_CONV_STRIDES, 2, (const int32_t[]){f->stride, f->stride});
    if (f->pad[0] != 0)
        set_list(node, ATTR_CONV_PADS, 4, f->pad);
    if (node)
        node->attr[ATTR_CONV_GROUP] = (int32_t)f->groups;
    return output_of(node);
}

/* o filters of 5 x 5 with a bias, without padding. */
static uint32_t conv5(struct builder *b, const char *name, uint32_t x, uint32_t c, uint32_t o)
{
    return conv(b, name, x,
                &(struct filters){.w = {o, c, 5, 5}, .groups = 1, .stride = 1, .bias = true});
}

/* o padded filters of 3 x 3 without a bias. */
static uint32_t conv3(struct builder *b, const char *name, uint32_t x, uint32_t c, uint32_t o,
                      int32_t stride)
{
    return conv(b, name, x, &(struct filters){{o, c, 3, 3}, 1, stride, {1, 1, 1, 1}, false});
}

static uint32_t gemm(struct builder *b, const char *name, uint32_t x, uint32_t c, uint32_t o)
{
    uint32_t in[3] = {x, add_constant(b, name, "w", 2, (const uint32_t[]){o, c}),
                      add_constant(b, name, "b", 1, &o)};
    return output_of(add_node(b, PITH_OP_GEMM, name, 3, in));
}

static uint32_t max_pool(struct builder *b, const char *name, uint32_t x)
{
    struct pith_node *node = add_node(b, PITH_OP_MAX_POOL, name, 1, &x);
    set_list(node, ATTR_POOL_KERNEL, 2, (const int32_t[]){2, 2});
    set_list(node, ATTR_POOL_STRIDES, 2, (const int32_t[]){2, 2});
    return output_of(node);
}

static uint32_t batch_norm(struct builder *b, const char *name, uint32_t x, uint32_t c)
{
    uint32_t in[5] = {x, add_constant(b, name, "scale", 1, &c),
                      add_constant(b, name, "bias", 1, &c), add_constant(b, name, "mean", 1, &c),
                      add_constant(b, name, "var", 1, &c)};
    return output_of(add_node(b, PITH_OP_BATCH_NORM, name, 5, in));
}

static void set_input(struct builder *b, uint32_t c, uint32_t h, uint32_t w)
{
    b->m->inputs[b->m->n_inputs++] = add_value(b, "input", 4, (const uint32_t[]){1, c, h, w});
    b->m->batch_open = true;
}

static void set_output(struct builder *b, uint32_t x)
{
    b->m->outputs[b->m->n_outputs++] = x;
}

/* ---- networks -------------------------------------------------------------------------------- */

/* LeCun et al., 1998, as examples/mnist/lenet.prototxt of Caffe has it. */
static void build_lenet5(struct builder *b)
{
    set_input(b, 1, 28, 28);
    uint32_t x = conv5(b, "conv1", b->m->inputs[0], 1, 20);
    x = max_pool(b, "pool1", x);
    x = conv5(b, "conv2", x, 20, 50);
    x = max_pool(b, "pool2", x);
    x = simple(b, PITH_OP_FLATTEN, "flatten", x);
    x = gemm(b, "ip1", x, 800, 500);
    x = simple(b, PITH_OP_RELU, "relu1", x);
    x = gemm(b, "ip2", x, 500, 10);
    struct pith_node *softmax = add_node(b, PITH_OP_SOFTMAX, "prob", 1, &x);
    if (softmax)
        softmax->attr[ATTR_SOFTMAX_AXIS] = 1;
    set_output(b, output_of(softmax));
}

static void build_lenet300(struct builder *b)
{
    set_input(b, 1, 28, 28);
    uint32_t x = simple(b, PITH_OP_FLATTEN, "flatten", b->m->inputs[0]);
    x = gemm(b, "ip1", x, 784, 300);
    x = simple(b, PITH_OP_RELU, "relu1", x);
    x = gemm(b, "ip2", x, 300, 100);
    x = simple(b, PITH_OP_RELU, "relu2", x);
    set_output(b, gemm(b, "ip3", x, 100, 10));
}

/* Small enough to be trained in seconds. */
static void build_digits(struct builder *b)
{
    set_input(b, 1, 28, 28);
    uint32_t x = conv5(b, "conv1", b->m->inputs[0], 1, 8);
    x = simple(b, PITH_OP_RELU, "relu1", x);
    x = max_pool(b, "pool1", x);
    x = conv5(b, "conv2", x, 8, 16);
    x = simple(b, PITH_OP_RELU, "relu2", x);
    x = max_pool(b, "pool2", x);
    x = simple(b, PITH_OP_FLATTEN, "flatten", x);
    x = gemm(b, "fc1", x, 256, 64);
    x = simple(b, PITH_OP_RELU, "relu3", x);
    set_output(b, gemm(b, "fc2", x, 64, 10));
}

/* Every other pixel, and channels of zeros before and behind. */
static uint32_t shortcut(struct builder *b, const char *name, uint32_t x, uint32_t c, uint32_t o)
{
    char part[MAX_NAME];
    int32_t added = (int32_t)(o - c) / 2;
    snprintf(part, sizeof part, "%s.slice", name);
    struct pith_node *slice = add_node(b, PITH_OP_SLICE, part, 1, &x);
    set_list(slice, ATTR_SLICE_AXES, 2, (const int32_t[]){2, 3});
    set_list(slice, ATTR_SLICE_STARTS, 2, (const int32_t[]){0, 0});
    set_list(slice, ATTR_SLICE_ENDS, 2, (const int32_t[]){INT32_MAX, INT32_MAX});
    set_list(slice, ATTR_SLICE_STEPS, 2, (const int32_t[]){2, 2});
    x = output_of(slice);
    snprintf(part, sizeof part, "%s.pad", name);
    struct pith_node *pad = add_node(b, PITH_OP_PAD, part, 1, &x);
    set_list(pad, ATTR_PAD_BEGIN, 4, (const int32_t[]){0, added, 0, 0});
    set_list(pad, ATTR_PAD_END, 4, (const int32_t[]){0, added, 0, 0});
    return output_of(pad);
}

static uint32_t residual_block(struct builder *b, const char *name, uint32_t x, uint32_t c,
                               uint32_t o)
{
    char part[6][MAX_NAME];
    static const char *const parts[6] = {"conv1", "bn1", "relu1", "conv2", "bn2", "add"};
    for (int i = 0; i < 6; i++)
        snprintf(part[i], sizeof part[i], "%s.%s", name, parts[i]);
    uint32_t y = conv3(b, part[0], x, c, o, c == o ? 1 : 2);
    y = batch_norm(b, part[1], y, o);
    y = simple(b, PITH_OP_RELU, part[2], y);
    y = conv3(b, part[3], y, o, o, 1);
    y = batch_norm(b, part[4], y, o);
    uint32_t in[2] = {y, c == o ? x : shortcut(b, name, x, c, o)};
    y = output_of(add_node(b, PITH_OP_ADD, part[5], 2, in));
    return simple(b, PITH_OP_RELU, name, y);
}

/* He et al., 2016 (arXiv:1512.03385), section 4.2, n = 3. */
static void build_resnet20(struct builder *b)
{
    uint32_t c = 16;
    set_input(b, 3, 32, 32);
    uint32_t x = conv3(b, "conv1", b->m->inputs[0], 3, c, 1);
    x = batch_norm(b, "bn1", x, c);
    x = simple(b, PITH_OP_RELU, "relu1", x);
    for (unsigned stage = 1; stage <= 3; stage++)
        for (unsigned block = 0; block < 3; block++) {
            char name[24];
            uint32_t o = 8u << stage;
            snprintf(name, sizeof name, "layer%u.%u", stage, block);
            x = residual_block(b, name, x, c, o);
            c = o;
        }
    x = simple(b, PITH_OP_GLOBAL_AVERAGE_POOL, "pool", x);
    x = simple(b, PITH_OP_FLATTEN, "flatten", x);
    set_output(b, gemm(b, "linear", x, c, 10));
}

/* A convolution with batch normalization and ReLU. */
static uint32_t normalized(struct builder *b, const char *name, uint32_t x, const struct filters *f)
{
    char part[MAX_NAME];
    x = conv(b, name, x, f);
    snprintf(part, sizeof part, "%s.bn", name);
    x = batch_norm(b, part, x, f->w[0]);
    snprintf(part, sizeof part, "%s.relu", name);
    return simple(b, PITH_OP_RELU, part, x);
}

/* Zhang et al., 2017 (arXiv:1711.07128), as MLPerf Tiny has it. */
static void build_dscnn(struct builder *b)
{
    const uint32_t c = 64;
    set_input(b, 1, 49, 10);
    uint32_t x = normalized(b, "conv", b->m->inputs[0],
                            &(struct filters){{c, 1, 10, 4}, 1, 2, {4, 1, 5, 1}, false});
    for (unsigned i = 1; i <= 4; i++) {
        char name[24];
        snprintf(name, sizeof name, "depthwise%u", i);
        x = normalized(b, name, x, &(struct filters){{c, 1, 3, 3}, c, 1, {1, 1, 1, 1}, false});
        snprintf(name, sizeof name, "pointwise%u", i);
        x = normalized(b, name, x, &(struct filters){{c, c, 1, 1}, 1, 1, {0}, false});
    }
    x = simple(b, PITH_OP_GLOBAL_AVERAGE_POOL, "pool", x);
    x = simple(b, PITH_OP_FLATTEN, "flatten", x);
    set_output(b, gemm(b, "linear", x, c, 12));
}

static const struct architecture {
    const char *name, *summary;
    void (*build)(struct builder *b);
} architectures[] = {
    {"lenet5", "LeNet-5 as in Caffe (20-50-500-10), 1x28x28, 431,080 parameters", build_lenet5},
    {"lenet300", "LeNet-300-100 (784-300-100-10), 1x28x28, 266,610 parameters", build_lenet300},
    {"digits", "a small one for first steps (8-16-64-10), 1x28x28, 20,522 parameters",
     build_digits},
    {"dscnn", "DS-CNN for keywords as in MLPerf Tiny (64 channels), 1x49x10, 23,180 parameters",
     build_dscnn},
    {"resnet20", "ResNet-20 for CIFAR-10, option A, 3x32x32, 269,722 parameters", build_resnet20},
};

enum { N_ARCHITECTURES = sizeof architectures / sizeof *architectures };

const char *pith_architecture_name(uint32_t i)
{
    return i < N_ARCHITECTURES ? architectures[i].name : NULL;
}

const char *pith_architecture_summary(uint32_t i)
{
    return i < N_ARCHITECTURES ? architectures[i].summary : NULL;
}

static enum pith_status build(const struct architecture *a, struct pith_model *m,
                              struct pith_error *err)
{
    struct builder b = {.m = m};
    m->values = pith_model_alloc(m, MAX_VALUES, sizeof *m->values);
    m->nodes = pith_model_alloc(m, MAX_NODES, sizeof *m->nodes);
    m->inputs = pith_model_alloc(m, 1, sizeof *m->inputs);
    m->outputs = pith_model_alloc(m, 1, sizeof *m->outputs);
    if (!m->values || !m->nodes || !m->inputs || !m->outputs)
        return pith_error_no_memory(err);
    a->build(&b);
    return b.no_memory ? pith_error_no_memory(err) : pith_model_infer_shapes(m, err);
}

enum pith_status pith_architecture_new(const char *name, const struct pith_alloc *alloc,
                                       struct pith_model **m, struct pith_error *err)
{
    if (!name || !m)
        return PITH_ERR_ARGUMENT;
    struct pith_model *made;
    uint32_t i = 0;
    while (i < N_ARCHITECTURES && strcmp(architectures[i].name, name) != 0)
        i++;
    if (i == N_ARCHITECTURES)
        return pith_error_fill(err, PITH_ERR_ARGUMENT, "no architecture '%.100s'", name);
    if (pith_model_new(alloc, &made))
        return pith_error_no_memory(err);
    enum pith_status status = build(&architectures[i], made, err);
    if (status)
        pith_model_free(made);
    else
        *m = made;
    return status;
}
