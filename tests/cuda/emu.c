/* SPDX-License-Identifier: MIT */
/* emu.c - runs kernels as a GPU may: lanes of a block in any order, up to where they wait for one
 * another. Threads run one after the other on one fiber until one waits; the next ones then go on
 * on another. So kernels without barriers cost a call a thread.
 *
 * Shared memory is NaN before each block. Behind a barrier of all blocks, as far as which one after
 * the other goes, what the kernel declares is another block's, and the launch's is the block's own.
 * Refused, with the kernel and its line: a barrier or shuffle
 * that some lane has left or meets elsewhere, one of all blocks that some block has left, a shuffle
 * across the end of a warp, lanes that wait for ever.
 *
 * EMU_LAUNCHED=FILE in the environment: which kernels ran, and in which orders, is added to FILE.
 */
#include <stdbool.h>
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "emu.h"
#include "emu_launch.h"
#include "guard_page.h"
#include "half_values.h"
#if !defined(__x86_64__) || defined(__SANITIZE_ADDRESS__)
#include <ucontext.h>
#define EMU_UCONTEXT
#endif

#define WARP 32u
#define STACK_BYTES 65536u
#define ORDERS_NOTED 8

enum state { NOT_STARTED, READY, IN_SHUFFLE, IN_BARRIER, IN_GRID, EXITED };

struct fiber {
#ifdef EMU_UCONTEXT
    ucontext_t context;
#else
    void *stack_pointer;
#endif
    char *stack;
    struct fiber *next_free;
};

struct lane {
    enum state state;
    int line;
    uint64_t value;
    struct fiber *fiber;
};

struct emu_place emu_now;
#define MOST_THREADS 1024u
float *emu_launch_shared;
static uint32_t n_threads;           /* of the block */
static uint32_t n_blocks, n_arrived; /* at a barrier of all */
static struct lane lane[MOST_THREADS];
static uint32_t turn[MOST_THREADS], next_turn;
static struct fiber home, *running, *free_fibers;
static void (*body)(const void *arg);
static const void *body_arg;
static uint32_t body_kernel, body_order;

#define DECLARE(name, type) void emu_kernel_##name(const void *arg);
DEVICE_KERNELS(DECLARE)
#define ROW(name, type) {#name, sizeof(struct type), emu_kernel_##name},
static const struct {
    const char *name;
    uint32_t arg_bytes;
    void (*run)(const void *arg);
} kernels[LAUNCH_KERNELS] = {DEVICE_KERNELS(ROW)};

uint32_t emu_arg_bytes(uint32_t kernel)
{
    return kernels[kernel].arg_bytes;
}

const char *emu_kernel_name(uint32_t kernel)
{
    return kernels[kernel].name;
}

static __attribute__((noreturn)) void refuse(const char *why, int line)
{
    fprintf(stderr, "emu: kernel %s, line %d, block %u %u %u, thread %u: %s\n",
            kernels[body_kernel].name, line, emu_now.x, emu_now.y, emu_now.z, emu_now.thread, why);
    abort();
}

/* ---- fibers --------------------------------------------------------------------------------- */

static void run_threads(void);

#ifdef EMU_UCONTEXT
static void switch_to(struct fiber *from, struct fiber *to)
{
    running = to;
    swapcontext(&from->context, &to->context);
}

static void begin_fiber(struct fiber *f)
{
    getcontext(&f->context);
    f->context.uc_stack.ss_sp = f->stack;
    f->context.uc_stack.ss_size = STACK_BYTES;
    f->context.uc_link = NULL;
    makecontext(&f->context, run_threads, 0);
}
#else
void emu_switch(void **save, void *to);
__asm__(".text\n.globl emu_switch\n.hidden emu_switch\n.type emu_switch, @function\nemu_switch:\n"
        "push %rbp\npush %rbx\npush %r12\npush %r13\npush %r14\npush %r15\n"
        "mov %rsp, (%rdi)\nmov %rsi, %rsp\n"
        "pop %r15\npop %r14\npop %r13\npop %r12\npop %rbx\npop %rbp\nret\n"
        ".size emu_switch, . - emu_switch\n");

static void switch_to(struct fiber *from, struct fiber *to)
{
    running = to;
    emu_switch(&from->stack_pointer, to->stack_pointer);
}

