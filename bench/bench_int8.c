/* SPDX-License-Identifier: MIT */
/* bench_int8.c - integer convolutions with their requantization, one thread, at every level of this
 * machine: layers of SqueezeNet v1.1 and MobileNet-v2 (channels-last, as between the layers of a
 * plan). Prints the shortest time and multiply-accumulates a nanosecond. bench/int8_networks.py
 * times whole networks beside onnxruntime. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "integer_conv.h"
#include "pith_kernels.h"
#include "pith_host.h"

static const struct layer {
    const char *name;
    uint32_t c, o, size, kernel, stride, group;
} layers[] = {
    {"squeezenet fire2 expand 1x1", 16, 64, 55, 1, 1, 1},
    {"squeezenet fire2 expand 3x3", 16, 64, 55, 3, 1, 1},
    {"squeezenet fire9 squeeze", 512, 64, 13, 1, 1, 1},
    {"squeezenet fire9 expand 3x3", 64, 256, 13, 3, 1, 1},
    {"squeezenet conv10", 512, 1000, 13, 1, 1, 1},
    {"mobilenet expand 16 -> 96", 16, 96, 112, 1, 1, 1},
    {"mobilenet depthwise 32", 32, 32, 112, 3, 1, 32},
    {"mobilenet depthwise 96 / 2", 96, 96, 112, 3, 2, 96},
    {"mobilenet depthwise 960", 960, 960, 7, 3, 1, 960},
    {"mobilenet project 144 -> 24", 144, 24, 56, 1, 1, 1},
    {"mobilenet 320 -> 1280", 320, 1280, 7, 1, 1, 1},
    {"product 1 x 1280 x 1000", 1280, 1000, 1, 1, 1, 1},
};

static void *new_bytes(size_t n)
{
    uint8_t *p = aligned_alloc(64, (n + 64) & ~(size_t)63);
    if (!p)
        exit(1);
    for (size_t i = 0; i < n; i++)
        p[i] = (uint8_t)(i * 37 % 251);
    return p;
}

static struct integer_conv geometry(const struct layer *l)
{
    uint32_t pad = l->kernel / 2, out = (l->size + 2 * pad - l->kernel) / l->stride + 1;
    return (struct integer_conv){.n = 1,
                                 .groups = l->group,
                                 .channels = l->c,
                                 .h = l->size,
                                 .w = l->size,
                                 .outputs = l->o,
                                 .oh = out,
                                 .ow = out,
                                 .kh = l->kernel,
                                 .kw = l->kernel,
                                 .stride_h = l->stride,
                                 .stride_w = l->stride,
                                 .dil_h = 1,
                                 .dil_w = 1,
                                 .pad_top = pad,
                                 .pad_left = pad,
                                 .channels_last = true,
                                 .to_values = true,
                                 .y_step = l->o};
}

static void measure(const struct layer *l, const char *level, uint32_t features)
{
    struct integer_conv c = geometry(l);
    struct pith_kernels kernels;
    struct op_env env = {.kernels = &kernels};
    uint64_t best = UINT64_MAX, spent = 0;
    size_t taps = (size_t)l->kernel * l->kernel, terms = taps * (l->c / l->group);
    pith_kernels_fill(&kernels, features);
    struct integer_layout layout;
    if (!pith_integer_conv_need(&c, &env, pith_integer_conv_halves(&c, &kernels.integer), &layout))
        exit(1);
    int8_t *w = new_bytes(l->o * terms);
    struct integer_weights weights = {w, terms, taps};
    uint8_t *x = new_bytes((size_t)l->size * l->size * l->c);
    uint8_t *y = new_bytes((size_t)c.oh * c.ow * l->o);
    void *prep = new_bytes(layout.prep_bytes);
    const float factor = 0.001f;
    env.scratch = new_bytes(layout.scratch_bytes);
    pith_integer_conv_pack(&c, &layout, &env, &weights, prep);
    struct integer_conv_data data = {
        .x = x, .y = y, .zero_x = 7, .zero_y = 3, .factor = &factor, .prep = prep};
    for (uint32_t i = 0; spent < 30000000 || i < 3; i++) {
        uint64_t start = pith_clock_ns(NULL);
        pith_integer_conv_run(&c, &layout, &env, &data);
        uint64_t ns = pith_clock_ns(NULL) - start;
        spent += ns;
        best = ns < best ? ns : best;
    }
    double macs = (double)c.oh * c.ow * l->o * (double)terms;
    printf("%-30s %-6s %9.1f us  %6.1f MAC/ns\n", l->name, level, (double)best * 1e-3,
           macs / (double)best);
    free(w);
    free(x);
    free(y);
    free(prep);
    free(env.scratch);
}

int main(void)
{
    static const struct {
        const char *name;
        uint32_t features;
    } levels[] = {{"ref", 0},
                  {"avx2", PITH_CPU_AVX2},
                  {"avxvnni", PITH_CPU_AVX2 | PITH_CPU_AVXVNNI},
                  {"vnni", PITH_CPU_AVX2 | PITH_CPU_AVX512 | PITH_CPU_VNNI}};
    for (size_t i = 0; i < sizeof layers / sizeof *layers; i++)
        for (size_t k = 0; k < sizeof levels / sizeof *levels; k++)
            if ((pith_cpu_features() & levels[k].features) == levels[k].features)
                measure(&layers[i], levels[k].name, levels[k].features);
    return 0;
}
