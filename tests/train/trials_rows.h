/* SPDX-License-Identifier: MIT */
/* trials_rows.h - trials of kernel_row.h and kernel_integer.h, which are timed alone, of
 * kernel_decode.h and crc32c.h: every level gives the bits of the reference. */
#ifndef TRIALS_ROWS_H
#define TRIALS_ROWS_H

#include "kernel_trial.h"
#include "kernels/crc32c.h"
#include "kernels/kernel_decode.h"

static inline struct row_kernels row_of_features(const struct trial *t)
{
    struct row_kernels k;
    pith_row_kernels_fill(&k, t->features);
    return k;
}

enum { NETWORK_ROW = 4096 };

static inline void trial_row(struct trial *t, row_f32_fn *f)
{
    uint32_t n = NETWORK_ROW;
    float *x = reals(t, n), *y = take(t, n * sizeof *y);
    for (uint32_t i = 0; i < n; i++)
        x[i] *= 6;
    CALL(t, n, f(x, y, n));
}

#define TRIAL_ROW(member)                                                                          \
    static void trial_##member(struct trial *t)                                                    \
    {                                                                                              \
        trial_row(t, row_of_features(t).member);                                                   \
    }
TRIAL_ROW(relu)
TRIAL_ROW(tanh)
TRIAL_ROW(sigmoid)
TRIAL_ROW(swish)
TRIAL_ROW(erf)
TRIAL_ROW(gelu)
TRIAL_ROW(gelu_tanh)

static void trial_softmax(struct trial *t)
{
    uint32_t n = 10, rows = 400;
    float *x = reals(t, (size_t)rows * n), *y = take(t, (size_t)rows * n * sizeof *y);
    CALL(t, (double)rows * n, row_of_features(t).softmax(x, y, rows, n));
}

/* The reference of the table is the operators' own loops. */
static void trial_elementwise(struct trial *t)
{
    const struct elementwise_rows *rows = row_of_features(t).elementwise;
    uint32_t n = NETWORK_ROW;
    float *a = reals(t, n), *b = reals(t, n), *y = take(t, n * sizeof *y);
    if (rows)
        CALL(t, n, rows->binary[BINARY_MAX](a, 1, b, 1, y, n));
}

static void trial_clip(struct trial *t)
{
    uint32_t n = NETWORK_ROW;
    float *x = reals(t, n), *y = take(t, n * sizeof *y);
    CALL(t, n, row_of_features(t).clip(x, -0.25f, 0.5f, y, n));
}

static void trial_exp(struct trial *t)
{
    uint32_t n = NETWORK_ROW;
    float *x = reals(t, n), *y = take(t, n * sizeof *y);
    CALL(t, n, row_of_features(t).exp(x, 1.5f, y, n));
}

static void trial_layer_norm(struct trial *t)
{
    uint32_t n = NETWORK_ROW, rows = 16;
    float *y = take(t, (size_t)rows * n * sizeof *y);
    struct norm_rows norm = {reals(t, (size_t)rows * n), y, reals(t, n), reals(t, n), 1e-5f, false};
    CALL(t, (double)rows * n, row_of_features(t).layer_norm(&norm, rows, n));
}

static void trial_sum_rows(struct trial *t)
{
    uint32_t n = 49, rows = 160;
    float *x = reals(t, (size_t)rows * n), *y = take(t, rows * sizeof *y);
    CALL(t, (double)rows * n, row_of_features(t).sum_rows(x, y, rows, n));
}

static void trial_extreme_rows(struct trial *t)
{
    uint32_t n = 49, rows = 160;
    float *x = reals(t, (size_t)rows * n), *y = take(t, rows * sizeof *y);
    CALL(t, (double)rows * n, row_of_features(t).extreme_rows(x, -1.0f, y, rows, n));
}

static void trial_sum_columns(struct trial *t)
{
    uint32_t width = 49, rows = 160;
    float *x = reals(t, (size_t)rows * width);
    double *sum = take(t, width * sizeof *sum);
    memset(sum, 0, width * sizeof *sum);
    CALL(t, (double)rows * width, row_of_features(t).sum_columns(x, width, rows, width, sum));
}

static void trial_extreme_columns(struct trial *t)
{
    uint32_t width = 49, rows = 160;
    float *x = reals(t, (size_t)rows * width), *y = take(t, width * sizeof *y);
    memset(y, 0, width * sizeof *y);
    CALL(t, (double)rows * width,
         row_of_features(t).extreme_columns(x, width, rows, width, -1.0f, y));
}

