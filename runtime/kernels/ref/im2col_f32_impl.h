/* SPDX-License-Identifier: MIT */
/* im2col_f32_impl.h - template of im2col_f32 and even_f32.
 *
 * For one tap, where each lane of the panel comes from is the same for all channels but for the
 * plane's address. With stride 1, the lanes of one output row lie side by side in the input, with
 * stride 2 one apart: a vector is put together from one masked load (two) per output row that it
 * covers, a "run". Other strides gather; or, where a job has several taps of a channel, the pixels
 * of a run are turned with the taps, channel by channel: each line of the input is read once for
 * all of them. Padding is a lane in no mask. */
#include "kernels/kernel_dense.h"
#include "kernels/ref/transpose_quads.h"

#define TURNED_TAPS 4
#define MAX_VECTORS (DENSE_MAX_NR / LANES)

/* A run under one tap: p[offset + LANE * stride] for the lanes in the mask. Stride 2 reads the
 * elements between, too; mask and mask_hi then select elements of two vectors. Offsets may be
 * negative: lanes in front of the image are in no mask. */
struct source {
    ptrdiff_t offset;
    vmask mask, mask_hi;
};

/* Lanes [from, to) of a vector, pixels of one output row; input coordinates of lane `from` under
 * tap (0,0). A tile of pixels is a few runs, whatever the tap, so they are found once. */
struct run {
    int32_t from, to, iy, ix;
    struct source whole; /* under tap (0,0), were all of it inside the image */
};

/* first_run[v] .. first_run[v + 1]: the runs of vector v. */
struct lanes {
    struct run run[DENSE_MAX_NR];
    uint32_t first_run[MAX_VECTORS + 1];
    uint32_t nv;
};

/* Elements [from, to) behind x[iy, ix0] are read. mask_hi: the same elements counted from one
 * vector further, for stride 2. */
static struct source source_of(const struct conv_geom *g, int32_t iy, int32_t ix0, int32_t from,
                               int32_t to)
{
    return (struct source){(ptrdiff_t)iy * (ptrdiff_t)g->w + ix0, vmask_range(from, to),
                           vmask_range(from - LANES, to - LANES)};
}

/* Pixels of a tile in order; a run ends with its output row or its vector. */
static void lanes_set(struct lanes *l, const struct im2col_f32_job *job)
{
    const struct conv_geom *g = job->g;
    const int32_t stride = (int32_t)g->stride_w;
    uint32_t oy = (uint32_t)(job->p0 / g->ow), ox = (uint32_t)(job->p0 % g->ow), n = 0;
    l->nv = (job->n + LANES - 1) / LANES;
    for (uint32_t v = 0; v < l->nv; v++) {
        uint32_t end = job->n - v * LANES < LANES ? job->n - v * LANES : LANES;
        l->first_run[v] = n;
        for (uint32_t lane = 0, len; lane < end; lane += len) {
            struct run *r = &l->run[n++];
            len = end - lane < g->ow - ox ? end - lane : g->ow - ox;
            r->from = (int32_t)lane;
            r->to = (int32_t)(lane + len);
            r->iy = (int32_t)(oy * g->stride_h) - (int32_t)g->pad_top;
            r->ix = (int32_t)(ox * g->stride_w) - (int32_t)g->pad_left;
            r->whole = source_of(g, r->iy, r->ix - r->from * stride, r->from * stride,
                                 (r->to - 1) * stride + 1);
            ox += len;
            if (ox == g->ow)
                ox = 0, oy++;
        }
    }
    l->first_run[l->nv] = n;
}

/* The runs of vector v under tap (dy, dx), stride 1 or 2; returns how many see the image. Under
 * most taps a run lies inside as a whole, and its masks are reused. */
static uint32_t sources_of(const struct lanes *l, const struct conv_geom *g, uint32_t v, int32_t dy,
                           int32_t dx, struct source *s)
{
    const int32_t stride = (int32_t)g->stride_w, w = (int32_t)g->w;
    uint32_t n = 0;
    for (uint32_t i = l->first_run[v]; i < l->first_run[v + 1]; i++) {
        const struct run *r = &l->run[i];
        int32_t iy = r->iy + dy, ix = r->ix + dx;
        if (iy < 0 || iy >= (int32_t)g->h)
            continue;
        if (ix >= 0 && ix + (r->to - r->from - 1) * stride < w) {
            s[n] = r->whole;
            s[n++].offset += (ptrdiff_t)dy * w + dx;
            continue;
        }
        /* Padding at either side shortens the run. */
        int32_t ix0 = ix - r->from * stride; /* under lane 0 */
        int32_t from = r->from * stride, to = (r->to - 1) * stride + 1;
        from = from < -ix0 ? -ix0 : from;
        to = to > w - ix0 ? w - ix0 : to;
        s[n++] = source_of(g, iy, ix0, from, to);
    }
    return n;
}

