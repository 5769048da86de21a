/* SPDX-License-Identifier: MIT */
/* pith bench: time of one inference, memory, and where the time goes. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include "data_options.h"
#include "explain.h"
#include "pith_load.h"
#include "json_out.h"
#include "pith_host.h"
#include "table.h"
#include "what_if.h"

struct bench_options {
    struct cli_common common;
    const char *vs;
    double seconds;
    uint64_t batch;
    bool per_layer, explain;
    uint64_t max_steps;
    const char *device;
    const char *plan;
    const char *what_if;
};

static const struct cli_option options[] = {
    {0, "vs", OPTION_TEXT, offsetof(struct bench_options, vs), "MODEL",
     "time this one too, print the ratio; cpu: the first on the CPU", 0, 0},
    {0, "time", OPTION_TIME, offsetof(struct bench_options, seconds), "T",
     "a model: 500ms, 10s (default 2s)", 0.01, 600},
    {0, "batch", OPTION_UINT, offsetof(struct bench_options, batch), "N",
     "samples at once, for models with open batch", 1, 65536},
    {0, "per-layer", OPTION_FLAG, offsetof(struct bench_options, per_layer), NULL,
     "fastest time, kernel, bytes, speed of every layer, beside the CPU's", 0, 0},
    {0, "explain", OPTION_FLAG, offsetof(struct bench_options, explain), NULL,
     "why each step runs its kernel: times of the others here", 0, 0},
    {0, "plan", OPTION_TEXT, offsetof(struct bench_options, plan), "FILE",
     "plan MODEL as FILE says, of pith plan or tune; its batch, too", 0, 0},
    {0, "what-if", OPTION_TEXT, offsetof(struct bench_options, what_if), "density=D,...",
     "time it pruned, untrained, too (,bits=4,pattern=2:4)", 0, 0},
    CLI_MAX_STEPS_OPTION(struct bench_options, max_steps),
    CLI_DEVICE_OPTION(struct bench_options, device),
    {0, NULL, OPTION_FLAG, 0, NULL, NULL, 0, 0},
};

#define TURNS 5

struct bench_side {
    const char *path, *device;
    const struct cli_what_if *wanted; /* what the model becomes before; NULL: nothing */
    struct pith_engine_opts opts;
    struct pith_packed packed;  /* owns */
    struct pith_buffer plan;    /* owns: the plan file, or none */
    struct pith_engine *engine; /* owns */
    struct pith_timing timing;
    struct cli_explained explained; /* owns; of the first side, where it was asked for */
    struct pith_roofline roof;      /* of the CPU; zeros: not asked for */
    double copy_speed; /* bytes a second on its device; 0: on the CPU, or not asked for */
};

/* A plan file holds for one batch, and for threads or none: what it says is run. */
static enum cli_exit take_plan(const struct bench_options *o, struct bench_side *side)
{
    uint32_t batch = 1, threads = 1;
    enum cli_exit rc = cli_read_file(o->plan, &side->plan);
    if (rc)
        return rc;
    side->opts.plan_file = side->plan.data;
    side->opts.plan_file_bytes = side->plan.bytes;
    side->opts.plan_name = o->plan;
    if (pith_plan_file_options(side->plan.data, side->plan.bytes, &batch, &threads))
        return EXIT_DONE; /* it is refused, and told why, where it is opened */
    if (o->batch == 0)
        side->opts.batch = batch;
    if (o->common.threads == 0)
        side->opts.threads = threads == 1 ? 1 : side->opts.threads > 1 ? side->opts.threads : 2;
    return EXIT_DONE;
}

