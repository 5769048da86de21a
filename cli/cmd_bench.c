/* SPDX-License-Identifier: MIT */
/* pith bench: time of one inference, memory, and where the time goes. */
#include <stdio.h>
#include <string.h>
#include "cli/bench/bench_side.h"
#include "cli/common/engine_options.h"
#include "base/number_text.h"

static const struct cli_option options[] = {
    {0, "vs", OPTION_TEXT, offsetof(struct bench_options, vs), "MODEL",
     "time this model, too, and print the ratio; cpu: MODEL on the CPU", 0, 0},
    {0, "time", OPTION_TIME, offsetof(struct bench_options, seconds), "T",
     "duration per model: 500ms, 10s (default 2s)", 0.01, 600},
    {0, "batch", OPTION_UINT, offsetof(struct bench_options, batch), "N",
     "batch size, for models with an open batch", 1, 65536},
    {'T', "threads", OPTION_TEXT, offsetof(struct bench_options, threads), "N,...",
     "threads (default: all cores); a list is measured in turn", 0, 0},
    {0, "cold", OPTION_FLAG, offsetof(struct bench_options, cold), NULL,
     "also measure with cold caches", 0, 0},
    {0, "per-layer", OPTION_FLAG, offsetof(struct bench_options, per_layer), NULL,
     "time, kernel, bytes and speed of every layer", 0, 0},
    {0, "csv", OPTION_FLAG, offsetof(struct bench_options, csv), NULL,
     "--per-layer as CSV, one line per layer", 0, 0},
    {0, "explain", OPTION_FLAG, offsetof(struct bench_options, explain), NULL,
     "time every candidate kernel of each step", 0, 0},
    {0, "plan", OPTION_TEXT, offsetof(struct bench_options, plan), "FILE",
     "use the plan and batch of FILE (pith plan, pith tune)", 0, 0},
    CLI_MAX_STEPS_OPTION(struct bench_options, max_steps),
    CLI_DEVICE_OPTION(struct bench_options, device),
    {0, NULL, OPTION_FLAG, 0, NULL, NULL, 0, 0},
};

/* "1,2,4": the numbers of threads, one or several. */
static enum cli_exit read_threads(const char *text, struct bench_sides *s)
{
    s->n = 0;
    for (const char *at = text; at;) {
        char number[32];
        uint64_t threads = 0;
        const bool good = cli_next_item(&at, number) && pith_parse_uint(number, &threads) &&
                          threads >= 1 && threads <= 256;
        if (!good || s->n == BENCH_SIDES) {
            cli_error("--threads '%s': 1 to %d whole numbers of 1 to 256, such as 1,2,4", text,
                      BENCH_SIDES);
            return EXIT_USAGE;
        }
        s->side[s->n++].threads = (uint32_t)threads;
    }
    return EXIT_DONE;
}

static enum cli_exit refuse(const char *what)
{
    cli_error("%s exclude each other", what);
    return EXIT_USAGE;
}

static enum cli_exit check_options(const struct bench_options *o, const char *path,
                                   const struct bench_sides *s)
{
    if (s->by_threads && o->vs)
        return refuse("several numbers of --threads and --vs");
    if (o->csv && (o->common.json || o->explain))
        return refuse(o->explain ? "--csv and --explain" : "--csv and --json");
    if (o->explain && cli_explain_refuses(o->plan, o->device))
        return EXIT_USAGE;
    const bool twice = s->by_threads || (o->vs && strcmp(o->vs, "cpu") == 0);
    if (twice && strcmp(path, "-") == 0) {
        cli_error("the model is read twice: name a file, not -");
        return EXIT_USAGE;
    }
    return EXIT_DONE;
}

/* Beside the model: another one, the CPU, or itself on other numbers of threads. */
static enum cli_exit choose_sides(const struct bench_options *o, const char *path,
                                  struct bench_sides *s)
{
    enum cli_exit rc = EXIT_DONE;
    s->n = 1;
    if (o->threads)
        rc = read_threads(o->threads, s);
    s->by_threads = s->n > 1;
    if (!rc)
        rc = check_options(o, path, s);
    if (rc)
        return rc;
    if (o->vs) {
        s->side[1].threads = s->side[0].threads;
        s->n = 2;
    }
    for (uint32_t i = 0; i < s->n; i++) {
        s->side[i].path = path;
        s->side[i].device = o->device;
    }
    if (o->vs && strcmp(o->vs, "cpu") == 0)
        s->side[1].device = "cpu";
    else if (o->vs)
        s->side[1].path = o->vs;
    return EXIT_DONE;
}

static enum cli_exit run(void *opts, char **operands, uint32_t n_operands)
{
    struct bench_options *o = opts;
    struct bench_sides s = {0};
    enum cli_exit rc = choose_sides(o, n_operands ? operands[0] : "-", &s);
    o->per_layer = o->per_layer || o->csv;
    for (uint32_t i = 0; i < s.n && !rc; i++)
        rc = bench_open(o, &s.side[i]);
    if (!rc)
        bench_warn_of_sizes(&s);
    if (!rc)
        rc = bench_measure(&s, o, o->seconds > 0 ? o->seconds : 2);
    if (!rc && o->common.json)
        bench_print_json(o, &s);
    else if (!rc && o->csv)
        bench_print_csv(&s);
    else if (!rc)
        bench_print_text(o, &s);
    for (uint32_t i = 0; i < s.n; i++)
        bench_close(&s.side[i]);
    return rc;
}

const struct cli_command cmd_bench = {
    "bench",
    "run",
    "speed and memory, layer by layer",
    "pith bench [MODEL] [--vs OTHER] [options]",
    "Runs on a random input from a seed. Times depend on the machine: compare two models in one "
    "call\n"
    "with --vs. PITH_CPU=ref|avx2|avx512 limits the instruction set.\n"
    "\n"
    "  pith bench net.pith -T 1,2 --per-layer    # layer times with one and two threads",
    options,
    sizeof(struct bench_options),
    0,
    1,
    run,
    NULL};
