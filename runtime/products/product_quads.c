/* SPDX-License-Identifier: MIT */
/* product_quads.c - a sparse constant b times several rows of a: each nonzero is read once for up
 * to 64 of them (pith_kernel_quads.h).
 *
 *     scratch = a in strips [strips][k][width], then of each chunk
 *               y of one unit and strip [256][width], and the same turned [width][256] */
#include "product_kernel.h"
#include "quad_form.h"

#define MIN_M 2u /* one row is a matter of run forms */

/* Rows of a are split evenly among as few strips as hold them. */
static uint32_t strips_of(const struct product *p)
{
    return (uint32_t)(((uint64_t)p->m + QUAD_WIDTH_MAX - 1) / QUAD_WIDTH_MAX);
}

/* In 64 bits, as m times the number of strips may exceed 32. */
static uint32_t strip_begin(const struct product *p, uint32_t i)
{
    return (uint32_t)((uint64_t)p->m * i / strips_of(p));
}

/* All strips have the width of the largest, as the form holds places for one width. */
static struct quad_matrix matrix_of(const struct product *p)
{
    uint32_t most = (p->m + strips_of(p) - 1) / strips_of(p);
    uint32_t width = (most + QUAD_WIDTH_STEP - 1) / QUAD_WIDTH_STEP * QUAD_WIDTH_STEP;
    return (struct quad_matrix){.rows = p->n, .cols = p->k, .taps = 1, .width = width};
}

/* b is [n, k], as a weight that is used transposed; its rows are the matrix that is sparse. */
static bool quads_supports(const struct product_case *c)
{
    const struct product *p = c->p;
    const struct sparse_kernels *k = &c->env->kernels->sparse;
    if (!c->weight || !product_is_plain(p) || !p->trans_b || p->trans_a || p->m < MIN_M ||
        k->costs.quads[0] == 0 || (c->env->flags & PITH_FLAG_DENSE_ONLY))
        return false;
    struct quad_need need;
    struct quad_matrix m = matrix_of(p);
    return pith_quads_need(c->weight, &m, &need) == PITH_OK;
}

static uint64_t quads_cost(const struct product_case *c)
{
    struct quad_matrix m = matrix_of(c->p);
    return pith_quads_cost(c->weight, &m, &c->env->kernels->sparse, c->p->m);
}

/* Units of all strips. */
static uint32_t pieces_of(const struct product *p)
{
    uint64_t units = ((uint64_t)p->n + QUAD_UNIT_ROWS - 1) / QUAD_UNIT_ROWS * strips_of(p);
    return units < UINT32_MAX ? (uint32_t)units : UINT32_MAX;
}

/* A number that does not depend on how many threads there are; each chunk has its own scratch. */
static uint32_t chunks_of(const struct product *p, const struct op_env *env)
{
    uint32_t most = env->parallel_for ? PRODUCT_CHUNKS : 1;
    return pieces_of(p) < most ? pieces_of(p) : most;
}

static size_t y_floats(const struct quad_matrix *m)
{
    return (size_t)QUAD_UNIT_ROWS * m->width;
}

/* Sizes come from the file, so all are multiplied with a test for overflow. */
static enum pith_status quads_workspace(const struct product_case *c, struct op_need *need)
{
    struct quad_need form;
    const struct product *p = c->p;
    struct quad_matrix m = matrix_of(p);
    enum pith_status status = pith_quads_need(c->weight, &m, &form);
    if (status)
        return status;
    need->kernel = "spmm";
    need->prep_bytes = form.bytes;
    need->prep_scratch_bytes = form.scratch_bytes;
    need->prep_form = product_form(p, PREP_QUADS + m.width / QUAD_WIDTH_STEP);
    uint64_t panels, floats = 2 * y_floats(&m) * chunks_of(p, c->env);
    if (!mul_ok((uint64_t)strips_of(p) * m.width, p->k, &panels) ||
        !add_ok(floats, panels, &floats) || !mul_ok(floats, sizeof(float), &need->scratch_bytes))
        return PITH_ERR_LIMIT;
    return PITH_OK;
}

