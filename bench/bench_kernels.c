/* SPDX-License-Identifier: MIT */
/* bench_kernels.c - times Conv and Gemm as the runtime runs them (prepare once, then run) on the
 * layers of MobileNetV2 1.0 and SqueezeNet v1.1, one thread, batch 1, at every instruction set
 * level of this machine.
 *
 *     bench_kernels [mobilenet|squeezenet|all] [ref|avx2|avx512 ...]
 *
 * A row is one distinct layer: how often the network has it, the fastest of many runs, GFLOP/s. The
 * sum counts each layer as often as it occurs. Weights and activations of one layer may stay in
 * cache between its runs, so a whole network is somewhat slower than the sum. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "pith_kernels.h"
#include "pith_op_exec.h"
#include "pith_weight.h"

struct layer {
    uint32_t c, o, size, kernel, stride, pad, group, count;
};

static const struct layer mobilenet[] = {
    {3, 32, 224, 3, 2, 1, 1, 1},     {32, 32, 112, 3, 1, 1, 32, 1},
    {32, 16, 112, 1, 1, 0, 1, 1},    {16, 96, 112, 1, 1, 0, 1, 1},
    {96, 96, 112, 3, 2, 1, 96, 1},   {96, 24, 56, 1, 1, 0, 1, 1},
    {24, 144, 56, 1, 1, 0, 1, 2},    {144, 144, 56, 3, 1, 1, 144, 1},
    {144, 24, 56, 1, 1, 0, 1, 1},    {144, 144, 56, 3, 2, 1, 144, 1},
    {144, 32, 28, 1, 1, 0, 1, 1},    {32, 192, 28, 1, 1, 0, 1, 3},
    {192, 192, 28, 3, 1, 1, 192, 2}, {192, 32, 28, 1, 1, 0, 1, 2},
    {192, 192, 28, 3, 2, 1, 192, 1}, {192, 64, 14, 1, 1, 0, 1, 1},
    {64, 384, 14, 1, 1, 0, 1, 4},    {384, 384, 14, 3, 1, 1, 384, 4},
    {384, 64, 14, 1, 1, 0, 1, 3},    {384, 96, 14, 1, 1, 0, 1, 1},
    {96, 576, 14, 1, 1, 0, 1, 3},    {576, 576, 14, 3, 1, 1, 576, 2},
    {576, 96, 14, 1, 1, 0, 1, 2},    {576, 576, 14, 3, 2, 1, 576, 1},
    {576, 160, 7, 1, 1, 0, 1, 1},    {160, 960, 7, 1, 1, 0, 1, 3},
    {960, 960, 7, 3, 1, 1, 960, 3},  {960, 160, 7, 1, 1, 0, 1, 2},
    {960, 320, 7, 1, 1, 0, 1, 1},    {320, 1280, 7, 1, 1, 0, 1, 1},
    {1280, 1000, 1, 1, 1, 0, 1, 1}};

static const struct layer squeezenet[] = {
    {3, 64, 224, 3, 2, 0, 1, 1},  {64, 16, 55, 1, 1, 0, 1, 1},  {16, 64, 55, 1, 1, 0, 1, 2},
    {16, 64, 55, 3, 1, 1, 1, 2},  {128, 16, 55, 1, 1, 0, 1, 1}, {128, 32, 27, 1, 1, 0, 1, 1},
    {32, 128, 27, 1, 1, 0, 1, 2}, {32, 128, 27, 3, 1, 1, 1, 2}, {256, 32, 27, 1, 1, 0, 1, 1},
    {256, 48, 13, 1, 1, 0, 1, 1}, {48, 192, 13, 1, 1, 0, 1, 2}, {48, 192, 13, 3, 1, 1, 1, 2},
    {384, 48, 13, 1, 1, 0, 1, 1}, {384, 64, 13, 1, 1, 0, 1, 1}, {64, 256, 13, 1, 1, 0, 1, 2},
    {64, 256, 13, 3, 1, 1, 1, 2}, {512, 64, 13, 1, 1, 0, 1, 1}, {512, 1000, 13, 1, 1, 0, 1, 1}};

static uint64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void *new_floats(uint64_t n, float value)
{
    float *p = aligned_alloc(64, (n * sizeof(float) + 127) / 64 * 64);
    if (!p)
        exit(1);
    for (uint64_t i = 0; i < n; i++)
        p[i] = value * (float)(i % 13);
    return p;
}

static void *new_bytes(uint64_t bytes)
{
    return new_floats((bytes + 3) / 4, 0);
}

/* One Conv with a constant weight and a fused clip, ready to run. */
struct bench {
    struct op_args args;
    struct op_env env;
    struct op_need need;
    struct pith_kernels kernels;
    struct weight weight;
    struct tview x, w, bias, y;
    const struct tview *in[3];
    struct tview *out[1];
    int32_t attr[PITH_OP_MAX_SLOTS];
    uint64_t lowered[(OP_LOWERED_MAX + 7) / 8];
};

