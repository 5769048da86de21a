/* SPDX-License-Identifier: MIT */
/* bench_gpu.c - networks on a GPU beside the CPU: bits and times. Needs the runtime's archives and
 * libc alone, so that it can be taken to a bare machine (bench/gpu.sh).
 *
 *     bench_gpu make NET.pith...
 *     bench_gpu run SECONDS MOST NET.pith...
 *     bench_gpu decode NET.pith       with Huffman-coded indices
 *     bench_gpu steps NET.pith        once, without a graph: tools that look at copies do so when a
 *                                     graph is launched, before it has run
 *
 * make: NAME.in, NET.pith.out: seeded inputs of NAME.pith, NAME.f16.pith and NAME.int8.pith, and
 * what the CPU makes of them. run: a line of JSON a network on standard output, within SECONDS
 * each, or less where all would take more than MOST.
 *
 * decode: milliseconds of making the device's plan with codes decoded there, and here, medians
 * of 9.
 *
 * Times are medians of runs from host memory to host memory, in microseconds. */
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "device_plan.h"
#include "gpu_open.h"
#include "pith_host.h"

#define MOST_RUNS 2000u

static uint64_t random_state = 1;

/* xorshift64*, uniform in -1 .. 1 */
static float next_value(void)
{
    random_state ^= random_state >> 12;
    random_state ^= random_state << 25;
    random_state ^= random_state >> 27;
    return (float)((double)((random_state * UINT64_C(0x2545f4914f6cdd1d)) >> 40) / 8388608.0 - 1.0);
}

static void fill_inputs(struct pith_plan *plan)
{
    random_state = 1;
    for (uint32_t i = 0; i < pith_plan_input_count(plan); i++) {
        struct pith_tensor t;
        float *x = pith_plan_input_data(plan, i);
        if (pith_plan_input(plan, i, &t))
            continue;
        memset(x, 0, t.bytes); /* an index or a flag: 0 is one everywhere */
        for (uint64_t k = 0; t.type == PITH_F32 && k < t.bytes / sizeof *x; k++)
            x[k] = next_value();
    }
}

/* path + ".out", or the network's name + ".in". */
static void name_of(char name[1024], const char *path, bool outputs)
{
    static const char *const ends[] = {".f16.pith", ".int8.pith", ".pith"};
    snprintf(name, 1020, "%s", path);
    size_t n = strlen(name);
    for (size_t i = 0; !outputs && i < sizeof ends / sizeof *ends; i++)
        if (n > strlen(ends[i]) && strcmp(name + n - strlen(ends[i]), ends[i]) == 0) {
            n -= strlen(ends[i]);
            break;
        }
    strcpy(name + n, outputs ? ".out" : ".in");
}

/* All inputs, or outputs, one behind the other, written to or read from the file for it. */
static bool move(struct pith_plan *plan, const char *path, bool outputs, bool out, void **copy)
{
    char name[1024];
    uint32_t n = outputs ? pith_plan_output_count(plan) : pith_plan_input_count(plan);
    name_of(name, path, outputs);
    FILE *f = fopen(name, out ? "wb" : "rb");
    if (!f)
        return false;
    bool good = true;
    uint64_t at = 0;
    for (uint32_t i = 0; i < n && good; i++) {
        struct pith_tensor t;
        outputs ? pith_plan_output(plan, i, &t) : pith_plan_input(plan, i, &t);
        void *data = outputs ? NULL : pith_plan_input_data(plan, i);
        if (copy) {
            void *bigger = realloc(*copy, (size_t)(at + t.bytes));
            good = bigger != NULL;
            *copy = bigger ? bigger : *copy;
            data = (uint8_t *)*copy + at;
        }
        if (good && out)
            good =
                fwrite(outputs ? pith_plan_output_data(plan, i) : data, 1, t.bytes, f) == t.bytes;
        else if (good)
            good = fread(data, 1, t.bytes, f) == t.bytes;
        at += t.bytes;
    }
    return fclose(f) == 0 && good;
}

static int make_one(const char *path)
{
    struct pith_session *s;
    struct pith_error err;
    if (pith_open(path, NULL, &s, &err)) {
        fprintf(stderr, "%s\n", err.text);
        return 1;
    }
    struct pith_plan *plan = pith_plan_of(s);
    fill_inputs(plan);
    bool good = move(plan, path, false, true, NULL) && pith_plan_run(plan) == PITH_OK &&
                move(plan, path, true, true, NULL);
    pith_close(s);
    return good ? 0 : 1;
}