static enum pith_status quads_pack(const struct product_case *c, void *prep)
{
    struct quad_matrix m = matrix_of(c->p);
    return pith_quads_build(c->weight, &m, prep, c->env->scratch);
}

struct quads_run {
    const struct product *p;
    const struct product_data *d;
    const struct pith_kernels *kernels;
    struct quad_matrix m;
    const float *panels;
    float *y; /* of the chunks */
    uint32_t pieces, chunks;
};

/* y [unit's rows][width] to rows of y. The kernel leaves outputs by rows of the weight, y has them
 * by rows of a. pack_rows_f32 is a transposition where all rows are one panel. */
static void turn(const struct quads_run *r, const float *from, float *turned, uint32_t unit,
                 uint32_t strip)
{
    const struct product *p = r->p;
    uint32_t left = p->n - unit * QUAD_UNIT_ROWS, begin = strip_begin(p, strip);
    uint32_t rows = left < QUAD_UNIT_ROWS ? left : QUAD_UNIT_ROWS, step = (rows + 3) / 4 * 4;
    uint32_t columns = strip_begin(p, strip + 1) - begin;
    r->kernels->dense.pack_rows_f32(from, r->m.width, 1, rows, columns, step, turned, 0);
    for (size_t j = 0; j < columns; j++)
        memcpy(r->d->y + (begin + j) * p->n + (size_t)unit * QUAD_UNIT_ROWS, turned + j * step,
               rows * sizeof *turned);
}

/* A piece is a unit of rows and a strip; strips of one unit follow one another, so that its entries
 * stay in cache. */
static void quads_body(void *arg, uint32_t i)
{
    const struct quads_run *r = arg;
    const struct product *p = r->p;
    float *y = r->y + 2 * y_floats(&r->m) * i, *turned = y + y_floats(&r->m);
    uint32_t strips = strips_of(p);
    uint32_t end = (uint32_t)((uint64_t)r->pieces * (i + 1) / r->chunks);
    for (uint32_t at = (uint32_t)((uint64_t)r->pieces * i / r->chunks); at < end; at++) {
        uint32_t unit = at / strips, strip = at % strips;
        const struct quads_job job = {.form = r->d->prep,
                                      .x = r->panels + (size_t)strip * p->k * r->m.width,
                                      .y = y,
                                      .ldy = r->m.width,
                                      .n = strip_begin(p, strip + 1) - strip_begin(p, strip),
                                      .unit_begin = unit,
                                      .unit_end = unit + 1};
        r->kernels->sparse.quads(&job);
        turn(r, y, turned, unit, strip);
    }
}

/* Panels are a transposed, in strips, and are made once on the caller's thread; columns from n on
 * are zeros, as the kernel may read the whole width. */
static void quads_run(const struct product *p, const struct product_data *d,
                      const struct op_env *env)
{
    struct quads_run r = {.p = p,
                          .d = d,
                          .kernels = env->kernels,
                          .m = matrix_of(p),
                          .panels = env->scratch,
                          .pieces = pieces_of(p),
                          .chunks = chunks_of(p, env)};
    size_t panel = (size_t)p->k * r.m.width;
    float *to = env->scratch;
    for (uint32_t i = 0; i < strips_of(p); i++, to += panel)
        env->kernels->dense.pack_rows_f32(d->a + (size_t)strip_begin(p, i) * p->k, p->k, 1,
                                          strip_begin(p, i + 1) - strip_begin(p, i), p->k,
                                          r.m.width, to, panel);
    r.y = to;
    pith_op_parallel(env, r.chunks, quads_body, &r);
    pith_product_finish(p, d, env);
}

const struct product_kernel pith_product_quads = {quads_supports, quads_cost, quads_workspace,
                                                  quads_pack, quads_run};
