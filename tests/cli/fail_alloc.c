/* SPDX-License-Identifier: MIT */
/* fail_alloc.c - a heap that runs out: preloaded, it lets the first FAIL_AT allocations of the
 * process through, libraries' included, and refuses FAIL_COUNT of the next (unset: all). The first
 * refusal leaves the file FAIL_MARK behind.
 *
 * glibc's own entry points stand behind it, so no allocation is needed to look them up. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

extern void *__libc_malloc(size_t n);
extern void *__libc_calloc(size_t n, size_t each);
extern void *__libc_realloc(void *p, size_t n);
extern void *__libc_memalign(size_t align, size_t n);
void *aligned_alloc(size_t align, size_t n);

static long left = -1, refusals; /* before main: nothing fails */
static const char *mark;

__attribute__((constructor)) static void begin(void)
{
    const char *at = getenv("FAIL_AT"), *count = getenv("FAIL_COUNT");
    refusals = count ? atol(count) : -1;
    mark = getenv("FAIL_MARK");
    left = at ? atol(at) : -1;
}

static int refuse(void)
{
    long now = __atomic_load_n(&left, __ATOMIC_RELAXED);
    if (now < 0)
        return 0;
    if (now > 0) {
        __atomic_fetch_sub(&left, 1, __ATOMIC_RELAXED);
        return 0;
    }
    if (refusals == 0)
        return 0;
    if (refusals > 0)
        refusals--;
    if (mark)
        close(open(mark, O_CREAT | O_WRONLY, 0600));
    mark = NULL;
    errno = ENOMEM;
    return 1;
}

void *malloc(size_t n)
{
    return refuse() ? NULL : __libc_malloc(n);
}

void *calloc(size_t n, size_t each)
{
    return refuse() ? NULL : __libc_calloc(n, each);
}

void *realloc(void *p, size_t n)
{
    return refuse() ? NULL : __libc_realloc(p, n);
}

void *aligned_alloc(size_t align, size_t n)
{
    return refuse() ? NULL : __libc_memalign(align, n);
}
