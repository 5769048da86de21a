/* SPDX-License-Identifier: MIT */
/* pith tune: times the kernels that each step could run with and writes the fastest as a plan. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "array_files.h"
#include "cli/common/engine_options.h"
#include "cli/common/json_out.h"
#include "pith_load.h"
#include "pith_tune.h"
#include "cli/common/table.h"

struct tune_options {
    struct cli_common common;
    double seconds;
    const char *batch, *latency;
};

static const struct cli_option options[] = {
    {0, "time", OPTION_TIME, offsetof(struct tune_options, seconds), "T",
     "time budget: 30s, 2m (default 10s)", 0.1, 3600},
    {0, "batch", OPTION_TEXT, offsetof(struct tune_options, batch), "N|auto",
     "batch size; auto: highest throughput", 0, 0},
    {0, "max-latency", OPTION_TEXT, offsetof(struct tune_options, latency), "T",
     "with --batch auto: 90th-percentile latency (2ms, 500us)", 0, 0},
    {0, NULL, OPTION_FLAG, 0, NULL, NULL, 0, 0},
};

#define MAX_BATCH 65536

struct tuner {
    const struct tune_options *o;
    const char *path;
    struct pith_packed packed; /* owns */
    struct pith_engine_opts engine;
    struct pith_watch watch;
    struct pith_tune_opts tune;
    struct cli_progress bar;
    double max_ms; /* 0: none */
    struct pith_tuned found;
};

/* ---- options --------------------------------------------------------------------------------- */

/* With its unit, us, ms or s: a bare number may be meant as ms, or as seconds. */
static bool parse_ms(const char *text, double *ms)
{
    double seconds;
    const size_t n = strlen(text);
    if (n == 0 || text[n - 1] != 's' || !pith_parse_seconds(text, &seconds) || seconds <= 0)
        return false;
    *ms = 1e3 * seconds;
    return true;
}

static bool wants_auto(const struct tuner *t)
{
    return t->o->batch && strcmp(t->o->batch, "auto") == 0;
}

static enum cli_exit read_options(struct tuner *t)
{
    const struct tune_options *o = t->o;
    uint64_t batch = 1;
    if (o->batch && !wants_auto(t) &&
        (!pith_parse_uint(o->batch, &batch) || batch < 1 || batch > MAX_BATCH)) {
        cli_error("--batch '%s': a number from 1 to %d, or auto", o->batch, MAX_BATCH);
        return EXIT_USAGE;
    }
    if (o->latency && !parse_ms(o->latency, &t->max_ms)) {
        cli_error("--max-latency '%s': a time such as 2ms, 500us or 1s", o->latency);
        return EXIT_USAGE;
    }
    if (o->latency && !wants_auto(t)) {
        cli_error("--max-latency is for --batch auto");
        return EXIT_USAGE;
    }
    t->engine.batch = (uint32_t)batch;
    return EXIT_DONE;
}

/* ---- output --------------------------------------------------------------------------------- */

static double us(uint64_t ns)
{
    return (double)ns / 1e3;
}

/* Whether the fastest kernel of the step is not the planned one, or all are wanted. */
static bool is_listed(const struct tuner *t, uint32_t from, uint32_t n)
{
    bool other = false;
    for (uint32_t i = from; i < from + n; i++)
        other |= t->found.kernel[i].planned != t->found.kernel[i].taken;
    return other || t->o->common.verbose;
}

static bool any_listed(const struct tuner *t)
{
    for (uint32_t i = 0, n; i < t->found.n_kernels; i += n) {
        n = pith_tuned_of_step(&t->found, i);
        if (is_listed(t, i, n))
            return true;
    }
    return false;
}

static void add_row(struct cli_table *table, const struct pith_tuned_kernel *k,
                    const struct pith_layer *l)
{
    cli_table_add(table, "%" PRIu32, k->step);
    cli_table_add(table, "%.*s", (int)l->name_bytes, l->name);
    cli_table_add(table, "%s", k->kernel);
    cli_table_add(table, "%" PRIu32, k->choice);
    cli_table_add(table, "%.1f", us(k->ns));
    cli_table_add(table, "%s", k->planned ? "yes" : "");
    cli_table_add(table, "%s", k->taken ? "yes" : "");
}

static void print_kernels(const struct tuner *t, const struct pith_plan *plan)
{
    static const char *const heads[] = {"step", "layer",   "kernel", "number",
                                        "us",   "planned", "taken"};
    struct cli_table table;
    if (!any_listed(t))
        return;
    cli_table_start(&table, 7);
    for (uint32_t c = 0; c < 7; c++) {
        cli_table_add(&table, "%s", heads[c]);
        if (c != 3 && c != 4)
            cli_table_left(&table, c);
    }
    for (uint32_t i = 0, n; i < t->found.n_kernels; i += n) {
        struct pith_layer l;
        n = pith_tuned_of_step(&t->found, i);
        if (!is_listed(t, i, n))
            continue;
        pith_plan_layer(plan, t->found.kernel[i].step, &l);
        for (uint32_t k = i; k < i + n; k++)
            add_row(&table, &t->found.kernel[k], &l);
    }
    cli_table_print(&table, stdout);
}

