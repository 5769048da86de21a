/* SPDX-License-Identifier: MIT */
/* bench_gpu_products.c - products of matrices on a GPU by tensor cores, from activations in f32 and
 * a weight in f16, beside the same by pith's tiles in f32 and by cuBLASLt in f32 and f16. Needs the
 * runtime's archives and libc alone (bench/gpu.sh).
 *
 *     bench_gpu_products SECONDS        of each time; a line of JSON each
 *
 * Times are medians of replays of a graph that holds the product several times, by events. Weights
 * and activations are random; cuBLASLt has both in f16 already. On the emulator, whose times say
 * nothing, matrices are small. */
#include <math.h>
#include "device_product.h"
#include "gpu_times.h"
#include "half_bits.h"
#include "pith_element_f32.h"

#define CHECKED 16u /* rows, and columns, of the product */

static uint64_t random_state = 1;

static float next_value(void)
{
    random_state ^= random_state >> 12;
    random_state ^= random_state << 25;
    random_state ^= random_state >> 27;
    return (float)((double)((random_state * UINT64_C(0x2545f4914f6cdd1d)) >> 40) / 8388608.0 - 1.0);
}

/* y [m, n] = x [m, k] w^T, w [n, k]. */
struct product {
    struct gemm_args g;
    float *x;
    uint16_t *half; /* w */
    struct weight w;
    device_address x_half, w_half, w_f32, work;
};

static device_address put_floats(const float *x, size_t n)
{
    device_address at = take(n * sizeof *x);
    copy_there(at, x, n * sizeof *x);
    return at;
}

static void make(struct product *p, uint32_t m, uint32_t n, uint32_t k)
{
    const size_t nx = (size_t)m * k, nw = (size_t)n * k;
    uint16_t *x_half = malloc(nx * 2);
    float *w = malloc(nw * sizeof *w);
    *p = (struct product){.x = malloc(nx * sizeof *p->x), .half = malloc(nw * 2)};
    need(!x_half || !w || !p->x || !p->half, "out of memory");
    for (size_t i = 0; i < nx; i++) {
        p->x[i] = next_value();
        x_half[i] = (uint16_t)f16_of_f32(p->x[i]);
    }
    for (size_t i = 0; i < nw; i++) {
        p->half[i] = (uint16_t)f16_of_f32(next_value());
        pith_elements_to_f32(PITH_F16, (const uint8_t *)&p->half[i], 1, &w[i]);
    }
    p->w = (struct weight){.type = PITH_F16,
                           .shape = {2, {n, k}},
                           .count = nw,
                           .nnz = nw,
                           .support = SUPPORT_DENSE,
                           .index_stream = {(const uint8_t *)p->half, nw * 2}};
    p->x_half = take(nx * 2);
    copy_there(p->x_half, x_half, nx * 2);
    p->w_half = take(nw * 2);
    copy_there(p->w_half, p->half, nw * 2);
    p->w_f32 = put_floats(w, nw);
    p->work = take(BLAS_WORK);
    p->g = (struct gemm_args){.a = (const float *)(uintptr_t)put_floats(p->x, nx),
                              .y = (float *)(uintptr_t)take((size_t)m * n * 4),
                              .m = m,
                              .n = n,
                              .k = k,
                              .a_row = k,
                              .a_col = 1,
                              .b_row = 1,
                              .b_col = k,
                              .alpha = 1.0f};
    free(x_half);
    free(w);
}

static void drop(struct product *p)
{
    const device_address of[] = {(uintptr_t)p->g.a, (uintptr_t)p->g.y, p->x_half,
                                 p->w_half,         p->w_f32,          p->work};
    for (size_t i = 0; i < sizeof of / sizeof *of; i++)
        cuda->cuMemFree_v2(of[i]);
    free(p->x);
    free(p->half);
}

enum contender { MMA, TILES, BLAS_F32, BLAS_F16, N_CONTENDERS };
static const char *const names[] = {"mma", "tiles_f32", "cublaslt_f32", "cublaslt_f16"};

