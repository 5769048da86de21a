/* SPDX-License-Identifier: MIT */
/* device_blas.c - products by cuBLASLt, where that takes less time than kernels of our own: both
 * ways are timed when a plan is made, once a device for each shape. What is behind the sum is done
 * by cuBLASLt where it can (pith_blas_has_tail). Else its sums, in f32, go to work, and the kernel
 * that adds up parts of sums does the rest: so any activation, any type of y, a bias for each
 * channel of a convolution, and a place in a Concat's output. */
#include <stdio.h>
#include "device_product.h"
#include "kernels/act_kind.h"

#define TRIES 3u
#define RUNS 4u

/* cuBLASLt is looked for once a device. */
static struct pith_blas *blas_of(struct pith_cuda *cuda)
{
    if (!cuda || !cuda->blas_allowed)
        return NULL;
    if (!cuda->blas_tried)
        cuda->blas = pith_blas_open(cuda->blas_name, cuda->blas_note, sizeof cuda->blas_note);
    cuda->blas_tried = true;
    return cuda->blas;
}

bool pith_device_blas(struct lowering *l, const struct gemm_args *g, uint32_t factors)
{
    struct pith_blas *blas = blas_of(l->cuda);
    if (!blas)
        return false;
    void *work = pith_device_work(l, l->work_kept, BLAS_WORK);
    struct blas_product *p = pith_blas_product_new(blas, g, factors, work);
    if (!p)
        snprintf(l->cuda->blas_note, sizeof l->cuda->blas_note,
                 "cuBLASLt has nothing for a product of %u x %u x %u", g->m, g->n, g->k);
    return p && pith_device_append_blas(l, p);
}

/* ---- the faster way -------------------------------------------------------------------------- */

/* The best of some tries, in ms, of actions [first, end); they have been run before. */
static int time_actions(const struct lowering *l, uint32_t first, uint32_t end, void *event[2],
                        float *best)
{
    const struct pith_cuda *c = l->cuda;
    int result = 0;
    *best = 0;
    for (uint32_t try = 0; try <= TRIES && !result; try++) {
        const uint32_t runs = try ? RUNS : 1; /* the first readies code and caches */
        float ms = 0;
        result = c->cuEventRecord(event[0], l->stream);
        for (uint32_t i = 0; i < runs * (end - first) && !result; i++)
            result = pith_device_act(l, &l->action[first + i % (end - first)], l->stream);
        if (!result)
            result = c->cuEventRecord(event[1], l->stream);
        if (!result)
            result = c->cuStreamSynchronize(l->stream);
        if (!result)
            result = c->cuEventElapsedTime(&ms, event[0], event[1]);
        if (try == 1 || (try > 1 && ms < *best))
            *best = ms;
    }
    return result;
}

/* Whether actions from `second` on take less time than those from `first` on. What cannot be timed
 * does not. */
static bool is_faster(const struct lowering *l, uint32_t first, uint32_t second)
{
    const struct pith_cuda *c = l->cuda;
    void *event[2] = {NULL, NULL};
    float ms[2] = {0, 0};
    int result = c->cuEventCreate(&event[0], 0);
    if (!result)
        result = c->cuEventCreate(&event[1], 0);
    if (!result)
        result = time_actions(l, first, second, event, &ms[0]);
    if (!result)
        result = time_actions(l, second, l->n_actions, event, &ms[1]);
    for (int i = 0; i < 2; i++)
        if (event[i])
            c->cuEventDestroy_v2(event[i]);
    return !result && ms[1] < ms[0];
}

/* The last of those that were timed are known. */
static bool blas_is_faster(const struct lowering *l, struct timed_product p, uint32_t first,
                           uint32_t second)
{
    struct pith_cuda *c = l->cuda;
    for (uint32_t i = 0; i < c->n_timed && i < TIMED_PRODUCTS; i++)
        if (memcmp(c->timed[i].shape, p.shape, sizeof p.shape) == 0)
            return c->timed[i].by_blas;
    p.by_blas = is_faster(l, first, second);
    c->timed[c->n_timed++ % TIMED_PRODUCTS] = p;
    return p.by_blas;
}

/* Actions from `first` on are our own, and those from `second` on, which end with the list,
 * cuBLASLt's. */
