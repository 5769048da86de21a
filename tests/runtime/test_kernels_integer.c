/* SPDX-License-Identifier: MIT */
/* The integer kernels of every level of this machine against sums written as plainly as possible:
 * equal bits, for all tails of shapes, values as large as they get, every zero point, and buffers
 * that end at an unmapped page. */
#include <math.h>
#include <string.h>
#include "test_run.h"
#include "integer_kernel_case.h"
#include "kernels/ref/integer_element.h"

/* What a sum becomes: 4 bytes, or 1. */
static size_t finish(const struct requantize *to, int32_t offset, float factor, uint32_t sum,
                     uint8_t out[4])
{
    int32_t acc = (int32_t)(sum + (uint32_t)offset);
    if (!to->factor) {
        memcpy(out, &acc, 4);
        return 4;
    }
    struct integer_range r = integer_range_of(to->is_signed ? PITH_I8 : PITH_U8, to->zero_point);
    out[0] = (uint8_t)quantized(&r, (float)acc * factor);
    return 1;
}

/* Where the bytes of pixel i lie: one behind the other, or the last half first. */
static uint32_t place_of(const struct byte_product *p, uint32_t i, bool turned)
{
    return turned ? (i + p->m / 2) % p->m : i;
}

/* less: [m], or NULL. */
static void check_product(const struct byte_product *p, const struct requantize *to,
                          const struct integer_kernels *k, const uint8_t *y, size_t y_step,
                          bool turned, const uint32_t *less)
{
    const uint8_t *x = p->x.data;
    const int8_t *w = p->w.data;
    size_t terms = (size_t)p->segments * p->run, each = to->factor ? 1 : 4;
    for (uint32_t i = 0; i < p->m; i++)
        for (uint32_t o = 0; o < p->n; o++) {
            uint32_t sum = less ? 0 - less[i] : 0;
            uint8_t expected[4];
            for (size_t e = 0; e < terms; e++)
                sum += (uint32_t)(x[place_of(p, i, turned) * terms + e] * w[o * terms + e]);
            finish(to, p->offset[o], p->factor[o], sum, expected);
            if (memcmp(y + i * y_step + o * each, expected, each) != 0)
                fail_msg("gemm_i8, nr %u: m %u n %u segments %u run %u: pixel %u, output %u", k->nr,
                         p->m, p->n, p->segments, p->run, i, o);
        }
}

static void run_product(const struct byte_product *p, const struct requantize *to,
                        const struct integer_kernels *k)
{
    int32_t offset[MAX_N + 64];
    uint32_t steps = (p->run + k->k_step - 1) / k->k_step, segment[8];
    size_t element = k->wide ? 2 : 1, panel_bytes, each = to->factor ? 1 : 4;
    size_t padded = (size_t)steps * k->k_step * element, y_step = p->n * each + pick(0, 3) * each;
    struct guarded x = widened(p, k, steps), w = packed(p, k, steps, &panel_bytes);
    struct guarded y = guard_new((p->m - 1) * y_step + p->n * each, 1);
    const uint8_t *pixel[MAX_M];
    const bool turned = pick(0, 1), has_less = pick(0, 1);
    struct guarded less = guard_new(p->m * sizeof(uint32_t), 4);
    for (uint32_t i = 0; i < p->m; i++)
        ((uint32_t *)less.data)[i] = pick(0, 60000) - 30000;
    for (uint32_t s = 0; s < p->segments; s++)
        segment[s] = (uint32_t)(s * padded);
    for (uint32_t i = 0; i < p->m; i++)
        pixel[i] = (const uint8_t *)x.data + place_of(p, i, turned) * p->segments * padded;
    struct gemm_i8_job job = {.x = pixel,
                              .less = has_less ? less.data : NULL,
                              .segment = segment,
                              .segments = p->segments,
                              .steps = steps,
                              .w = w.data,
                              .panel_bytes = panel_bytes,
                              .to = product_to(p, to, k, offset),
                              .y = y.data,
                              .y_step = y_step,
                              .m = p->m,
                              .n = p->n};
    k->gemm_i8(&job);
    check_product(p, to, k, y.data, y_step, turned, has_less ? less.data : NULL);
    guard_free(&less);
    guard_free(&x);
    guard_free(&w);
    guard_free(&y);
}

