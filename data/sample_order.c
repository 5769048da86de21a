/* SPDX-License-Identifier: MIT */
/* sample_order.c - whether an array's axes are those of an input. Equal numbers of values are not
 * enough: 6x6x3 read as 3x6x6 is noise.
 *
 * Axes of 1 are ignored, and neighbours may be merged or split: a flat array fits every input.
 * An image whose channels are at the other end is recognised by its sizes and transposed:
 * [H, W, C] is H * W rows of C values, [C, H, W] the same matrix transposed. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "data_source.h"

/* Axes that are not 1, into `wide`; returns how many. */
static uint32_t wide_axes(const uint32_t *dim, uint32_t rank, uint32_t *wide)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < rank; i++)
        if (dim[i] != 1)
            wide[n++] = dim[i];
    return n;
}

/* Both shapes fall into blocks of equal products, in each of which one of the two has one axis. No
 * product overflows: it stays at or below that of all axes. */
static bool merges(const uint32_t *a, uint32_t n_a, const uint32_t *b, uint32_t n_b)
{
    uint32_t i = 0, k = 0;
    while (i < n_a && k < n_b) {
        const uint32_t first_i = i, first_k = k;
        uint64_t left = a[i++], right = b[k++];
        while (left != right) {
            if (left < right && i < n_a)
                left *= a[i++];
            else if (left > right && k < n_b)
                right *= b[k++];
            else
                return false;
        }
        if (i - first_i > 1 && k - first_k > 1)
            return false;
    }
    return i == n_a && k == n_b;
}

static uint64_t product(const uint32_t *dim, uint32_t n)
{
    uint64_t p = 1;
    for (uint32_t i = 0; i < n; i++)
        p *= dim[i];
    return p;
}

/* Axes of an image: all but the batch, if there are three or four. 0: no image. */
static uint32_t image_axes(uint32_t rank)
{
    return rank == 3 || rank == 4 ? 3 : rank == 5 ? 4 : 0;
}

struct pith_order pith_array_order(const uint32_t *dim, uint32_t rank, uint32_t times,
                                   const uint32_t *to, uint32_t to_rank)
{
    if (!dim || !to)
        return (struct pith_order){0};
    uint32_t a[PITH_MAX_RANK], b[PITH_MAX_RANK + 1];
    const uint32_t n_a = wide_axes(dim, rank, a), n_times = wide_axes(&times, 1, b);
    const uint32_t n_b = n_times + wide_axes(to, to_rank, b + n_times);
    const uint32_t n = image_axes(to_rank);
    if (merges(a, n_a, b, n_b))
        return (struct pith_order){.fits = true};
    if (n == 0 || rank < n)
        return (struct pith_order){.fits = false};
    const uint32_t *is = dim + rank - n, *want = to + to_rank - n;
    const uint64_t all = product(want, n), first = want[0], last = want[n - 1];
    /* an input with channels last has fewer of them than pixels along either side */
    bool few = true, fewest = true;
    for (uint32_t i = 0; i + 1 < n; i++) {
        few = few && last <= want[i];
        fewest = fewest && last < want[i];
    }
    if (!fewest && is[n - 1] == first && memcmp(is, want + 1, (n - 1) * sizeof *is) == 0)
        return (struct pith_order){.fits = true, .rows = all / first, .columns = first};
    if (few && is[0] == last && memcmp(is + 1, want, (n - 1) * sizeof *is) == 0)
        return (struct pith_order){
            .fits = true, .rows = last, .columns = all / last, .channels_last = true};
    return (struct pith_order){.fits = false};
}

/* [rows, columns] becomes [columns, rows]. */
static void transpose(const uint8_t *from, uint8_t *to, uint64_t rows, uint64_t columns,
                      uint32_t bytes)
{
    for (uint64_t r = 0; r < rows; r++)
        for (uint64_t c = 0; c < columns; c++)
            memcpy(to + (c * rows + r) * bytes, from + (r * columns + c) * bytes, bytes);
}

enum pith_status pith_array_reorder(const struct pith_order *order, void *x, uint64_t n,
                                    uint32_t bytes, struct pith_error *err)
{
    if (!order || !x)
        return PITH_ERR_ARGUMENT;
    const uint64_t one = order->rows * order->columns * bytes;
    uint8_t *image, *at = x;
    if (one == 0)
        return PITH_OK;
    image = malloc((size_t)one);
    if (!image)
        return pith_error_no_memory(err);
    for (uint64_t i = 0; i + one <= n * bytes; i += one) {
        memcpy(image, at + i, (size_t)one);
        transpose(image, at + i, order->rows, order->columns, bytes);
    }
    free(image);
    return PITH_OK;
}

const char *pith_order_text(const struct pith_order *order, const uint32_t *dim, uint32_t rank,
                            const uint32_t *to, uint32_t to_rank, char text[PITH_ORDER_TEXT_BYTES])
{
    if (!order || !dim || !to || !text)
        return NULL;
    char is[96], wanted[96];
    pith_values_text(dim, rank, is);
    pith_values_text(to, to_rank, wanted);
    if (order->fits)
        snprintf(text, PITH_ORDER_TEXT_BYTES,
                 "transposed from %s (channels %s) to %s (channels %s)", is,
                 order->channels_last ? "first" : "last", wanted,
                 order->channels_last ? "last" : "first");
    else
        snprintf(text, PITH_ORDER_TEXT_BYTES,
                 "%s does not fit %s: the axes are in another order; "
                 "transpose the array",
                 is, wanted);
    return text;
}