static void trial_softmax_columns(struct trial *t)
{
    uint32_t n = 128, width = 48;
    float *x = reals(t, (size_t)n * width), inverse[DENSE_MAX_NR] = {0};
    CALL(t, (double)n * width, row_of_features(t).softmax_columns(x, width, n, width, inverse));
}

static void trial_where(struct trial *t)
{
    uint32_t n = NETWORK_ROW, *y = take(t, n * sizeof *y);
    uint8_t *c = some_bytes(t, n), *a = some_bytes(t, 4 * (size_t)n), *b = some_bytes(t, 4);
    for (uint32_t i = 0; i < n; i++)
        c[i] &= 1;
    CALL(t, n, row_of_features(t).where(c, (void *)a, 1, (void *)b, 0, y, n));
}

/* ---- products of bytes ----------------------------------------------------------------------- */

static inline struct integer_kernels integer_of(const struct trial *t)
{
    struct integer_kernels k;
    pith_integer_kernels_fill(&k, t->features);
    return k;
}

/* A drawn product; x and w of the whole bytes, unless each weight is one of a table. */
static inline struct byte_product *product_of(struct trial *t, uint32_t segments)
{
    struct byte_product *p = take(t, sizeof *p);
    p->m = MAX_M;
    p->n = 128;
    p->segments = segments;
    p->run = 256;
    p->x = guard_bytes((size_t)p->m * segments * p->run);
    p->w = guard_bytes((size_t)p->n * segments * p->run);
    return p;
}

static inline void product_close(struct byte_product *p)
{
    guard_free(&p->x);
    guard_free(&p->w);
}

/* The job of p as k's table needs it; what it owns is the trial's. */
static inline struct gemm_i8_job job_of(struct trial *t, const struct byte_product *p,
                                        const struct integer_kernels *k, size_t each)
{
    struct gemm_i8_job job = {.segments = p->segments, .m = p->m, .n = p->n};
    size_t element = k->wide ? 2 : 1;
    job.steps = (p->run + k->k_step - 1) / k->k_step;
    size_t padded = (size_t)job.steps * k->k_step * element;
    struct guarded x = widened(p, k, job.steps), w = packed(p, k, job.steps, &job.panel_bytes);
    uint8_t *x_own = take(t, p->m * p->segments * padded);
    uint8_t *w_own = take(t, (p->n + k->nr - 1) / k->nr * job.panel_bytes);
    memcpy(x_own, x.data, p->m * p->segments * padded);
    memcpy(w_own, w.data, (p->n + k->nr - 1) / k->nr * job.panel_bytes);
    guard_free(&x);
    guard_free(&w);
    const uint8_t **pixel = take(t, p->m * sizeof *pixel);
    uint32_t *segment = take(t, p->segments * sizeof *segment);
    for (uint32_t i = 0; i < p->m; i++)
        pixel[i] = x_own + i * p->segments * padded;
    for (uint32_t s = 0; s < p->segments; s++)
        segment[s] = (uint32_t)(s * padded);
    job.x = pixel, job.segment = segment, job.w = w_own;
    job.y_step = p->n * each;
    job.y = take(t, p->m * job.y_step);
    return job;
}

static inline double product_work(const struct byte_product *p)
{
    return (double)p->m * p->n * p->segments * p->run;
}

static void trial_gemm_i8(struct trial *t)
{
    struct integer_kernels k = integer_of(t);
    struct byte_product *p = product_of(t, pick(1, 3));
    int32_t *offset = take(t, sizeof p->offset);
    struct requantize to = random_requantize(p->offset, p->factor, MAX_N + 64);
    struct gemm_i8_job job = job_of(t, p, &k, to.factor ? 1 : 4);
    job.to = product_to(p, &to, &k, offset);
    CALL(t, product_work(p), k.gemm_i8(&job));
    product_close(p);
}

/* Pixels one behind the other, in rows of `row` and as many places more as there are. */
static void trial_gemm_grid(struct trial *t)
{
    struct integer_kernels k = integer_of(t);
    struct byte_product *p = product_of(t, pick(1, 3));
    int32_t *offset = take(t, sizeof p->offset);
    struct requantize to = random_requantize(p->offset, p->factor, MAX_N + 64);
    struct gemm_i8_job job = job_of(t, p, &k, to.factor ? 1 : 4);
    job.to = product_to(p, &to, &k, offset);
    job.x_step = (size_t)p->segments * job.steps * k.k_step;
    job.row = job.pitch = p->m;
    CALL(t, product_work(p), k.gemm_grid ? k.gemm_grid(&job) : k.gemm_i8(&job));
    product_close(p);
}

