/* SPDX-License-Identifier: MIT */
/* device_program.c - a run as one launch (kernels/program.cu), where each of its launches has a
 * place in that, and blocks of a launch may wait for one another. It is kept where it takes less
 * time than the graph of the launches; results are the same. */
#include <stdlib.h>
#include "device_plan.h"

#define RUNS 3u /* that are timed of either, of which the shortest counts */
/* What a launch takes at most, and more: where a run's launches take longer, each has work that is
 * worth it. */
#define LAUNCH_NS 10000u

/* 0: it has no place. */
#define WORDS(name, type) [LAUNCH_##name] = sizeof(struct type) / 4,
static const uint32_t words_of[LAUNCH_KERNELS] = {PROGRAM_KERNELS(WORDS)};
#define FITS(name, type)                                                                           \
    _Static_assert(sizeof(struct type) % 4 == 0 && sizeof(struct type) <= PROGRAM_WORDS * 4, #name);
PROGRAM_KERNELS(FITS)

int pith_device_record(struct device_program *d, const struct action *a)
{
    bool no_memory = false;
    if (pith_device_grow(&no_memory, &d->action, d->n, &d->room, 1, sizeof *a))
        d->action[d->n++] = *a;
    return no_memory ? DRIVER_NO_MEMORY : 0;
}

union program_arg {
    uint32_t words[PROGRAM_WORDS];
    struct gemm_args gemm; /* the first of half, too */
    struct spmv_args spmv;
    struct gemv_i8_args i8;
    struct conv_args conv;
    struct program_move move;
};

/* An action as a step, but for the address of its struct; false: it has no place. A row of a sparse
 * weight has a warp, of however many there are in a block. Threads have one output of a pool or a
 * direct convolution each, so that less is compiled into the program: where they had several, a
 * launch has work enough to stay one. */
static bool step_of(const struct lowering *l, const struct action *a, struct program_step *s,
                    union program_arg *arg)
{
    *s = (struct program_step){.kernel = PROGRAM_MOVE, .grid = {1, 1, 1}, .kept = PROGRAM_KEPT};
    if (a->kind == ACTION_COPY || a->kind == ACTION_FILL) {
        const uint64_t blocks = (a->bytes / 4 + LAUNCH_THREADS - 1) / LAUNCH_THREADS;
        arg->move = (struct program_move){.to = (void *)(uintptr_t)a->to,
                                          .from = (const void *)(uintptr_t)a->from,
                                          .bytes = a->bytes,
                                          .value = a->value};
        s->words = sizeof arg->move / 4;
        s->grid[0] = blocks < 1 ? 1 : blocks < 1024 ? (uint32_t)blocks : 1024;
        return true;
    }
    s->kernel = a->kernel == LAUNCH_pool_small ? LAUNCH_pool : a->kernel;
    if (a->kind != ACTION_LAUNCH || !words_of[s->kernel])
        return false;
    s->words = words_of[s->kernel];
    memcpy(s->grid, a->grid, sizeof s->grid);
    memcpy(arg->words, l->args + a->arg, s->words * 4u);
    if (a->kernel == LAUNCH_conv_direct_f32)
        arg->conv.each = 1;
    if (a->kernel == LAUNCH_spmv_relative) {
        arg->spmv.books = arg->spmv.books > 1 ? GEMV_ROWS : 1;
        arg->spmv.warps = GEMV_ROWS;
        s->grid[0] = (arg->spmv.g.n + GEMV_ROWS - 1) / GEMV_ROWS;
    }
    return launch_block_of(s->kernel, arg).threads == LAUNCH_THREADS;
}

/* The constant that the step reads, with one row of a; false: none that can be kept. */
static bool weight_of(const struct lowering *l, const union program_arg *arg,
                      struct program_step *s, struct program_kept *k)
{
    const bool is_i8 = s->kernel == LAUNCH_gemv_codes_i8;
    const struct gemm_args *g = is_i8 ? &arg->i8.g.s : &arg->gemm;
    size_t at = offsetof(struct gemm_args, b), row = sizeof(float) * g->b_col;
    if (is_i8) {
        at = offsetof(struct gemv_i8_args, w.word);
        row = (size_t)arg->i8.w.steps * CODES_STEP_WORDS * 4 >> arg->i8.log2_parts;
    } else if (s->kernel == LAUNCH_gemv_half) {
        at = offsetof(struct gemm_half_args, w);
        row /= 2;
    } else if (s->kernel != LAUNCH_gemv_f32) {
        return false;
    }
    memcpy(&k->from, (const uint8_t *)arg->words + at, sizeof k->from);
    s->weight = (uint32_t)at / 4;
    k->bytes = l->constant_bytes - ((uintptr_t)k->from - l->constants);
    k->tiles = s->grid[0] * s->grid[1];
    k->tile = (uint32_t)(GEMV_ROWS * row);
    /* of b as [k, n] no row lies together */
    return g->m == 1 && s->grid[2] == 1 && row < UINT32_MAX / GEMV_ROWS &&
           (is_i8 || g->b_col >= g->k) && k->bytes - 1 < l->constant_bytes &&
           (uintptr_t)k->from % 16 == 0;
}

/* Keeps the step's weight, where it is kept already or has room. */
static void keep(struct program_table *t, struct program_step *s, const struct program_kept *k)
{
    const uint64_t bytes = ((uint64_t)k->tiles + t->blocks - 1) / t->blocks * k->tile;
    struct program_args *a = &t->args;
    uint32_t i = 0;
    while (i < a->n_kept && (a->kept[i].from != k->from || a->kept[i].tiles != k->tiles))
        i++;
    if (i == a->n_kept) {
        if (i == PROGRAM_KEPT || a->shared + bytes > t->room)
            return;
        a->kept[a->n_kept++] = *k;
        a->kept[i].at = a->shared;
        a->shared += (uint32_t)bytes;
    }
    s->kept = i;
}

bool pith_device_program_table(const struct lowering *l, const struct action *action, uint32_t n,
                               uint8_t *to, device_address memory, struct program_table *t)
{
    uint64_t at = PROGRAM_STEPS + n * sizeof(struct program_step);
    *t = (struct program_table){.blocks = t->blocks,
                                .room = t->room,
                                .args = {.step = (const void *)(uintptr_t)(memory + PROGRAM_STEPS),
                                         .arrived = (void *)(uintptr_t)memory,
                                         .n = n}};
    for (uint32_t i = 0; i < n; i++) {
        struct program_step s;
        struct program_kept k;
        union program_arg arg;
        if (!step_of(l, &action[i], &s, &arg))
            return false;
        const uint64_t grid = (uint64_t)s.grid[0] * s.grid[1] * s.grid[2];
        const uint32_t shared =
            s.kernel == PROGRAM_MOVE ? 0 : (launch_block_of(s.kernel, &arg).shared + 15u) & ~15u;
        t->args.kept_at = shared > t->args.kept_at ? shared : t->args.kept_at;
        t->tiles = grid > t->tiles ? grid < UINT32_MAX ? (uint32_t)grid : UINT32_MAX : t->tiles;
        if (t->room && weight_of(l, &arg, &s, &k))
            keep(t, &s, &k);
        /* rows take turns there, as each block copies x first */
        if (s.kernel == LAUNCH_spmv_relative && s.grid[0] > t->blocks)
            s.grid[0] = t->blocks;
        s.arg = (const uint32_t *)(uintptr_t)(memory + at);
        if (to) {
            memcpy(to + PROGRAM_STEPS + i * sizeof s, &s, sizeof s);
            memcpy(to + at, arg.words, s.words * 4u);
        }
        at += (s.words * 4u + 15u) & ~15u;
    }
    t->bytes = at;
    t->args.shared += t->args.kept_at;
    return true;
}

/* Blocks that are on the device at once, with so much shared memory; 0: none. */
static uint32_t blocks_at_once(const struct pith_cuda *c, uint32_t shared)
{
    int each = 0;
    const int result = c->cuOccupancyMaxActiveBlocksPerMultiprocessor(
        &each, c->kernel[LAUNCH_program], LAUNCH_THREADS, shared);
    return result || each < 0 ? 0 : (uint32_t)each * c->processors;
}

/* A result of the driver. */
static int copy_table(struct pith_cuda_plan *p)
{
    const struct pith_cuda *c = p->cuda;
    struct device_program *d = &p->program;
    uint8_t *table = calloc(1, d->table.bytes);
    int result = table ? c->cuMemAlloc_v2(&d->memory, d->table.bytes) : DRIVER_NO_MEMORY;
    if (!result) {
        pith_device_program_table(&p->lowering, d->action, d->n, table, d->memory, &d->table);
        result = c->cuMemcpyHtoDAsync_v2(d->memory, table, d->table.bytes, p->stream);
    }
    result = result ? result : c->cuStreamSynchronize(p->stream);
    free(table);
    return result;
}

static enum pith_status put_program(struct pith_cuda_plan *p, struct pith_error *err)
{
    const struct program_table *t = &p->program.table;
    const uint32_t grid[3] = {t->blocks, 1, 1};
    const int result = pith_driver_launch(p->cuda, LAUNCH_program, grid, &t->args, p->stream);
    return pith_driver_status(p->cuda, result, "cannot run the model in one launch", err);
}

static int put_graph(void *plan, uint32_t number)
{
    const struct pith_cuda_plan *p = plan;
    (void)number;
    return p->cuda->cuGraphLaunch(p->graph, p->stream);
}

/* Leaves the quicker one as the plan's graph, and the other in *one. */
static enum pith_status timed(struct pith_cuda_plan *p, void **one, struct pith_error *err)
{
    struct device_program *d = &p->program;
    void *const graph = p->graph, *const program = *one;
    int result = pith_driver_time(p->cuda, p->stream, put_graph, p, RUNS, &d->graph_ns);
    if (!result && d->graph_ns / LAUNCH_NS < d->n) {
        p->graph = program;
        result = pith_driver_time(p->cuda, p->stream, put_graph, p, RUNS, &d->program_ns);
    }
    const bool better = !result && d->program_ns && d->program_ns < d->graph_ns;
    p->graph = better ? program : graph;
    *one = better ? graph : program;
    return pith_driver_status(p->cuda, result, "the device failed", err);
}

/* Blocks of a multiprocessor share what it has of shared memory: with room for weights there are as
 * many as without. Whatever cannot be had for the program: false. */
static bool make_program(struct pith_cuda_plan *p, void **one)
{
    const struct pith_cuda *c = p->cuda;
    struct device_program *d = &p->program;
    struct program_table *t = &d->table;
    t->blocks = 1;
    if (!c->cooperative || p->plan->opts.clock_ns || d->n < 2 ||
        !pith_device_program_table(&p->lowering, d->action, d->n, NULL, 0, t))
        return false;
    const uint32_t most = blocks_at_once(p->cuda, t->args.shared);
    t->blocks = t->tiles < most ? t->tiles : most;
    const uint32_t each = t->blocks / c->processors + (t->blocks % c->processors != 0);
    const uint32_t used = PROGRAM_OWN + t->args.shared;
    t->room = each && c->shared_most / each > used ? c->shared_most / each - used : 0;
    return most && pith_device_program_table(&p->lowering, d->action, d->n, NULL, 0, t) &&
           blocks_at_once(p->cuda, t->args.shared) >= t->blocks && !copy_table(p) &&
           !pith_device_capture(p, put_program, one, NULL);
}

/* The walk has been recorded. A program that is not kept gives its memory back. */
enum pith_status pith_device_one_launch(struct pith_cuda_plan *p, struct pith_error *err)
{
    struct device_program *d = &p->program;
    void *one = NULL;
    void *const graph = p->graph;
    enum pith_status st = make_program(p, &one) ? timed(p, &one, err) : PITH_OK;
    if (p->graph != graph) {
        p->launches = 1;
        p->device_bytes += d->table.bytes;
    } else if (d->memory) {
        p->cuda->cuMemFree_v2(d->memory);
        d->memory = 0;
    }
    if (one)
        p->cuda->cuGraphExecDestroy(one);
    return st;
}
