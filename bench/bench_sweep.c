/* SPDX-License-Identifier: MIT */
/* bench_sweep.c - what rd/pith_weight_sweep.h makes of a network: a JSON line for each lambda, with
 * the bytes of the whole file, and mean KL and agreement on samples that it was not made with.
 *
 *     bench_sweep MODEL --data CALIBRATION RANGE --test DATA RANGE --lambda L[,L..] [--rate SHARE]
 * [--places SHARE]
 *         [--steps auto|tensor|row] [--paths K] [--states 0|8|16]
 *         [--pattern 2:4|balanced:12/128|4x4|any] [--sparsity SHARE] [--levels N]
 *         [--fisher N] [--squares] [--temperature T] [--state OUTPUT=INPUT]
 * [--threads N] [--mirror]
 *         [--without statistics,correction,refit,coupling] [--layers] [--against MODEL] [-o FILE]
 *
 * Ranges are those of pith eval, data is for input 0; --mirror: pictures calibrate by their mirror
 * images, too; a state is an output that comes back, samples
 * then being steps of one stream. --against: the network whose answers are right, where MODEL is
 * what something made of it already. The last lambda's file is written. */
#define _GNU_SOURCE
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "pith_difference.h"
#include "pith_fisher_rows.h"
#include "pith_host.h"
#include "pith_load.h"
#include "pith_measure.h"
#include "pith_pack.h"
#include "pith_weight_sweep.h"

