/* SPDX-License-Identifier: MIT */
/* The thread pool: every piece once, callers take turns, idle threads wake up, threads that cannot
 * be had are done without. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>
#include "pith_host.h"
#include "test_host.h"

#define MAX_PIECES 1000u

/* The linker sends pthread_create here (TEST_LDFLAGS_threads). */
static uint32_t creations, refused_creations; /* refused: a bit for each */

int __real_pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*start)(void *),
                          void *arg);
int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*start)(void *),
                          void *arg);

int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*start)(void *),
                          void *arg)
{
    if (refused_creations >> creations++ % 32 & 1)
        return EAGAIN;
    return __real_pthread_create(thread, attr, start, arg);
}

static void count(void *arg, uint32_t i)
{
    atomic_fetch_add(&((atomic_uint *)arg)[i], 1);
}

static void all_once(const struct pith_opts *opts, uint32_t n)
{
    atomic_uint hits[MAX_PIECES + 1];
    for (uint32_t i = 0; i <= n; i++)
        atomic_init(&hits[i], 0);
    opts->parallel_for(opts->parallel_user, n, count, hits);
    for (uint32_t i = 0; i < n; i++)
        assert_int_equal(atomic_load(&hits[i]), 1);
    assert_int_equal(atomic_load(&hits[n]), 0);
}

static void test_every_piece_once(void **state)
{
    (void)state;
    for (uint32_t threads = 1; threads <= 5; threads++) {
        struct pith_opts opts;
        pith_opts_init(&opts, sizeof opts);
        assert_int_equal(pith_threads_start(&opts, threads), PITH_OK);
        assert_int_equal(pith_threads_count(&opts), threads);
        for (uint32_t n = 0; n < 40; n++)
            all_once(&opts, n);
        for (int i = 0; i < 200; i++)
            all_once(&opts, 3);
        all_once(&opts, MAX_PIECES);
        usleep(2000); /* now they sleep */
        all_once(&opts, 17);
        pith_threads_stop(&opts);
        assert_null(opts.parallel_for);
        assert_int_equal(pith_threads_count(&opts), 1);
    }
}

static void *hammer(void *arg)
{
    for (int i = 0; i < 300; i++)
        all_once(arg, 1 + (uint32_t)i % 9);
    return NULL;
}

static void test_callers_take_turns(void **state)
{
    (void)state;
    struct pith_opts opts;
    pthread_t thread[4];
    pith_opts_init(&opts, sizeof opts);
    assert_int_equal(pith_threads_start(&opts, 3), PITH_OK);
    for (int i = 0; i < 4; i++)
        assert_int_equal(pthread_create(&thread[i], NULL, hammer, &opts), 0);
    for (int i = 0; i < 4; i++)
        assert_int_equal(pthread_join(thread[i], NULL), 0);
    pith_threads_stop(&opts);
}

/* Two pieces that wait for each other end only if two threads run them. */
static void meet(void *arg, uint32_t i)
{
    (void)i;
    atomic_uint *arrived = arg;
    atomic_fetch_add(arrived, 1);
    for (int k = 0; k < 5000 && atomic_load(arrived) < 2; k++)
        usleep(1000);
}

static void test_really_parallel(void **state)
{
    (void)state;
    struct pith_opts opts;
    atomic_uint arrived;
    atomic_init(&arrived, 0);
    pith_opts_init(&opts, sizeof opts);
    assert_int_equal(pith_threads_start(&opts, 2), PITH_OK);
    uint64_t start = pith_clock_ns(NULL);
    opts.parallel_for(opts.parallel_user, 2, meet, &arrived);
    assert_true(pith_clock_ns(NULL) - start < 4000000000u);
    pith_threads_stop(&opts);
}

static void test_fewer_threads(void **state)
{
    (void)state;
    /* of four threads to be made: none, the first, the last, all but one, all refused */
    static const uint32_t masks[] = {0, 1, 8, 11, 15}, left[] = {5, 4, 4, 2, 1};
    for (size_t i = 0; i < sizeof masks / sizeof *masks; i++) {
        struct pith_opts opts;
        pith_opts_init(&opts, sizeof opts);
        creations = 0;
        refused_creations = masks[i];
        assert_int_equal(pith_threads_start(&opts, 5), PITH_OK);
        refused_creations = 0;
        assert_int_equal(creations, 4);
        assert_int_equal(pith_threads_count(&opts), left[i]);
        for (uint32_t n = 0; n < 20; n++)
            all_once(&opts, n);
        pith_threads_stop(&opts);
    }
}

static void test_refusals(void **state)
{
    (void)state;
    struct pith_opts opts;
    pith_opts_init(&opts, sizeof opts);
    pith_threads_stop(&opts); /* nothing to stop */
    assert_int_equal(pith_threads_start(&opts, 1025), PITH_ERR_ARGUMENT);
    assert_int_equal(pith_threads_start(&opts, 0), PITH_OK);
    assert_true(pith_threads_count(&opts) >= 1);
    assert_int_equal(pith_threads_start(&opts, 2), PITH_ERR_ARGUMENT);
    pith_threads_stop(&opts);
}

static void test_clock(void **state)
{
    (void)state;
    uint64_t a = pith_clock_ns(NULL);
    usleep(1000);
    assert_true(pith_clock_ns(NULL) >= a + 1000000);
}

static uint32_t quota_of(const char *text)
{
    char path[] = "/tmp/pith-cpu-max-XXXXXX";
    int file = mkstemp(path);
    assert_true(file >= 0 && write(file, text, strlen(text)) == (ssize_t)strlen(text));
    close(file);
    uint32_t n = pith_cpu_quota(path);
    unlink(path);
    return n;
}

static void test_quota(void **state)
{
    (void)state;
    assert_int_equal(quota_of("max 100000\n"), 0);
    assert_int_equal(quota_of("200000 100000\n"), 2);
    assert_int_equal(quota_of("350000 100000\n"), 3);
    assert_int_equal(quota_of("20000 100000\n"), 1); /* a fifth is one */
    assert_int_equal(quota_of("1e30 1\n"), 0);
    assert_int_equal(quota_of("-1 5\n"), 0);
    assert_int_equal(quota_of(""), 0);
    assert_int_equal(pith_cpu_quota("/nowhere/cpu.max"), 0);
    assert_in_range(pith_processor_count(), 1, MOST_PROCESSORS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_quota),
        cmocka_unit_test(test_every_piece_once),
        cmocka_unit_test(test_callers_take_turns),
        cmocka_unit_test(test_really_parallel),
        cmocka_unit_test(test_fewer_threads),
        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_clock),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
