/* SPDX-License-Identifier: MIT */
/* A steady clock. */
#define _POSIX_C_SOURCE 200809L
#include <time.h>
#include "pith_host.h"

/* Monotonic: times of steps must not jump when somebody sets the clock. */
uint64_t pith_clock_ns(void *user)
{
    (void)user;
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t); /* cannot fail for this clock and a valid pointer */
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}