static bool lower(struct lowering *l, const struct product *p, enum contender who)
{
    struct gemm_args g = p->g;
    if (who == MMA)
        return pith_device_mma(l, &g, &p->w);
    g.b = (const float *)(uintptr_t)(who == BLAS_F16 ? p->w_half : p->w_f32);
    if (who == BLAS_F16)
        g.a = (const float *)(uintptr_t)p->x_half;
    if (who != TILES)
        return pith_device_blas_any(l, &g, who == BLAS_F16);
    pith_device_product(l, &g);
    return true;
}

/* The largest difference of a corner, as a share of the sum of |w x|. */
static double difference(const struct product *p)
{
    float y[CHECKED * CHECKED];
    double most = 0;
    const uint32_t side = p->g.m < CHECKED || p->g.n < CHECKED ? 1 : CHECKED;
    for (uint32_t r = 0; r < side; r++)
        need(cuda->cuMemcpyDtoHAsync_v2(y + (size_t)r * side,
                                        (uintptr_t)(p->g.y + (size_t)r * p->g.n), side * sizeof *y,
                                        stream),
             "cannot copy");
    need(cuda->cuStreamSynchronize(stream), "cannot copy");
    for (uint32_t i = 0; i < side * side; i++) {
        double sum = 0, size = 1e-30;
        for (uint32_t k = 0; k < p->g.k; k++) {
            float w;
            pith_elements_to_f32(PITH_F16, (const uint8_t *)&p->half[i % side * p->g.k + k], 1, &w);
            double v = (double)w * (double)p->x[i / side * p->g.k + k];
            sum += v;
            size += fabs(v);
        }
        double off = fabs((double)y[i] - sum) / size;
        most = off <= most ? most : off; /* NaN stays */
    }
    return most;
}

/* In microseconds; 0: it cannot be had. */
static double time_of(const struct product *p, enum contender who)
{
    static struct pith_plan plan;
    struct lowering l = {.plan = &plan, .cuda = cuda, .arena = 1, .work = p->work, .half = true};
    uint32_t replays, times = is_emulator ? 1 : 8;
    bool there = lower(&l, p, who);
    device_address constants = l.constant_bytes ? take(l.constant_bytes) : 0;
    uint8_t *packed = calloc(l.constant_bytes + 1, 1);
    for (uint32_t i = 0; i < l.n_constants; i++)
        need(!packed || pith_device_pack(&l.constant[i], packed + l.constant[i].offset),
             "cannot pack");
    if (constants)
        copy_there(constants, packed, l.constant_bytes);
    l.constants = constants;
    l.n_actions = l.n_args = 0;
    for (uint32_t i = 0; i < times; i++)
        there = lower(&l, p, who) && there;
    double us = there ? actions_us(&l, &replays) / times : 0;
    if (constants)
        cuda->cuMemFree_v2(constants);
    free(packed);
    pith_device_lowering_free(&l);
    return us;
}

static bool bench(uint32_t m, uint32_t n, uint32_t k)
{
    struct product p;
    double off = 0;
    make(&p, m, n, k);
    printf("{\"part\":\"product\",\"m\":%u,\"n\":%u,\"k\":%u", m, n, k);
    for (uint32_t who = 0; who < N_CONTENDERS; who++) {
        double us = time_of(&p, (enum contender)who);
        if (us > 0)
            printf(",\"%s_us\":%.3f", names[who], us);
        off = who == MMA ? difference(&p) : off;
    }
    printf(",\"off\":%.3g}\n", off);
    fflush(stdout);
    drop(&p);
    return off <= 0x1p-11 + 2.0 * k / 16777216 + 1e-6;
}

int main(int argc, char **argv)
{
    static const uint32_t of[][3] = {
        {64, 4096, 4096}, {784, 512, 1024}, {1024, 1024, 1024}, {4096, 4096, 4096}};
    bool good = true;
    if (argc != 2) {
        fputs("usage: bench_gpu_products SECONDS\n", stderr);
        return 2;
    }
    seconds_each = strtod(argv[1], NULL);
    if (!open_device("bench_gpu_products"))
        return 2;
    const uint32_t less = is_emulator ? 32 : 1;
    for (size_t i = 0; i < sizeof of / sizeof *of; i++)
        good = bench(of[i][0] / less + (is_emulator ? 8u : 0u), of[i][1] / less, of[i][2] / less) &&
               good;
    close_device();
    return !good;
}
