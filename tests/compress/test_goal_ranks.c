/* SPDX-License-Identifier: MIT */
/* test_goal_ranks.c - processes that search together - here threads, each with a network and data
 * of its own - make the files of one alone, with time and with a checkpoint: whatever their clocks
 * say, and however many there were before. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "compress/redundant_net.h"
#include "pith_host.h"
#include "train/thread_ranks.h"

#define LONG 1e4 /* seconds: the steps of a network have a limit of their own */
#define FAST 1e7 /* 64 bits hold the nanoseconds of half an hour */

/* ---- clocks ---------------------------------------------------------------------------------- */

static _Thread_local double speed = 1;

uint64_t __real_pith_clock_ns(void *user);
uint64_t __wrap_pith_clock_ns(void *user);
uint64_t __wrap_pith_clock_ns(void *user)
{
    static uint64_t first;
    const uint64_t now = __real_pith_clock_ns(user);
    if (first == 0)
        first = now;
    return first + (uint64_t)(speed * (double)(now - first));
}

/* ---- searches -------------------------------------------------------------------------------- */

struct searcher {
    struct seat seat;
    struct pith_goal goal;
    struct pith_goal_compress_opts o;
    double speed;
    uint32_t last;  /* the time is over when this file is made; 0: it is not */
    uint32_t made;  /* files, with those recalled */
    uint32_t first; /* of those that were rounded or trained; 0: none */
    struct pith_model *m;
    struct pith_data *data;
    struct pith_goal_result r;
    struct pith_error err;
    enum pith_status status;
    pthread_t thread;
};

static void note_made(void *user, const struct pith_goal_point *p, bool best)
{
    struct searcher *s = user;
    (void)p, (void)best;
    if (++s->made == s->last)
        speed = FAST;
}

static void note_progress(void *user, const struct pith_goal_progress *p)
{
    struct searcher *s = user;
    if ((strcmp(p->part, "layer") == 0 || strcmp(p->part, "epoch") == 0) && s->first == 0)
        s->first = p->file;
}

static void *work(void *arg)
{
    struct searcher *s = arg;
    const struct pith_feed_input input = {.data = s->data};
    const struct pith_feed feed = {.size_bytes = sizeof feed, .n_inputs = 1, .input = &input};
    s->o.feed = &feed;
    speed = s->speed;
    s->status = pith_goal_compress(s->m, &s->goal, &s->o, &s->r, &s->err);
    speed = 1;
    return NULL;
}

/* In main's thread: cmocka's assertions are not for others. */
static void open_searchers(struct searcher *s, struct meeting *m, uint32_t n, const char *path)
{
    open_meeting(m, n);
    memset(s, 0, n * sizeof *s);
    for (uint32_t i = 0; i < n; i++) {
        take_seat(&s[i].seat, m, i, false);
        s[i].speed = 1;
        s[i].goal = goal_of(LONG);
        s[i].m = redundant_net(CLASSES);
        s[i].data = samples(true);
        s[i].o = (struct pith_goal_compress_opts){.size_bytes = sizeof s[i].o,
                                                  .seed = 1,
                                                  .threads = 1,
                                                  .checkpoint = path,
                                                  .resume = path != NULL,
                                                  .progress = note_progress,
                                                  .made = note_made,
                                                  .user = &s[i],
                                                  .ranks = n > 1 ? &s[i].seat.ranks : NULL};
    }
}

static void search(struct searcher *s, uint32_t n)
{
    alarm(100); /* instead of waiting for ever */
    for (uint32_t i = 0; i < n; i++)
        assert_int_equal(pthread_create(&s[i].thread, NULL, work, &s[i]), 0);
    for (uint32_t i = 0; i < n; i++)
        pthread_join(s[i].thread, NULL);
    alarm(0);
}

static void close_searchers(struct searcher *s, uint32_t n)
{
    close_meeting(s[0].seat.m);
    for (uint32_t i = 0; i < n; i++) {
        if (!s[i].status)
            pith_goal_result_free(&s[i].r);
        pith_data_free(s[i].data);
        pith_model_free(s[i].m);
    }
}

