/* SPDX-License-Identifier: MIT */
/* Lanes of parallel bodies: no two bodies have one at the same time, and one after the other they
 * have the same. */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <string.h>
#include "test_run.h"
#include "op_interface/op_exec.h"

#define MOST 32u

static pthread_barrier_t together;
static uint32_t lane_of[MOST], runs[MOST];

struct call {
    void (*body)(void *arg, uint32_t i);
    void *arg;
    uint32_t i;
};

static void *one_body(void *arg)
{
    const struct call *call = arg;
    call->body(call->arg, call->i);
    return NULL;
}

/* A thread for each body. */
static void all_at_once(void *user, uint32_t n, void (*body)(void *arg, uint32_t i), void *arg)
{
    (void)user;
    pthread_t thread[MOST];
    struct call call[MOST];
    for (uint32_t i = 0; i < n; i++) {
        call[i] = (struct call){body, arg, i};
        assert_int_equal(pthread_create(&thread[i], NULL, one_body, &call[i]), 0);
    }
    for (uint32_t i = 0; i < n; i++)
        assert_int_equal(pthread_join(thread[i], NULL), 0);
}

static void one_by_one(void *user, uint32_t n, void (*body)(void *arg, uint32_t i), void *arg)
{
    (void)user;
    for (uint32_t i = n; i-- > 0;)
        body(arg, i);
}

static void note(void *arg, uint32_t i, uint32_t lane)
{
    (void)arg;
    lane_of[i] = lane;
    runs[i]++;
}

/* No body ends before all have begun. */
static void meet(void *arg, uint32_t i, uint32_t lane)
{
    note(arg, i, lane);
    pthread_barrier_wait(&together);
}

TEST(test_bodies_at_once)
{
    const struct op_env env = {.parallel_for = all_at_once};
    for (uint32_t n = 2; n <= MOST; n++) {
        bool used[MOST] = {false};
        memset(runs, 0, sizeof runs);
        assert_int_equal(pthread_barrier_init(&together, NULL, n), 0);
        pith_op_parallel_lanes(&env, n, meet, NULL);
        pthread_barrier_destroy(&together);
        for (uint32_t i = 0; i < n; i++) {
            assert_int_equal(runs[i], 1);
            assert_in_range(lane_of[i], 0, n - 1);
            assert_false(used[lane_of[i]]);
            used[lane_of[i]] = true;
        }
    }
}

TEST(test_one_after_the_other)
{
    const struct op_env parallel = {.parallel_for = one_by_one}, alone = {0};
    for (uint32_t n = 1; n <= MOST; n++)
        for (uint32_t k = 0; k < 2; k++) {
            memset(runs, 0, sizeof runs);
            pith_op_parallel_lanes(k ? &alone : &parallel, n, note, NULL);
            for (uint32_t i = 0; i < n; i++) {
                assert_int_equal(runs[i], 1);
                assert_int_equal(lane_of[i], 0);
            }
        }
}

static atomic_uint inside, most;

static void count_bodies(void *arg, uint32_t i, uint32_t lane)
{
    note(arg, i, lane);
    const uint32_t now = atomic_fetch_add(&inside, 1) + 1;
    for (uint32_t used = atomic_load(&most); used < now;)
        if (atomic_compare_exchange_weak(&most, &used, now))
            break;
    sched_yield();
    atomic_fetch_sub(&inside, 1);
}

/* Where more threads come than were declared, they wait. */
TEST(test_fewer_lanes_than_bodies)
{
    for (uint32_t threads = 1; threads <= 8; threads++) {
        const struct op_env env = {.parallel_for = all_at_once, .threads = threads};
        atomic_store(&most, 0);
        memset(runs, 0, sizeof runs);
        assert_int_equal(pith_op_lanes(&env, 5), threads < 5 ? threads : 5);
        pith_op_parallel_lanes(&env, MOST, count_bodies, NULL);
        assert_in_range(atomic_load(&most), 1, threads);
        for (uint32_t i = 0; i < MOST; i++) {
            assert_int_equal(runs[i], 1);
            assert_in_range(lane_of[i], 0, threads - 1);
        }
    }
}

RUN_TESTS