/* As if emu_switch had been called at the first instruction of run_threads. */
static void begin_fiber(struct fiber *f)
{
    void **top = (void **)(void *)(f->stack + STACK_BYTES);
    memset(top - 8, 0, 8 * sizeof *top);
    void (*entry)(void) = run_threads;
    memcpy(top - 2, &entry, sizeof entry);
    f->stack_pointer = top - 8;
}
#endif

static struct fiber *take_fiber(void)
{
    struct fiber *f = free_fibers;
    if (f) {
        free_fibers = f->next_free;
        return f;
    }
    f = calloc(1, sizeof *f);
    f->stack = aligned_alloc(64, STACK_BYTES);
    begin_fiber(f);
    return f;
}

/* Takes thread after thread; back to the launch when none is left, to be taken again. */
static void run_threads(void)
{
    for (;;) {
        while (next_turn < n_threads) {
            uint32_t thread = turn[next_turn++];
            lane[thread].fiber = running;
            emu_now.thread = thread;
            body(body_arg);
            lane[emu_now.thread].state = EXITED;
        }
        struct fiber *self = running;
        self->next_free = free_fibers;
        free_fibers = self;
        switch_to(self, &home);
    }
}

static void wait_here(struct lane *me, enum state state)
{
    uint32_t thread = emu_now.thread;
    me->state = state;
    switch_to(me->fiber, &home);
    emu_now.thread = thread;
}

/* ---- what lanes wait for -------------------------------------------------------------------- */

void emu_barrier(int line)
{
    lane[emu_now.thread].line = line;
    wait_here(&lane[emu_now.thread], IN_BARRIER);
}

void emu_grid_barrier(int line, uint32_t *arrived)
{
    if (emu_now.thread == 0 && ++n_arrived == n_blocks) {
        n_arrived = 0;
        arrived[1]++;
    }
    lane[emu_now.thread].line = line;
    wait_here(&lane[emu_now.thread], IN_GRID);
}

static void exchange(struct lane *warp, uint32_t lanes)
{
    uint64_t v[WARP];
    for (uint32_t i = 0; i < WARP; i++)
        v[i] = warp[i].value;
    for (uint32_t i = 0; i < WARP; i++) {
        warp[i].value = v[i ^ lanes];
        warp[i].state = READY;
    }
}

/* Whether the lane is the last of its warp to come to a meeting of all. */
static bool is_last(int line, uint32_t thread)
{
    struct lane *me = &lane[thread], *warp = &lane[thread / WARP * WARP];
    bool last = true;
    me->line = line;
    me->state = IN_SHUFFLE;
    for (uint32_t i = 0; i < WARP; i++) {
        if (warp[i].state == EXITED)
            refuse("a shuffle with a lane that has left", line);
        if (warp[i].state == IN_BARRIER)
            refuse("a shuffle with a lane that waits at a barrier", line);
        if (warp[i].state == IN_SHUFFLE && warp[i].line != line)
            refuse("lanes of a warp shuffle at different lines", line);
        last = last && warp[i].state == IN_SHUFFLE;
    }
    return last;
}

uint64_t emu_shuffle(int line, uint64_t v, uint32_t lanes)
{
    struct lane *me = &lane[emu_now.thread], *warp = &lane[emu_now.thread / WARP * WARP];
    if (lanes >= WARP)
        refuse("a shuffle reaches beyond the warp", line);
    me->value = v;
    if (is_last(line, emu_now.thread))
        exchange(warp, lanes);
    else
        wait_here(me, IN_SHUFFLE);
    return me->value;
}

/* What lanes show of a product. */
static struct {
    void *sum;
    const void *a, *b;
    bool is_bf16;
} shown[MOST_THREADS];

typedef void multiply_fn(uint32_t first);

static void multiply_i8(uint32_t first)
{
    int8_t a[16][32], b[8][32];
    for (uint32_t i = 0; i < WARP; i++) {
        const int32_t *of_a = shown[first + i].a, *of_b = shown[first + i].b;
        for (uint32_t k = 0; k < 4; k++)
            memcpy(&a[i / 4 + k % 2 * 8][i % 4 * 4 + k / 2 * 16], &of_a[k], 4);
        for (uint32_t k = 0; k < 2; k++)
            memcpy(&b[i / 4][i % 4 * 4 + k * 16], &of_b[k], 4);
        lane[first + i].state = READY;
    }
    for (uint32_t i = 0; i < WARP; i++)
        for (uint32_t k = 0; k < 4; k++) {
            const int8_t *row = a[i / 4 + k / 2 * 8], *column = b[i % 4 * 2 + k % 2];
            int32_t sum = 0;
            for (uint32_t term = 0; term < 32; term++)
                sum += row[term] * column[term];
            int32_t *to = (int32_t *)shown[first + i].sum + k;
            *to = (int32_t)((uint32_t)*to + (uint32_t)sum);
        }
}

