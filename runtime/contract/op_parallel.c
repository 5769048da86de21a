/* SPDX-License-Identifier: MIT */
/* op_parallel.c - the one way operators use threads. */
#include "pith_op_exec.h"

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

#if __GCC_ATOMIC_INT_LOCK_FREE == 2
/* The lowest that is free: it is in the cache of a thread that has just given it back. */
static uint32_t take_lane(uint32_t *taken)
{
    uint32_t seen = __atomic_load_n(taken, __ATOMIC_RELAXED), lane;
    do
        lane = (uint32_t)__builtin_ctz(~seen);
    while (!__atomic_compare_exchange_n(taken, &seen, seen | 1u << lane, true, __ATOMIC_ACQUIRE,
                                        __ATOMIC_RELAXED));
    return lane;
}

static void run_in_lane(void *arg, uint32_t i)
{
    struct lanes *lanes = arg;
    const uint32_t lane = take_lane(&lanes->taken);
    lanes->body(lanes->arg, i, lane);
    __atomic_fetch_and(&lanes->taken, ~(1u << lane), __ATOMIC_RELEASE);
}
#else
/* Each body has one of its own. */
static void run_in_lane(void *arg, uint32_t i)
{
    const struct lanes *lanes = arg;
    lanes->body(lanes->arg, i, i);
}
#endif

void pith_op_parallel_lanes(const struct op_env *env, uint32_t n, op_lane_body *body, void *arg)
{
    struct lanes lanes = {body, arg, 0};
    pith_op_parallel(env, n, run_in_lane, &lanes);
}
