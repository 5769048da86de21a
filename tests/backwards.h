/* SPDX-License-Identifier: MIT */
/* backwards.h - a parallel_for that calls body on every index from the last to the first: an order
 * that no result may depend on. */
#ifndef BACKWARDS_H
#define BACKWARDS_H

#include <stdint.h>

/* user: counts its calls, a uint32_t; or NULL. */
static inline void backwards(void *user, uint32_t n, void (*body)(void *arg, uint32_t i), void *arg)
{
    if (user)
        *(uint32_t *)user += 1;
    while (n-- > 0)
        body(arg, n);
}

#endif
