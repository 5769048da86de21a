/* SPDX-License-Identifier: MIT */
/* memory.c - the four memory functions that a compiler may call, where there is no libc. */
#include <stddef.h>
#include <stdint.h>

void *memcpy(void *restrict to, const void *restrict from, size_t n);
void *memmove(void *to, const void *from, size_t n);
void *memset(void *to, int value, size_t n);
int memcmp(const void *a, const void *b, size_t n);

/* volatile keeps the compiler from turning these loops into calls of themselves */
void *memcpy(void *restrict to, const void *restrict from, size_t n)
{
    volatile uint8_t *d = to;
    const uint8_t *s = from;
    for (size_t i = 0; i < n; i++)
        d[i] = s[i];
    return to;
}

void *memmove(void *to, const void *from, size_t n)
{
    volatile uint8_t *d = to;
    const uint8_t *s = from;
    if ((uintptr_t)to <= (uintptr_t)from)
        return memcpy(to, from, n);
    while (n-- > 0)
        d[n] = s[n];
    return to;
}

void *memset(void *to, int value, size_t n)
{
    volatile uint8_t *d = to;
    for (size_t i = 0; i < n; i++)
        d[i] = (uint8_t)value;
    return to;
}

int memcmp(const void *a, const void *b, size_t n)
{
    const volatile uint8_t *x = a, *y = b;
    for (size_t i = 0; i < n; i++)
        if (x[i] != y[i])
            return x[i] - y[i];
    return 0;
}
