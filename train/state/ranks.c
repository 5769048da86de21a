/* SPDX-License-Identifier: MIT */
#include "ranks.h"
#include "pith_host.h"

#include <string.h>

static uint32_t count_of(const struct pith_ranks *k)
{
    return k ? k->count : 1;
}

uint32_t pith_ranks_slices(const struct pith_ranks *k, uint32_t *first)
{
    uint32_t n = PITH_TRAIN_SLICES / count_of(k);
    *first = k ? k->rank * n : 0;
    return n;
}

void pith_ranks_add_floats(const struct pith_ranks *k, const struct channel_rows *rows, float *v,
                           size_t n, void *scratch)
{
    const size_t most = RANKS_SCRATCH_BYTES / sizeof *v;
    float *other = scratch;
    for (uint32_t bit = 1; bit < count_of(k); bit *= 2)
        for (size_t at = 0; at < n; at += most) {
            size_t part = n - at < most ? n - at : most;
            k->exchange(k->user, k->rank ^ bit, v + at, other, part * sizeof *v);
            rows->add(v + at, other, part);
        }
}

void pith_ranks_add_doubles(const struct pith_ranks *k, double *v, size_t n, void *scratch)
{
    const size_t most = RANKS_SCRATCH_BYTES / sizeof *v;
    double *other = scratch;
    for (uint32_t bit = 1; bit < count_of(k); bit *= 2)
        for (size_t at = 0; at < n; at += most) {
            size_t part = n - at < most ? n - at : most;
            k->exchange(k->user, k->rank ^ bit, v + at, other, part * sizeof *v);
            for (size_t i = 0; i < part; i++)
                v[at + i] += other[i];
        }
}

void pith_ranks_open_window(const struct pith_ranks *k, size_t n, struct ranks_window *w)
{
    void *all[PITH_TRAIN_SLICES];
    if (count_of(k) == 1 || !k->share || n == 0 || !k->share(k->user, 2 * n * sizeof(float), all))
        return;
    w->n = n;
    for (uint32_t r = 0; r < k->count; r++)
        for (uint32_t turn = 0; turn < 2; turn++)
            w->of[turn][r] = (float *)all[r] + turn * n;
}

void pith_ranks_add_window(const struct pith_ranks *k, const struct channel_rows *rows,
                           struct ranks_window *w, float *sum)
{
    k->meet(k->user);
    rows->tree(sum, (const float *const *)w->of[w->turn], k->count, w->n);
    w->turn = 1 - w->turn;
}

void pith_ranks_join_floats(const struct pith_ranks *k, float *v, size_t n)
{
    float other[1024];
    const size_t most = sizeof other / sizeof *other;
    for (uint32_t bit = 1; bit < count_of(k); bit *= 2)
        for (size_t at = 0; at < n; at += most) {
            size_t part = n - at < most ? n - at : most;
            k->exchange(k->user, k->rank ^ bit, v + at, other, part * sizeof *v);
            for (size_t i = 0; i < part; i++)
                v[at + i] = v[at + i] == 0 ? other[i] : v[at + i];
        }
}

uint32_t pith_ranks_least(const struct pith_ranks *k, uint32_t v)
{
    uint32_t other;
    for (uint32_t bit = 1; bit < count_of(k); bit *= 2) {
        k->exchange(k->user, k->rank ^ bit, &v, &other, sizeof v);
        v = other < v ? other : v;
    }
    return v;
}

bool pith_ranks_any(const struct pith_ranks *k, bool v)
{
    return pith_ranks_least(k, v ? 0 : 1) == 0;
}

/* Who has it doubles in number each time; ranks are counted from `from`. */
static void share_piece(const struct pith_ranks *k, uint32_t from, uint8_t *piece, size_t bytes)
{
    uint8_t other[4096];
    uint32_t place = k->rank ^ from;
    for (uint32_t bit = 1; bit < k->count; bit *= 2) {
        if (place >= 2 * bit)
            continue;
        k->exchange(k->user, k->rank ^ bit, piece, other, bytes);
        if (place >= bit)
            memcpy(piece, other, bytes);
    }
}

void pith_ranks_share(const struct pith_ranks *k, uint32_t from, void *data, size_t bytes)
{
    const size_t most = 4096;
    uint8_t *p = data;
    for (size_t at = 0; at < bytes && count_of(k) > 1; at += most)
        share_piece(k, from, p + at, bytes - at < most ? bytes - at : most);
}

enum pith_status pith_ranks_agree(const struct pith_ranks *k, enum pith_status status,
                                  struct pith_error *err)
{
    struct pith_error shared = {.status = status};
    if (count_of(k) == 1)
        return status;
    uint32_t first = pith_ranks_least(k, status ? k->rank : k->count);
    if (first == k->count)
        return PITH_OK;
    if (status && err)
        shared = *err;
    shared.status = status;
    pith_ranks_share(k, first, &shared, sizeof shared);
    shared.text[sizeof shared.text - 1] = '\0';
    return pith_error_set(err, shared.status, "%s", shared.text);
}