struct args {
    const char *model, *against, *out, *data[2], *range[2], *lambdas;
    struct pith_weight_sweep_opts sweep;
    uint64_t fisher;
    double temperature;
    bool squares;
    bool has_state, mirror;
    struct pith_state state;
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

/* field: "VmHWM:" the peak, "VmRSS:" now. */
static double memory_mb(const char *field)
{
    char line[256];
    double kb = 0;
    FILE *f = fopen("/proc/self/status", "r");
    while (f && fgets(line, sizeof line, f))
        if (!strncmp(line, field, strlen(field)))
            kb = atof(line + strlen(field));
    if (f)
        fclose(f);
    return kb / 1024;
}

static double peak_mb(void)
{
    return memory_mb("VmHWM:");
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

struct fed {
    struct pith_data *data;
    struct pith_feed_input input[2];
    struct pith_feed feed;
};

static void open_feed(const struct pith_model *m, const struct args *a, int which, struct fed *f)
{
    f->data = open_data(m, a, which);
    if (a->mirror && which == 0)
        pith_data_mirror(f->data);
    f->input[0].data = f->data;
    f->feed = (struct pith_feed){.size_bytes = sizeof f->feed,
                                 .n_inputs = m->n_inputs < 2 ? m->n_inputs : 2,
                                 .input = f->input,
                                 .n_states = a->has_state,
                                 .state = &a->state};
}

/* ---- judging --------------------------------------------------------------------------------- */

struct answers {
    uint64_t n, each;
    float *y; /* [n, each] */
    struct pith_plan *plan;
    struct output_kind kind; /* numbers count as scores of one row of classes */
};

static bool take(void *user, uint64_t sample)
{
    struct answers *a = user;
    memcpy(a->y + sample * a->each, pith_plan_output_data(a->plan, 0), a->each * sizeof *a->y);
    return true;
}

static struct answers answers_of(const struct pith_model *m, const struct fed *test,
                                 uint32_t threads)
{
    struct pith_engine_opts o = {.size_bytes = sizeof o, .threads = threads};
    struct pith_engine *e;
    struct pith_tensor y;
    check(pith_engine_open(m, &o, &e, &err), "engine");
    struct pith_plan *plan = pith_engine_plan(e);
    check(pith_plan_output(plan, 0, &y), "output");
    struct answers a = {.n = pith_feed_count(&test->feed),
                        .each = y.bytes / sizeof(float),
                        .plan = plan,
                        .kind = pith_output_kind(m, 0)};
    if (a.kind.classes == 0)
        a.kind = (struct output_kind){.classes = (uint32_t)a.each, .rows = 1, .inner = 1};
    a.y = malloc(a.n * a.each * sizeof *a.y);
    check(pith_feed_run(e, &test->feed, take, &a, &err), "running");
    pith_engine_close(e);
    return a;
}

static void free_answers(struct answers *a)
{
    free(a->y);
}

/* ---- arguments ------------------------------------------------------------------------------- */

static bool on_layer(void *user, const struct pith_swept_layer *l)
{
    (void)user;
    fprintf(stderr, "%3u/%u %-28.28s %8llu weights %6.3f bits, loss %.2e, step %.3e%s%s, %.0f MB\n",
            l->number + 1, l->n_layers, l->layer, (unsigned long long)l->weights,
            l->bits / (double)l->weights, l->loss, l->step, l->by_row ? ", rows" : "",
            l->data_free ? ", data-free" : "", peak_mb());
    return true;
}

static uint32_t without_of(const char *list)
{
    return (strstr(list, "statistics") ? PITH_SWEEP_NO_STATISTICS : 0u) |
           (strstr(list, "correction") ? PITH_SWEEP_NO_CORRECTION : 0u) |
           (strstr(list, "refit") ? PITH_SWEEP_NO_REFIT : 0u) |
           (strstr(list, "coupling") ? PITH_SWEEP_NO_COUPLING : 0u);
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
    else if (!strcmp(name, "--without"))
        a->sweep.without = without_of(NEXT);
    else if (!strcmp(name, "--places"))
        a->sweep.place_share = atof(NEXT);
    else if (!strcmp(name, "--memory"))
        a->sweep.memory_bytes = (uint64_t)atoi(NEXT) << 20;
    else if (!strcmp(name, "--paths"))
        a->sweep.paths = (uint32_t)atoi(NEXT);
    else if (!strcmp(name, "--states"))
        a->sweep.states = (uint32_t)atoi(NEXT);
    else if (!strcmp(name, "--pattern"))
        check(pith_pattern_parse(NEXT, &a->sweep.pattern, &err), "--pattern");
    else if (!strcmp(name, "--sparsity"))
        a->sweep.sparsity = atof(NEXT);
    else if (!strcmp(name, "--levels"))
        a->sweep.levels = (uint32_t)atoi(NEXT);
    else if (!strcmp(name, "--fisher"))
        a->fisher = (uint64_t)atoi(NEXT);
    else if (!strcmp(name, "--temperature"))
        a->temperature = atof(NEXT);
    else if (!strcmp(name, "--threads"))
        a->threads = (uint32_t)atoi(NEXT);
    else if (!strcmp(name, "--steps")) {
        const char *by = NEXT;
        a->sweep.steps = !strcmp(by, "tensor") ? PITH_SWEEP_STEPS_TENSOR
                         : !strcmp(by, "row")  ? PITH_SWEEP_STEPS_ROW
                                               : PITH_SWEEP_STEPS_AUTO;
    } else if (!strcmp(name, "--squares"))
        a->squares = true;
    else if (!strcmp(name, "--mirror"))
        a->mirror = true;
    else if (!strcmp(name, "--state")) {
        const char *at = NEXT;
        a->has_state = true;
        a->state.output = (uint32_t)atoi(at);
        a->state.input = (uint32_t)atoi(at + strcspn(at, "=") + 1);
    } else if (!strcmp(name, "--layers"))
        a->sweep.on_layer = on_layer;
    else if (!strcmp(name, "--against"))
        a->against = NEXT;
    else if (!strcmp(name, "-o"))
        a->out = NEXT;
    else
        a->model = name;
#undef NEXT
}

/* ---- all ------------------------------------------------------------------------------------- */

/* Of what was made, on a data set; was: the original's answers there. */
static struct pith_difference_sums judge(const struct args *a, const struct pith_model *out,
                                         const struct fed *on, const struct answers *was)
{
    struct answers now = answers_of(out, on, a->threads);
    struct pith_difference_sums sums = {0};
    for (uint64_t i = 0; i < was->n; i++)
        pith_difference_add(&sums, &was->kind, was->y + i * was->each, now.y + i * was->each,
                            was->each);
    free_answers(&now);
    return sums;
}

/* was: answers on test, on the calibration samples. */
static void sweep_once(const struct args *a, const struct pith_model *m, const struct fed *test,
                       const struct answers was[2])
{
    struct pith_weight_sweep_report report;
    struct pith_model *out;
    struct pith_buffer file;
    struct pith_pack_opts pack = {.size_bytes = sizeof pack, .compact = true};
    double cpu = cpu_seconds();
    uint64_t began = pith_clock_ns(NULL);
    reset_peak();
    check(pith_weight_sweep(m, NULL, &a->sweep, &out, &report, &err), "sweep");
    double seconds = 1e-9 * (double)(pith_clock_ns(NULL) - began);
    const double peak = peak_mb();
    cpu = cpu_seconds() - cpu;
    check(pith_model_pack(out, &pack, &file, &err), "pack");
    const struct pith_difference_sums now = judge(a, out, &test[0], &was[0]),
                                      seen = judge(a, out, &test[1], &was[1]);
    printf("{\"lambda\": %g, \"rate\": %g, \"bytes\": %zu, \"kl\": %.5f, \"kl_seen\": %.5f, "
           "\"agree\": %.4f, \"snr_db\": %.2f, \"weight_bytes\": %.0f, \"told_loss\": %.5f, "
           "\"seconds\": %.1f, "
           "\"cpu_seconds\": %.1f, "
           "\"peak_mb\": %.0f}\n",
           a->sweep.lambda, a->sweep.rate_share, file.bytes, now.kl / (double)now.calls,
           seen.kl / (double)seen.calls, (double)now.agree / (double)now.rows,
           pith_difference_snr_db(&now), report.bits / 8, report.loss, seconds, cpu, peak);
    fflush(stdout);
    if (a->out)
        check(pith_file_write(a->out, file.data, file.bytes, &err), a->out);
    pith_buffer_free(&file);
    pith_model_free(out);
}

static struct pith_model *load(const char *path)
{
    struct pith_model *m;
    check(pith_model_load(path, NULL, &m, &err), path);
    check(pith_model_fold_batch_norm(m, NULL, &err), "folding");
    check(pith_model_infer_shapes(m, &err), "shapes");
    return m;
}

int main(int argc, char **argv)
{
    struct args a = {.sweep = {.size_bytes = sizeof a.sweep}, .threads = 2};
    struct pith_opts runtime;
    struct pith_model *m, *right;
    for (int i = 1; i < argc; i++)
        read_option(&a, argv, &i);
    if (!a.model || !a.data[0] || !a.data[1] || !a.lambdas) {
        fprintf(stderr, "usage: bench_sweep MODEL --data D RANGE --test D RANGE --lambda L ...\n");
        return 2;
    }
    m = load(a.model);
    right = a.against ? load(a.against) : m;
    pith_opts_init(&runtime, sizeof runtime);
    if (a.threads > 1)
        check(pith_threads_start(&runtime, a.threads), "threads");
    a.sweep.runtime = &runtime;
    struct fed fed[2] = {{0}};
    struct answers was[2];
    for (int i = 0; i < 2; i++) {
        open_feed(m, &a, 1 - i, &fed[i]);
        was[i] = answers_of(right, &fed[i], a.threads);
    }
    struct pith_fisher_opts fisher = {.size_bytes = sizeof fisher,
                                      .samples = a.fisher,
                                      .seed = 1,
                                      .squares = a.squares,
                                      .temperature = a.temperature,
                                      .feed = &fed[1].feed};
    struct pith_sensitivity sensitivity;
    double cpu = cpu_seconds(), before = memory_mb("VmRSS:");
    reset_peak();
    check(pith_fisher_rows(m, NULL, &fisher, &sensitivity, &err), "sensitivity");
    fprintf(stderr, "sensitivity: %.1f s, %.0f MB, %.0f of them before: the model, samples\n",
            cpu_seconds() - cpu, peak_mb(), before);
    a.sweep.sensitivity = &sensitivity;
    a.sweep.feed = &fed[1].feed;
    for (const char *at = a.lambdas; *at; at += strcspn(at, ","), at += *at == ',') {
        a.sweep.lambda = strtod(at, NULL);
        sweep_once(&a, m, fed, was);
    }
    pith_fisher_rows_free(&sensitivity);
    for (int i = 0; i < 2; i++) {
        free_answers(&was[i]);
        pith_data_free(fed[i].data);
    }
    pith_model_free(m);
    pith_threads_stop(&runtime);
    return 0;
}
