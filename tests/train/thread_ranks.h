/* SPDX-License-Identifier: MIT */
/* thread_ranks.h - processes that train together (struct pith_ranks), as threads of one.
 */
#ifndef THREAD_RANKS_H
#define THREAD_RANKS_H

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "pith_train.h"

enum { MOST = 8 };

struct meeting {
    pthread_mutex_t lock;
    pthread_cond_t moved;
    uint32_t count;
    struct letter {
        const void *data;
        size_t bytes;
    } letter[MOST][MOST]; /* [from][to]; data NULL: none */
    pthread_barrier_t all;
    float *memory; /* that all see */
};

struct seat {
    struct meeting *m;
    struct pith_ranks ranks;
};

/* The receiver copies and takes the letter away, for which the sender waits. */
static inline void exchange(void *user, uint32_t peer, const void *send, void *receive,
                            size_t bytes)
{
    const struct seat *s = user;
    uint32_t rank = s->ranks.rank;
    pthread_mutex_lock(&s->m->lock);
    s->m->letter[rank][peer] = (struct letter){send, bytes};
    pthread_cond_broadcast(&s->m->moved);
    struct letter *in = &s->m->letter[peer][rank];
    while (!in->data)
        pthread_cond_wait(&s->m->moved, &s->m->lock);
    if (in->bytes != bytes) {
        fprintf(stderr, "rank %u sends %zu bytes, rank %u %zu\n", rank, bytes, peer, in->bytes);
        abort();
    }
    memcpy(receive, in->data, bytes);
    in->data = NULL;
    pthread_cond_broadcast(&s->m->moved);
    while (s->m->letter[rank][peer].data)
        pthread_cond_wait(&s->m->moved, &s->m->lock);
    pthread_mutex_unlock(&s->m->lock);
}

static inline void meet(void *user)
{
    const struct seat *s = user;
    pthread_barrier_wait(&s->m->all);
}

static inline bool share(void *user, size_t bytes, void **all)
{
    const struct seat *s = user;
    struct meeting *m = s->m;
    if (s->ranks.rank == 0)
        m->memory = calloc(m->count, bytes);
    meet(user);
    for (uint32_t r = 0; r < m->count && m->memory; r++)
        all[r] = (char *)m->memory + r * bytes;
    return m->memory != NULL;
}

static inline void open_meeting(struct meeting *m, uint32_t count)
{
    *m = (struct meeting){.count = count};
    pthread_mutex_init(&m->lock, NULL);
    pthread_cond_init(&m->moved, NULL);
    pthread_barrier_init(&m->all, NULL, count);
}

static inline void close_meeting(struct meeting *m)
{
    free(m->memory);
    m->memory = NULL;
    pthread_mutex_destroy(&m->lock);
    pthread_cond_destroy(&m->moved);
    pthread_barrier_destroy(&m->all);
}

/* seat->ranks then is one of them; both stay where they are. shares: all see the same memory. */
static inline void take_seat(struct seat *seat, struct meeting *m, uint32_t rank, bool shares)
{
    *seat = (struct seat){m, {.rank = rank, .count = m->count, .exchange = exchange, .user = seat}};
    if (shares) {
        seat->ranks.share = share;
        seat->ranks.meet = meet;
    }
}

#endif
