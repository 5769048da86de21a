/* SPDX-License-Identifier: MIT */
/* bench_sweep.c - what rd/pith_weight_sweep.h makes of a network: a JSON line for each lambda, with
 * the bytes of the whole file, and mean KL and agreement on samples that it was not made with.
 *
 *     bench_sweep MODEL --data CALIBRATION RANGE --test DATA RANGE --lambda L[,L..] [--rate SHARE]
 * [--places SHARE]
 *         [--steps auto|tensor|row] [--paths K] [--states 0|8|16]
 *         [--fisher N] [--squares] [--threads N] [--layers]
 *         [-o FILE]
 *
 * Ranges are those of pith eval. The last lambda's file is written. */
#define _GNU_SOURCE
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "pith_fisher_rows.h"
#include "pith_host.h"
#include "pith_load.h"
#include "pith_measure.h"
#include "pith_op_semantics.h"
#include "pith_pack.h"
#include "pith_weight_sweep.h"

struct args {
    const char *model, *out, *data[2], *range[2], *lambdas;
    struct pith_weight_sweep_opts sweep;
    uint64_t fisher;
    bool squares, layers;
    uint32_t threads;
};

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
    struct rusage u;
    getrusage(RUSAGE_SELF, &u);
    return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) +
           1e-6 * (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec);
}

/* Of this process from here on, where the system can tell it anew. */
static void reset_peak(void)
{
    FILE *f = fopen("/proc/self/clear_refs", "w");
    if (f) {
        fputs("5", f);
        fclose(f);
    }
}

static double peak_mb(void)
{
    char line[256];
    double kb = 0;
    FILE *f = fopen("/proc/self/status", "r");
    while (f && fgets(line, sizeof line, f))
        if (!strncmp(line, "VmHWM:", 6))
            kb = atof(line + 6);
    if (f)
        fclose(f);
    return kb / 1024;
}

static struct pith_data *open_data(const struct pith_model *m, const struct args *a, int which)
{
    const struct pith_value *x = &m->values[m->inputs[0]];
    struct pith_data *data;
    struct pith_data_opts o = {.size_bytes = sizeof o,
                               .path = a->data[which],
                               .range = a->range[which],
                               .preprocess = pith_model_get_meta(m, "preprocess"),
                               .rank = x->rank};
    memcpy(o.dim, x->dim, sizeof x->dim);
    check(pith_data_open(&o, &data, &err), a->data[which]);
    return data;
}

/* ---- judging --------------------------------------------------------------------------------- */

struct answers {
    uint64_t n, classes;
    double *log_p; /* [n, classes] */
};

static void log_softmax(const float *y, uint64_t n, bool is_softmax, double *log_p)
{
    double most = -HUGE_VAL, sum = 0;
    for (uint64_t i = 0; i < n; i++) {
        log_p[i] = is_softmax ? log(fmax((double)y[i], 1e-30)) : (double)y[i];
        most = fmax(most, log_p[i]);
    }
    for (uint64_t i = 0; i < n; i++)
        sum += exp(log_p[i] - most);
    for (uint64_t i = 0; i < n; i++)
        log_p[i] -= most + log(sum);
}

static struct answers answers_of(const struct pith_model *m, struct pith_data *data,
                                 uint32_t threads)
{
    struct pith_engine_opts o = {.size_bytes = sizeof o, .threads = threads};
    struct pith_engine *e;
    check(pith_engine_open(m, &o, &e, &err), "engine");
    struct pith_plan *plan = pith_engine_plan(e);
    struct pith_tensor y;
    check(pith_plan_output(plan, 0, &y), "output");
    const struct pith_node *last = pith_model_producer(m, m->outputs[0]);
    struct answers a = {.n = pith_data_count(data), .classes = y.bytes / sizeof(float)};
    a.log_p = malloc(a.n * a.classes * sizeof *a.log_p);
    for (uint64_t i = 0; i < a.n; i++) {
        check(pith_data_read(data, i, pith_plan_input_data(plan, 0), NULL, &err), "reading");
        check(pith_plan_run(plan), "running");
        log_softmax(pith_plan_output_data(plan, 0), a.classes, last && last->op == PITH_OP_SOFTMAX,
                    a.log_p + i * a.classes);
    }
    pith_engine_close(e);
    return a;
}

static uint64_t best(const double *p, uint64_t n)
{
    uint64_t at = 0;
    for (uint64_t i = 1; i < n; i++)
        at = p[i] > p[at] ? i : at;
    return at;
}

static void compare(const struct answers *was, const struct answers *now, double *kl, double *same)
{
    *kl = *same = 0;
    for (uint64_t i = 0; i < was->n; i++) {
        const double *p = was->log_p + i * was->classes, *q = now->log_p + i * was->classes;
        for (uint64_t k = 0; k < was->classes; k++)
            *kl += exp(p[k]) * (p[k] - q[k]) / (double)was->n;
        *same += best(p, was->classes) == best(q, was->classes);
    }
    *same /= (double)was->n;
}

/* ---- arguments ------------------------------------------------------------------------------- */

static bool on_layer(void *user, const struct pith_swept_layer *l)
{
    (void)user;
    fprintf(stderr, "%3u/%u %-28.28s %8llu weights %6.3f bits, loss %.2e, step %.3e%s%s\n",
            l->number + 1, l->n_layers, l->layer, (unsigned long long)l->weights,
            l->bits / (double)l->weights, l->loss, l->step, l->by_row ? ", rows" : "",
            l->data_free ? ", data-free" : "");
    return true;
}

