/* SPDX-License-Identifier: MIT */
/* bench_sweep.c - files that rd/weight_sweep.h makes of a network for several lambdas
 * (bench/sweep.py drives it and measures what they lose).
 *
 *     bench_sweep MODEL DATA RANGE LAMBDA[,LAMBDA..] PREFIX [OPTION VALUE]... [--mirror 1]
 *
 * PREFIX0.pith, PREFIX1.pith, ..., and a JSON line each: bytes, loss as the sweep measures it,
 * seconds of the processor, of the sensitivities too. Options: --steps auto|tensor, --states
 * 0|8|16,
 * --rate SHARE of lambda in the rounding, --places SHARE; --mirror: pictures count with their
 * mirror images. Data is for input 0. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "train/feedback/fisher_rows.h"
#include "pith_host.h"
#include "pith_load.h"
#include "pith_measure.h"
#include "pith_pack.h"
#include "rd/weight_sweep.h"

static struct pith_error err;

static void check(enum pith_status status, const char *what)
{
    if (status == PITH_OK)
        return;
    fprintf(stderr, "bench_sweep: %s: %s (status %d)\n", what, err.text, (int)status);
    exit(1);
}

static double cpu_seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

struct args {
    struct pith_weight_sweep_opts sweep;
    bool mirror;
};

static bool read_option(struct args *a, const char *name, const char *value)
{
    if (!strcmp(name, "--rate"))
        a->sweep.rate_share = atof(value);
    else if (!strcmp(name, "--places"))
        a->sweep.place_share = atof(value);
    else if (!strcmp(name, "--states"))
        a->sweep.states = (uint32_t)atoi(value);
    else if (!strcmp(name, "--mirror"))
        a->mirror = true;
    else if (!strcmp(name, "--steps"))
        a->sweep.steps = !strcmp(value, "tensor") ? PITH_SWEEP_STEPS_TENSOR : PITH_SWEEP_STEPS_AUTO;
    else
        return false;
    return true;
}

static struct pith_data *open_data(const struct pith_model *m, const char *path, const char *range)
{
    const struct pith_value *x = &m->values[m->inputs[0]];
    struct pith_data *data;
    struct pith_data_opts o = {.size_bytes = sizeof o,
                               .path = path,
                               .range = range,
                               .preprocess = pith_model_get_meta(m, "preprocess"),
                               .rank = x->rank};
    memcpy(o.dim, x->dim, sizeof x->dim);
    check(pith_data_open(&o, &data, &err), path);
    return data;
}

static void sweep_once(const struct args *a, const struct pith_model *m, const char *path,
                       double before)
{
    struct pith_weight_sweep_report report;
    struct pith_model *out;
    struct pith_buffer file;
    struct pith_pack_opts pack = {.size_bytes = sizeof pack, .compact = true};
    double start = cpu_seconds();
    check(pith_weight_sweep(m, NULL, &a->sweep, &out, &report, &err), "sweep");
    double spent = cpu_seconds() - start;
    check(pith_model_pack(out, &pack, &file, &err), "pack");
    check(pith_file_write(path, file.data, file.bytes, &err), path);
    printf(
        "{\"lambda\": %g, \"file\": \"%s\", \"bytes\": %zu, \"loss\": %.5f, \"seconds\": %.1f}\n",
        a->sweep.lambda, path, file.bytes, report.loss, spent + before);
    fflush(stdout);
    pith_buffer_free(&file);
    pith_model_free(out);
}

int main(int argc, char **argv)
{
    struct args a = {.sweep = {.size_bytes = sizeof a.sweep}};
    struct pith_opts runtime;
    struct pith_model *m;
    struct pith_sensitivity sensitivity;
    bool good = argc >= 6 && argc % 2 == 0;
    for (int i = 6; good && i < argc; i += 2)
        good = read_option(&a, argv[i], argv[i + 1]);
    if (!good) {
        fprintf(stderr,
                "usage: bench_sweep MODEL DATA RANGE LAMBDA[,LAMBDA..] PREFIX [OPTION VALUE]...\n");
        return 2;
    }
    check(pith_model_load(argv[1], NULL, &m, &err), argv[1]);
    check(pith_model_fold_batch_norm(m, NULL, &err), "folding");
    check(pith_model_infer_shapes(m, &err), "shapes");
    pith_opts_init(&runtime, sizeof runtime);
    check(pith_threads_start(&runtime, 2), "threads");
    struct pith_feed_input input = {.data = open_data(m, argv[2], argv[3])};
    struct pith_feed feed = {.size_bytes = sizeof feed, .n_inputs = 1, .input = &input};
    if (a.mirror)
        pith_data_mirror(input.data);
    struct pith_fisher_opts fisher = {.size_bytes = sizeof fisher, .seed = 1, .feed = &feed};
    double start = cpu_seconds();
    check(pith_fisher_rows(m, NULL, &fisher, &sensitivity, &err), "sensitivity");
    start = cpu_seconds() - start;
    a.sweep.runtime = &runtime;
    a.sweep.sensitivity = &sensitivity;
    a.sweep.feed = &feed;
    int n = 0;
    for (const char *at = argv[4]; *at; at += strcspn(at, ","), at += *at == ',') {
        char path[1024];
        snprintf(path, sizeof path, "%s%d.pith", argv[5], n++);
        a.sweep.lambda = strtod(at, NULL);
        sweep_once(&a, m, path, start);
    }
    pith_fisher_rows_free(&sensitivity);
    pith_data_free(input.data);
    pith_model_free(m);
    pith_threads_stop(&runtime);
    return 0;
}
