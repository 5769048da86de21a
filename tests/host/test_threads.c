/* SPDX-License-Identifier: MIT */
/* The thread pool: every piece once, callers take turns, idle threads wake up, threads that cannot
 * be had are done without, all are joined. What never ends ends at SECONDS. */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "test_run.h"
#include "pith_host.h"
#include "host/processors.h"

#define MAX_PIECES 1000u
#define SECONDS 60u

/* The linker sends pthread_create and pthread_join here (TEST_LDFLAGS_threads). */
static uint32_t creations, refused_creations; /* refused: a bit for each */
static uint32_t n_joined;

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

static int inits_left = -1; /* locks and conditions that can still be made; negative: all */

int __real_pthread_mutex_init(pthread_mutex_t *lock, const pthread_mutexattr_t *attr);
int __wrap_pthread_mutex_init(pthread_mutex_t *lock, const pthread_mutexattr_t *attr);
int __wrap_pthread_mutex_init(pthread_mutex_t *lock, const pthread_mutexattr_t *attr)
{
    return inits_left-- == 0 ? ENOMEM : __real_pthread_mutex_init(lock, attr);
}

int __real_pthread_cond_init(pthread_cond_t *cond, const pthread_condattr_t *attr);
int __wrap_pthread_cond_init(pthread_cond_t *cond, const pthread_condattr_t *attr);
int __wrap_pthread_cond_init(pthread_cond_t *cond, const pthread_condattr_t *attr)
{
    return inits_left-- == 0 ? ENOMEM : __real_pthread_cond_init(cond, attr);
}

void *__real_calloc(size_t n, size_t size);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_calloc(size_t n, size_t size)
{
    return inits_left-- == 0 ? NULL : __real_calloc(n, size);
}

static const char *fake_root; /* where the files of the system are read; NULL: where they are */

FILE *__real_fopen(const char *path, const char *mode);
FILE *__wrap_fopen(const char *path, const char *mode);
FILE *__wrap_fopen(const char *path, const char *mode)
{
    char fake[512];
    snprintf(fake, sizeof fake, "%s%s", fake_root ? fake_root : "", path);
    for (char *p = fake + strlen(fake) - strlen(path) + 1; fake_root && *p; p++)
        *p = *p == '/' ? '_' : *p;
    return __real_fopen(fake_root && *path == '/' ? fake : path, mode);
}

int __real_pthread_join(pthread_t thread, void **result);
int __wrap_pthread_join(pthread_t thread, void **result);