static void read_option(struct args *a, char **argv, int *i)
{
    const char *name = argv[*i];
#define NEXT argv[++*i]
    if (!strcmp(name, "--data") || !strcmp(name, "--test")) {
        int which = !strcmp(name, "--test");
        a->data[which] = NEXT;
        a->range[which] = NEXT;
    } else if (!strcmp(name, "--lambda"))
        a->lambdas = NEXT;
    else if (!strcmp(name, "--rate"))
        a->sweep.rate_share = atof(NEXT);
    else if (!strcmp(name, "--places"))
        a->sweep.place_share = atof(NEXT);
    else if (!strcmp(name, "--memory"))
        a->sweep.memory_bytes = (uint64_t)atoi(NEXT) << 20;
    else if (!strcmp(name, "--paths"))
        a->sweep.paths = (uint32_t)atoi(NEXT);
    else if (!strcmp(name, "--states"))
        a->sweep.states = (uint32_t)atoi(NEXT);
    else if (!strcmp(name, "--fisher"))
        a->fisher = (uint64_t)atoi(NEXT);
    else if (!strcmp(name, "--threads"))
        a->threads = (uint32_t)atoi(NEXT);
    else if (!strcmp(name, "--steps")) {
        const char *by = NEXT;
        a->sweep.steps = !strcmp(by, "tensor") ? PITH_SWEEP_STEPS_TENSOR
                         : !strcmp(by, "row")  ? PITH_SWEEP_STEPS_ROW
                                               : PITH_SWEEP_STEPS_AUTO;
    } else if (!strcmp(name, "--squares"))
        a->squares = true;
    else if (!strcmp(name, "--layers"))
        a->sweep.on_layer = on_layer;
    else if (!strcmp(name, "-o"))
        a->out = NEXT;
    else
        a->model = name;
#undef NEXT
}

/* ---- all ------------------------------------------------------------------------------------- */

static void sweep_once(const struct args *a, const struct pith_model *m, struct pith_data *data,
                       struct pith_data *test, const struct answers *was)
{
    struct pith_weight_sweep_report report;
    struct pith_model *out;
    struct pith_buffer file;
    struct pith_pack_opts pack = {.size_bytes = sizeof pack, .compact = true};
    double kl, same, cpu = cpu_seconds();
    uint64_t began = pith_clock_ns(NULL);
    reset_peak();
    check(pith_weight_sweep(m, data, &a->sweep, &out, &report, &err), "sweep");
    double seconds = 1e-9 * (double)(pith_clock_ns(NULL) - began);
    const double peak = peak_mb();
    cpu = cpu_seconds() - cpu;
    check(pith_model_pack(out, &pack, &file, &err), "pack");
    struct answers now = answers_of(out, test, a->threads);
    compare(was, &now, &kl, &same);
    printf("{\"lambda\": %g, \"rate\": %g, \"bytes\": %zu, \"kl\": %.5f, \"agree\": %.4f, "
           "\"weight_bytes\": %.0f, \"told_loss\": %.5f, \"seconds\": %.1f, \"cpu_seconds\": %.1f, "
           "\"peak_mb\": %.0f}\n",
           a->sweep.lambda, a->sweep.rate_share, file.bytes, kl, same, report.bits / 8, report.loss,
           seconds, cpu, peak);
    fflush(stdout);
    if (a->out)
        check(pith_file_write(a->out, file.data, file.bytes, &err), a->out);
    free(now.log_p);
    pith_buffer_free(&file);
    pith_model_free(out);
}

int main(int argc, char **argv)
{
    struct args a = {.sweep = {.size_bytes = sizeof a.sweep}, .threads = 2};
    struct pith_opts runtime;
    struct pith_model *m;
    for (int i = 1; i < argc; i++)
        read_option(&a, argv, &i);
    if (!a.model || !a.data[0] || !a.data[1] || !a.lambdas) {
        fprintf(stderr, "usage: bench_sweep MODEL --data D RANGE --test D RANGE --lambda L ...\n");
        return 2;
    }
    check(pith_model_load(a.model, NULL, &m, &err), a.model);
    check(pith_model_fold_batch_norm(m, NULL, &err), "folding");
    check(pith_model_infer_shapes(m, &err), "shapes");
    pith_opts_init(&runtime, sizeof runtime);
    if (a.threads > 1)
        check(pith_threads_start(&runtime, a.threads), "threads");
    a.sweep.runtime = &runtime;
    struct pith_data *data = open_data(m, &a, 0), *test = open_data(m, &a, 1);
    struct answers was = answers_of(m, test, a.threads);
    struct pith_fisher_opts fisher = {
        .size_bytes = sizeof fisher, .samples = a.fisher, .seed = 1, .squares = a.squares};
    struct pith_sensitivity sensitivity;
    double cpu = cpu_seconds();
    reset_peak();
    check(pith_fisher_rows(m, data, &fisher, &sensitivity, &err), "sensitivity");
    fprintf(stderr, "sensitivity: %.1f s, %.0f MB\n", cpu_seconds() - cpu, peak_mb());
    a.sweep.sensitivity = &sensitivity;
    for (const char *at = a.lambdas; *at; at += strcspn(at, ","), at += *at == ',') {
        a.sweep.lambda = strtod(at, NULL);
        sweep_once(&a, m, data, test, &was);
    }
    free(was.log_p);
    pith_fisher_rows_free(&sensitivity);
    pith_data_free(data);
    pith_data_free(test);
    pith_model_free(m);
    pith_threads_stop(&runtime);
    return 0;
}