static void same_as(const struct searcher *want, const struct searcher *s, uint32_t n)
{
    const struct pith_goal_found *a = &want->r.found;
    for (uint32_t i = 0; i < n; i++) {
        const struct pith_goal_found *b = &s[i].r.found;
        if (s[i].status)
            fail_msg("rank %u of %u: %s", i, n, s[i].err.text);
        assert_int_equal(a->n, b->n);
        assert_int_equal(a->best, b->best);
        for (uint32_t k = 0; k < a->n; k++) {
            assert_string_equal(a->point[k].encoder, b->point[k].encoder);
            assert_true(a->point[k].quality == b->point[k].quality);
            assert_int_equal(a->point[k].bytes, b->point[k].bytes);
            assert_memory_equal(a->point[k].file.data, b->point[k].file.data, a->point[k].bytes);
        }
    }
}

/* ---- alone ----------------------------------------------------------------------------------- */

static struct searcher one;
static struct meeting alone;

static int search_alone(void **state)
{
    (void)state;
    open_searchers(&one, &alone, 1, NULL);
    search(&one, 1);
    return one.status ? -1 : 0;
}

static int end_alone(void **state)
{
    (void)state;
    close_searchers(&one, 1);
    return 0;
}

/* ---- what they end with ---------------------------------------------------------------------- */

static void the_clock_of_rank_0_counts(void **state)
{
    (void)state;
    static struct searcher s[2];
    struct meeting m;
    open_searchers(s, &m, 2, NULL);
    s[1].speed = FAST;
    search(s, 2);
    same_as(&one, s, 2);
    close_searchers(s, 2);

    open_searchers(s, &m, 2, NULL);
    s[0].speed = FAST;
    search(s, 2);
    for (uint32_t i = 0; i < 2; i++) {
        assert_int_equal(s[i].status, PITH_OK);
        assert_int_equal(s[i].made, 1); /* the first file comes before the time is looked at */
    }
    close_searchers(s, 2);
}

/* Begun by two, gone on by one when so many files were made, and ended by four. */
static void another_number_goes_on(void **state)
{
    (void)state;
    static struct searcher s[MOST];
    struct meeting m;
    char path[64];
    uint32_t trained = 0;
    while (strcmp(one.r.found.point[trained].encoder, "retrained") != 0)
        trained++;
    const uint32_t count[] = {2, 1, 4}, last[] = {2, trained + 1, one.r.found.n};
    assert_true(trained >= 3 && trained + 2 <= one.r.found.n);
    snprintf(path, sizeof path, "/tmp/pith-goal-ranks-%d", (int)getpid());
    unlink(path);
    for (uint32_t k = 0; k < 3; k++) {
        open_searchers(s, &m, count[k], path);
        s[0].last = k < 2 ? last[k] : 0;
        search(s, count[k]);
        for (uint32_t i = 0; i < count[k]; i++) {
            if (s[i].status)
                fail_msg("rank %u of %u: %s", i, count[k], s[i].err.text);
            assert_int_equal(s[i].made, last[k]);
            assert_int_equal(s[i].first, k > 0 ? last[k - 1] + 1 : 2);
        }
        if (k == 2)
            same_as(&one, s, count[k]);
        close_searchers(s, count[k]);
    }
    assert_int_equal(unlink(path), 0);
}

/* ---- what one cannot do ---------------------------------------------------------------------- */

static void all_refuse(const char *path, enum pith_status status, const char *words)
{
    static struct searcher s[2];
    struct meeting m;
    open_searchers(s, &m, 2, path);
    search(s, 2);
    for (uint32_t i = 0; i < 2; i++)
        if (s[i].status != status || !strstr(s[i].err.text, words))
            fail_msg("rank %u: status %d, '%s' does not say '%s'", i, s[i].status, s[i].err.text,
                     words);
    close_searchers(s, 2);
}

static void what_rank_0_cannot_read_or_write_is_reported_in_all(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        enum pith_status status;
        const char *words;
    } of[] = {{"", PITH_ERR_IO, "empty"}, {"something else", PITH_ERR_CORRUPT, "not a checkpoint"}};
    for (int i = 0; i < 2; i++) {
        char *path = strdup(text_file(of[i].text));
        all_refuse(path, of[i].status, of[i].words);
        unlink(path);
        free(path);
    }
    all_refuse("/proc/nowhere", PITH_ERR_IO, "/proc/nowhere");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_clock_of_rank_0_counts),
        cmocka_unit_test(another_number_goes_on),
        cmocka_unit_test(what_rank_0_cannot_read_or_write_is_reported_in_all),
    };
    return cmocka_run_group_tests(tests, search_alone, end_alone);
}
