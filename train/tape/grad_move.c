/* SPDX-License-Identifier: MIT */
/* grad_move.c - operators whose outputs are copies of elements: Slice, Pad, Transpose, Tile,
 * DepthToSpace, Trilu, GatherElements, GatherND. Which element an output is a copy of, the
 * runtime's own operator says, when it is given a tensor whose elements are their own numbers (from
 * 1; 0 is what was filled in). Numbers travel as the bits of floats: these operators only move
 * bytes. */
#include "grad_add.h"
#include "grad_list.h"
#include "op_interface/index_read.h"
#include "core/op_number.h"
#include "op_interface/op_attr.h"

#include <stdlib.h>

enum { MOST_INPUTS = 2 };

/* Elements that are copied side by side: their first places. */
struct run {
    uint32_t from, to, n;
};

struct moved {
    uint32_t *number; /* of the input's elements, where outputs depend on data (Gather) */
    uint32_t *from;   /* [outputs] number of the element that it is a copy of, or 0; the same */
    struct run *run;  /* [n_runs], otherwise */
    size_t n_runs;
};

/* s->from, from an input of numbers. */
static void follow(const struct grad_node *n, const uint32_t *number, uint32_t *from, void *scratch)
{
    int32_t attr[PITH_OP_MAX_SLOTS];
    struct tview in[MOST_INPUTS], out = *n->run->out[0];
    const struct tview *ins[MOST_INPUTS] = {NULL, NULL};
    struct tview *outs[] = {&out};
    struct op_args args = *n->run;
    memcpy(attr, n->run->attr, n->info->n_slots * sizeof *attr);
    if (n->info->op == PITH_OP_PAD)
        attr[ATTR_PAD_VALUE] = 0;
    for (uint32_t i = 0; i < n->n_in && i < MOST_INPUTS; i++)
        if (n->run->in[i]) {
            in[i] = *n->run->in[i];
            ins[i] = &in[i];
        }
    in[0].data = (void *)(uintptr_t)number;
    out.data = from;
    args.attr = attr;
    args.in = ins;
    args.out = outs;
    struct op_env env = {.kernels = n->kernels, .scratch = scratch};
    n->info->run(&args, &env);
}

static bool by_data(const struct grad_node *n)
{
    return n->info->op == PITH_OP_GATHER;
}

static void release(struct grad_node *n)
{
    struct moved *s = n->state;
    free(s->number);
    free(s->from);
    free(s->run);
    free(s);
}

static uint32_t *numbers(size_t count)
{
    uint32_t *number = malloc((count + 1) * sizeof *number);
    for (size_t i = 0; i < count && number; i++)
        number[i] = (uint32_t)i + 1;
    return number;
}

static bool goes_on(const uint32_t *from, size_t i)
{
    return i > 0 && from[i - 1] != 0 && from[i] == from[i - 1] + 1;
}

/* s->from as runs. */
static bool find_runs(struct moved *s, size_t count)
{
    for (size_t i = 0; i < count; i++)
        s->n_runs += s->from[i] != 0 && !goes_on(s->from, i);
    s->run = malloc((s->n_runs + 1) * sizeof *s->run);
    size_t at = 0;
    for (size_t i = 0; i < count && s->run; i++)
        if (s->from[i] != 0 && goes_on(s->from, i))
            s->run[at - 1].n++;
        else if (s->from[i] != 0)
            s->run[at++] = (struct run){s->from[i] - 1, (uint32_t)i, 1};
    return s->run != NULL;
}

static void *run_scratch(const struct grad_node *n)
{
    struct op_env env = {.kernels = n->kernels};
    struct op_need need = {0};
    if (n->info->need)
        n->info->need(n->run, &env, &need); /* it did so before */
    return aligned_alloc(64, ((size_t)need.scratch_bytes + 64) & ~(size_t)63);
}

static enum pith_status prepare(struct grad_node *n, uint64_t *scratch_bytes)
{
    size_t in = grad_count(n->in[0]), out = grad_count(n->out[0]);
    (void)scratch_bytes;
    if (!n->in[0]->grad)
        return PITH_OK;
    if (n->n_in > MOST_INPUTS || in > INT32_MAX)
        return PITH_ERR_UNSUPPORTED;
    struct moved *s = calloc(1, sizeof *s);
    if (!s)
        return PITH_ERR_MEMORY;
    n->state = s;
    s->number = numbers(in);
    s->from = malloc((out + 1) * sizeof *s->from);
    void *scratch = run_scratch(n);
    bool ok = s->number && s->from && scratch;
    if (ok && !by_data(n)) {
        follow(n, s->number, s->from, scratch);
        ok = find_runs(s, out);
        free(s->number);
        free(s->from);
        s->number = s->from = NULL;
    }
    free(scratch);
    return ok ? PITH_OK : PITH_ERR_MEMORY; /* the tape releases the state */
}