/* x of p lies on a grid, whose places have bytes in common. */
static void run_grid(struct byte_product *p, const struct requantize *to,
                     const struct integer_kernels *k)
{
    const uint32_t row = pick(1, p->m), pitch = row + pick(0, 1) * pick(0, 20);
    const uint32_t steps = (p->run + k->k_step - 1) / k->k_step, last = p->m - 1;
    const size_t x_step = pick(1, 90), each = to->factor ? 1 : 4,
                 y_step = (p->n + pick(0, 3)) * each;
    uint32_t segment[8], farthest = 0;
    size_t panel_bytes;
    for (uint32_t s = 0; s < p->segments; s++) {
        segment[s] = pick(0, 300);
        farthest = segment[s] > farthest ? segment[s] : farthest;
    }
    struct guarded grid = guard_bytes((last / row * pitch + last % row) * x_step + farthest +
                                      (size_t)steps * k->k_step);
    struct guarded w = packed(p, k, steps, &panel_bytes);
    struct guarded y = guard_new(last * y_step + p->n * each, 1);
    for (uint32_t i = 0; i < p->m; i++)
        for (uint32_t s = 0; s < p->segments; s++)
            memcpy((uint8_t *)p->x.data + ((size_t)i * p->segments + s) * p->run,
                   (uint8_t *)grid.data + (i / row * pitch + i % row) * x_step + segment[s],
                   p->run);
    const uint8_t *first = grid.data;
    struct gemm_i8_job job = {.x = &first,
                              .segment = segment,
                              .segments = p->segments,
                              .steps = steps,
                              .w = w.data,
                              .panel_bytes = panel_bytes,
                              .to = *to,
                              .y = y.data,
                              .y_step = y_step,
                              .m = p->m,
                              .n = p->n,
                              .x_step = x_step,
                              .row = row,
                              .pitch = pitch};
    k->gemm_grid(&job);
    check_product(p, to, k, y.data, y_step, false, NULL);
    guard_free(&grid);
    guard_free(&w);
    guard_free(&y);
}

/* table: of halved weights, or NULL. */
static void run_slots(const struct byte_product *p, const struct requantize *to,
                      const struct integer_kernels *k, const int8_t *table)
{
    const struct integer_kernels as_it_is = {.k_step = SLOTS_STEP};
    uint32_t steps = (p->run + SLOTS_STEP - 1) / SLOTS_STEP, segment = 0;
    size_t each = to->factor ? 1 : 4, y_step = p->n * each;
    struct guarded x = widened(p, &as_it_is, steps), y = guard_new(p->m * y_step, 1);
    struct guarded w =
        k->slots_in_spans ? in_spans(p, steps, pick(0, 6)) : in_slots(p, steps, pick(0, 6), table);
    const struct integer_kernels offsets = {.middle = k->slots_middle};
    int32_t offset[sizeof p->offset / sizeof *p->offset];
    const uint8_t *pixel[MAX_M];
    for (uint32_t i = 0; i < p->m; i++)
        pixel[i] = (const uint8_t *)x.data + (size_t)i * steps * SLOTS_STEP;
    struct gemm_i8_job job = {.x = pixel,
                              .segment = &segment,
                              .segments = 1,
                              .steps = steps,
                              .w = w.data,
                              .table = table,
                              .halved = table != NULL,
                              .fetches = pick(0, 1),
                              .panel_bytes = sizeof(struct slots_panel),
                              .to = product_to(p, to, &offsets, offset),
                              .y = y.data,
                              .y_step = y_step,
                              .m = p->m,
                              .n = p->n};
    k->gemm_slots(&job);
    check_product(p, to, k, y.data, y_step, false, NULL);
    guard_free(&x);
    guard_free(&w);
    guard_free(&y);
}

/* Every weight of p that is not 0 becomes one of 15, which are table[1] and so on. */
static void few_values(const struct byte_product *p, int8_t table[16])
{
    for (uint32_t t = 1; t < 16; t++)
        table[t] = (int8_t)(pick(0, 1) ? pick(1, 127) : -pick(1, 128));
    for (size_t i = 0; i < (size_t)p->n * p->run; i++)
        if (((int8_t *)p->w.data)[i])
            ((int8_t *)p->w.data)[i] = table[pick(1, 15)];
}

/* Operands of up to `rows` rows, of whose weights `percent` stay. */
static struct requantize pruned_product(struct byte_product *p, uint32_t rows, uint32_t segments,
                                        uint32_t percent)
{
    p->m = pick(1, rows);
    p->n = pick(1, MAX_N);
    p->segments = segments;
    p->run = pick(1, 400);
    p->x = guard_bytes((size_t)p->m * segments * p->run);
    p->w = guard_bytes((size_t)p->n * segments * p->run);
    prune_product(p, percent);
    return random_requantize(p->offset, p->factor, MAX_N + 64);
}

