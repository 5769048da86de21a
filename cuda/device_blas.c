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

struct timed_actions {
    const struct lowering *l;
    uint32_t first, end;
};

static int put_actions(void *work, uint32_t number)
{
    const struct timed_actions *t = work;
    const uint32_t n = t->end - t->first, runs = number ? RUNS : 1;
    int result = 0;
    for (uint32_t i = 0; i < runs * n && !result; i++)
        result = pith_device_act(t->l, &t->l->action[t->first + i % n], t->l->stream);
    return result;
}

/* Whether actions from `second` on take less time than those from `first` on. What cannot be timed
 * does not. */
static bool is_faster(const struct lowering *l, uint32_t first, uint32_t second)
{
    struct timed_actions own = {l, first, second}, other = {l, second, l->n_actions};
    uint64_t ns, other_ns = 0;
    int result = pith_driver_time(l->cuda, l->stream, put_actions, &own, TRIES, &ns);
    if (!result)
        result = pith_driver_time(l->cuda, l->stream, put_actions, &other, TRIES, &other_ns);
    return !result && other_ns < ns;
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

/* What is behind cuBLASLt's sums: `kernel` over n elements, whose struct has where they are. n 0:
 * nothing. */
struct sums_tail {
    enum launch_kernel kernel;
    uint32_t n, arg_bytes;
    const void *arg;
};

/* Of g, which has a residual and an activation for the list of what was timed, the sums by
 * cuBLASLt; or, with nothing behind, all of it. */
static void or_sums(struct lowering *l, uint32_t first, uint32_t second, const struct gemm_args *g,
                    uint32_t factors, const struct sums_tail *tail, uint32_t what)
{
    struct gemm_args sums = *g;
    if (tail->n) {
        sums.c = sums.residual = NULL;
        sums.y_type = VALUE_F32;
        sums.act = ACT_NONE;
        sums.alpha = 1.0f;
    }
    if (l->arena && pith_blas_takes(&sums, factors) && pith_device_blas(l, &sums, factors)) {
        if (tail->n)
            pith_device_launch(l, tail->kernel, tail->n, tail->arg, tail->arg_bytes);
        keep_faster(l, first, second, g, factors, what);
    } else {
        pith_device_drop(l, second, l->n_actions);
    }
}

bool pith_device_has_blas(struct lowering *l)
{
    return blas_of(l->cuda) != NULL;
}

void pith_device_or_blas(struct lowering *l, uint32_t first, uint32_t second,
                         const struct gemm_args *g, uint32_t factors, bool has_tail)
{
    const uint32_t outputs = (g->batch_rank ? g->batch_dim[0] : 1) * g->m * g->n;
    const bool whole = has_tail && pith_blas_has_tail(g);
    struct gemm_args sums = *g, tail = *g;
    if (first == second || !pith_device_has_blas(l) || !pith_blas_takes(g, factors)) {
        pith_device_drop(l, second, l->n_actions);
        return;
    }
    tail.split =
        (struct sum_split){.sums = room_for_sums(l, outputs), .parts = 1, .outputs = outputs};
    sums.y = whole ? g->y : tail.split.sums;
    or_sums(l, first, second, &sums, factors,
            &(struct sums_tail){LAUNCH_gemm_parts, whole ? 0 : outputs, sizeof tail, &tail},
            whole ? TAIL_OF_BLAS : TAIL_OF_PARTS);
}

/* Images are a batch of products: y [outputs, pixels] = w [outputs, channels] x [channels, pixels].
 */
void pith_device_conv_or_blas(struct lowering *l, uint32_t first, const struct conv_args *c,
                              const struct conv_weight *w)
{
    const uint32_t pixels = (uint32_t)(c->oh * c->ow), second = l->n_actions;
    struct conv_args tail = *c;
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
                          .residual = c->residual,
                          .act = c->act,
                          .batch_rank = 1,
                          .batch_dim = {w->images},
                          .b_batch = {c->channels * pixels}};
    if (first == second || c->groups != 1 || !pith_device_is_pointwise(c) || c->x_type != w->type ||
        !pith_device_has_blas(l) || !pith_blas_takes(&g, w->type))
        return;
    g.y = room_for_sums(l, c->n);
    tail.split = (struct sum_split){.sums = g.y, .parts = 1, .outputs = c->n};
    or_sums(l, first, second, &g, w->type,
            &(struct sums_tail){LAUNCH_conv_parts, c->n, sizeof tail, &tail},
            CONVOLUTION | c->y_type << 2);
}

/* ---- bytes -------------------------------------------------------------------------------------
 */

/* x as cuBLASLt has it: as it lies, or copied, behind the sums of n outputs. */
static const void *rows_of(struct lowering *l, struct rows_i8_args *r, uint32_t images, uint32_t n)
{
    const uint32_t grid[3] = {(r->rows + GEMM_TILE - 1) / GEMM_TILE, r->row / I8_SLICE, images};
    const uint64_t sums = ((uint64_t)n * sizeof(int32_t) + 255) & ~UINT64_C(255);
    const bool as_it_lies = r->is_signed && r->term_step == 1 && r->row_step % 16 == 0;
    if (as_it_lies && (uintptr_t)r->x % 16 == 0) {
        r->row = r->row_step;
        return r->x;
    }
    r->y =
        pith_device_work(l, l->work_kept + BLAS_WORK + sums, (uint64_t)images * r->rows * r->row);
    pith_device_grid(l, LAUNCH_rows_i8, grid, r, sizeof *r);
    return r->y;
}

void pith_device_bytes_or_blas(struct lowering *l, uint32_t first,
                               const struct conv_packed_i8_args *c, struct rows_i8_args x,
                               uint32_t images)
{
    const uint32_t second = l->n_actions, n = c->c.s.n, row = c->w.row;
    struct conv_packed_i8_args tail = *c;
    struct gemm_args g = {.m = images ? c->c.s.outputs : x.rows,
                          .n = images ? x.rows : c->c.s.outputs,
                          .k = row,
                          .a_row = row,
                          .a_col = 1,
                          .b_row = 1,
                          .b_col = row,
                          .residual = c->c.q.residual.x,
                          .act = c->c.q.residual.act,
                          .batch_rank = images > 0,
                          .batch_dim = {images}};
    if (c->w.sums_values || images > GRID_LIMIT || !pith_device_has_blas(l) ||
        (uint64_t)x.rows * row >= UINT64_C(1) << 31 || !pith_blas_takes(&g, BLAS_BYTES))
        return;
    const void *at = rows_of(l, &x, images ? images : 1, n);
    g.a = images ? c->w.w : at;
    g.b = images ? at : c->w.w;
    g.k = x.row;
    *(images ? &g.b_col : &g.a_row) = x.row;
    g.b_batch[0] = x.rows * x.row;
    g.y = room_for_sums(l, n);
    tail.c.s.split = (struct sum_split){.sums = g.y, .parts = 1, .outputs = n};
    or_sums(l, first, second, &g, BLAS_BYTES,
            &(struct sums_tail){LAUNCH_conv_splits_i8, n, sizeof tail, &tail}, at == x.x);
}