static void trial_gemm_slots(struct trial *t)
{
    struct integer_kernels k = integer_of(t);
    const struct integer_kernels as_it_is = {
        .nr = SLOTS_NR, .k_step = SLOTS_STEP, .middle = k.slots_middle};
    struct byte_product *p = product_of(t, 1);
    prune_product(p, 10);
    if (k.gemm_slots) {
        struct gemm_i8_job job = job_of(t, p, &as_it_is, 4);
        struct guarded w =
            k.slots_in_spans ? in_spans(p, job.steps, 4) : in_slots(p, job.steps, 4, NULL);
        job.w = w.data;
        int32_t *offset = take(t, (MAX_N + 64) * sizeof(int32_t));
        for (uint32_t o = 0; o < p->n; o++)
            offset[o] =
                middle_offset(&as_it_is, (const int8_t *)p->w.data + (size_t)o * p->run, p->run);
        job.to.offset = offset;
        CALL(t, product_work(p), k.gemm_slots(&job));
        guard_free(&w);
    }
    product_close(p);
}

static inline void trial_gemm_i16(struct trial *t, int is_long)
{
    const struct integer_kernels k = integer_of(t);
    const struct integer_kernels words = {
        .nr = is_long ? WORDS_NR : k.words_nr, .k_step = WORDS_STEP, .wide = true};
    struct byte_product *p = product_of(t, pick(1, 3));
    if (k.gemm_i16[is_long]) {
        struct gemm_i8_job job = job_of(t, p, &words, is_long ? 8 : 4);
        job.to.offset = take(t, (MAX_N + 64) * sizeof(int64_t));
        CALL(t, product_work(p), k.gemm_i16[is_long](&job));
    }
    product_close(p);
}

static void trial_gemm_i16_short(struct trial *t)
{
    trial_gemm_i16(t, 0);
}

static void trial_gemm_i16_long(struct trial *t)
{
    trial_gemm_i16(t, 1);
}

static void trial_winograd_i8_in(struct trial *t)
{
    struct winograd_i8_in job = {.channels = 64, .flip = 0x80};
    job.pixel = job.channels, job.row = 56 * job.pixel;
    job.step = (job.channels + WINOGRAD_I8_ALIGN - 1) / WINOGRAD_I8_ALIGN * WINOGRAD_I8_ALIGN;
    job.x = some_bytes(t, 6 * job.row);
    job.v = take(t, WINOGRAD_I8_TERMS * job.step * sizeof *job.v);
    const double work = (double)WINOGRAD_I8_TERMS * job.channels;
    if (integer_of(t).winograd_in)
        CALL(t, work, integer_of(t).winograd_in(&job));
}

static void trial_winograd_i8_out(struct trial *t)
{
    struct winograd_i8_out job = {.outputs = 64, .rows = 4, .columns = 4};
    job.step = (job.outputs + WINOGRAD_I8_ALIGN - 1) / WINOGRAD_I8_ALIGN * WINOGRAD_I8_ALIGN;
    job.y_pixel = job.outputs, job.y_row = 56 * job.y_pixel;
    job.m = (const void *)some_bytes(t, WINOGRAD_I8_TERMS * job.step * sizeof *job.m);
    float *factor = take(t, job.step * sizeof *factor);
    job.to = random_requantize(take(t, job.step * sizeof(int32_t)), factor, (uint32_t)job.step);
    job.to.factor = factor;
    job.y = take(t, 4 * job.y_row);
    const double work = (double)WINOGRAD_I8_TERMS * job.outputs;
    if (integer_of(t).winograd_out)
        CALL(t, work, integer_of(t).winograd_out(&job));
}

