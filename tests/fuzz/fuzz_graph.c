/* SPDX-License-Identifier: MIT */
/* fuzz_graph.c - graphs that grow from bytes (grown_graph.h) through import, pack and run.
 *
 * The runtime is the oracle of itself: the reference kernels without fusion against the best
 * kernels of this CPU with it, on 1 and on several ranges of work. A graph that was not damaged
 * must import. A damaged one may be refused, by a message that begins with the file's name; what is
 * accepted must run. Written as ONNX and read back it computes the same. Every second sound graph
 * is quantized, on ranges of the inputs it is run with: what comes out must pack, run and be
 * written, too. */
#include <math.h>
#include "grown_graph.h"
#include "pith_pack.h"
#include "onnx/onnx_read.h"
#include "pith_calibrate.h"
#include "pith_host.h"
#include "pith_onnx.h"
#include "pith_quantize.h"

#define MAX_BYTES (64u << 20)
#define MAX_PLAN_BYTES (4u << 20)
#define MAX_WORK 1e7

static void must_at(bool holds, int line)
{
    if (holds)
        return;
    fprintf(stderr, "fuzz_graph.c, line %d\n", line);
    abort();
}
#define must(holds) must_at(holds, __LINE__)

static void in_reverse(void *user, uint32_t n, void (*body)(void *arg, uint32_t i), void *arg)
{
    (void)user;
    for (uint32_t i = n; i > 0; i--)
        body(arg, i - 1);
}

/* Multiples of 1/4 from -4 to 4. */
static void fill_inputs(struct pith_plan *plan)
{
    struct pith_tensor t;
    for (uint32_t k = 0; k < pith_plan_input_count(plan); k++) {
        must(pith_plan_input(plan, k, &t) == PITH_OK);
        float *x = pith_plan_input_data(plan, k);
        memset(x, 0, (size_t)t.bytes);
        for (uint64_t i = 0; t.type == PITH_F32 && i < t.bytes / sizeof *x; i++)
            x[i] = (float)((i * 37 + k * 11) % 33) / 4.0f - 4.0f;
    }
}

static bool cheap(const struct pith_plan *plan)
{
    struct pith_layer layer;
    double work = 0;
    for (uint32_t i = 0; pith_plan_layer(plan, i, &layer) == PITH_OK; i++)
        work += (double)layer.macs + 1000.0;
    return work < MAX_WORK;
}

/* The plan's memory (malloc'ed), run once; NULL: too large or too slow to be tried. */
static void *run(const struct pith_buffer *file, const struct pith_opts *opts,
                 struct pith_plan **plan)
{
    struct pith_need need;
    enum pith_status status = pith_plan_size(file->data, file->bytes, opts, &need);
    must(status == PITH_OK || status == PITH_ERR_LIMIT);
    if (status)
        return NULL;
    void *mem = aligned_alloc((size_t)need.align, (size_t)((need.bytes + 63) & ~UINT64_C(63)));
    must(mem != NULL);
    must(pith_plan_init(mem, (size_t)need.bytes, file->data, file->bytes, opts, plan) == PITH_OK);
    if (!cheap(*plan)) {
        free(mem);
        return NULL;
    }
    fill_inputs(*plan);
    must(pith_plan_run(*plan) == PITH_OK);
    return mem;
}

static void compare_output(const struct pith_plan *a, const struct pith_plan *b, uint32_t i,
                           double largest)
{
    struct pith_tensor x, y;
    must(pith_plan_output(a, i, &x) == PITH_OK && pith_plan_output(b, i, &y) == PITH_OK);
    must(x.type == y.type && x.bytes == y.bytes && x.rank == y.rank);
    if (x.type != PITH_F32) {
        must(memcmp(x.data, y.data, (size_t)x.bytes) == 0);
        return;
    }
    const float *p = x.data, *q = y.data;
    for (uint64_t k = 0; k < x.bytes / sizeof *p; k++)
        must((double)fabsf(p[k] - q[k]) <= 1e-4 * (1 + largest));
}

/* False: it could not be run both ways within the limits. */
static bool run_both_ways(const struct pith_buffer *file, bool compare, double largest)
{
    struct pith_plan *reference, *best;
    struct pith_opts opts = {.size_bytes = sizeof opts,
                             .max_bytes = MAX_PLAN_BYTES,
                             .cpu_mask = PITH_CPU_REF,
                             .flags = PITH_FLAG_NO_FUSION};
    void *a = run(file, &opts, &reference);
    opts.cpu_mask = 0;
    opts.flags = 0;
    opts.parallel_for = in_reverse;
    void *b = run(file, &opts, &best);
    if (a && b && compare)
        for (uint32_t i = 0; i < pith_plan_output_count(best); i++)
            compare_output(reference, best, i, largest);
    bool ran = a && b;
    free(a);
    free(b);
    return ran;
}

/* ---- written as ONNX ------------------------------------------------------------------------- */

