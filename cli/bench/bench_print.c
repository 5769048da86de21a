/* SPDX-License-Identifier: MIT */
/* bench_print.c - the output of pith bench: tables, JSON, lines of CSV. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include "bench_side.h"
#include "cli/common/csv_out.h"
#include "cli/common/json_out.h"
#include "pith_host.h"
#include "cli/common/table.h"

static uint32_t used_features(const struct bench_side *side)
{
    uint32_t mask = side->opts.cpu_mask;
    return mask ? mask & pith_cpu_features() : pith_cpu_features();
}

/* On a device, the steps without a device kernel are listed with their CPU kernels. */
static const char *kernel_of(const struct pith_engine *e, uint32_t layer,
                             const struct pith_layer *l)
{
    return pith_engine_on_cpu(e, layer) ? l->kernel : "device";
}

static uint32_t layers_of(const struct bench_side *side)
{
    return pith_plan_layer_count(pith_engine_plan(side->engine));
}

static double us_of(const struct bench_side *side, uint32_t layer)
{
    return (double)pith_engine_layer_ns(side->engine, layer) / 1e3;
}

/* How many times as fast as the first side. */
static double ratio(const struct bench_sides *s, uint32_t i)
{
    return s->side[0].timing.ms_median / s->side[i].timing.ms_median;
}

/* ---- text ------------------------------------------------------------------------------------ */

/* Bytes a second of a layer on a device, and as a share of what a copy there gets. */
static void add_speed(struct cli_table *t, const struct bench_side *side, uint32_t layer)
{
    const double share = bench_share_of_roof(side, layer);
    if (!(share > 0)) {
        cli_table_add(t, "%s", pith_engine_on_cpu(side->engine, layer) ? "on the CPU" : "");
        cli_table_add(t, "%s", "");
        return;
    }
    cli_table_add(t, "%.1f", share * side->copy_speed / 1e9);
    cli_table_add(t, "%.0f%%", 100 * share);
}

static void add_roof(struct cli_table *t, const struct bench_side *side, uint32_t layer,
                     const struct pith_layer *l)
{
    const double ns = (double)pith_engine_layer_ns(side->engine, layer);
    const uint64_t bytes = bench_moved_bytes(side, layer);
    const double share = bench_share_of_roof(side, layer);
    char text[32];
    cli_table_add(t, "%s", cli_format_bytes(bytes, text));
    cli_table_add(t, "%.1f", ns > 0 ? (double)bytes / ns : 0);
    cli_table_add(t, "%.1f", ns > 0 ? 2 * (double)l->macs / ns : 0);
    snprintf(text, sizeof text, "%.0f%%", 100 * share);
    cli_table_add(t, "%s", share > 0 ? text : "");
}

static void start_layers(struct cli_table *t, uint32_t columns)
{
    cli_table_start(t, columns);
    cli_table_left(t, 1);
    cli_table_left(t, 2);
    cli_table_add(t, "layer");
    cli_table_add(t, "op");
    cli_table_add(t, "kernel");
}

static void add_layer(struct cli_table *t, const struct bench_side *side, uint32_t layer,
                      struct pith_layer *l)
{
    pith_plan_layer(pith_engine_plan(side->engine), layer, l);
    cli_table_add(t, "%.*s", (int)l->name_bytes, l->name);
    cli_table_add(t, "%s", pith_op_text(l->op));
    cli_table_add(t, "%s", kernel_of(side->engine, layer, l));
}

static void add_work(struct cli_table *t, const struct pith_layer *l)
{
    char bytes[32];
    cli_table_add(t, "%.2f", (double)l->macs / 1e6);
    cli_table_add(t, "%s", l->weight_bytes ? cli_format_bytes(l->weight_bytes, bytes) : "");
}