int __wrap_pthread_join(pthread_t thread, void **result)
{
    int rc = __real_pthread_join(thread, result);
    n_joined += rc == 0;
    return rc;
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

TEST(test_every_piece_once)
{
    for (uint32_t threads = 1; threads <= 5; threads++) {
        struct pith_opts opts = {.size_bytes = sizeof opts};
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

/* Pieces of a worker alone: the caller's waits for all others. */
struct held {
    pthread_t caller;
    atomic_uint done, hits[7];
};

static void hold_caller(void *arg, uint32_t i)
{
    struct held *h = arg;
    atomic_fetch_add(&h->hits[i], 1);
    bool caller = pthread_equal(pthread_self(), h->caller);
    for (int k = 0; caller && k < 5000 && atomic_load(&h->done) < 5; k++)
        usleep(1000);
    atomic_fetch_add(&h->done, 1);
}

TEST(test_worker_takes_the_rest)
{
    struct held h = {.caller = pthread_self()};
    struct pith_opts opts = {.size_bytes = sizeof opts};
    assert_int_equal(pith_threads_start(&opts, 2), PITH_OK);
    opts.parallel_for(opts.parallel_user, 6, hold_caller, &h);
    pith_threads_stop(&opts);
    for (int i = 0; i < 6; i++)
        assert_int_equal(atomic_load(&h.hits[i]), 1);
    assert_int_equal(atomic_load(&h.hits[6]), 0);
}

static void *hammer(void *arg)
{
    for (int i = 0; i < 300; i++)
        all_once(arg, 1 + (uint32_t)i % 9);
    return NULL;
}

TEST(test_callers_take_turns)
{
    pthread_t thread[4];
    struct pith_opts opts = {.size_bytes = sizeof opts};
    assert_int_equal(pith_threads_start(&opts, 3), PITH_OK);
    for (int i = 0; i < 4; i++)
        assert_int_equal(pthread_create(&thread[i], NULL, hammer, &opts), 0);
    for (int i = 0; i < 4; i++)
        assert_int_equal(pthread_join(thread[i], NULL), 0);
    pith_threads_stop(&opts);
}

/* Two callers: the pieces of one wait for the call of the other, and then still take a while. */
struct turns {
    struct pith_opts opts;
    atomic_bool called, mixed;
    atomic_uint done; /* pieces of the first */
};

static void first_turn(void *arg, uint32_t i)
{
    (void)i;
    struct turns *t = arg;
    for (int k = 0; k < 5000 && !atomic_load(&t->called); k++)
        usleep(1000);
    usleep(50000);
    atomic_fetch_add(&t->done, 1);
}

static void second_turn(void *arg, uint32_t i)
{
    (void)i;
    struct turns *t = arg;
    if (atomic_load(&t->done) < 2)
        atomic_store(&t->mixed, true);
}

static void *second_caller(void *arg)
{
    struct turns *t = arg;
    usleep(20000); /* the first has called */
    atomic_store(&t->called, true);
    t->opts.parallel_for(t->opts.parallel_user, 2, second_turn, t);
    return NULL;
}

TEST(test_one_job_at_a_time)
{
    struct turns t = {.called = false};
    pthread_t thread;
    pith_opts_init(&t.opts, sizeof t.opts);
    assert_int_equal(pith_threads_start(&t.opts, 2), PITH_OK);
    assert_int_equal(pthread_create(&thread, NULL, second_caller, &t), 0);
    t.opts.parallel_for(t.opts.parallel_user, 2, first_turn, &t);
    assert_int_equal(pthread_join(thread, NULL), 0);
    pith_threads_stop(&t.opts);
    assert_false(atomic_load(&t.mixed));
}

/* Two pieces that wait for each other end only if two threads run them. */
static void meet(void *arg, uint32_t i)
{
    (void)i;
    atomic_uint *arrived = arg;
    atomic_fetch_add(arrived, 1);
    uint64_t start = pith_clock_ns(NULL);
    while (atomic_load(arrived) < 2 && pith_clock_ns(NULL) - start < 5000000000u)
        sched_yield();
}

static void meets(const struct pith_opts *opts)
{
    atomic_uint arrived;
    atomic_init(&arrived, 0);
    uint64_t start = pith_clock_ns(NULL);
    opts->parallel_for(opts->parallel_user, 2, meet, &arrived);
    assert_true(pith_clock_ns(NULL) - start < 4000000000u);
}

/* New threads, those that watch for the next job, and those that sleep. */
TEST(test_really_parallel)
{
    struct pith_opts opts = {.size_bytes = sizeof opts};
    assert_int_equal(pith_threads_start(&opts, 2), PITH_OK);
    for (int i = 0; i < 100; i++) {
        meets(&opts);
        for (uint64_t now = pith_clock_ns(NULL); pith_clock_ns(NULL) - now < 50000;)
            ;
    }
    for (int i = 0; i < 3; i++) {
        usleep(20000);
        meets(&opts);
    }
    usleep(20000); /* the threads sleep: they end, too */
    pith_threads_stop(&opts);
}

/* What a worker's piece says of itself, and when it is through: long after the caller's. */
struct slow_piece {
    pthread_t caller;
    atomic_bool begun, done;
    sigset_t blocked;
};

static void slow_worker(void *arg, uint32_t i)
{
    (void)i;
    struct slow_piece *s = arg;
    if (pthread_equal(pthread_self(), s->caller)) {
        for (int k = 0; k < 5000 && !atomic_load(&s->begun); k++)
            usleep(1000);
        return;
    }
    pthread_sigmask(SIG_BLOCK, NULL, &s->blocked);
    atomic_store(&s->begun, true);
    usleep(20000);
    atomic_store(&s->done, true);
}

TEST(test_caller_waits)
{
    struct slow_piece s = {.caller = pthread_self()};
    struct pith_opts opts = {.size_bytes = sizeof opts};
    assert_int_equal(pith_threads_start(&opts, 2), PITH_OK);
    opts.parallel_for(opts.parallel_user, 2, slow_worker, &s);
    assert_true(atomic_load(&s.done));
    pith_threads_stop(&opts);
    /* signals are for others, but for those of an instruction of its own */
    assert_int_equal(sigismember(&s.blocked, SIGTERM), 1);
    assert_int_equal(sigismember(&s.blocked, SIGINT), 1);
    assert_int_equal(sigismember(&s.blocked, SIGSEGV), 0);
    assert_int_equal(sigismember(&s.blocked, SIGFPE), 0);
}

TEST(test_fewer_threads)
{
    /* of four threads to be made: none, the first, the last, all but one, all refused */
    static const uint32_t masks[] = {0, 1, 8, 11, 15}, left[] = {5, 4, 4, 2, 1};
    for (size_t i = 0; i < sizeof masks / sizeof *masks; i++) {
        struct pith_opts opts = {.size_bytes = sizeof opts};
        creations = n_joined = 0;
        refused_creations = masks[i];
        assert_int_equal(pith_threads_start(&opts, 5), PITH_OK);
        refused_creations = 0;
        assert_int_equal(creations, 4);
        assert_int_equal(pith_threads_count(&opts), left[i]);
        for (uint32_t n = 0; n < 20; n++)
            all_once(&opts, n);
        pith_threads_stop(&opts);
        assert_int_equal(n_joined, left[i] - 1);
    }
}

/* The pool's memory, its two locks, its two conditions: without one of them there is no pool. */
TEST(test_nothing_without_locks)
{
    for (int left = 0; left < 5; left++) {
        struct pith_opts opts, before;
        pith_opts_init(&opts, sizeof opts);
        before = opts;
        inits_left = left;
        assert_int_equal(pith_threads_start(&opts, 3), PITH_ERR_MEMORY);
        inits_left = -1;
        assert_memory_equal(&opts, &before, sizeof opts);
    }
    struct pith_opts opts = {.size_bytes = sizeof opts};
    assert_int_equal(pith_threads_start(&opts, 3), PITH_OK);
    assert_int_equal(opts.threads, 3);
    pith_threads_stop(&opts);
    assert_true(!opts.parallel_for && !opts.parallel_user && opts.threads == 0);
    assert_int_equal(pith_threads_count(&opts), 1);
}

static void one_after_the_other(void *user, uint32_t n, void (*body)(void *arg, uint32_t i),
                                void *arg)
{
    (void)user;
    for (uint32_t i = 0; i < n; i++)
        body(arg, i);
}

TEST(test_refusals)
{
    struct pith_opts opts = {.size_bytes = sizeof opts};
    pith_threads_stop(&opts); /* nothing to stop */
    assert_int_equal(pith_threads_start(&opts, 1025), PITH_ERR_ARGUMENT);
    assert_int_equal(pith_threads_start(NULL, 2), PITH_ERR_ARGUMENT);
    static const uint32_t sizes[] = {0, 3, 1u << 30};
    for (int i = 0; i < 3; i++) {
        opts.size_bytes = sizes[i];
        assert_int_equal(pith_threads_start(&opts, 2), PITH_ERR_ARGUMENT);
    }
    opts.size_bytes = sizeof opts;
    assert_int_equal(pith_threads_start(&opts, 0), PITH_OK);
    assert_int_equal(pith_threads_count(&opts), pith_processor_count());
    assert_int_equal(pith_threads_start(&opts, 2), PITH_ERR_ARGUMENT);
    pith_threads_stop(&opts);
    opts.parallel_for = one_after_the_other; /* not a pool's: left as it is */
    pith_threads_stop(&opts);
    assert_ptr_equal(opts.parallel_for, one_after_the_other);
}

TEST(test_clock)
{
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

TEST(test_quota)
{
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

/* Files of a system with these control groups; the processors that may be used. */
static uint32_t processors(const char *group, const char *root_limit, const char *group_limit)
{
    char folder[] = "/tmp/pith-test-XXXXXX";
    static const char *const names[] = {"proc_self_cgroup", "sys_fs_cgroup_cpu.max",
                                        "sys_fs_cgroup_a_b_cpu.max"};
    const char *texts[] = {group, root_limit, group_limit};
    char path[128];
    assert_non_null(mkdtemp(folder));
    for (int i = 0; i < 3; i++) {
        snprintf(path, sizeof path, "%s/%s", folder, names[i]);
        FILE *f = texts[i] ? __real_fopen(path, "w") : NULL;
        if (f) {
            fputs(texts[i], f);
            fclose(f);
        }
    }
    fake_root = folder;
    uint32_t n = pith_processor_count();
    fake_root = NULL;
    for (int i = 0; i < 3; i++) {
        snprintf(path, sizeof path, "%s/%s", folder, names[i]);
        unlink(path);
    }
    assert_int_equal(rmdir(folder), 0);
    return n;
}

/* The least of what the process's own group, the root and the processors allow. */
TEST(test_groups)
{
    cpu_set_t allowed;
    assert_int_equal(sched_getaffinity(0, sizeof allowed, &allowed), 0);
    const uint32_t all = (uint32_t)CPU_COUNT(&allowed);
    static const char one[] = "100000 100000\n", much[] = "max 100000\n";
    assert_int_equal(processors(NULL, NULL, NULL), all);
    assert_int_equal(processors("0::/a/b\n", much, much), all);
    assert_int_equal(processors("0::/a/b\n", one, much), 1);
    assert_int_equal(processors("0::/a/b\n", much, one), 1);
    assert_int_equal(processors("12:cpu:/x\n0::/a/b\n", much, one), 1);
    assert_int_equal(processors("1::/a/b\n", much, one), all);
    assert_int_equal(processors("0::/\n", much, one), all);
    assert_int_equal(processors("0::/a/b\n", "9900000 100000\n", NULL), all);
    if (all > 1) { /* one processor of them */
        CPU_ZERO(&allowed);
        cpu_set_t before;
        assert_int_equal(sched_getaffinity(0, sizeof before, &before), 0);
        for (size_t i = 0; i < CPU_SETSIZE && !CPU_COUNT(&allowed); i++)
            if (CPU_ISSET(i, &before))
                CPU_SET(i, &allowed);
        assert_int_equal(sched_setaffinity(0, sizeof allowed, &allowed), 0);
        assert_int_equal(processors(NULL, NULL, NULL), 1);
        assert_int_equal(sched_setaffinity(0, sizeof before, &before), 0);
    }
}

int main(void)
{
    alarm(SECONDS);
    return run_listed_tests(NULL, NULL);
}