/* side: path, device and wanted are set. */
static enum cli_exit open_side(const struct bench_options *o, struct bench_side *side)
{
    struct pith_error err = {0};
    enum cli_exit rc = side->wanted ? cli_what_if_load(side->wanted, side->path, &side->packed)
                                    : cli_load_packed(side->path, &side->packed);
    if (!rc)
        rc = cli_engine_opts(&o->common, &side->opts);
    if (!rc)
        rc = cli_device(side->device, &side->opts);
    if (!rc && o->batch > 1 && !side->packed.outline->batch_open) {
        cli_error("%s: its batch is fixed: --batch %" PRIu64 " cannot be run", side->path,
                  o->batch);
        rc = EXIT_USAGE;
    }
    if (!rc) {
        side->opts.batch = o->batch ? (uint32_t)o->batch : 1;
        side->opts.profile = o->per_layer || o->explain || o->what_if;
        side->opts.max_steps = o->max_steps;
        if (o->plan && side->path != o->vs && !side->wanted)
            rc = take_plan(o, side);
    }
    if (!rc) {
        rc = pith_engine_open_packed(&side->packed, &side->opts, &side->engine, &err)
                 ? cli_fail(&err)
                 : EXIT_DONE;
    }
    if (!rc)
        cli_device_note(side->engine);
    if (!rc && o->per_layer && pith_engine_copy_speed(side->engine, &side->copy_speed, &err))
        rc = cli_fail(&err);
    if (!rc && o->per_layer && !pith_engine_device(side->engine) &&
        pith_engine_roofline(side->engine, &side->roof, &err))
        rc = cli_fail(&err);
    return rc;
}

static void close_side(struct bench_side *side)
{
    cli_explain_free(&side->explained);
    pith_engine_close(side->engine);
    pith_buffer_free(&side->plan);
    pith_packed_free(&side->packed);
}

/* Both models in turn, so that a change of the machine's pace hits them alike; the turn with the
 * lowest median counts. */
static enum cli_exit measure(struct bench_side *sides, uint32_t n, double seconds,
                             struct cli_progress *bar)
{
    struct pith_error err = {0};
    for (uint32_t turn = 0; turn < TURNS; turn++)
        for (uint32_t i = 0; i < n; i++) {
            struct pith_timing t;
            if (!cli_progress_step(bar, turn * n + i))
                return EXIT_INTERRUPTED;
            if (pith_time(sides[i].engine, seconds / TURNS, &t, &err))
                return cli_fail(&err);
            struct pith_timing *best = &sides[i].timing;
            const uint32_t runs = best->runs + t.runs;
            const uint64_t faults = best->page_faults + t.page_faults;
            if (turn == 0 || t.ms_median < best->ms_median)
                *best = t;
            best->runs = runs;
            best->page_faults = faults;
        }
    return EXIT_DONE;
}

static uint32_t used_features(const struct bench_side *side)
{
    uint32_t mask = side->opts.cpu_mask;
    return mask ? mask & pith_cpu_features() : pith_cpu_features();
}

/* On a device the CPU's kernels are told of the steps that have none there. */
static const char *kernel_of(const struct pith_engine *e, uint32_t layer,
                             const struct pith_layer *l)
{
    return pith_engine_on_cpu(e, layer) ? l->kernel : "device";
}

/* Bytes a second of a layer on a device, and as a share of what a copy there gets. */
static void add_speed(struct cli_table *t, const struct bench_side *side, uint32_t layer)
{
    double ns = (double)pith_engine_layer_ns(side->engine, layer);
    double bytes = (double)pith_engine_layer_bytes(side->engine, layer);
    if (!(bytes > 0 && ns > 0 && side->copy_speed > 0)) {
        cli_table_add(t, "%s", pith_engine_on_cpu(side->engine, layer) ? "on the CPU" : "");
        cli_table_add(t, "%s", "");
        return;
    }
    cli_table_add(t, "%.1f", bytes / ns);
    cli_table_add(t, "%.0f%%", 100 * bytes / ns * 1e9 / side->copy_speed);
}

/* The time that the CPU would take at least, as a share of what it took: what bounds a layer is its
 * products or its bytes. 0 for products of integers, whose bound was not measured. */