static void compare_files(const struct pith_buffer *x, const struct pith_buffer *y, bool compare,
                          double largest)
{
    struct pith_plan *p, *q;
    struct pith_opts opts = {.size_bytes = sizeof opts, .max_bytes = MAX_PLAN_BYTES};
    void *a = run(x, &opts, &p), *b = run(y, &opts, &q);
    if (a && b) {
        must(pith_plan_output_count(p) == pith_plan_output_count(q));
        for (uint32_t i = 0; i < pith_plan_output_count(p) && compare; i++)
            compare_output(p, q, i, largest);
    }
    free(a);
    free(b);
}

static void write_and_read(const struct pith_model *m, const struct pith_buffer *file, bool compare,
                           double largest)
{
    struct pith_error err = {0};
    struct pith_buffer onnx, back_file;
    struct pith_model *back = NULL;
    enum pith_status status = pith_model_write_onnx(m, &onnx, &err);
    must(status == PITH_OK || (status == PITH_ERR_UNSUPPORTED && err.text[0]));
    if (status)
        return;
    status = pith_onnx_read(onnx.data, onnx.bytes, "back.onnx", NULL, &back, &err);
    if (status)
        fprintf(stderr, "%s\n", err.text);
    must(status == PITH_OK);
    must(pith_model_pack(back, NULL, &back_file, &err) == PITH_OK);
    compare_files(file, &back_file, compare, largest);
    pith_buffer_free(&back_file);
    pith_buffer_free(&onnx);
    pith_model_free(back);
}

/* ---- quantized ------------------------------------------------------------------------------- */

/* By the extremes: a search of ranges takes most of a run's time, and has its own tests. */
static enum pith_status see_ranges(struct pith_model *m, struct pith_error *err)
{
    static float x[GROW_ELEMS];
    struct pith_feed_input in[4];
    const struct pith_feed feed = {.size_bytes = sizeof feed, .n_inputs = m->n_inputs, .input = in};
    const struct pith_calibrate_opts see = {.size_bytes = sizeof see, .feed = &feed};
    const struct pith_range_opts choose = {.size_bytes = sizeof choose, .method = PITH_RANGE_MAX};
    must(m->n_inputs <= sizeof in / sizeof *in);
    for (uint32_t i = 0; i < GROW_ELEMS; i++)
        x[i] = (float)(i * 37 % 33) / 4.0f - 4.0f;
    for (uint32_t i = 0; i < m->n_inputs; i++)
        in[i] = (struct pith_feed_input){.constant = x};
    enum pith_status status = pith_calibrate(m, &see, NULL, err);
    return status ? status : pith_choose_grids(m, &choose, NULL, err);
}

/* What values are rounded to depends on the last bits of floats before, so kernels are not
 * compared. */
static void quantize(struct pith_model *m)
{
    static const uint32_t bits[] = {8, 4, 2, 3};
    struct pith_error err = {0};
    struct pith_buffer file;
    const struct pith_quantize_opts opts = {.size_bytes = sizeof opts,
                                            .weight_bits = bits[m->n_nodes % 4],
                                            .fixed_bits = m->n_nodes / 4 % 3 ? 0 : 8};
    enum pith_status status = see_ranges(m, &err);
    if (!status)
        status = pith_quantize(m, &opts, NULL, NULL, &err);
    must(!status ||
         ((status == PITH_ERR_UNSUPPORTED || status == PITH_ERR_ARGUMENT) && err.text[0]));
    if (status)
        return;
    must(pith_model_pack(m, NULL, &file, &err) == PITH_OK);
    run_both_ways(&file, false, 0);
    write_and_read(m, &file, false, 0);
    pith_buffer_free(&file);
}

static void check_accepted(struct pith_model *m, bool sound, bool quantized, double largest)
{
    struct pith_error err;
    struct pith_buffer file;
    must(pith_model_pack(m, NULL, &file, &err) == PITH_OK);
    bool ran = run_both_ways(&file, sound, largest);
    if (ran)
        write_and_read(m, &file, sound, largest);
    pith_buffer_free(&file);
    if (ran && sound && quantized)
        quantize(m);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    struct grower g = {.at = bytes, .end = bytes + n};
    g.damage = (int)roll(&g, 8) - 3;
    g.damage = g.damage < 0 ? 0 : g.damage;
    int planned = g.damage;
    struct proto file = grow_model(&g);
    bool sound = g.damage == planned;
    struct pith_import_opts opts = {.size_bytes = sizeof opts, .max_bytes = MAX_BYTES};
    struct pith_error err = {0};
    struct pith_model *m = NULL;
    enum pith_status status = pith_onnx_read(file.data, file.n, "grown.onnx", &opts, &m, &err);
    if (status == PITH_OK) {
        check_accepted(m, sound, n % 2, g.largest);
        pith_model_free(m);
    } else {
        if (sound)
            fprintf(stderr, "%s\n", err.text);
        must(!sound && strncmp(err.text, "grown.onnx: ", 12) == 0 && err.text[12] != 0);
    }
    free(file.data);
    return 0;
}
