/* SPDX-License-Identifier: MIT */
/* bench_side.c - opens and times what pith bench compares. */
#include "bench_side.h"
#include <inttypes.h>
#include <math.h>
#include <string.h>
#include "base/number_text.h"
#include "cli/common/engine_options.h"

#define TURNS 5

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
        return EXIT_DONE; /* opening it fails with the reason */
    if (o->batch == 0)
        side->opts.batch = batch;
    if (side->threads == 0)
        side->opts.threads = threads == 1 ? 1 : side->opts.threads > 1 ? side->opts.threads : 2;
    return EXIT_DONE;
}

static enum cli_exit make_opts(const struct bench_options *o, struct bench_side *side)
{
    struct cli_common common = o->common;
    common.threads = side->threads;
    enum cli_exit rc = cli_engine_opts(&common, &side->opts);
    if (!rc)
        rc = cli_device(side->device, &side->opts);
    if (rc)
        return rc;
    if (o->batch > 1 && !side->packed.outline->batch_open) {
        cli_error("%s: its batch is fixed: --batch %" PRIu64 " cannot be run", side->path,
                  o->batch);
        return EXIT_USAGE;
    }
    side->opts.batch = o->batch ? (uint32_t)o->batch : 1;
    side->opts.profile = o->per_layer || o->explain;
    side->opts.max_steps = o->max_steps;
    return o->plan && side->path != o->vs ? take_plan(o, side) : EXIT_DONE;
}

/* What a layer's speed is held against. */
static enum cli_exit measure_limits(struct bench_side *side)
{
    struct pith_error err = {0};
    if (pith_engine_copy_speed(side->engine, &side->copy_speed, &err))
        return cli_fail(&err);
    if (!pith_engine_device(side->engine) && pith_engine_roofline(side->engine, &side->roof, &err))
        return cli_fail(&err);
    return EXIT_DONE;
}

enum cli_exit bench_open(const struct bench_options *o, struct bench_side *side)
{
    struct pith_error err = {0};
    enum cli_exit rc = cli_load_packed(side->path, &side->packed);
    if (!rc)
        rc = make_opts(o, side);
    if (!rc && pith_engine_open_packed(&side->packed, &side->opts, &side->engine, &err))
        rc = cli_fail(&err);
    if (rc)
        return rc;
    cli_device_note(side->engine);
    if (o->cold && pith_engine_device(side->engine)) {
        cli_error("--cold: %s runs on %s, whose caches nothing empties", side->path,
                  pith_engine_device(side->engine));
        return EXIT_USAGE;
    }
    return o->per_layer ? measure_limits(side) : EXIT_DONE;
}

void bench_close(struct bench_side *side)
{
    cli_explain_free(&side->explained);
    pith_engine_close(side->engine);
    pith_buffer_free(&side->plan);
    pith_packed_free(&side->packed);
}

/* The turn with the lowest median counts. */
static enum cli_exit one_turn(struct bench_side *side, double seconds, bool first)
{
    struct pith_error err = {0};
    struct pith_timing t;
    if (pith_time(side->engine, seconds, &t, &err))
        return cli_fail(&err);
    struct pith_timing *best = &side->timing;
    const uint32_t runs = best->runs + t.runs;
    const uint64_t faults = best->page_faults + t.page_faults;
    if (first || t.ms_median < best->ms_median)
        *best = t;
    best->runs = runs;
    best->page_faults = faults;
    return EXIT_DONE;
}

static enum cli_exit measure_cold(struct bench_sides *s)
{
    struct pith_error err = {0};
    for (uint32_t i = 0; i < s->n; i++)
        if (pith_time_cold(s->side[i].engine, &s->side[i].ms_cold, &err))
            return cli_fail(&err);
    return EXIT_DONE;
}

uint64_t bench_moved_bytes(const struct bench_side *side, uint32_t layer)
{
    return pith_engine_device(side->engine) ? pith_engine_layer_bytes(side->engine, layer)
                                            : pith_engine_moved_bytes(side->engine, layer);
}

/* Products that the kernel makes for each of the layer's. Sparse kernels pass zeros over: what is
 * left bounds nothing, so their bytes alone do. Winograd's tiles of 4x4 take 36 for 144, of 2x2 16
 * for 36. */
