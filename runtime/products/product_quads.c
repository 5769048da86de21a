/* SPDX-License-Identifier: MIT */
/* product_quads.c - a sparse constant b times several rows of a: each nonzero is read once for up
 * to 48 of them (kernel_quads.h).
 *
 * Rows of a stand side by side in panels of 16, and one to eight that are left over in a narrow
 * panel, which costs less than a whole one: so a row more never makes all rows much slower.
 *
 *     scratch = a in panels [panels][k][16], then the rest [k][4] or [k][8], then of each lane
 *               y of one unit and strip [256][width], and the same turned [width][256] */
#include "products/product_kernel.h"
#include "products/quad_form.h"
#include "pith_runtime.h"

#define MIN_M 2u /* one row is a matter of run forms */
#define STRIP 2u /* panels that are taken together: with three, x leaves the caches sooner */

/* Whole panels of rows of a, and the width of the narrow one, 0: none. */
struct panels {
    uint32_t whole, tail;
};

/* A tail is half a vector at most. */
static struct panels panels_of(const struct product *p, const struct weight *w,
                               const struct op_env *env)
{
    const uint32_t whole = p->m / QUAD_WIDTH_STEP, rest = p->m % QUAD_WIDTH_STEP;
    const uint32_t most = env->kernels->sparse.quad_lanes / 2, tail = rest <= 4 ? 4 : 8;
    if (whole == 0 || rest == 0 || tail > most || rest > tail || !pith_quads_have_indices(w))
        return (struct panels){whole + (rest != 0), 0};
    return (struct panels){whole, tail};
}

/* Strips by twos; the last one has the narrow panel, too. */
static uint32_t strips_of(struct panels s)
{
    return (s.whole + STRIP - 1) / STRIP;
}

/* First row of a of a strip. */
static uint32_t strip_begin(const struct product *p, struct panels s, uint32_t i)
{
    return i == strips_of(s) ? p->m : i * STRIP * QUAD_WIDTH_STEP;
}

/* Columns of y that a strip may write. */
static uint32_t strip_width(struct panels s)
{
    return (s.whole < STRIP ? s.whole : STRIP) * QUAD_WIDTH_STEP + s.tail;
}

static struct quad_matrix matrix_of(const struct product *p)
{
    return (struct quad_matrix){.rows = p->n, .cols = p->k, .taps = 1, .width = QUAD_WIDTH_STEP};
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
    struct panels s = panels_of(c->p, c->weight, c->env);
    return pith_quads_cost(c->weight, &m, &c->env->kernels->sparse, c->p->m, strips_of(s),
                           s.tail != 0);
}

/* Units of all strips. */
static uint32_t pieces_of(const struct product *p, struct panels s)
{
    uint64_t units = ((uint64_t)p->n + QUAD_UNIT_ROWS - 1) / QUAD_UNIT_ROWS * strips_of(s);
    return units < UINT32_MAX ? (uint32_t)units : UINT32_MAX;
}

/* A number that does not depend on how many threads there are; each chunk has its own scratch. */
static uint32_t chunks_of(const struct product *p, struct panels s, const struct op_env *env)
{
    uint32_t most = env->parallel_for ? PRODUCT_CHUNKS : 1;
    return pieces_of(p, s) < most ? pieces_of(p, s) : most;
}

static size_t y_floats(struct panels s)
{
    return (size_t)QUAD_UNIT_ROWS * strip_width(s);
}

static bool panel_floats(const struct product *p, struct panels s, uint64_t *floats)
{
    return mul_ok((uint64_t)s.whole * QUAD_WIDTH_STEP + s.tail, p->k, floats);
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
    need->prep_form = product_form(p, PREP_QUADS);
    const struct panels s = panels_of(p, c->weight, c->env);
    uint64_t panels, floats = 2 * y_floats(s) * pith_op_lanes(c->env, chunks_of(p, s, c->env));
    if (!panel_floats(p, s, &panels) || !add_ok(floats, panels, &floats) ||
        !mul_ok(floats, sizeof(float), &need->scratch_bytes))
        return PITH_ERR_LIMIT;
    return PITH_OK;
}

static enum pith_status quads_pack(const struct product_case *c, void *prep)
{
    struct quad_matrix m = matrix_of(c->p);
    return pith_quads_build(c->env, c->weight, &m, prep);
}

struct quads_run {
    const struct product *p;
    const struct product_data *d;
    const struct pith_kernels *kernels;
    struct panels s;
    const float *panels;
    float *y; /* of the lanes */
    uint32_t pieces, chunks;
};

