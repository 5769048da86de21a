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
    if (d->n == d->room) {
        uint32_t room = d->room ? 2 * d->room : 64;
        struct action *more = realloc(d->action, room * sizeof *more);
        if (!more)
            return DRIVER_NO_MEMORY;
        d->action = more;
        d->room = room;
    }
    d->action[d->n++] = *a;
    return 0;
}

union program_arg {
    uint32_t words[PROGRAM_WORDS];
    struct spmv_args spmv;
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
    *s = (struct program_step){.kernel = PROGRAM_MOVE, .grid = {1, 1, 1}};
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

bool pith_device_program_table(const struct lowering *l, const struct action *action, uint32_t n,
                               uint32_t blocks, uint8_t *to, device_address memory,
                               struct program_table *t)
{
    uint64_t at = PROGRAM_STEPS + n * sizeof(struct program_step);
    *t = (struct program_table){0};
    for (uint32_t i = 0; i < n; i++) {
        struct program_step s;
        union program_arg arg;
        if (!step_of(l, &action[i], &s, &arg))
            return false;
        const uint64_t grid = (uint64_t)s.grid[0] * s.grid[1] * s.grid[2];
        const uint32_t shared =
            s.kernel == PROGRAM_MOVE ? 0 : launch_block_of(s.kernel, &arg).shared;
        t->shared = shared > t->shared ? shared : t->shared;
        t->blocks = grid > t->blocks ? grid < UINT32_MAX ? (uint32_t)grid : UINT32_MAX : t->blocks;
        /* rows take turns there, as each block copies x first */
        if (s.kernel == LAUNCH_spmv_relative && s.grid[0] > blocks)
            s.grid[0] = blocks;
        s.arg = (const uint32_t *)(uintptr_t)(memory + at);
        if (to) {
            memcpy(to + PROGRAM_STEPS + i * sizeof s, &s, sizeof s);
            memcpy(to + at, arg.words, s.words * 4u);
        }
        at += (s.words * 4u + 15u) & ~15u;
    }
    t->bytes = at;
    return true;
}

/* Blocks that are on the device at once, with so much shared memory; 0: none. */
static uint32_t blocks_at_once(struct pith_cuda *c, uint32_t shared)
{
    void *const kernel = c->kernel[LAUNCH_program];
    int each = 0, result = 0;
    if (shared > c->program_shared) { /* less would take it from programs that there are */
        result = c->cuFuncSetAttribute(kernel, DRIVER_LAUNCH_SHARED_MOST, (int)shared);
        c->program_shared = result ? c->program_shared : shared;
    }
    if (!result)
        result =
            c->cuOccupancyMaxActiveBlocksPerMultiprocessor(&each, kernel, LAUNCH_THREADS, shared);
    return result || each < 0 ? 0 : (uint32_t)each * c->processors;
}

/* A result of the driver. */
static int copy_table(struct pith_cuda_plan *p, const struct program_table *t)
{
    const struct pith_cuda *c = p->cuda;
    struct device_program *d = &p->program;
    struct program_table same;
    uint8_t *table = calloc(1, t->bytes);
    int result = table ? c->cuMemAlloc_v2(&d->memory, t->bytes) : DRIVER_NO_MEMORY;
    if (!result) {
        pith_device_program_table(&p->lowering, d->action, d->n, d->blocks, table, d->memory,
                                  &same);
        result = c->cuMemcpyHtoDAsync_v2(d->memory, table, t->bytes, p->stream);
    }
    result = result ? result : c->cuStreamSynchronize(p->stream);
    free(table);
    return result;
}

static enum pith_status put_program(struct pith_cuda_plan *p, struct pith_error *err)
{
    const struct device_program *d = &p->program;
    const uint32_t grid[3] = {d->blocks, 1, 1};
    const struct program_args arg = {.step = (const void *)(uintptr_t)(d->memory + PROGRAM_STEPS),
                                     .arrived = (void *)(uintptr_t)d->memory,
                                     .n = d->n,
                                     .shared = d->shared};
    return pith_driver_status(p->cuda,
                              pith_driver_launch(p->cuda, LAUNCH_program, grid, &arg, p->stream),
                              "cannot run the model in one launch", err);
}

struct timed_graph {
    const struct pith_cuda_plan *p;
    void *graph;
};

static int put_graph(void *work, uint32_t number)
{
    const struct timed_graph *t = work;
    (void)number;
    return t->p->cuda->cuGraphLaunch(t->graph, t->p->stream);
}

static enum pith_status timed(struct pith_cuda_plan *p, void *one, struct pith_error *err)
{
    struct device_program *d = &p->program;
    struct timed_graph kept = {p, p->graph}, other = {p, one};
    int result = pith_driver_time(p->cuda, p->stream, put_graph, &kept, RUNS, &d->graph_ns);
    if (!result && d->graph_ns / LAUNCH_NS < d->n)
        result = pith_driver_time(p->cuda, p->stream, put_graph, &other, RUNS, &d->program_ns);
    return pith_driver_status(p->cuda, result, "the device failed", err);
}

/* Whatever cannot be had for it: false. */
static bool make_program(struct pith_cuda_plan *p, struct program_table *t, void **one)
{
    struct device_program *d = &p->program;
    if (!p->cuda->cooperative || p->plan->opts.clock_ns || d->n < 2 ||
        !pith_device_program_table(&p->lowering, d->action, d->n, 1, NULL, 0, t))
        return false;
    d->shared = t->shared;
    d->blocks = blocks_at_once(p->cuda, t->shared);
    d->blocks = t->blocks < d->blocks ? t->blocks : d->blocks;
    return d->blocks && !copy_table(p, t) && !pith_device_capture(p, put_program, one, NULL);
}

/* The walk has been recorded. A program that is not kept gives its memory back. */
enum pith_status pith_device_one_launch(struct pith_cuda_plan *p, struct pith_error *err)
{
    struct device_program *d = &p->program;
    struct program_table t;
    void *one = NULL;
    enum pith_status st = make_program(p, &t, &one) ? timed(p, one, err) : PITH_OK;
    if (!st && d->program_ns && d->program_ns < d->graph_ns) {
        void *other = p->graph;
        p->graph = one;
        p->launches = 1;
        p->device_bytes += t.bytes;
        one = other;
    } else if (d->memory) {
        p->cuda->cuMemFree_v2(d->memory);
        d->memory = 0;
    }
    if (one)
        p->cuda->cuGraphExecDestroy(one);
    return st;
}