static void print_layers(const struct bench_side *side)
{
    static const char *const on_cpu[] = {"us",   "MMAC",    "weights", "moved",
                                         "GB/s", "GFLOP/s", "of roof", NULL},
                             *const on_device[] = {"us",   "MMAC",    "weights",
                                                   "GB/s", "of copy", NULL};
    const bool device = pith_engine_device(side->engine) != NULL;
    struct cli_table t;
    struct pith_layer l;
    start_layers(&t, device ? 8 : 10);
    for (const char *const *head = device ? on_device : on_cpu; *head; head++)
        cli_table_add(&t, "%s", *head);
    for (uint32_t i = 0; i < layers_of(side); i++) {
        add_layer(&t, side, i, &l);
        cli_table_add(&t, "%.1f", us_of(side, i));
        add_work(&t, &l);
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

/* The same layers on several numbers of threads: microseconds of each, and the first's by the
 * last's. */
static void print_layers_by_threads(const struct bench_sides *s)
{
    struct cli_table t;
    struct pith_layer l;
    start_layers(&t, s->n + 6);
    for (uint32_t k = 0; k < s->n; k++)
        cli_table_add(&t, "us -T %u", s->side[k].opts.threads);
    cli_table_add(&t, "ratio");
    cli_table_add(&t, "MMAC");
    cli_table_add(&t, "weights");
    for (uint32_t i = 0; i < layers_of(&s->side[0]); i++) {
        add_layer(&t, &s->side[0], i, &l);
        for (uint32_t k = 0; k < s->n; k++)
            cli_table_add(&t, "%.1f", us_of(&s->side[k], i));
        const double last = us_of(&s->side[s->n - 1], i);
        cli_table_add(&t, "%.2f", last > 0 ? us_of(&s->side[0], i) / last : 0);
        add_work(&t, &l);
    }
    cli_table_print(&t, stdout);
}

/* The number of threads may decide what is fused, and so which layers there are. */
static bool same_layers(const struct bench_sides *s)
{
    for (uint32_t k = 1; k < s->n; k++)
        if (layers_of(&s->side[k]) != layers_of(&s->side[0]))
            return false;
    return true;
}

static const char *threads_text(uint32_t threads, char text[32])
{
    snprintf(text, 32, "%u thread%s", threads, threads == 1 ? "" : "s");
    return text;
}

/* The same file on several sides gets distinct names. */
static const char *which_way(const struct bench_sides *s, uint32_t i, char text[64])
{
    char threads[32];
    const struct bench_side *side = &s->side[i];
    if (s->by_threads)
        snprintf(text, 64, ", %s", threads_text(side->opts.threads, threads));
    else
        snprintf(text, 64, "%s", i == 1 && s->side[0].path == s->side[1].path ? " on the CPU" : "");
    return text;
}

static void print_side(const struct bench_sides *s, uint32_t i)
{
    char arena[32], file[32], which[64];
    const struct bench_side *side = &s->side[i];
    const struct pith_timing *t = &side->timing;
    printf("%s%s: median %.4f ms  min %.4f  p90 %.4f  ", side->path, which_way(s, i, which),
           t->ms_median, t->ms_min, t->ms_p90);
    if (side->ms_cold > 0)
        printf("cold %.4f  ", side->ms_cold);
    printf("(%u runs, %" PRIu64 " page faults)  arena %s  file %s\n", t->runs, t->page_faults,
           cli_format_bytes(pith_engine_need(side->engine).arena_bytes, arena),
           cli_format_bytes(pith_engine_file_bytes(side->engine), file));
}

void bench_print_text(const struct bench_options *o, const struct bench_sides *s)
{
    char cpu[128], threads[32];
    const struct bench_side *first = &s->side[0];
    const bool together = o->per_layer && s->by_threads && same_layers(s);
    if (together)
        print_layers_by_threads(s);
    for (uint32_t i = 0; i < s->n; i++) {
        if (o->per_layer && !together)
            print_layers(&s->side[i]);
        if (o->explain && i == 0)
            cli_explain_print(&first->explained, first->engine, stdout);
        print_side(s, i);
    }
    for (uint32_t i = 1; i < s->n; i++)
        if (s->by_threads)
            printf("%s: %.2f times as fast as %u\n", threads_text(s->side[i].opts.threads, threads),
                   ratio(s, i), first->opts.threads);
        else
            printf("ratio %.2fx\n", 1 / ratio(s, i));
    const char *device = pith_engine_device(first->engine);
    printf("%s%sbatch %u, cpu %s%s%s\n",
           s->by_threads ? "" : threads_text(first->opts.threads, threads),
           s->by_threads ? "" : ", ", first->opts.batch,
           pith_cpu_names(used_features(first), cpu, sizeof cpu), device ? ", device " : "",
           device ? device : "");
}

/* ---- JSON ------------------------------------------------------------------------------------ */

static void json_layers(const struct bench_side *side)
{
    struct pith_engine *e = side->engine;
    struct pith_layer l;
    cli_json_open("layers", '[');
    for (uint32_t i = 0; i < layers_of(side); i++) {
        pith_plan_layer(pith_engine_plan(e), i, &l);
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
            const double share = bench_share_of_roof(side, i);
            cli_json_uint("moved_bytes", pith_engine_moved_bytes(e, i));
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
    if (side->ms_cold > 0)
        cli_json_number("ms_cold", side->ms_cold);
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

static void json_by_threads(const struct bench_sides *s)
{
    cli_json_open("by_threads", '[');
    for (uint32_t i = 1; i < s->n; i++) {
        cli_json_open(NULL, '{');
        json_side(&s->side[i]);
        cli_json_number("ratio", ratio(s, i));
        cli_json_close('}');
    }
    cli_json_close(']');
}

static void json_vs(const struct bench_sides *s)
{
    cli_json_open("vs", '{');
    json_side(&s->side[1]);
    cli_json_close('}');
    cli_json_number("ratio", 1 / ratio(s, 1));
}

void bench_print_json(const struct bench_options *o, const struct bench_sides *s)
{
    char cpu[128];
    const struct bench_side *first = &s->side[0];
    cli_json_begin();
    json_side(first);
    if (o->explain)
        cli_explain_json(&first->explained, first->engine);
    cli_json_string("cpu", pith_cpu_names(used_features(first), cpu, sizeof cpu));
    if (s->by_threads)
        json_by_threads(s);
    else if (s->n == 2)
        json_vs(s);
    cli_json_end();
}

/* ---- CSV ------------------------------------------------------------------------------------- */

/* On a device bytes are those of its memory, and the share is that of what a copy gets. */
static void csv_layer(const struct bench_side *side, uint32_t i)
{
    const struct pith_engine *e = side->engine;
    const double share = bench_share_of_roof(side, i);
    struct pith_layer l;
    pith_plan_layer(pith_engine_plan(side->engine), i, &l);
    cli_csv_text(side->path, strlen(side->path));
    printf(",%u,%u,", side->opts.threads, i);
    cli_csv_text(l.name, l.name_bytes);
    printf(",%s,%s,%.3f,%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",", pith_op_text(l.op),
           kernel_of(e, i, &l), us_of(side, i), l.macs, l.weight_bytes, bench_moved_bytes(side, i));
    if (share > 0)
        printf("%.4f", share);
    putchar('\n');
}

void bench_print_csv(const struct bench_sides *s)
{
    puts("model,threads,place,layer,op,kernel,us,macs,weight_bytes,moved_bytes,of_roof");
    for (uint32_t k = 0; k < s->n; k++)
        for (uint32_t i = 0; i < layers_of(&s->side[k]); i++)
            csv_layer(&s->side[k], i);
}