static double share_of_roof(const struct bench_side *side, const struct pith_layer *l,
                            uint64_t bytes, double ns)
{
    const struct pith_roofline *r = &side->roof;
    /* What came faster than memory gives came from a cache that is larger. */
    const bool cached =
        bytes <= PITH_ROOFLINE_CACHE_BYTES || (double)bytes * 1e9 > r->memory_bytes_per_s * ns;
    const double bandwidth = cached ? r->cache_bytes_per_s : r->memory_bytes_per_s;
    if (strstr(l->kernel, "-i8") || !(r->flops_per_s > 0) || !(ns > 0) || !l->macs)
        return 0;
    return 1e9 / ns * fmax(2 * (double)l->macs / r->flops_per_s, (double)bytes / bandwidth);
}

static void add_roof(struct cli_table *t, const struct bench_side *side, uint32_t layer,
                     const struct pith_layer *l)
{
    const double ns = (double)pith_engine_layer_ns(side->engine, layer);
    const uint64_t bytes = pith_engine_moved_bytes(side->engine, layer);
    const double share = share_of_roof(side, l, bytes, ns);
    char text[32];
    cli_table_add(t, "%s", cli_format_bytes(bytes, text));
    cli_table_add(t, "%.1f", ns > 0 ? (double)bytes / ns : 0);
    cli_table_add(t, "%.1f", ns > 0 ? 2 * (double)l->macs / ns : 0);
    snprintf(text, sizeof text, "%.0f%%", 100 * share);
    cli_table_add(t, "%s", share > 0 ? text : "");
}

static void print_layers(const struct bench_side *side)
{
    struct pith_engine *e = side->engine;
    bool device = pith_engine_device(e) != NULL;
    const struct pith_plan *plan = pith_engine_plan(e);
    struct cli_table t;
    struct pith_layer l;
    char a[32];
    cli_table_start(&t, device ? 8 : 10);
    cli_table_left(&t, 1);
    cli_table_left(&t, 2);
    cli_table_add(&t, "layer");
    cli_table_add(&t, "op");
    cli_table_add(&t, "kernel");
    cli_table_add(&t, "us");
    cli_table_add(&t, "MMAC");
    cli_table_add(&t, "weights");
    if (device) {
        cli_table_add(&t, "GB/s");
        cli_table_add(&t, "of copy");
    } else {
        cli_table_add(&t, "moved");
        cli_table_add(&t, "GB/s");
        cli_table_add(&t, "GFLOP/s");
        cli_table_add(&t, "of roof");
    }
    for (uint32_t i = 0; i < pith_plan_layer_count(plan); i++) {
        pith_plan_layer(plan, i, &l);
        cli_table_add(&t, "%.*s", (int)l.name_bytes, l.name);
        cli_table_add(&t, "%s", pith_op_text(l.op));
        cli_table_add(&t, "%s", kernel_of(e, i, &l));
        cli_table_add(&t, "%.1f", (double)pith_engine_layer_ns(e, i) / 1e3);
        cli_table_add(&t, "%.2f", (double)l.macs / 1e6);
        cli_table_add(&t, "%s", l.weight_bytes ? cli_format_bytes(l.weight_bytes, a) : "");
        if (device)
            add_speed(&t, side, i);
        else
            add_roof(&t, side, i, &l);
    }
    cli_table_print(&t, stdout);
    if (device)
        printf("a copy on the device: %.1f GB/s read and written\n", side->copy_speed / 1e9);
    else
        printf("roof, measured here: %.1f GFLOP/s, reads of %.1f GB/s from cache, %.1f from "
               "memory\n",
               side->roof.flops_per_s / 1e9, side->roof.cache_bytes_per_s / 1e9,
               side->roof.memory_bytes_per_s / 1e9);
}

/* The same file on both sides is told apart. */
static const char *other_way(const struct bench_side *sides, uint32_t i)
{
    if (sides[i].wanted)
        return " pruned";
    return i == 1 && sides[0].path == sides[1].path ? " on the CPU" : "";
}

