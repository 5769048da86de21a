/* SPDX-License-Identifier: MIT */
/* product_kernel.h - a way to compute a matrix product, and the list of them. When a plan is made
 * the cheapest that supports the product is chosen; of equally cheap ones the first. */
#ifndef PRODUCT_KERNEL_H
#define PRODUCT_KERNEL_H

#include "kernels/kernels.h"
#include "products/product.h"
#include "decode/weight_cut.h"
#include "decode/weight_f32.h"

/* A product to choose a kernel for. */
struct product_case {
    const struct product *p;
    const struct weight *weight; /* constant b, or NULL */
    const struct op_env *env;
    bool forced; /* by its number in a plan file: its cost is not compared */
};

struct product_kernel {
    bool (*supports)(const struct product_case *c);
    /* In units of PRODUCT_COST_NS; UINT64_MAX: every other kernel is better. Called where
     * supports() returned true. */
    uint64_t (*cost)(const struct product_case *c);
    /* What it needs, need->kernel its name. */
    enum pith_status (*workspace)(const struct product_case *c, struct op_need *need);
    /* Makes of a constant b what run() reads; NULL: nothing. */
    enum pith_status (*pack)(const struct product_case *c, void *prep);
    void (*run)(const struct product *p, const struct product_data *d, const struct op_env *env);
};

/* The list, in the order in which they are tried: a line each. */
#define PRODUCT_KERNELS(KERNEL)                                                                    \
    KERNEL(pith_product_coded)   /* constant b decoded at each run, row by row */                  \
    KERNEL(pith_product_form)    /* straight from a compressed run form */                         \
    KERNEL(pith_product_columns) /* rows shorter than a register */                                \
    KERNEL(pith_product_gemv)    /* few rows of a: b's rows are streamed once for each */          \
    IF_DENSE_TILES(KERNEL(pith_product_tiles)) /* packed gemm_f32 */                               \
    KERNEL(pith_product_general) /* plain loops: any transposition, alpha, beta, broadcast c */    \
    IF_SPARSE_ROWS(KERNEL(pith_product_quads)) /* sparse b, several rows of a at once */

#define DECLARE(name) extern const struct product_kernel name;
PRODUCT_KERNELS(DECLARE)
#undef DECLARE

#define PRODUCT_CHUNKS 16u /* work is cut into at most so many parts, whatever the threads */
/* Rows of a up to which b is streamed for each where packing b is left to a run, and at most:
 * above, using registers twice wins. */
#define GEMV_MAX_M 3u
#define GEMV_MOST_M 16u

/* One run, as the parallel bodies see it. */
struct product_run {
    const struct product *p;
    const struct product_data *d;
    const struct pith_kernels *kernels;
    const float *b;        /* rows [n, k], columns or strips */
    const float *a_panels; /* tiles, where a is packed */
    size_t ldb, strip_step;
    uint32_t units, chunks; /* chunk i does units [i * units / chunks, (i + 1) * units / chunks) */
};

static inline uint32_t product_chunk(const struct product_run *r, uint32_t i)
{
    return (uint32_t)((uint64_t)r->units * i / r->chunks);
}

static inline struct product_run
product_run_of(const struct product *p, const struct product_data *d, const struct op_env *env)
{
    const float *b = d->prep ? d->prep : d->weight ? pith_weight_f32_borrow(d->weight) : d->b;
    return (struct product_run){.p = p, .d = d, .kernels = env->kernels, .b = b};
}

static inline void product_chunks(struct product_run *r, const struct op_env *env, uint32_t units,
                                  void (*body)(void *arg, uint32_t i))
{
    r->units = units;
    r->chunks = units < PRODUCT_CHUNKS ? units : PRODUCT_CHUNKS;
    pith_op_parallel(env, r->chunks, body, r);
}

/* The product is plain: what is added is at most one value per column. */
static inline bool product_is_plain(const struct product *p)
{
    if (p->alpha != 1.0f)
        return false;
    return !p->has_c ||
           (p->beta == 1.0f && (p->c_col == 1 || p->n == 1) && (p->c_row == 0 || p->m == 1));
}

/* a's rows are contiguous. */
static inline bool product_rows_of_a(const struct product *p)
{
    return !p->trans_a || p->m == 1;
}

/* What is made of a weight follows from its kernel, its n and which way round it lies. */
static inline uint64_t product_form(const struct product *p, enum prep_form form)
{
    return prep_form(form, p->n << 1 | p->trans_b); /* n < 2^31 */
}

/* Time of passing the matrix once a row of a, by gemv. */
uint64_t pith_product_gemv_cost(const struct product_case *c);
/* What kernels without an epilogue leave to do: y = act(y + c + residual), in place. */
void pith_product_finish(const struct product *p, const struct product_data *d,
                         const struct op_env *env);

#endif
