/* SPDX-License-Identifier: MIT */
/* grad_resize.c - Resize is one sparse matrix an axis; its gradient is their transposes, axis after
 * axis. What an axis' matrix is, the runtime's own operator says when it resizes the columns of the
 * identity: so every mode and rule of coordinates is covered. */
#include "grad_add.h"
#include "grad_list.h"
#include "core/op_number.h"
#include "op_interface/op_attr.h"

#include <stdlib.h>

enum { TAPS = 4 }; /* an output reads at most so many inputs along an axis (cubic) */

struct resize_axis {
    uint32_t axis;
    size_t in, out;
    uint32_t *at; /* [out][TAPS] */
    float *w;     /* [out][TAPS], 0 where there are fewer */
};

struct resize {
    uint32_t n_axes;
    struct resize_axis axis[PITH_MAX_RANK];
    size_t most; /* elements between two axes */
};

static void release(struct grad_node *n)
{
    struct resize *s = n->state;
    for (uint32_t i = 0; i < s->n_axes; i++) {
        free(s->axis[i].at);
        free(s->axis[i].w);
    }
    free(s);
}

/* matrix: [in][out] */
static enum pith_status resize_identity(const struct grad_node *n, const struct resize_axis *a,
                                        const float *identity, float *matrix)
{
    int32_t attr[PITH_OP_MAX_SLOTS];
    const bool scaled = attr_count(n->attr, ATTR_RESIZE_SCALES) != 0;
    const struct tview x = {PITH_F32,
                            {.rank = 2, .dim = {(uint32_t)a->in, (uint32_t)a->in}},
                            (void *)(uintptr_t)identity};
    struct tview y = {PITH_F32, {.rank = 2, .dim = {(uint32_t)a->in, (uint32_t)a->out}}, matrix};
    const struct tview *in[] = {&x};
    struct tview *out[] = {&y};
    memcpy(attr, n->attr, n->info->n_slots * sizeof *attr);
    attr[ATTR_RESIZE_DIMS] = 2;
    attr[ATTR_RESIZE_DIMS + 1] = 0;
    attr[ATTR_RESIZE_DIMS + 2] = (int32_t)a->out;
    attr[ATTR_RESIZE_SCALES] = scaled ? 2 : 0;
    attr[ATTR_RESIZE_SCALES + 1] = (int32_t)f32_bits(1.0f);
    attr[ATTR_RESIZE_SCALES + 2] =
        scaled ? n->attr[ATTR_RESIZE_SCALES + 1 + a->axis] : (int32_t)f32_bits(1.0f);
    struct op_args args = {
        .info = n->info, .attr = attr, .n_in = 1, .n_out = 1, .in = in, .out = out};
    struct op_env env = {.kernels = n->kernels};
    struct op_need need = {0};
    enum pith_status status = n->info->need ? n->info->need(&args, &env, &need) : PITH_OK;
    if (status)
        return status;
    env.scratch = aligned_alloc(64, ((size_t)need.scratch_bytes + 64) & ~(size_t)63);
    if (!env.scratch)
        return PITH_ERR_MEMORY;
    n->info->run(&args, &env);
    free(env.scratch);
    return PITH_OK;
}

/* The nonzeros of each column. */
static void take_taps(struct resize_axis *a, const float *matrix)
{
    for (size_t o = 0; o < a->out; o++)
        for (size_t i = 0, k = 0; i < a->in && k < TAPS; i++)
            if (matrix[i * a->out + o] != 0.0f) {
                a->at[o * TAPS + k] = (uint32_t)i;
                a->w[o * TAPS + k++] = matrix[i * a->out + o];
            }
}

static enum pith_status find_taps(const struct grad_node *n, struct resize_axis *a)
{
    float *identity = calloc(a->in * a->in + 1, sizeof *identity);
    float *matrix = calloc(a->in * a->out + 1, sizeof *matrix);
    a->at = calloc(a->out * TAPS, sizeof *a->at);
    a->w = calloc(a->out * TAPS, sizeof *a->w);
    enum pith_status status = PITH_ERR_MEMORY;
    if (identity && matrix && a->at && a->w) {
        for (size_t i = 0; i < a->in; i++)
            identity[i * a->in + i] = 1.0f;
        status = resize_identity(n, a, identity, matrix);
    }
    if (!status)
        take_taps(a, matrix);
    free(identity);
    free(matrix);
    return status;
}

static bool is_sampled(const struct grad_node *n, uint32_t axis)
{
    return n->in[0]->shape.dim[axis] != n->out[0]->shape.dim[axis] ||
           (attr_count(n->attr, ATTR_RESIZE_SCALES) &&
            attr_f32(n->attr, ATTR_RESIZE_SCALES + 1 + axis) != 1.0f);
}

static enum pith_status prepare(struct grad_node *n, uint64_t *scratch_bytes)
{
    const struct shape *x = &n->in[0]->shape;
    struct shape between = n->out[0]->shape;
    if (!n->in[0]->grad)
        return PITH_OK;
    struct resize *s = calloc(1, sizeof *s);
    if (!s)
        return PITH_ERR_MEMORY;
    n->state = s;
    s->most = grad_count(n->in[0]);
    for (uint32_t i = 0; i < x->rank; i++) {
        if (!is_sampled(n, i))
            continue;
        struct resize_axis *a = &s->axis[s->n_axes++];
        *a = (struct resize_axis){.axis = i, .in = x->dim[i], .out = between.dim[i]};
        enum pith_status status = find_taps(n, a);
        if (status)
            return status;
        between.dim[i] = x->dim[i];
        s->most = shape_elems(&between) > s->most ? shape_elems(&between) : s->most;
    }
    *scratch_bytes = 2 * (s->most + 16) * sizeof(float);
    return PITH_OK;
}

/* to[outer][in][inner] of from[outer][out][inner] */
static void transposed(const struct resize_axis *a, size_t outer, size_t inner, const float *from,
                       float *to)
{
    memset(to, 0, outer * a->in * inner * sizeof *to);
    for (size_t b = 0; b < outer; b++, to += a->in * inner)
        for (size_t o = 0; o < a->out; o++, from += inner)
            for (size_t k = 0; k < TAPS; k++) {
                float w = a->w[o * TAPS + k], *row = to + a->at[o * TAPS + k] * inner;
                for (size_t i = 0; i < inner && w != 0.0f; i++)
                    row[i] += w * from[i];
            }
}

static void backward(struct grad_node *n)
{
    const struct resize *s = n->state;
    struct shape between = n->out[0]->shape;
    const float *from = n->out[0]->grad;
    if (!n->in[0]->grad)
        return;
    float *half[2] = {n->scratch, (float *)n->scratch + s->most + 16};
    for (uint32_t i = 0; i < s->n_axes; i++) {
        const struct resize_axis *a = &s->axis[i];
        size_t outer = shape_product(&between, 0, a->axis);
        size_t inner = shape_product(&between, a->axis + 1, between.rank);
        transposed(a, outer, inner, from, half[i % 2]);
        from = half[i % 2];
        between.dim[a->axis] = (uint32_t)a->in;
    }
    grad_put(n->in[0]->grad, from, grad_count(n->in[0]), n->sets[0]);
}

const struct grad_op pith_grad_resize = {.op = PITH_OP_RESIZE,
                                         .sets = true,
                                         .prepare = prepare,
                                         .release = release,
                                         .backward = backward};