/* y [unit's rows][width] to rows of y. The kernel leaves outputs by rows of the weight, y has them
 * by rows of a. pack_rows_f32 is a transposition where all rows are one panel, by fours. */
static void turn(const struct quads_run *r, const float *from, float *turned, uint32_t unit,
                 uint32_t strip)
{
    const struct product *p = r->p;
    uint32_t left = p->n - unit * QUAD_UNIT_ROWS, begin = strip_begin(p, r->s, strip);
    uint32_t rows = left < QUAD_UNIT_ROWS ? left : QUAD_UNIT_ROWS, step = (rows + 3) / 4 * 4;
    uint32_t columns = strip_begin(p, r->s, strip + 1) - begin, fours = (columns + 3) / 4 * 4;
    r->kernels->dense.pack_rows_f32(
        &(struct pack_rows_job){from, turned, strip_width(r->s), 1, rows, fours, step, 0});
    for (size_t j = 0; j < columns; j++)
        memcpy(r->d->y + (begin + j) * p->n + (size_t)unit * QUAD_UNIT_ROWS, turned + j * step,
               rows * sizeof *turned);
}

/* A part of a vector takes longer than a whole one, and there is room for it. */
static uint32_t whole_vectors(const struct quads_run *r, uint32_t columns)
{
    const uint32_t lanes = r->kernels->sparse.quad_lanes;
    return (columns + lanes - 1) / lanes * lanes;
}

/* A piece is a unit of rows and a strip; strips of one unit follow one another, so that its entries
 * stay in cache. */
static void quads_body(void *arg, uint32_t i, uint32_t lane)
{
    const struct quads_run *r = arg;
    const struct product *p = r->p;
    const struct panels s = r->s;
    float *y = r->y + 2 * y_floats(s) * lane, *turned = y + y_floats(s);
    const uint32_t strips = strips_of(s);
    const size_t k = p->k;
    uint32_t end = (uint32_t)((uint64_t)r->pieces * (i + 1) / r->chunks);
    for (uint32_t at = (uint32_t)((uint64_t)r->pieces * i / r->chunks); at < end; at++) {
        uint32_t unit = at / strips, strip = at % strips, begin = strip_begin(p, s, strip);
        const bool tail = s.tail && strip + 1 == strips;
        const uint32_t columns = strip_begin(p, s, strip + 1) - begin;
        const struct quads_job job = {.form = r->d->prep,
                                      .x = r->panels + begin * k,
                                      .x_step = k * QUAD_WIDTH_STEP,
                                      .tail =
                                          tail ? r->panels + s.whole * QUAD_WIDTH_STEP * k : NULL,
                                      .y = y,
                                      .ldy = strip_width(s),
                                      .n = tail ? columns : whole_vectors(r, columns),
                                      .unit_begin = unit,
                                      .unit_end = unit + 1};
        r->kernels->sparse.quads(&job);
        turn(r, y, turned, unit, strip);
    }
}

/* Panels are a transposed and are made once on the caller's thread; columns from m on are zeros, as
 * the kernel may read the whole width. */
static void quads_run(const struct product *p, const struct product_data *d,
                      const struct op_env *env)
{
    const struct panels s = panels_of(p, d->weight, env);
    struct quads_run r = {.p = p,
                          .d = d,
                          .s = s,
                          .kernels = env->kernels,
                          .panels = env->scratch,
                          .pieces = pieces_of(p, s),
                          .chunks = chunks_of(p, s, env)};
    const uint32_t whole = s.tail ? s.whole * QUAD_WIDTH_STEP : p->m;
    const size_t k = p->k;
    float *to = env->scratch;
    env->kernels->dense.pack_rows_f32(
        &(struct pack_rows_job){d->a, to, k, 1, whole, p->k, QUAD_WIDTH_STEP, k * QUAD_WIDTH_STEP});
    to += s.whole * QUAD_WIDTH_STEP * k;
    if (s.tail)
        env->kernels->dense.pack_rows_f32(
            &(struct pack_rows_job){d->a + whole * k, to, k, 1, p->m - whole, p->k, s.tail, 0});
    r.y = to + s.tail * k;
    pith_op_parallel_lanes(env, r.chunks, quads_body, &r);
    pith_product_finish(p, d, env);
}

const struct product_kernel pith_product_quads = {quads_supports, quads_cost, quads_workspace,
                                                  quads_pack, quads_run};