static double products_of(const char *kernel)
{
    if (strstr(kernel, "sparse") || strncmp(kernel, "spm", 3) == 0)
        return 0;
    return strstr(kernel, "winograd4") ? 36.0 / 144 : strstr(kernel, "winograd") ? 16.0 / 36 : 1;
}

/* Layer's bound was measured? Not of integers' products on the CPU. */
static bool has_roof(const struct bench_side *side, uint32_t layer, struct pith_layer *l)
{
    pith_plan_layer(pith_engine_plan(side->engine), layer, l);
    return !strstr(l->kernel, "-i8") && side->roof.flops_per_s > 0 && l->macs &&
           pith_engine_layer_ns(side->engine, layer) > 0;
}

/* What a layer reached can be reached, though other work slowed the measurement of the roof. */
static void raise_roof(struct bench_side *side)
{
    struct pith_roofline *r = &side->roof;
    const uint32_t n_layers = pith_plan_layer_count(pith_engine_plan(side->engine));
    struct pith_layer l;
    for (uint32_t i = 0; !pith_engine_device(side->engine) && i < n_layers; i++) {
        if (!has_roof(side, i, &l))
            continue;
        const double seconds = (double)pith_engine_layer_ns(side->engine, i) / 1e9;
        r->flops_per_s = fmax(r->flops_per_s, 2 * (double)l.macs * products_of(l.kernel) / seconds);
        r->cache_bytes_per_s =
            fmax(r->cache_bytes_per_s, (double)bench_moved_bytes(side, i) / seconds);
    }
}

/* In turn, so that a change of the machine's pace hits all alike. */
enum cli_exit bench_measure(struct bench_sides *s, const struct bench_options *o, double seconds)
{
    struct cli_progress bar;
    enum cli_exit rc = EXIT_DONE;
    cli_progress_start(&bar, &o->common, "bench", TURNS * s->n);
    for (uint32_t k = 0; k < TURNS * s->n && !rc; k++)
        rc = cli_progress_step(&bar, k) ? one_turn(&s->side[k % s->n], seconds / TURNS, k < s->n)
                                        : EXIT_INTERRUPTED;
    for (uint32_t i = 0; i < s->n && !rc; i++)
        raise_roof(&s->side[i]);
    if (!rc && o->cold)
        rc = measure_cold(s);
    if (!rc && o->explain)
        rc = cli_explain(&s->side[0].packed, &s->side[0].opts, seconds, &s->side[0].explained);
    cli_progress_end(&bar);
    return rc;
}

double bench_share_of_roof(const struct bench_side *side, uint32_t layer)
{
    const struct pith_roofline *r = &side->roof;
    const double ns = (double)pith_engine_layer_ns(side->engine, layer);
    const double bytes = (double)bench_moved_bytes(side, layer);
    struct pith_layer l;
    if (pith_engine_device(side->engine))
        return ns > 0 && side->copy_speed > 0 ? bytes / ns * 1e9 / side->copy_speed : 0;
    if (!has_roof(side, layer, &l))
        return 0;
    /* What came faster than memory gives came from a cache that is larger. */
    const bool cached =
        bytes <= PITH_ROOFLINE_CACHE_BYTES || bytes * 1e9 > r->memory_bytes_per_s * ns;
    const double bandwidth = cached ? r->cache_bytes_per_s : r->memory_bytes_per_s;
    const double products = 2 * (double)l.macs * products_of(l.kernel);
    return 1e9 / ns * fmax(products / r->flops_per_s, bytes / bandwidth);
}

void bench_warn_of_sizes(const struct bench_sides *s)
{
    char text[2][PITH_SHAPE_TEXT];
    const struct pith_plan *first = pith_engine_plan(s->side[0].engine);
    for (uint32_t i = 1; i < s->n; i++)
        for (uint32_t k = 0; k < pith_plan_input_count(first); k++) {
            struct pith_tensor a, b;
            if (pith_plan_input(first, k, &a) ||
                pith_plan_input(pith_engine_plan(s->side[i].engine), k, &b) ||
                (a.rank == b.rank && memcmp(a.dim, b.dim, a.rank * sizeof *a.dim) == 0))
                continue;
            cli_warn("input %u of %s is %s, that of %s %s, so their times do not compare; --size "
                     "sets open sizes of both",
                     k, s->side[0].path, pith_shape_text(a.dim, a.rank, text[0]), s->side[i].path,
                     pith_shape_text(b.dim, b.rank, text[1]));
            break;
        }
}