static void backward_copies(struct grad_node *n)
{
    const struct moved *s = n->state;
    size_t count = grad_count(n->out[0]);
    const float *dy = n->out[0]->grad;
    float *dx = n->in[0]->grad;
    if (!dx)
        return;
    for (const struct run *r = s->run; r < s->run + s->n_runs; r++)
        for (uint32_t i = 0; i < r->n; i++)
            dx[r->from + i] += dy[r->to + i];
    if (!s->number)
        return;
    follow(n, s->number, s->from, n->scratch);
    for (size_t i = 0; i < count; i++)
        if (s->from[i])
            dx[s->from[i] - 1] += dy[i];
}

/* Gather along an axis takes whole runs: by index, without a list of all elements. */
static void backward_rows(struct grad_node *n)
{
    const struct shape *x = &n->in[0]->shape;
    uint32_t axis = (uint32_t)n->attr[ATTR_GATHER_AXIS];
    size_t outer = shape_product(x, 0, axis), dim = x->dim[axis];
    size_t run = shape_product(x, axis + 1, x->rank), n_index = grad_count(n->in[1]);
    const struct tview *index = n->run->in[1];
    const float *dy = n->out[0]->grad;
    for (size_t o = 0; o < outer; o++)
        for (size_t i = 0; i < n_index; i++, dy += run) {
            size_t at = index_at(index, i, x->dim[axis]);
            grad_put(n->in[0]->grad + (o * dim + at) * run, dy, run, false);
        }
}

static bool of_rows(const struct grad_node *n)
{
    return n->attr[ATTR_GATHER_KIND] == 0;
}

static enum pith_status prepare_gather(struct grad_node *n, uint64_t *scratch_bytes)
{
    return of_rows(n) ? PITH_OK : prepare(n, scratch_bytes);
}

static void backward_gather(struct grad_node *n)
{
    if (!of_rows(n))
        backward_copies(n);
    else if (n->in[0]->grad)
        backward_rows(n);
}

#define MOVE(name, number)                                                                         \
    const struct grad_op pith_grad_##name = {                                                      \
        .op = number, .prepare = prepare, .release = release, .backward = backward_copies}

/* The list at `slot`, one item per axis: the channels' goes last. */
static void move_item(int32_t *attr, uint32_t slot, uint32_t rank)
{
    int32_t *item = attr + slot + 1, channels = item[1];
    memmove(item + 1, item + 2, (rank - 2) * sizeof *item);
    item[rank - 1] = channels;
}

static void pad_channels_last(int32_t *attr, uint32_t rank)
{
    move_item(attr, ATTR_PAD_BEGIN, rank);
    move_item(attr, ATTR_PAD_END, rank);
}

static void slice_channels_last(int32_t *attr, uint32_t rank)
{
    for (uint32_t i = 0; i < attr_count(attr, ATTR_SLICE_AXES); i++) {
        int32_t *axis = &attr[ATTR_SLICE_AXES + 1 + i];
        *axis = *axis == 0 ? 0 : *axis == 1 ? (int32_t)rank - 1 : *axis - 1;
    }
}

#define MOVE_EITHER(name, number, attributes)                                                      \
    const struct grad_op pith_grad_##name = {.op = number,                                         \
                                             .layout = GRAD_EITHER,                                \
                                             .channels_last = attributes,                          \
                                             .prepare = prepare,                                   \
                                             .release = release,                                   \
                                             .backward = backward_copies}

MOVE_EITHER(slice, PITH_OP_SLICE, slice_channels_last);
MOVE_EITHER(pad, PITH_OP_PAD, pad_channels_last);
MOVE(transpose, PITH_OP_TRANSPOSE);
MOVE(tile, PITH_OP_TILE);
MOVE(depth_space, PITH_OP_DEPTH_SPACE);
MOVE(trilu, PITH_OP_TRILU);

const struct grad_op pith_grad_gather = {.op = PITH_OP_GATHER,
                                         .prepare = prepare_gather,
                                         .release = release,
                                         .backward = backward_gather};