static void print_text(const struct bench_options *o, const struct bench_side *sides, uint32_t n)
{
    char arena[32], file[32], cpu[128];
    for (uint32_t i = 0; i < n; i++) {
        struct pith_need need = pith_engine_need(sides[i].engine);
        const struct pith_timing *t = &sides[i].timing;
        if (o->per_layer)
            print_layers(&sides[i]);
        if (o->explain && i == 0)
            cli_explain_print(&sides[i].explained, sides[i].engine, stdout);
        printf("%s%s: median %.4f ms  min %.4f  p90 %.4f  (%u runs, %" PRIu64
               " page faults)  arena %s  file %s\n",
               sides[i].path, other_way(sides, i), t->ms_median, t->ms_min, t->ms_p90, t->runs,
               t->page_faults, cli_format_bytes(need.arena_bytes, arena),
               cli_format_bytes(pith_engine_file_bytes(sides[i].engine), file));
    }
    if (sides[n - 1].wanted)
        cli_what_if_print(sides[0].engine, sides[1].engine);
    if (n == 2)
        printf("ratio %.2fx\n", sides[1].timing.ms_median / sides[0].timing.ms_median);
    const char *device = pith_engine_device(sides[0].engine);
    printf("%u thread%s, batch %u, cpu %s%s%s\n", sides[0].opts.threads,
           sides[0].opts.threads == 1 ? "" : "s", sides[0].opts.batch,
           pith_cpu_names(used_features(&sides[0]), cpu, sizeof cpu), device ? ", device " : "",
           device ? device : "");
}

static void json_layers(const struct bench_side *side)
{
    struct pith_engine *e = side->engine;
    const struct pith_plan *plan = pith_engine_plan(e);
    struct pith_layer l;
    cli_json_open("layers", '[');
    for (uint32_t i = 0; i < pith_plan_layer_count(plan); i++) {
        pith_plan_layer(plan, i, &l);
        cli_json_open(NULL, '{');
        cli_json_bytes("name", l.name, l.name_bytes);
        cli_json_string("op", pith_op_text(l.op));
        cli_json_string("kernel", kernel_of(e, i, &l));
        if (side->opts.profile)
            cli_json_uint("ns", pith_engine_layer_ns(e, i));
        if (pith_engine_device(e))
            cli_json_uint("device_bytes", pith_engine_layer_bytes(e, i));
        cli_json_uint("macs", l.macs);
        cli_json_uint("weight_bytes", l.weight_bytes);
        if (side->roof.memory_bytes_per_s > 0) {
            const uint64_t bytes = pith_engine_moved_bytes(e, i);
            const double ns = (double)pith_engine_layer_ns(e, i);
            const double share = share_of_roof(side, &l, bytes, ns);
            cli_json_uint("moved_bytes", bytes);
            cli_json_number("of_roof", share > 0 ? share : NAN);
        }
        cli_json_close('}');
    }
    cli_json_close(']');
}

static void json_side(const struct bench_side *side)
{
    cli_json_number("ms_median", side->timing.ms_median);
    cli_json_number("ms_min", side->timing.ms_min);
    cli_json_number("ms_p90", side->timing.ms_p90);
    cli_json_uint("runs", side->timing.runs);
    cli_json_uint("page_faults", side->timing.page_faults);
    cli_json_uint("threads", side->opts.threads);
    cli_json_uint("batch", side->opts.batch);
    cli_json_uint("arena_bytes", pith_engine_need(side->engine).arena_bytes);
    cli_json_uint("file_bytes", pith_engine_file_bytes(side->engine));
    if (side->copy_speed > 0)
        cli_json_number("copy_bytes_per_s", side->copy_speed);
    if (side->roof.memory_bytes_per_s > 0) {
        cli_json_number("roof_flops_per_s", side->roof.flops_per_s);
        cli_json_number("roof_cache_bytes_per_s", side->roof.cache_bytes_per_s);
        cli_json_number("roof_memory_bytes_per_s", side->roof.memory_bytes_per_s);
    }
    json_layers(side);
}