static void print_text(const struct tuner *t, const struct pith_plan *plan)
{
    const struct pith_tuned *f = &t->found;
    print_kernels(t, plan);
    printf("%s: planned %.4f ms  tuned %.4f ms  ratio %.2fx  (%u thread%s, batch %u)\n", t->path,
           f->planned.ms_median, f->tuned.ms_median, f->planned.ms_median / f->tuned.ms_median,
           t->engine.threads, t->engine.threads == 1 ? "" : "s", t->engine.batch);
}

static void print_json(const struct tuner *t, const struct pith_plan *plan)
{
    const struct pith_tuned *f = &t->found;
    cli_json_begin();
    cli_json_number("planned_ms", f->planned.ms_median);
    cli_json_number("tuned_ms", f->tuned.ms_median);
    cli_json_uint("threads", t->engine.threads);
    cli_json_uint("batch", t->engine.batch);
    cli_json_open("kernels", '[');
    for (uint32_t i = 0; i < f->n_kernels; i++) {
        const struct pith_tuned_kernel *k = &f->kernel[i];
        struct pith_layer l;
        pith_plan_layer(plan, k->step, &l);
        cli_json_open(NULL, '{');
        cli_json_uint("step", k->step);
        cli_json_bytes("name", l.name, l.name_bytes);
        cli_json_string("kernel", k->kernel);
        cli_json_uint("choice", k->choice);
        cli_json_uint("ns", k->ns);
        cli_json_bool("planned", k->planned);
        cli_json_bool("taken", k->taken);
        cli_json_close('}');
    }
    cli_json_close(']');
    cli_json_end();
}

/* The names of layers are the plan's. */
static enum cli_exit print_result(struct tuner *t)
{
    struct pith_engine *e = NULL;
    struct pith_error err = {0};
    struct pith_engine_opts o = t->engine;
    o.flags |= PITH_FLAG_OUTLINE;
    if (pith_engine_open_packed(&t->packed, &o, &e, &err))
        return cli_fail(&err);
    if (t->o->common.json)
        print_json(t, pith_engine_plan(e));
    else
        print_text(t, pith_engine_plan(e));
    pith_engine_close(e);
    return EXIT_DONE;
}

/* ---- the command ----------------------------------------------------------------------------- */

static enum cli_exit find_batch(struct tuner *t)
{
    struct pith_error err = {0};
    if (!wants_auto(t))
        return EXIT_DONE;
    return pith_tune_batch(&t->packed, &t->engine, &t->tune, t->max_ms, &t->engine.batch, &err)
               ? cli_fail(&err)
               : EXIT_DONE;
}

static enum cli_exit measure(struct tuner *t)
{
    struct pith_error err = {0};
    cli_progress_start(&t->bar, &t->o->common, "tune", PITH_TUNE_PARTS);
    t->watch = (struct pith_watch){cli_progress_step, &t->bar};
    t->tune = (struct pith_tune_opts){sizeof t->tune, t->o->seconds, &t->watch};
    enum cli_exit rc = find_batch(t);
    if (!rc && pith_tune(&t->packed, &t->engine, &t->tune, &t->found, &err))
        rc = cli_fail(&err);
    cli_progress_end(&t->bar);
    return rc;
}

static enum cli_exit load(struct tuner *t)
{
    const struct cli_common *c = &t->o->common;
    enum cli_exit rc = c->output ? cli_check_array(c, c->output, t->path) : EXIT_DONE;
    if (!rc)
        rc = cli_engine_opts(c, &t->engine);
    if (!rc)
        rc = read_options(t);
    if (!rc)
        rc = cli_load_packed(t->path, &t->packed);
    if (!rc && t->engine.batch > 1 && !t->packed.outline->batch_open) {
        cli_error("%s: its batch is fixed: --batch %" PRIu32 " cannot be run", t->path,
                  t->engine.batch);
        rc = EXIT_USAGE;
    }
    return rc;
}

static enum cli_exit run(void *opts, char **operands, uint32_t n_operands)
{
    struct tuner t = {.o = opts, .path = operands[0]};
    (void)n_operands;
    enum cli_exit rc = load(&t);
    if (!rc)
        rc = measure(&t);
    if (!rc)
        rc = print_result(&t);
    if (!rc && t.o->common.output)
        rc = cli_write_array(&t.o->common, t.o->common.output, &t.found.plan_file);
    pith_tuned_free(&t.found);
    pith_packed_free(&t.packed);
    return rc;
}

const struct cli_command cmd_tune = {
    "tune",
    "run",
    CLI_PLAN_SUMMARY,
    "pith tune MODEL [-o net.plan] [--batch N|auto] [--max-latency T] [--time T]",
    "Times every kernel that a step could use on a random input from a seed and chooses the "
    "fastest.\n"
    "It then times the whole model with the new and with the estimated choice, in turn, and keeps "
    "the\n"
    "faster. Steps whose kernel changed are printed (-v: all). The result is a plan file for this\n"
    "model, kind of CPU, batch, and with threads (-T) or without. Commands without a plan file "
    "never\n"
    "time kernels: they make the same choice in every run.\n"
    "\n"
    "  pith tune net.pith -T 1 -o net.plan\n"
    "  pith run net.pith --plan net.plan -T 1 digit.png\n"
    "  pith tune net.pith --batch auto --max-latency 5ms -o batch.plan\n"
    "  pith bench net.pith --plan batch.plan",
    options,
    sizeof(struct tune_options),
    1,
    1,
    run,
    NULL};