static void trial_depthwise_i8(struct trial *t)
{
    struct integer_kernels k = integer_of(t);
    struct byte_depthwise *p = take(t, sizeof *p);
    p->m = 56;
    p->channels = 128;
    p->kw = 3;
    p->kh = p->kw == 3 ? 3 : 1;
    p->taps = p->kh * p->kw;
    p->stride = 1;
    p->width = p->m - 1 + p->kw;
    p->x = guard_bytes((size_t)p->kh * p->width * p->channels);
    p->w = guard_bytes((size_t)p->channels * p->taps);
    struct requantize to = random_requantize(p->offset, p->factor, MAX_N);
    struct depthwise_i8_job job = {.x = p->x.data, .x_step = p->channels, .m = p->m};
    int32_t *offset = take(t, 2 * sizeof p->offset);
    float *factor = take(t, 2 * sizeof p->factor);
    uint32_t tap[32];
    job.groups = (p->taps + k.group - 1) / k.group;
    for (uint32_t j = 0; j < job.groups * k.group; j++) {
        const uint32_t i = depthwise_tap(k.group, p->kh, p->kw, j);
        tap[j] = i < p->taps ? tap_at(p, i) : 0;
    }
    job.columns = k.group == 4 && p->kh == 3;
    struct guarded w = packed_depthwise(p, &k, job.groups, offset, factor);
    to.offset = offset, to.factor = factor;
    job.tap = tap, job.w = w.data, job.to = to;
    job.channels = p->channels, job.y_step = p->channels;
    job.y = take(t, (size_t)p->m * p->channels);
    CALL(t, (double)p->m * p->channels * p->taps, k.depthwise_i8(&job));
    guard_free(&p->x), guard_free(&p->w), guard_free(&w);
}

/* ---- rows of bytes --------------------------------------------------------------------------- */

static inline struct byte_grid grid_drawn(void)
{
    bool is_signed = pick(0, 1);
    return byte_grid_of(is_signed, (float)pick(1, 50) * 1e-2f,
                        is_signed ? (int32_t)pick(0, 255) - 128 : (int32_t)pick(0, 255));
}

static void trial_combine(struct trial *t)
{
    uint32_t n = NETWORK_ROW;
    struct combine_bytes c = {grid_drawn(), grid_drawn(), grid_drawn(), pick(0, 1), pick(0, 1)};
    uint8_t *a = some_bytes(t, n), *b = some_bytes(t, n), *y = take(t, n);
    const struct combined_rows rows = {.a = a, .b = b, .y = y, .n = n, .rows = 1};
    CALL(t, n, integer_of(t).bytes.combine(&c, &rows));
}

static void trial_combine_reals(struct trial *t)
{
    uint32_t n = NETWORK_ROW;
    struct combine_bytes c = {grid_drawn(), grid_drawn(), grid_drawn(), pick(0, 1), pick(0, 1)};
    uint8_t *a = some_bytes(t, n), *y = take(t, n);
    float *b = reals(t, n);
    CALL(t, n, integer_of(t).bytes.combine_reals(&c, a, b, y, n));
}

static void trial_quantize(struct trial *t)
{
    uint32_t n = NETWORK_ROW;
    struct byte_grid g = grid_drawn();
    float *x = reals(t, n);
    uint8_t *y = take(t, n);
    CALL(t, n, integer_of(t).bytes.quantize(&g, x, y, n));
}

static void trial_dequantize(struct trial *t)
{
    uint32_t n = NETWORK_ROW;
    struct byte_grid g = grid_drawn();
    uint8_t *x = some_bytes(t, n);
    float *y = take(t, n * sizeof *y);
    CALL(t, n, integer_of(t).bytes.dequantize(&g, x, y, n));
}

/* A row of 3 x 3 windows that move by two, or of one wide window. */
static void trial_largest(struct trial *t)
{
    const uint32_t n = 64, windows = 56, of = 3;
    const size_t row = (size_t)n * (2 * windows + of);
    const struct largest_bytes l = {
        some_bytes(t, of * row), row, n, (size_t)2 * n, of, of, windows, 0x80};
    uint8_t *y = take(t, (size_t)n * windows);
    CALL(t, (double)n * windows * of * of, integer_of(t).bytes.largest(&l, y, n));
}

/* Pairs of six rows, as a picture's under a stride of two. */
static void trial_interleave(struct trial *t)
{
    const uint32_t n = 115, rows = 6;
    const uint8_t *x[INTERLEAVE_ROWS];
    for (uint32_t r = 0; r < rows; r++)
        x[r] = some_bytes(t, (size_t)2 * n);
    const struct interleave job = {
        .x = x, .rows = rows, .element = 2, .at = -3, .width = (size_t)2 * n, .flip = 0x80};
    uint8_t *y = take(t, (size_t)2 * n * rows);
    const struct integer_kernels k = integer_of(t);
    if (k.bytes.interleave)
        CALL(t, (double)n * rows * 2, k.bytes.interleave(&job, y, n));
}

