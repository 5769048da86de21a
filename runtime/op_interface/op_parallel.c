/* SPDX-License-Identifier: MIT */
/* op_parallel.c - the one way operators use threads. */
#include "op_interface/op_exec.h"

/* One item, or no threads: the caller does it. Each body writes what no other one writes, so the
 * order of items does not matter. */
void pith_op_parallel(const struct op_env *env, uint32_t n, void (*body)(void *arg, uint32_t i),
                      void *arg)
{
    if (env->parallel_for && n > 1) {
        env->parallel_for(env->user, n, body, arg);
        return;
    }
    for (uint32_t i = 0; i < n; i++)
        body(arg, i);
}

struct lanes {
    op_lane_body *body;
    void *arg;
    uint32_t taken; /* a bit each */
};

/* Lanes are taken by atomic operations; where the processor has none, each body has its own. */
#if __GCC_ATOMIC_INT_LOCK_FREE == 2
uint32_t pith_op_lanes(const struct op_env *env, uint32_t n)
{
    const uint32_t threads = env->parallel_for ? env->threads : 1;
    return threads && threads < n ? threads : n;
}

/* The lowest that is free: it is in the cache of a thread that has just given it back. Where more
 * bodies run at once than the caller of the plan declared, some wait here. */
static uint32_t take_lane(uint32_t *taken)
{
    for (;;) {
        uint32_t current = __atomic_load_n(taken, __ATOMIC_RELAXED);
        const uint32_t with = current | (current + 1);
        if (current != with && __atomic_compare_exchange_n(taken, &current, with, true,
                                                           __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
            return (uint32_t)__builtin_ctz(with ^ current);
    }
}

static void run_in_lane(void *arg, uint32_t i)
{
    struct lanes *lanes = arg;
    const uint32_t lane = take_lane(&lanes->taken);
    lanes->body(lanes->arg, i, lane);
    __atomic_fetch_and(&lanes->taken, ~(1u << lane), __ATOMIC_RELEASE);
}
#else
uint32_t pith_op_lanes(const struct op_env *env, uint32_t n)
{
    (void)env;
    return n;
}

static void run_in_lane(void *arg, uint32_t i)
{
    const struct lanes *lanes = arg;
    lanes->body(lanes->arg, i, i);
}
#endif

void pith_op_parallel_lanes(const struct op_env *env, uint32_t n, op_lane_body *body, void *arg)
{
    const uint32_t last = pith_op_lanes(env, n) - 1;
    struct lanes lanes = {body, arg, ~(uint32_t)1 << last};
    pith_op_parallel(env, n, run_in_lane, &lanes);
}