struct found {
    double off, median_gpu, median_cpu;
    uint32_t runs;
};

/* Largest difference of the outputs from those of the file, as a share of the largest value; 0: all
 * bits are equal. */
static double difference(struct pith_plan *plan, const char *path)
{
    void *expected = NULL;
    uint64_t at = 0;
    double off = 0, largest = 0;
    if (!move(plan, path, true, false, &expected)) {
        free(expected);
        return NAN;
    }
    for (uint32_t i = 0; i < pith_plan_output_count(plan); i++) {
        struct pith_tensor t;
        pith_plan_output(plan, i, &t);
        const float *x = pith_plan_output_data(plan, i);
        const float *y = (const float *)(const void *)((const uint8_t *)expected + at);
        if (t.type != PITH_F32 && memcmp(x, y, t.bytes) != 0)
            off = INFINITY;
        for (uint64_t k = 0; t.type == PITH_F32 && k < t.bytes / sizeof *x; k++) {
            double d = fabs((double)x[k] - (double)y[k]);
            off = d <= off ? off : d; /* NaN stays */
            largest = fmax(largest, fabs((double)y[k]));
        }
        at += t.bytes;
    }
    free(expected);
    return off > 0 && largest > 0 ? off / largest : off;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static bool is_emulator;

static double median_us(struct pith_plan *plan, struct pith_cuda_plan *gpu, double seconds,
                        uint32_t *runs)
{
    static double us[MOST_RUNS];
    struct pith_error err;
    uint64_t begin = pith_clock_ns(NULL), now = begin;
    uint32_t n = 0;
    const uint32_t most = is_emulator ? 1 : MOST_RUNS; /* its times say nothing */
    while (n < most && (n < 3 || (double)(now - begin) < seconds * 1e9)) {
        uint64_t start = pith_clock_ns(NULL);
        if (gpu ? pith_cuda_plan_run(gpu, &err) : pith_plan_run(plan))
            return NAN;
        now = pith_clock_ns(NULL);
        us[n++] = (double)(now - start) / 1e3;
    }
    qsort(us, n, sizeof *us, by_value);
    *runs = n;
    return us[n / 2];
}

/* By the plan that the CPU has without a device: steps joined, bands of rows. */
static double cpu_us(const char *path, double seconds)
{
    struct pith_session *s = NULL;
    struct pith_error err;
    uint32_t runs;
    if (pith_open(path, NULL, &s, &err))
        return NAN;
    bool good = move(pith_plan_of(s), path, false, false, NULL);
    double us = good ? median_us(pith_plan_of(s), NULL, seconds, &runs) : NAN;
    pith_close(s);
    return us;
}

static int run_one(struct pith_cuda *cuda, const char *path, double seconds)
{
    struct pith_session *s = NULL;
    struct pith_cuda_plan *gpu = NULL;
    struct pith_error err = {0};
    struct found f = {.off = NAN};
    const char *name = strrchr(path, '/') ? strrchr(path, '/') + 1 : path;
    enum pith_status st = gpu_open(cuda, path, 1, &s, &gpu, &err);
    if (!st && move(pith_plan_of(s), path, false, false, NULL))
        st = pith_cuda_plan_run(gpu, &err);
    if (st) {
        printf("{\"part\":\"network\",\"name\":\"%s\",\"error\":%d}\n", name, (int)st);
        fprintf(stderr, "%s: %s\n", name, err.text);
    } else {
        struct pith_cuda_facts facts = pith_cuda_plan_facts(gpu);
        f.off = difference(pith_plan_of(s), path);
        f.median_gpu = median_us(pith_plan_of(s), gpu, seconds / 2, &f.runs);
        f.median_cpu = cpu_us(path, seconds / 2);
        printf("{\"part\":\"network\",\"name\":\"%s\",\"off\":%.3g,\"gpu_us\":%.2f,\"cpu_us\":%.2f,"
               "\"runs\":%u,\"launches\":%u,\"cpu_steps\":%u,\"device_bytes\":%llu}\n",
               name, f.off, f.median_gpu, f.median_cpu, f.runs, facts.launches, facts.cpu_steps,
               (unsigned long long)facts.device_bytes);
    }
    fflush(stdout);
    pith_cuda_plan_free(gpu);
    pith_close(s);
    return st || !(f.off <= 1e-3);
}

/* Networks that are not begun within `most` seconds are left out, and counted. */
static int run_all(double seconds, double most, int n, char **paths)
{
    struct pith_cuda *cuda;
    struct pith_error err;
    uint64_t start = pith_clock_ns(NULL);
    int bad = 0, missed = 0;
    if (pith_cuda_open(0, &cuda, &err)) {
        fprintf(stderr, "%s\n", err.text);
        return 2;
    }
    is_emulator = strncmp(pith_cuda_name(cuda), "emulator", 8) == 0;
    printf("{\"part\":\"device\",\"name\":\"%s\"}\n", pith_cuda_name(cuda));
    seconds = fmin(seconds, most / n);
    for (int i = 0; i < n; i++)
        if ((double)(pith_clock_ns(NULL) - start) > most * 1e9)
            missed++;
        else
            bad |= run_one(cuda, paths[i], seconds);
    if (missed)
        printf("{\"part\":\"left_out\",\"networks\":%d}\n", missed);
    pith_cuda_close(cuda);
    return bad;
}

/* Makes the device's plan 9 times, and tells the median in milliseconds; < 0: it cannot be made. */
static double plan_ms(struct pith_cuda *cuda, struct pith_plan *plan, uint32_t *decoded)
{
    double ms[9];
    struct pith_error err = {0};
    for (int i = 0; i < 9; i++) {
        struct pith_cuda_plan *gpu;
        uint64_t start = pith_clock_ns(NULL);
        if (pith_cuda_plan_new(cuda, plan, &gpu, &err)) {
            fprintf(stderr, "%s\n", err.text);
            return -1;
        }
        ms[i] = (double)(pith_clock_ns(NULL) - start) / 1e6;
        *decoded = pith_cuda_plan_facts(gpu).decoded_weights;
        pith_cuda_plan_free(gpu);
    }
    qsort(ms, 9, sizeof *ms, by_value);
    return ms[4];
}

static int decode(const char *path)
{
    struct pith_cuda *cuda;
    struct pith_session *s;
    struct pith_error err = {0};
    uint32_t decoded = 0, none = 0;
    if (pith_cuda_open(0, &cuda, &err)) {
        fprintf(stderr, "%s\n", err.text);
        return 2;
    }
    if (gpu_session(path, 1, 0, &s, &err)) {
        fprintf(stderr, "%s: %s\n", path, err.text);
        pith_cuda_close(cuda);
        return 1;
    }
    double there = plan_ms(cuda, pith_plan_of(s), &decoded);
    cuda->decode_least = UINT64_MAX;
    double here = plan_ms(cuda, pith_plan_of(s), &none);
    printf("{\"part\":\"decode\",\"weights\":%u,\"there_ms\":%.3f,\"here_ms\":%.3f}\n", decoded,
           there, here);
    pith_close(s);
    pith_cuda_close(cuda);
    return there < 0 || here < 0 || none != 0;
}

static int steps(const char *path)
{
    struct pith_cuda *cuda;
    struct pith_session *s = NULL;
    struct pith_cuda_plan *gpu = NULL;
    struct pith_error err = {0};
    double off = NAN;
    if (pith_cuda_open(0, &cuda, &err)) {
        fprintf(stderr, "%s\n", err.text);
        return 2;
    }
    enum pith_status st = gpu_open(cuda, path, 1, &s, &gpu, &err);
    if (!st && gpu->graph) {
        cuda->cuGraphExecDestroy(gpu->graph);
        gpu->graph = NULL;
    }
    if (!st && move(pith_plan_of(s), path, false, false, NULL))
        st = pith_cuda_plan_run(gpu, &err);
    if (!st)
        off = difference(pith_plan_of(s), path);
    if (st)
        fprintf(stderr, "%s: %s\n", path, err.text);
    pith_cuda_plan_free(gpu);
    pith_close(s);
    pith_cuda_close(cuda);
    return !(off <= 1e-3);
}

int main(int argc, char **argv)
{
    int bad = 0;
    if (argc > 2 && strcmp(argv[1], "make") == 0) {
        for (int i = 2; i < argc; i++)
            bad |= make_one(argv[i]);
        return bad;
    }
    if (argc > 4 && strcmp(argv[1], "run") == 0)
        return run_all(strtod(argv[2], NULL), strtod(argv[3], NULL), argc - 4, argv + 4);
    if (argc == 3 && strcmp(argv[1], "decode") == 0)
        return decode(argv[2]);
    if (argc == 3 && strcmp(argv[1], "steps") == 0)
        return steps(argv[2]);
    fputs("usage: bench_gpu decode NET.pith | steps NET.pith | make NET.pith... | run SECONDS MOST "
          "NET.pith...\n",
          stderr);
    return 2;
}
