/* SPDX-License-Identifier: MIT */
/* failing_heap.h - every allocation of a call fails, once alone and once with all that follow. The
 * linker sends malloc and its kin here (-Wl,--wrap); one test program includes it. */
#ifndef FAILING_HEAP_H
#define FAILING_HEAP_H

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include "test_run.h"
#include "pith_runtime.h"

static struct {
    bool armed;
    bool for_ever; /* else only one fails */
    bool hit;
    uint32_t left;   /* allocations that still succeed */
    uint32_t stride; /* one in so many fails; 0: each */
} heap;

static bool refuse(void)
{
    if (!heap.armed)
        return false;
    if (heap.left > 0) {
        heap.left--;
        return false;
    }
    bool refused = !heap.hit || heap.for_ever;
    heap.hit = true;
    if (refused)
        errno = ENOMEM;
    return refused;
}

void *__real_malloc(size_t n);
void *__real_calloc(size_t n, size_t each);
void *__real_realloc(void *p, size_t n);
void *__real_aligned_alloc(size_t align, size_t n);
void *__wrap_malloc(size_t n);
void *__wrap_calloc(size_t n, size_t each);
void *__wrap_realloc(void *p, size_t n);
void *__wrap_aligned_alloc(size_t align, size_t n);

void *__wrap_malloc(size_t n)
{
    return refuse() ? NULL : __real_malloc(n);
}

void *__wrap_calloc(size_t n, size_t each)
{
    return refuse() ? NULL : __real_calloc(n, each);
}

void *__wrap_realloc(void *p, size_t n)
{
    return refuse() ? NULL : __real_realloc(p, n);
}

void *__wrap_aligned_alloc(size_t align, size_t n)
{
    return refuse() ? NULL : __real_aligned_alloc(align, n);
}

#ifdef FAILING_MODEL /* what is taken of a model's memory fails, too (-Wl,--wrap=pith_model_alloc) \
                      */
#include "pith_model.h"

void *__real_pith_model_alloc(struct pith_model *m, uint64_t count, size_t each);
void *__wrap_pith_model_alloc(struct pith_model *m, uint64_t count, size_t each);

void *__wrap_pith_model_alloc(struct pith_model *m, uint64_t count, size_t each)
{
    return refuse() ? NULL : __real_pith_model_alloc(m, count, each);
}
#endif

/* ---- the loop -------------------------------------------------------------------------------- */

/* One call: sets up, arms the heap for the call alone, releases what it gave. */
typedef enum pith_status (*scene)(struct pith_error *err);

#define FAILING(call) (heap.armed = true, st = (call), heap.armed = false)

/* Allocations of the scene, rounded up to a multiple of the stride. copes: it may also succeed
 * without one of them. */
static inline uint32_t fail_each(scene run, bool copes, bool for_ever)
{
    for (uint32_t n = 0;; n += heap.stride ? heap.stride : 1) {
        struct pith_error err = {0};
        heap.left = n;
        heap.for_ever = for_ever;
        heap.hit = false;
        enum pith_status st = run(&err);
        if (!heap.hit) {
            if (st)
                fail_msg("status %d '%s' with all the memory it wants", st, err.text);
            return n;
        }
        if (copes && !st)
            continue;
        if (st != PITH_ERR_MEMORY || err.status != PITH_ERR_MEMORY || !err.text[0])
            fail_msg("allocation %u failed%s: status %d, error %d '%s'", n,
                     for_ever ? " with all behind it" : "", st, err.status, err.text);
    }
}

static inline void fail_all(scene run, bool copes)
{
    uint32_t n = fail_each(run, copes, false);
    assert_true(n > 0);
    assert_int_equal(fail_each(run, copes, true), n);
}

/* A test of the scene `name`, of whose allocations one in `every` fails, or in PITH_STEP. */
#define SCENE(name, copes, every)                                                                  \
    TEST(test_##name)                                                                              \
    {                                                                                              \
        heap.stride = getenv("PITH_STEP") ? (uint32_t)atoi(getenv("PITH_STEP")) : (every);         \
        fail_all(name, copes);                                                                     \
    }

/* The same of a call that gives a status. */
#define SCENE_OF(name, copes, call)                                                                \
    static enum pith_status name(struct pith_error *err)                                           \
    {                                                                                              \
        return call;                                                                               \
    }                                                                                              \
    SCENE(name, copes, 1)

#endif