static bool bench_set(struct bench *b, const struct layer *l, uint32_t features)
{
    memset(b, 0, sizeof *b);
    pith_kernels_fill(&b->kernels, features);
    const struct op_info *info = pith_op_get(PITH_OP_CONV);
    pith_op_attr_defaults(info, b->attr);
    b->attr[ATTR_CONV_GROUP] = (int32_t)l->group;
    b->attr[ATTR_CONV_STRIDES] = 2;
    b->attr[ATTR_CONV_PADS] = 4;
    for (int i = 1; i <= 2; i++)
        b->attr[ATTR_CONV_STRIDES + i] = (int32_t)l->stride;
    for (int i = 1; i <= 4; i++)
        b->attr[ATTR_CONV_PADS + i] = (int32_t)l->pad;
    b->x = (struct tview){PITH_F32, {4, {1, l->c, l->size, l->size}}, NULL};
    b->w = (struct tview){PITH_F32, {4, {l->o, l->c / l->group, l->kernel, l->kernel}}, NULL};
    b->bias = (struct tview){PITH_F32, {1, {l->o}}, new_floats(l->o, 0.1f)};
    b->in[0] = &b->x, b->in[1] = &b->w, b->in[2] = &b->bias;
    b->out[0] = &b->y;
    uint64_t w_count = shape_elems(&b->w.shape);
    b->weight =
        (struct weight){.type = PITH_F32, .shape = b->w.shape, .count = w_count, .nnz = w_count};
    b->weight.index_stream.bytes = new_floats(w_count, 0.01f);
    b->weight.index_stream.n_bytes = w_count * sizeof(float);
    b->args = (struct op_args){.info = info,
                               .attr = b->attr,
                               .n_in = 3,
                               .n_out = 1,
                               .in = b->in,
                               .out = b->out,
                               .weight = &b->weight,
                               .fuse = {ACT_CLIP, 0.0f, 6.0f, NULL},
                               .lowered = b->lowered};
    b->env.kernels = &b->kernels;
    if (info->shape(&b->args) || info->need(&b->args, &b->env, &b->need))
        return false;
    b->x.data = new_floats(shape_elems(&b->x.shape), 0.01f);
    b->y.data = new_floats(shape_elems(&b->y.shape), 0);
    b->args.prep = b->need.prep_bytes ? new_bytes(b->need.prep_bytes) : NULL;
    void *scratch = new_bytes(b->need.prep_scratch_bytes);
    b->env.scratch = scratch;
    bool ok = info->prepare(&b->args, &b->env) == PITH_OK;
    free(scratch);
    b->env.scratch = new_bytes(b->need.scratch_bytes);
    return ok;
}

static void bench_free(struct bench *b)
{
    free(b->x.data);
    free(b->y.data);
    free(b->bias.data);
    free((void *)(uintptr_t)b->weight.index_stream.bytes);
    free(b->args.prep);
    free(b->env.scratch);
}

/* Fastest of the runs that fit into 60 ms, at least 3. */
static uint64_t bench_time(struct bench *b)
{
    uint64_t best = UINT64_MAX, begin = now_ns();
    for (int i = 0; i < 3 || now_ns() - begin < 60000000u; i++) {
        uint64_t t = now_ns();
        b->args.info->run(&b->args, &b->env);
        t = now_ns() - t;
        best = t < best ? t : best;
    }
    return best;
}

static int bench_network(const char *name, const struct layer *layers, size_t n, const char *level,
                         uint32_t features)
{
    double ms = 0, flop = 0;
    printf("%s, %s\n%5s %5s %5s %2s %2s %5s  %-16s %9s %8s\n", name, level, "C", "O", "size", "k",
           "s", "times", "kernel", "us", "GFLOP/s");
    for (size_t i = 0; i < n; i++) {
        const struct layer *l = &layers[i];
        struct bench b;
        if (!bench_set(&b, l, features))
            return 1;
        double ns = (double)bench_time(&b), layer_flop = 2.0 * (double)b.need.macs;
        printf("%5u %5u %5u %2u %2u %5u  %-16s %9.1f %8.1f\n", l->c, l->o, l->size, l->kernel,
               l->stride, l->count, b.need.kernel, ns * 1e-3, layer_flop / ns);
        ms += l->count * ns * 1e-6;
        flop += l->count * layer_flop;
        bench_free(&b);
    }
    printf("%s, %s: sum %.3f ms, %.1f GFLOP/s\n\n", name, level, ms, flop / ms * 1e-6);
    return 0;
}

static bool wanted(int argc, char **argv, int from, const char *name, bool by_default)
{
    for (int i = from; i < argc; i++)
        if (strcmp(argv[i], name) == 0)
            return true;
    return by_default && argc <= from;
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        uint32_t features;
    } levels[] = {{"ref", 0}, {"avx2", PITH_CPU_AVX2}, {"avx512", PITH_CPU_AVX2 | PITH_CPU_AVX512}};
    bool all = argc < 2 || strcmp(argv[1], "all") == 0;
    int status = 0;
    for (int i = 0; i < 3 && status == 0; i++) {
        uint32_t features = levels[i].features;
        if (!wanted(argc, argv, 2, levels[i].name, features != 0) ||
            (pith_cpu_features() & features) != features)
            continue;
        if (all || strcmp(argv[1], "mobilenet") == 0)
            status |= bench_network("mobilenet", mobilenet, sizeof mobilenet / sizeof *mobilenet,
                                    levels[i].name, features);
        if (all || strcmp(argv[1], "squeezenet") == 0)
            status |=
                bench_network("squeezenet", squeezenet, sizeof squeezenet / sizeof *squeezenet,
                              levels[i].name, features);
    }
    return status;
}
