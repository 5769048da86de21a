/* SPDX-License-Identifier: MIT */
/* Processes that sweep together - here threads, each with a network and data of its own - end with
 * the weights of one alone, whatever their number. */
#include "test_run.h"
#include <pthread.h>
#include "conv_chain.h"
#include "drawn_sensitivity.h"
#include "rd/weight_sweep.h"
#include "rd/block_choice.h"
#include "rd/layer_support.h"
#include "rd/row_windows.h"
#include "rd/step_choice.h"

enum { MOST = 5 };

struct meeting {
    uint32_t count;
    pthread_barrier_t all;
    void *data[MOST];
};

struct seat {
    struct meeting *m;
    struct pith_sweep_ranks ranks;
    struct pith_weight_sweep_opts opts;
    struct pith_model *in, *out;
    struct pith_sensitivity known;
    uint64_t taken; /* bytes that others have found */
    enum pith_status status;
    pthread_t thread;
};

/* No rank writes into its own items. */
static bool gather(void *user, void *data, size_t bytes, size_t item)
{
    struct seat *s = user;
    s->m->data[s->ranks.rank] = data;
    pthread_barrier_wait(&s->m->all);
    for (size_t i = 0, at = 0; at < bytes; i++, at += item) {
        const uint32_t owner = (uint32_t)(i % s->m->count);
        const size_t n = bytes - at < item ? bytes - at : item;
        if (owner == s->ranks.rank)
            continue;
        memcpy((char *)data + at, (const char *)s->m->data[owner] + at, n);
        s->taken += n;
    }
    pthread_barrier_wait(&s->m->all);
    return true;
}

static void *run(void *arg)
{
    struct seat *s = arg;
    struct pith_data *data = chain_data(8);
    s->status = drawn_sensitivity(s->in, 5, &s->known, NULL);
    s->opts.sensitivity = &s->known;
    if (!s->status)
        s->status = pith_weight_sweep(s->in, data, &s->opts, &s->out, NULL, NULL);
    pith_data_free(data);
    return NULL;
}

static void sweep(struct meeting *m, struct seat seat[MOST], uint32_t states)
{
    pthread_barrier_init(&m->all, NULL, m->count);
    for (uint32_t r = 0; r < m->count; r++) {
        struct seat *s = &seat[r];
        *s = (struct seat){.m = m, .ranks = {r, m->count, gather, s}, .in = chain_new(6)};
        s->opts = (struct pith_weight_sweep_opts){.size_bytes = sizeof s->opts,
                                                  .lambda = 1e-4,
                                                  .rate_share = 0.5,
                                                  .states = states,
                                                  .ranks = m->count > 1 ? &s->ranks : NULL};
        assert_int_equal(pthread_create(&s->thread, NULL, run, s), 0);
    }
    for (uint32_t r = 0; r < m->count; r++)
        pthread_join(seat[r].thread, NULL);
    pthread_barrier_destroy(&m->all);
}

static bool same_weights(const struct pith_model *a, const struct pith_model *b)
{
    for (uint32_t v = 0; v < a->n_values; v++) {
        const struct pith_const *x = a->values[v].constant, *y = b->values[v].constant;
        if (x && memcmp(x->data, y->data, x->count * sizeof(float)))
            return false;
    }
    return true;
}

static void free_seats(struct seat *seat, uint32_t n)
{
    for (uint32_t r = 0; r < n; r++) {
        pith_model_free(seat[r].in);
        pith_model_free(seat[r].out);
        free_drawn(&seat[r].known);
    }
}

TEST(ranks_end_with_the_weights_of_one)
{
    for (uint32_t states = 0; states <= 8; states += 8) {
        struct meeting one = {.count = 1}, many;
        struct seat alone[MOST], seat[MOST];
        sweep(&one, alone, states);
        assert_int_equal(alone[0].status, PITH_OK);
        assert_false(same_weights(alone[0].in, alone[0].out));
        for (uint32_t n = 2; n <= MOST; n++) {
            many = (struct meeting){.count = n};
            sweep(&many, seat, states);
            for (uint32_t r = 0; r < n; r++) {
                assert_int_equal(seat[r].status, PITH_OK);
                assert_true(same_weights(alone[0].out, seat[r].out));
                assert_true(seat[r].taken > 0);
            }
            free_seats(seat, n);
        }
        free_seats(alone, 1);
    }
}

RUN_TESTS