/* Where the channels of one tap go from and to. Channels of one tap are planes apart, so
 * everything but x's address is the same for them. */
struct tap {
    int32_t dy, dx;
    uint32_t channels;
    const float *x; /* plane of the first */
    float *b;
};

/* One vector of the panel for all channels of a tap: n sources put together. n is a constant 1
 * for the usual case: one load, one store. */
static inline __attribute__((always_inline)) void
copy_vector(const struct im2col_f32_job *job, const struct tap *tap, const struct source *s,
            const uint32_t n, float *out, const bool two)
{
    const size_t plane = job->plane, ldb = job->ldb;
    const float *x = tap->x;
    for (uint32_t c = 0; c < tap->channels; c++, x += plane, out += ldb) {
        vec lo = vec_zero(), hi = vec_zero();
        for (uint32_t i = 0; i < n; i++) {
            lo = vec_load_into(lo, x + s[i].offset, s[i].mask);
            if (two)
                hi = vec_load_into(hi, x + s[i].offset + LANES, s[i].mask_hi);
        }
        vec_store(out, two ? vec_even(lo, hi) : lo);
    }
}

/* Four instances: stride 1 or 2, one run or several. */
static void copy_runs(const struct im2col_f32_job *job, const struct lanes *l,
                      const struct tap *tap)
{
    const struct conv_geom *g = job->g;
    struct source s[LANES];
    for (uint32_t v = 0; v < l->nv; v++) {
        uint32_t n = sources_of(l, g, v, tap->dy, tap->dx, s);
        float *out = tap->b + v * LANES;
        if (g->stride_w == 1 && n == 1)
            copy_vector(job, tap, s, 1, out, false);
        else if (g->stride_w == 1)
            copy_vector(job, tap, s, n, out, false);
        else if (n == 1)
            copy_vector(job, tap, s, 1, out, true);
        else
            copy_vector(job, tap, s, n, out, true);
    }
}

/* Where the block of four behind that at i begins: the last one ends at n. */
static inline int32_t next_four(int32_t i, int32_t n)
{
    return i + 8 <= n || i + 4 == n ? i + 4 : n - 4;
}

/* n taps of a row of the kernel, from tap dx on, `step` apart in the panel. */
struct tap_row {
    int32_t dx, n;
    size_t step;
};

/* One run under them: to[tap * step + lane]. x: the row of the input; NULL: outside. */
static void turn_run(const struct conv_geom *g, const struct run *r, const float *x,
                     const struct tap_row *taps, float *to)
{
    const int32_t dx = taps->dx, n = taps->n;
    const size_t step = taps->step;
    const int32_t stride = (int32_t)g->stride_w, w = (int32_t)g->w, dil = (int32_t)g->dil_w;
    const int32_t lanes = r->to - r->from, first = r->ix + dx;
    /* Lanes [a, b) lie inside under all taps. */
    const int32_t room = x ? w - first - (n - 1) * dil : 0;
    int32_t a = first < 0 ? (stride - 1 - first) / stride : 0;
    int32_t b = room > 0 ? (room - 1) / stride + 1 : 0;
    a = a < lanes ? a : lanes;
    b = b < a ? a : b < lanes ? b : lanes;
    for (int32_t k = 0; k < n && (a > 0 || b < lanes); k++)
        for (int32_t i = a > 0 ? 0 : b; i < lanes; i = i + 1 == a ? b : i + 1) {
            const int32_t ix = first + k * dil + i * stride;
            to[(int64_t)k * (int64_t)step + i] = x && ix >= 0 && ix < w ? x[ix] : 0.0f;
        }
    if (dil == 1 && n >= TURNED_TAPS && b - a >= 4) {
        const int64_t apart = (int64_t)step;
        for (int32_t k = 0; k < n; k = next_four(k, n))
            for (int32_t i = a; i < b; i = a + next_four(i - a, b - a))
                transpose_quad(x + first + i * stride + k, stride, to + k * apart + i, apart);
        return;
    }
    for (int32_t k = 0; k < n && a < b; k++, to += step) {
        const float *from = x + first + k * dil + a * stride;
        for (int32_t i = a; i < b; i++, from += stride)
            to[i] = *from;
    }
}