/* Slots that hold all, and ones that leave some to be kept apart. */
TEST(test_gemm_of_slots)
{
    static struct byte_product p;
    struct integer_kernels k;
    for (uint32_t i = 0; i < CASES / 4; i++) {
        struct requantize to = pruned_product(&p, 9, 1, pick(0, 20));
        for (uint32_t level = 0; next_level(&level, &k);)
            if (k.gemm_slots)
                run_slots(&p, &to, &k, NULL);
        int8_t table[16] = {0};
        few_values(&p, table);
        for (uint32_t level = 0; next_level(&level, &k);)
            if (k.gemm_slots && !k.slots_in_spans)
                run_slots(&p, &to, &k, table);
        guard_free(&p.x);
        guard_free(&p.w);
    }
}

TEST(test_gemm)
{
    static struct byte_product p;
    struct integer_kernels k;
    for (uint32_t i = 0; i < CASES; i++) {
        p.m = pick(1, MAX_M);
        p.n = pick(1, MAX_N);
        p.segments = pick(1, 4);
        p.run = pick(0, 3) ? pick(1, 20) : pick(1, 130);
        if (i % 60 == 0) { /* long ones */
            p.n = pick(1, 40);
            p.segments = 4;
            p.run = pick(500, 1200);
        }
        p.x = guard_bytes((size_t)p.m * p.segments * p.run);
        p.w = guard_bytes((size_t)p.n * p.segments * p.run);
        struct requantize to = random_requantize(p.offset, p.factor, MAX_N + 64);
        for (uint32_t level = 0; next_level(&level, &k);)
            run_product(&p, &to, &k);
        guard_free(&p.x);
        guard_free(&p.w);
    }
}

TEST(test_gemm_of_grids)
{
    static struct byte_product p;
    struct integer_kernels k;
    for (uint32_t i = 0; i < CASES; i++) {
        p.m = pick(1, MAX_M);
        p.n = pick(1, MAX_N);
        p.segments = pick(1, 4);
        p.run = pick(0, 2) ? pick(1, 140) : 64 * pick(1, 4);
        if (i % 60 == 0) /* weights that are fetched ahead */
            p.run = pick(500, 1200);
        p.x = guard_new((size_t)p.m * p.segments * p.run, 1);
        p.w = guard_bytes((size_t)p.n * p.segments * p.run);
        struct requantize to = random_requantize(p.offset, p.factor, MAX_N + 64);
        for (uint32_t level = 0; next_level(&level, &k);)
            if (k.gemm_grid)
                run_grid(&p, &to, &k);
        guard_free(&p.x);
        guard_free(&p.w);
    }
}

/* Products of 16 bits: x and w as they are, sums of 32 bits of w of 8, else of 64. */
static void check_words(const struct byte_product *p, const struct integer_kernels *k, bool is_long)
{
    const uint32_t nr = is_long ? WORDS_NR : k->words_nr;
    struct integer_kernels words = {.nr = nr, .k_step = WORDS_STEP, .wide = true};
    uint32_t steps = (p->run + 1) / 2, n = p->n, rounded = (n + nr - 1) / nr * nr, segment[8];
    size_t panel_bytes, each = is_long ? 8 : 4, terms = (size_t)p->segments * p->run;
    size_t padded = (size_t)steps * 2;
    struct guarded x = widened(p, &words, steps), w = packed(p, &words, steps, &panel_bytes);
    struct guarded offset = guard_new(rounded * each, 1), y = guard_new(p->m * n * each, 1);
    int16_t *xs = x.data, *ws = w.data;
    bool extreme = pick(0, 2) == 0;
    const uint8_t *pixel[MAX_M];
    for (size_t i = 0; i < p->m * p->segments * padded; i++)
        xs[i] = (int16_t)(extreme ? INT16_MIN : (int64_t)random_u64(&seed));
    for (size_t i = 0; is_long && i < panel_bytes / 2 * (rounded / nr); i++)
        ws[i] = (int16_t)(ws[i] == 0 || !extreme ? ws[i] * 251 : INT16_MIN); /* behind K: 0 */
    for (size_t i = 0; i < rounded * each; i++)
        ((uint8_t *)offset.data)[i] = (uint8_t)random_u64(&seed);
    for (uint32_t s = 0; s < p->segments; s++)
        segment[s] = (uint32_t)(s * padded * 2);
    for (uint32_t i = 0; i < p->m; i++)
        pixel[i] = (const uint8_t *)(xs + i * p->segments * padded);
    struct gemm_i8_job job = {.x = pixel,
                              .segment = segment,
                              .segments = p->segments,
                              .steps = steps,
                              .w = w.data,
                              .panel_bytes = panel_bytes,
                              .to = {.offset = offset.data},
                              .y = y.data,
                              .y_step = n * each,
                              .m = p->m,
                              .n = n};
    k->gemm_i16[is_long](&job);
    for (uint32_t i = 0; i < p->m; i++)
        for (uint32_t o = 0; o < n; o++) {
            uint64_t sum = 0, bias = 0;
            const int16_t *panel = ws + o / nr * panel_bytes / 2;
            memcpy(&bias, (uint8_t *)offset.data + o * each, each);
            for (size_t e = 0; e < p->segments * padded; e++)
                sum += (uint64_t)((int64_t)xs[i * p->segments * padded + e] *
                                  panel[(e / 2 * nr + o % nr) * 2 + e % 2]);
            sum += bias;
            if (memcmp(&sum, (uint8_t *)y.data + (i * n + o) * each, each) != 0)
                fail_msg("gemm_i16, long %d: m %u n %u, %zu terms: pixel %u, output %u", is_long,
                         p->m, n, terms, i, o);
        }
    guard_free(&x);
    guard_free(&w);
    guard_free(&offset);
    guard_free(&y);
}