static void trial_mean(struct trial *t)
{
    uint32_t n = 512, pixels = 49;
    struct mean_bytes m = {some_bytes(t, (size_t)n * pixels), pixels, n, grid_drawn(),
                           grid_drawn()};
    uint8_t *y = take(t, n);
    CALL(t, (double)n * pixels, integer_of(t).bytes.mean(&m, y, n));
}

static void trial_real_sums(struct trial *t)
{
    uint32_t n = NETWORK_ROW;
    float *factor = reals(t, n);
    uint8_t *sums = some_bytes(t, n * sizeof *factor), *y = take(t, n * sizeof *factor);
    CALL(t, n, memcpy(y, sums, n * sizeof *factor); integer_of(t).bytes.real_sums(factor, y, n));
}

static void trial_look_up(struct trial *t)
{
    uint32_t n = NETWORK_ROW;
    uint8_t *table = some_bytes(t, 256), *x = some_bytes(t, n), *y = take(t, n);
    CALL(t, n, integer_of(t).bytes.look_up(table, x, y, n));
}

/* ---- decoders, checksums --------------------------------------------------------------------- */

/* Entries of any lengths: they form no code, and are decoded all the same. */
static void trial_huff_chains(struct trial *t)
{
    const uint32_t rounds = size(t, 1, 70, 4096), width = 1 + rounds % 12;
    const uint32_t n = rounds % 5 < 2 ? HUFF_CHAINS / 2 : HUFF_CHAINS;
    const size_t bytes = (size_t)7 * rounds + 8, done = (size_t)HUFF_STEPS * rounds;
    uint16_t *entries = take(t, ((size_t)1 << width) * sizeof *entries);
    const uint8_t *streams = some_bytes(t, n * bytes);
    uint8_t *out = take(t, n * done);
    struct huff_chain chain[HUFF_CHAINS];
    struct decode_kernels k;
    pith_decode_kernels_fill(&k, t->features);
    for (uint32_t i = 0; i < 1u << width; i++)
        entries[i] = (uint16_t)(random_u64(&seed) % 256 << 8 | (1 + random_u64(&seed) % 12));
    CALL(t, (double)n * (double)done,
         for (uint32_t i = 0; i < n; i++) chain[i] =
             (struct huff_chain){streams + i * bytes, out + i * done, i % 8};
         k.huff_chains(chain, n, entries, width, rounds));
    leaves_bytes(t, out, n * done);
    for (uint32_t i = 0; i < n; i++) {
        uint32_t at[2] = {(uint32_t)(chain[i].in - streams), chain[i].consumed};
        leaves_bytes(t, at, sizeof at);
        assert_ptr_equal(chain[i].out, out + (i + 1) * done);
    }
}

static void trial_rans_rows(struct trial *t)
{
    const uint32_t rows = size(t, 1, 40, 4096), n = 1u << RANS_BITS;
    uint32_t *entries = take(t, n * sizeof *entries), state[RANS_LANES], first[RANS_LANES];
    size_t bytes = ((size_t)rows + 1) * RANS_ROW_BYTES, done = 0;
    const uint8_t *stream = some_bytes(t, bytes), *in = stream;
    uint8_t *out = take(t, (size_t)rows * RANS_LANES);
    struct decode_kernels k;
    pith_decode_kernels_fill(&k, t->features);
    for (uint32_t i = 0; i < n; i++) /* 256 symbols of one frequency */
        entries[i] = (n / 256) << 20 | i % (n / 256) << 8 | i / (n / 256);
    for (uint32_t i = 0; i < RANS_LANES; i++)
        first[i] = (uint32_t)random_u64(&seed) | RANS_LOW;
    CALL(t, (double)rows * RANS_LANES, memcpy(state, first, sizeof state); in = stream;
         done = k.rans_rows(state, entries, &in, stream + bytes, out, rows));
    assert_int_equal(done, rows);
    leaves_bytes(t, out, (size_t)rows * RANS_LANES);
    leaves_bytes(t, state, sizeof state);
}

static void trial_crc32c(struct trial *t)
{
    uint32_t n = size(t, 1, 5000, 1 << 20), crc = 0;
    uint8_t *x = some_bytes(t, n);
    struct checksum_kernels k;
    pith_checksum_kernels_fill(&k, t->features);
    CALL(t, n, crc = k.crc32c(7, x, n));
    leaves_bytes(t, &crc, sizeof crc);
}

#endif