static void keep_faster(struct lowering *l, uint32_t first, uint32_t second,
                        const struct gemm_args *g, uint32_t factors, uint32_t what)
{
    if (l->no_memory)
        return;
    const struct timed_product p = {
        .shape = {g->m, g->n, g->k, g->batch_rank ? g->batch_dim[0] : 1, g->a_row, g->b_row, g->act,
                  factors | g->y_type << 2 | (g->residual ? 16u : 0u) | what << 5}};
    if (blas_is_faster(l, p, first, second))
        pith_device_drop(l, first, second);
    else
        pith_device_drop(l, second, l->n_actions);
}

/* ---- products and convolutions ----------------------------------------------------------------
 */

enum { TAIL_OF_BLAS, TAIL_OF_PARTS, CONVOLUTION };

/* Behind what cuBLASLt works in. While counting, addresses are not known, and no product is made:
 * there is room for each way to do it then. */
static float *room_for_sums(struct lowering *l, uint32_t outputs)
{
    return pith_device_work(l, l->work_kept + BLAS_WORK, (uint64_t)outputs * sizeof(float));
}

/* Appends it; false: it is not to be had, or addresses are not known yet. */
static bool append_way(struct lowering *l, const struct gemm_args *g, uint32_t factors,
                       bool has_tail)
{
    const uint32_t outputs = (g->batch_rank ? g->batch_dim[0] : 1) * g->m * g->n;
    struct gemm_args sums = *g, tail = *g;
    tail.split =
        (struct sum_split){.sums = room_for_sums(l, outputs), .parts = 1, .outputs = outputs};
    if (!l->arena)
        return false;
    if (has_tail && pith_blas_has_tail(g))
        return pith_device_blas(l, g, factors);
    sums.c = sums.residual = NULL;
    sums.y = tail.split.sums;
    sums.y_type = VALUE_F32;
    sums.act = ACT_NONE;
    sums.alpha = 1.0f;
    if (!pith_device_blas(l, &sums, factors))
        return false;
    pith_device_launch(l, LAUNCH_gemm_parts, outputs, &tail, sizeof tail);
    return true;
}

bool pith_device_has_blas(struct lowering *l)
{
    return blas_of(l->cuda) != NULL;
}

void pith_device_or_blas(struct lowering *l, uint32_t first, uint32_t second,
                         const struct gemm_args *g, uint32_t factors, bool has_tail)
{
    if (first < second && pith_device_has_blas(l) && pith_blas_takes(g, factors) &&
        append_way(l, g, factors, has_tail))
        keep_faster(l, first, second, g, factors, has_tail ? TAIL_OF_BLAS : TAIL_OF_PARTS);
    else
        pith_device_drop(l, second, l->n_actions);
}

/* Images are a batch of products: y [outputs, pixels] = w [outputs, channels] x [channels, pixels].
 */
void pith_device_conv_or_blas(struct lowering *l, uint32_t first, const struct conv_args *c,
                              const struct conv_weight *w)
{
    const uint32_t pixels = (uint32_t)(c->oh * c->ow), second = l->n_actions;
    const bool pointwise = c->groups == 1 && c->kh == 1 && c->kw == 1 && c->stride_h == 1 &&
                           c->stride_w == 1 && c->h == c->oh && c->width == c->ow &&
                           c->pad_top == 0 && c->pad_left == 0;
    struct conv_args tail = *c;
    tail.split = (struct sum_split){.parts = 1, .outputs = c->n};
    struct gemm_args g = {.a = w->at,
                          .b = c->x,
                          .m = c->outputs,
                          .n = pixels,
                          .k = c->channels,
                          .a_row = w->row,
                          .a_col = 1,
                          .b_row = pixels,
                          .b_col = 1,
                          .alpha = 1.0f,
                          .act = ACT_NONE,
                          .batch_rank = 1,
                          .batch_dim = {w->images},
                          .b_batch = {c->channels * pixels}};
    if (first == second || !pointwise || c->x_type != w->type || !pith_device_has_blas(l) ||
        !pith_blas_takes(&g, w->type))
        return;
    tail.split.sums = room_for_sums(l, c->n);
    if (!l->arena)
        return;
    g.y = tail.split.sums;
    if (!pith_device_blas(l, &g, w->type))
        return;
    pith_device_launch(l, LAUNCH_conv_parts, c->n, &tail, sizeof tail);
    g.residual = c->residual; /* for the list of what was timed */
    g.act = c->act;
    keep_faster(l, first, second, &g, w->type, CONVOLUTION | c->y_type << 2);
}