TEST(test_gemm_of_words)
{
    static struct byte_product p;
    struct integer_kernels k;
    for (uint32_t i = 0; i < CASES; i++) {
        p.m = pick(1, MAX_M);
        p.n = pick(1, pick(0, 1) ? 40 : MAX_N);
        p.segments = pick(1, 4);
        p.run = pick(1, 40);
        p.x = guard_bytes((size_t)p.m * p.segments * p.run);
        p.w = guard_bytes((size_t)p.n * p.segments * p.run);
        for (uint32_t level = 0; next_level(&level, &k);)
            if (k.gemm_i16[i % 2])
                check_words(&p, &k, i % 2);
        guard_free(&p.x);
        guard_free(&p.w);
    }
}

/* ---- Winograd's F(4x4, 3x3) ------------------------------------------------------------------ */

static size_t aligned_up(size_t n)
{
    return (n + WINOGRAD_I8_ALIGN - 1) / WINOGRAD_I8_ALIGN * WINOGRAD_I8_ALIGN;
}

/* Behind the channels: anything. */
static void run_winograd_in(const struct integer_kernels *k, uint32_t channels)
{
    const size_t pixel = channels + pick(0, 3), row = 6 * pixel + pick(0, 40);
    const size_t step = aligned_up(channels), n = WINOGRAD_I8_TERMS * step;
    struct guarded x = guard_bytes(5 * row + 5 * pixel + channels);
    struct guarded v = guard_new(n * sizeof(int16_t), 2);
    int16_t *want = calloc(n, sizeof *want);
    struct winograd_i8_in job = {.x = x.data,
                                 .row = row,
                                 .pixel = pixel,
                                 .channels = channels,
                                 .flip = pick(0, 1) ? 0x80 : 0,
                                 .v = v.data,
                                 .step = step};
    k->winograd_in(&job);
    job.v = want;
    plain_winograd_i8_in(&job);
    for (uint32_t t = 0; t < WINOGRAD_I8_TERMS; t++)
        if (memcmp((int16_t *)v.data + t * step, want + t * step, channels * sizeof *want) != 0)
            fail_msg("winograd_in, %u channels: element %u", channels, t);
    free(want);
    guard_free(&x);
    guard_free(&v);
}

/* y lies at the edge of a page; bytes between its pixels stay as they are. */
static void run_winograd_out(const struct integer_kernels *k, uint32_t outputs)
{
    const size_t step = aligned_up(outputs), pixel = outputs + pick(0, 3), row = 4 * pixel + 5;
    const uint32_t rows = pick(1, 4), columns = pick(0, 2) ? 4 : pick(1, 4);
    const size_t n = (rows - 1) * row + (columns - 1) * pixel + outputs;
    struct guarded m = guard_new(WINOGRAD_I8_TERMS * step * sizeof(int32_t), 4);
    struct guarded y = guard_new(n, 1), offset = guard_new(step * sizeof(int32_t), 4);
    struct guarded factor = guard_new(step * sizeof(float), 4);
    uint8_t *want = malloc(n);
    for (size_t i = 0; i < WINOGRAD_I8_TERMS * step; i++)
        ((int32_t *)m.data)[i] = (int32_t)random_u64(&seed) >> pick(0, 31);
    struct requantize to = random_requantize(offset.data, factor.data, (uint32_t)step);
    to.factor = factor.data;
    memset(want, 0xa5, n);
    memset(y.data, 0xa5, n);
    struct winograd_i8_out job = {.m = m.data,
                                  .step = step,
                                  .to = to,
                                  .y = y.data,
                                  .y_row = row,
                                  .y_pixel = pixel,
                                  .rows = rows,
                                  .columns = columns,
                                  .outputs = outputs};
    k->winograd_out(&job);
    job.y = want;
    plain_winograd_i8_out(&job);
    for (size_t i = 0; i < n; i++)
        if (want[i] != ((uint8_t *)y.data)[i])
            fail_msg("winograd_out, %u outputs, %u by %u: byte %zu", outputs, rows, columns, i);
    free(want);
    guard_free(&m);
    guard_free(&y);
    guard_free(&offset);
    guard_free(&factor);
}