static void turn_taps(const struct im2col_f32_job *job, const struct lanes *l)
{
    const struct conv_geom *g = job->g;
    for (uint32_t c = 0; c < g->c; c++) {
        const float *plane = job->x + c * job->plane;
        uint32_t tap = job->k0 > c ? (job->k0 - c + g->c - 1) / g->c : 0, n;
        const uint32_t end = job->k1 > c ? (job->k1 - c + g->c - 1) / g->c : 0;
        for (; tap < end; tap += n) {
            const uint32_t kx = tap % g->kw;
            const int32_t dy = (int32_t)(tap / g->kw * g->dil_h);
            float *to = job->b + ((size_t)tap * g->c + c - job->k0) * job->ldb;
            n = g->kw - kx < end - tap ? g->kw - kx : end - tap;
            const struct tap_row taps = {(int32_t)(kx * g->dil_w), (int32_t)n,
                                         (size_t)g->c * job->ldb};
            for (uint32_t v = 0; v < l->nv; v++)
                for (uint32_t i = l->first_run[v]; i < l->first_run[v + 1]; i++) {
                    const struct run *r = &l->run[i];
                    const int32_t iy = r->iy + dy;
                    const bool inside = iy >= 0 && iy < (int32_t)g->h;
                    turn_run(g, r, inside ? plane + (size_t)iy * g->w : NULL, &taps,
                             to + v * LANES + r->from);
                }
        }
    }
}

/* Strides above 2, few taps of a channel. */
static void gather_lanes(const struct im2col_f32_job *job, const struct lanes *l,
                         const struct tap *tap)
{
    const struct conv_geom *g = job->g;
    for (uint32_t v = 0; v < l->nv; v++) {
        vint at = {0}, inside = {0};
        for (uint32_t i = l->first_run[v]; i < l->first_run[v + 1]; i++) {
            const struct run *r = &l->run[i];
            int32_t iy = r->iy + tap->dy, ix = r->ix + tap->dx;
            for (int32_t lane = r->from; lane < r->to; lane++, ix += (int32_t)g->stride_w)
                if (iy >= 0 && iy < (int32_t)g->h && ix >= 0 && ix < (int32_t)g->w) {
                    at[lane] = iy * (int32_t)g->w + ix;
                    inside[lane] = -1;
                }
        }
        vmask m = vmask_of(inside);
        const float *x = tap->x;
        float *out = tap->b + v * LANES;
        for (uint32_t c = 0; c < tap->channels; c++, x += job->plane, out += job->ldb)
            vec_store(out, vec_gather(x, at, m));
    }
}

/* k runs over taps, then channels; a job may begin in the middle of a tap. */
void ISA(pith_im2col_f32)(const struct im2col_f32_job *job)
{
    const struct conv_geom *g = job->g;
    struct lanes l;
    lanes_set(&l, job);
    if (g->stride_w > 2 && (job->k1 - job->k0) / g->c >= TURNED_TAPS) {
        turn_taps(job, &l);
        return;
    }
    float *b = job->b;
    for (uint32_t k = job->k0; k < job->k1;) {
        uint32_t at = k / g->c, c = k % g->c;
        uint32_t left = job->k1 - k < g->c - c ? job->k1 - k : g->c - c;
        struct tap tap = {.dy = (int32_t)(at / g->kw * g->dil_h),
                          .dx = (int32_t)(at % g->kw * g->dil_w),
                          .channels = left,
                          .x = job->x + c * job->plane,
                          .b = b};
        if (g->stride_w <= 2)
            copy_runs(job, &l, &tap);
        else
            gather_lanes(job, &l, &tap);
        b += left * job->ldb;
        k += left;
    }
}

void ISA(pith_even_f32)(float *to, const float *from, size_t n)
{
    for (; n > LANES; n -= LANES, to += LANES, from += 2 * LANES)
        vec_store(to, vec_even(vec_load(from), vec_load(from + LANES)));
    const int last = 2 * (int)n - 1; /* elements up to the last that is taken */
    const vec lo = vec_load_some(from, vmask_range(0, last)),
              hi = vec_load_some(from + LANES, vmask_range(-LANES, last - LANES));
    vec_store_some(to, vmask_range(0, (int)n), vec_even(lo, hi));
}