static void print_json(const struct bench_options *o, const struct bench_side *sides, uint32_t n)
{
    char cpu[128];
    cli_json_begin();
    json_side(&sides[0]);
    if (o->explain)
        cli_explain_json(&sides[0].explained, sides[0].engine);
    cli_json_string("cpu", pith_cpu_names(used_features(&sides[0]), cpu, sizeof cpu));
    if (n == 2) {
        cli_json_open("vs", '{');
        json_side(&sides[1]);
        cli_json_close('}');
        cli_json_number("ratio", sides[1].timing.ms_median / sides[0].timing.ms_median);
        if (sides[1].wanted)
            cli_what_if_json(sides[0].engine, sides[1].engine);
    }
    cli_json_end();
}

/* sides[1] is what it is compared with: another model, the CPU, or itself pruned. */
static enum cli_exit choose_sides(const struct bench_options *o, const char *path,
                                  struct cli_what_if *what_if, struct bench_side sides[2],
                                  uint32_t *n)
{
    bool vs_cpu = o->vs && strcmp(o->vs, "cpu") == 0;
    sides[0] = (struct bench_side){.path = path, .device = o->device};
    sides[1] = sides[0];
    *n = o->vs || o->what_if ? 2 : 1;
    if (o->vs && o->what_if) {
        cli_error("--vs and --what-if exclude each other");
        return EXIT_USAGE;
    }
    if (o->explain && cli_explain_refuses(o->plan, o->device))
        return EXIT_USAGE;
    if ((vs_cpu || o->what_if) && strcmp(path, "-") == 0) {
        cli_error("the model is read twice: name a file, not -");
        return EXIT_USAGE;
    }
    if (vs_cpu)
        sides[1].device = "cpu";
    else if (o->vs)
        sides[1].path = o->vs;
    else if (o->what_if)
        sides[1].wanted = what_if;
    return o->what_if ? cli_what_if_parse(o->what_if, what_if) : EXIT_DONE;
}

static enum cli_exit run(void *opts, char **operands, uint32_t n_operands)
{
    struct bench_options *o = opts;
    struct bench_side sides[2] = {{0}};
    struct cli_what_if what_if;
    struct cli_progress bar;
    uint32_t n = 1;
    enum cli_exit rc = choose_sides(o, n_operands ? operands[0] : "-", &what_if, sides, &n);
    for (uint32_t i = 0; i < n && !rc; i++)
        rc = open_side(o, &sides[i]);
    if (!rc) {
        cli_progress_start(&bar, &o->common, "bench", TURNS * n);
        rc = measure(sides, n, o->seconds > 0 ? o->seconds : 2, &bar);
        if (!rc && o->explain)
            rc = cli_explain(&sides[0].packed, &sides[0].opts, o->seconds > 0 ? o->seconds : 2,
                             &sides[0].explained);
        cli_progress_end(&bar);
    }
    if (!rc && o->common.json)
        print_json(o, sides, n);
    else if (!rc)
        print_text(o, sides, n);
    close_side(&sides[0]);
    close_side(&sides[1]);
    return rc;
}

const struct cli_command cmd_bench = {
    "bench",
    "run",
    "speed, memory, time of every layer",
    "pith bench [MODEL] [--vs OTHER] [options]",
    "Runs on a fixed seeded input. Figures depend on the machine: compare two models in one call\n"
    "with --vs. PITH_CPU=ref|avx2|avx512 limits the instructions used.\n\n"
    "  pith bench net.onnx --what-if density=0.2,bits=4     # would pruning pay on this machine?",
    options,
    sizeof(struct bench_options),
    0,
    1,
    run,
    NULL};