TEST(test_winograd)
{
    struct integer_kernels k;
    for (uint32_t i = 0; i < CASES; i++)
        for (uint32_t level = 0; next_level(&level, &k);)
            if (k.winograd_in) {
                run_winograd_in(&k, pick(1, 80));
                run_winograd_out(&k, pick(1, 80));
            }
}

/* ---- depthwise ------------------------------------------------------------------------------- */

static void run_depthwise(const struct byte_depthwise *p, struct requantize to,
                          const struct integer_kernels *k)
{
    uint32_t groups = (p->taps + k->group - 1) / k->group, tap[32];
    int32_t offset[2 * MAX_N];
    float factor[2 * MAX_N];
    struct guarded w = packed_depthwise(p, k, groups, offset, factor);
    const size_t bytes = to.factor ? 1 : sizeof(int32_t), row = p->channels * bytes;
    struct guarded y = guard_new(p->m * row, 1);
    for (uint32_t j = 0; j < groups * k->group; j++) {
        const uint32_t t = depthwise_tap(k->group, p->kh, p->kw, j);
        tap[j] = t < p->taps ? tap_at(p, t) : 0;
    }
    to.offset = offset;
    to.factor = to.factor ? factor : NULL;
    struct depthwise_i8_job job = {.x = p->x.data,
                                   .x_step = (size_t)p->stride * p->channels,
                                   .tap = tap,
                                   .groups = groups,
                                   .w = w.data,
                                   .to = to,
                                   .y = y.data,
                                   .y_step = row,
                                   .m = p->m,
                                   .channels = p->channels,
                                   .columns =
                                       k->group == 4 && p->kh == 3 && p->kw == 3 && p->stride == 1};
    k->depthwise_i8(&job);
    const uint8_t *x = p->x.data;
    const int8_t *own = p->w.data;
    for (uint32_t i = 0; i < p->m; i++)
        for (uint32_t c = 0; c < p->channels; c++) {
            uint32_t sum = 0;
            uint8_t expected[4];
            for (uint32_t t = 0; t < p->taps; t++)
                sum += (uint32_t)(x[i * p->stride * p->channels + tap_at(p, t) + c] *
                                  own[c * p->taps + t]);
            finish(&to, p->offset[c], p->factor[c], sum, expected);
            if (memcmp((uint8_t *)y.data + i * row + c * bytes, expected, bytes) != 0)
                fail_msg("depthwise_i8, block %u: m %u channels %u taps %u: pixel %u, channel %u",
                         k->block, p->m, p->channels, p->taps, i, c);
        }
    guard_free(&w);
    guard_free(&y);
}

TEST(test_depthwise)
{
    static struct byte_depthwise p;
    struct integer_kernels k;
    for (uint32_t i = 0; i < CASES; i++) {
        p.m = pick(1, 9);
        p.channels = pick(0, 1) ? pick(1, MAX_N) : 8 * pick(1, 2);
        p.kh = i % 2 ? 1 : 3;
        p.kw = i % 2 ? pick(1, 26) : i % 4 ? 3 : pick(1, 8);
        p.taps = p.kh * p.kw;
        p.stride = pick(1, 3);
        p.width = (p.m - 1) * p.stride + p.kw;
        p.x = guard_bytes((size_t)p.kh * p.width * p.channels);
        p.w = guard_bytes((size_t)p.channels * p.taps);
        const struct requantize to = random_requantize(p.offset, p.factor, MAX_N);
        for (uint32_t level = 0; next_level(&level, &k);)
            run_depthwise(&p, to, &k);
        guard_free(&p.x);
        guard_free(&p.w);
    }
}

RUN_TESTS