/* Towards zero. */
static float cut_off(double v)
{
    float f = (float)v;
    return f32_from_bits(f32_bits(f) - (fabs((double)f) > fabs(v) && fabsf(f) <= FLT_MAX));
}

/* Sums of a row: every column takes one term after the other. */
static void add_row(float sum[8], const float row[16], float (*column)[8])
{
    for (uint32_t k = 0; k < 16; k++)
        for (uint32_t j = 0; j < 8; j++)
            sum[j] =
                body_order == 0
                    ? fmaf(row[k], column[k][j], sum[j])
                    : cut_off((double)row[15 - k] * (double)column[15 - k][j] + (double)sum[j]);
}

static void multiply_half(uint32_t first)
{
    float a[16][16], b[16][8], sum[16][8];
    const float *half = half_values(shown[first].is_bf16);
    for (uint32_t i = 0; i < WARP; i++) {
        uint16_t of_a[8], of_b[4];
        memcpy(of_a, shown[first + i].a, sizeof of_a);
        memcpy(of_b, shown[first + i].b, sizeof of_b);
        for (uint32_t k = 0; k < 8; k++)
            a[i / 4 + k / 2 % 2 * 8][i % 4 * 2 + k % 2 + k / 4 * 8] = half[of_a[k]];
        for (uint32_t k = 0; k < 4; k++)
            b[i % 4 * 2 + k % 2 + k / 2 * 8][i / 4] = half[of_b[k]];
        for (uint32_t k = 0; k < 4; k++)
            sum[i / 4 + k / 2 * 8][i % 4 * 2 + k % 2] = ((float *)shown[first + i].sum)[k];
        lane[first + i].state = READY;
    }
    for (uint32_t row = 0; row < 16; row++)
        add_row(sum[row], a[row], b);
    for (uint32_t i = 0; i < WARP; i++)
        for (uint32_t k = 0; k < 4; k++)
            ((float *)shown[first + i].sum)[k] = sum[i / 4 + k / 2 * 8][i % 4 * 2 + k % 2];
}

/* The last lane multiplies for all. */
static void meet(int line, uint32_t thread, multiply_fn *multiply)
{
    if (is_last(line, thread))
        multiply(thread / WARP * WARP);
    else
        wait_here(&lane[thread], IN_SHUFFLE);
}

void emu_mma_i8(int line, int32_t sum[4], const int32_t a[4], const int32_t b[2])
{
    const uint32_t thread = emu_now.thread;
    shown[thread].sum = sum;
    shown[thread].a = a;
    shown[thread].b = b;
    meet(line, thread, multiply_i8);
}

void emu_mma_half(int line, float sum[4], const uint32_t a[4], const uint32_t b[2], bool is_bf16)
{
    const uint32_t thread = emu_now.thread;
    shown[thread].sum = sum;
    shown[thread].a = a;
    shown[thread].b = b;
    shown[thread].is_bf16 = is_bf16;
    meet(line, thread, multiply_half);
}

static void open_barrier(uint32_t exited)
{
    if (exited)
        refuse("a barrier that some thread has passed by", 0);
    for (uint32_t i = 0; i < n_threads; i++) {
        if (lane[i].line != lane[0].line)
            refuse("threads wait at different barriers", lane[i].line);
        lane[i].state = READY;
    }
}

/* ---- a launch ------------------------------------------------------------------------------- */

static uint32_t shuffled(uint32_t *seed, uint32_t n)
{
    *seed = *seed * 1664525u + 1013904223u;
    return (*seed >> 8) % n;
}

static void set_turns(uint32_t order, uint32_t *seed)
{
    const uint32_t n = n_threads;
    for (uint32_t i = 0; i < n; i++)
        turn[i] = order == 1 ? n - 1 - i : i;
    for (uint32_t i = n; order > 1 && i-- > 1;) {
        uint32_t k = shuffled(seed, i + 1), t = turn[i];
        turn[i] = turn[k];
        turn[k] = t;
    }
}

/* The emulator's kernels may have no shared memory at all. */
extern char __start_emu_shared[] __attribute__((weak)), __stop_emu_shared[] __attribute__((weak));

/* In order 1 a warp goes on as far as it can before the next one does. */
static bool resume_ready(void)
{
    bool any = false;
    for (uint32_t i = 0; i < n_threads; i++)
        if (lane[turn[i]].state == READY) {
            any = true;
            emu_now.thread = turn[i];
            switch_to(&home, lane[turn[i]].fiber);
            if (body_order == 1)
                i = i / WARP * WARP - 1;
        }
    return any;
}

static void forget_shared(void)
{
    memset(emu_launch_shared, 0xff, launch_block_of(body_kernel, body_arg).shared);
    if (__start_emu_shared)
        memset(__start_emu_shared, 0xff, (size_t)(__stop_emu_shared - __start_emu_shared));
}

/* As far as the block goes by itself; whether it has ended, and does not wait for all others. */
static bool run_block(void)
{
    while (next_turn < n_threads)
        switch_to(&home, take_fiber());
    for (;;) {
        uint32_t exited = 0, waiting = 0, in_grid = 0;
        bool moved = resume_ready();
        for (uint32_t i = 0; i < n_threads; i++) {
            exited += lane[i].state == EXITED;
            waiting += lane[i].state == IN_BARRIER;
            in_grid += lane[i].state == IN_GRID;
        }
        if (exited == n_threads || in_grid == n_threads)
            return exited == n_threads;
        if (waiting + exited == n_threads)
            open_barrier(exited);
        else if (!moved)
            refuse("lanes wait for ever", lane[0].line);
    }
}

/* The first time that a kernel runs in an order: a line of both. */
static void note_launch(uint32_t kernel, uint32_t order)
{
    static uint32_t orders[LAUNCH_KERNELS][ORDERS_NOTED], n_orders[LAUNCH_KERNELS];
    const char *path = getenv("EMU_LAUNCHED");
    for (uint32_t i = 0; i < n_orders[kernel]; i++)
        if (orders[kernel][i] == order)
            return;
    if (!path || n_orders[kernel] == ORDERS_NOTED)
        return;
    orders[kernel][n_orders[kernel]++] = order;
    FILE *f = fopen(path, "a");
    if (!f || fprintf(f, "%s %u\n", kernels[kernel].name, order) < 0 || fclose(f) != 0)
        abort();
}

/* held: its lanes, where it has waited for the others. */
static void begin_or_resume(const struct lane *held)
{
    if (held)
        memcpy(lane, held, sizeof lane);
    else
        memset(lane, 0, sizeof lane);
    next_turn = held ? n_threads : 0;
    for (uint32_t i = 0; i < n_threads && held; i++)
        lane[i].state = READY;
}

void emu_launch(uint32_t kernel, const uint32_t grid[3], const void *arg, uint32_t order)
{
    uint32_t n = grid[0] * grid[1] * grid[2], seed = order;
    body = kernels[kernel].run;
    body_arg = arg;
    body_kernel = kernel;
    body_order = order;
    note_launch(kernel, order);
    const struct launch_block block_of = launch_block_of(kernel, arg);
    const uint32_t areas = kernel == LAUNCH_program ? n : 1;
    struct guarded *shared = malloc(areas * sizeof *shared);
    for (uint32_t i = 0; i < areas; i++)
        shared[i] = guard_new((block_of.shared + 15u) & ~(size_t)15, 1); /* begins at 16 bytes */
    n_threads = block_of.threads;
    n_blocks = n;
    n_arrived = 0;
    struct lane(*waiting)[MOST_THREADS] = NULL; /* at a barrier of all blocks */
    for (uint32_t ended = 0, round = 0; ended < n; round++) {
        if (ended)
            refuse("a barrier of all blocks that some block has passed by", 0);
        for (uint32_t i = 0; i < n; i++) {
            const uint32_t block = order == 1 ? n - 1 - i : i;
            emu_now.x = block % grid[0];
            emu_now.y = block / grid[0] % grid[1];
            emu_now.z = block / grid[0] / grid[1];
            emu_now.blocks_x = grid[0];
            emu_launch_shared = shared[block % areas].data;
            set_turns(order, &seed);
            if (!round)
                forget_shared();
            begin_or_resume(round ? waiting[block] : NULL);
            if (run_block()) {
                ended++;
                continue;
            }
            waiting = waiting ? waiting : calloc(n, sizeof *waiting);
            memcpy(waiting[block], lane, sizeof lane);
        }
    }
    free(waiting);
    for (uint32_t i = 0; i < areas; i++)
        guard_free(&shared[i]);
    free(shared);
}
