/* SPDX-License-Identifier: MIT */
/* The search for the smallest file within a goal, over encoders whose answers are known: bytes fall
 * and losses rise with quality by a power. */
#include <stdint.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "test_run.h"
#include "pith_goal_search.h"

/* kl = scale q^power, bytes = most / q. */
struct fake {
    double scale, power, most;
    double error;          /* of a loss measured, in logarithms: its standard deviation */
    double standard_error; /* the standard error that is measured, as a share of the loss */
    uint64_t draws;
    enum pith_status fails;
    uint32_t calls;
};

static double gauss(uint64_t *draws)
{
    double sum = 0;
    for (int i = 0; i < 12; i++) {
        *draws = *draws * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        sum += (double)(*draws >> 40) / (double)(1 << 24);
    }
    return sum - 6;
}

static enum pith_status encode(void *user, double quality, struct pith_buffer *file,
                               struct pith_error *err)
{
    struct fake *f = user;
    (void)err;
    f->calls++;
    if (f->fails)
        return f->fails;
    file->bytes = (size_t)(f->most / quality);
    file->data = calloc(1, file->bytes);
    double kl = f->scale * pow(quality, f->power);
    if (f->error > 0)
        kl *= exp(f->error * gauss(&f->draws));
    const double measured[2] = {kl, f->standard_error * kl};
    memcpy(file->data, measured, sizeof measured); /* for measure */
    return PITH_OK;
}

static enum pith_status measure(void *user, struct pith_goal_point *p, struct pith_error *err)
{
    struct pith_goal_loss *loss = &p->loss;
    (void)user;
    (void)err;
    *loss = (struct pith_goal_loss){.samples = 100, .classes = true, .agreement = 1};
    memcpy(&loss->kl, p->file.data, sizeof loss->kl);
    memcpy(&loss->kl_error, p->file.data + sizeof loss->kl, sizeof loss->kl_error);
    loss->snr_db = loss->snr_low_db = loss->numbers_db = loss->numbers_low_db =
        30 - 10 * log10(loss->kl);
    p->ram = 1000 + p->file.bytes;
    p->latency = strcmp(p->encoder, "fast") == 0 ? 1e-3 : 2e-3;
    return PITH_OK;
}

static struct pith_goal_encoder encoder_of(struct fake *f)
{
    return (struct pith_goal_encoder){
        .name = "fake", .finest = 0.02, .first = 0.7, .coarsest = 24, .encode = encode, .user = f};
}

static struct pith_goal goal_of(double max_drop)
{
    struct pith_goal g;
    pith_goal_init(&g);
    g.max_drop = max_drop;
    return g;
}

static struct pith_goal_found run(const struct pith_goal *goal, const struct pith_goal_encoder *e,
                                  uint32_t n)
{
    const struct pith_goal_search s = {
        .size_bytes = sizeof s, .goal = goal, .encoder = e, .n = n, .measure = measure};
    struct pith_goal_found found = {.n = 0};
    struct pith_error err = {0};
    assert_int_equal(pith_goal_search(&s, &found, &err), PITH_OK);
    assert_in_range(found.n, 1, PITH_GOAL_CALLS);
    return found;
}

/* Whatever the network is like: within the limit, and no more than a few percent of bytes above the
 * smallest file that is. */
TEST(finds_the_limit)
{
    for (int i = 0; i < 60; i++) {
        struct fake f = {.scale = 0.02 * pow(10, -3 + 0.1 * i), /* at q = 1 */
                         .power = 1.5 + 0.25 * (i % 7),
                         .most = 1e6};
        const struct pith_goal_encoder e = encoder_of(&f);
        const struct pith_goal goal = goal_of(0.005); /* 0.02 nats */
        double right = pow(0.02 / f.scale, 1 / f.power);
        struct pith_goal_found found = run(&goal, &e, 1);
        const struct pith_goal_point *best = &found.point[found.best];
        if (right < e.finest) {
            assert_false(found.met);
        } else {
            assert_true(found.met);
            assert_true(best->loss.kl <= 0.02);
            assert_true(best->quality > 0.88 * fmin(right, e.coarsest));
        }
        assert_int_equal(best->bytes, best->file.bytes);
        pith_goal_found_free(&found);
    }
}

/* Losses on few samples are off by 15 %: some four files do all the same, and few percent of
 * quality are lost. */
TEST(few_files_where_losses_have_errors)
{
    double files = 0, quality = 0;
    const uint32_t runs = 200;
    for (uint32_t i = 0; i < runs; i++) {
        uint64_t draws = 7 + i;
        struct fake f = {.power = fmax(1, 2 + 0.4 * gauss(&draws)), .most = 1e6, .error = 0.15};
        const double right = exp(0.45 + 0.4 * gauss(&draws));
        struct pith_goal_encoder e = encoder_of(&f);
        const struct pith_goal goal = goal_of(0.005);
        f.scale = 0.02 * pow(right, -f.power);
        f.draws = draws;
        e.first = 1.2;
        struct pith_goal_found found = run(&goal, &e, 1);
        assert_true(found.met);
        files += found.n;
        quality += log(found.point[found.best].quality / right);
        pith_goal_found_free(&found);
    }
    assert_true(files / runs < 4.2);
    assert_true(exp(quality / runs) > 0.95);
}

/* What is known from before is not made again, and the end is the same. */
static bool recall(void *watcher, struct pith_goal_point *point)
{
    const struct pith_goal_found *before = watcher;
    assert_string_equal(point->encoder, "fake");
    for (uint32_t i = 0; i < before->n; i++) {
        const struct pith_goal_point *p = &before->point[i];
        if (!(p->quality < point->quality) && !(p->quality > point->quality)) {
            point->file = (struct pith_buffer){malloc(p->file.bytes), p->file.bytes};
            memcpy(point->file.data, p->file.data, p->file.bytes);
            return true;
        }
    }
    return false;
}

TEST(goes_on_from_what_is_known)
{
    struct fake f = {.scale = 0.013, .power = 2.6, .most = 1e6};
    const struct pith_goal_encoder e = encoder_of(&f);
    const struct pith_goal goal = goal_of(0.005);
    struct pith_goal_found whole = run(&goal, &e, 1), again, before = whole;
    assert_true(whole.n >= 2);
    for (uint32_t known = 0; known <= whole.n; known++) {
        const struct pith_goal_search s = {.size_bytes = sizeof s,
                                           .goal = &goal,
                                           .encoder = &e,
                                           .n = 1,
                                           .measure = measure,
                                           .recall = recall,
                                           .watcher = &before};
        struct pith_error err = {0};
        before.n = known;
        f.calls = 0;
        assert_int_equal(pith_goal_search(&s, &again, &err), PITH_OK);
        assert_int_equal(f.calls, whole.n - known);
        assert_int_equal(again.n, whole.n);
        assert_int_equal(again.best, whole.best);
        assert_string_equal(again.point[0].encoder, "fake");
        pith_goal_found_free(&again);
    }
    pith_goal_found_free(&whole);
}

static bool always(void *watcher)
{
    (void)watcher;
    return true;
}

/* Files that exist are taken although the search must stop: no other is made. */
TEST(recalls_before_it_stops)
{
    struct fake f = {.scale = 0.013, .power = 2.6, .most = 1e6};
    const struct pith_goal_encoder e = encoder_of(&f);
    const struct pith_goal goal = goal_of(0.005);
    struct pith_goal_found whole = run(&goal, &e, 1), again, before = whole;
    const struct pith_goal_search s = {.size_bytes = sizeof s,
                                       .goal = &goal,
                                       .encoder = &e,
                                       .n = 1,
                                       .measure = measure,
                                       .stop = always,
                                       .recall = recall,
                                       .watcher = &before};
    struct pith_error err = {0};
    f.calls = 0;
    for (before.n = 1; before.n <= whole.n; before.n++) {
        assert_int_equal(pith_goal_search(&s, &again, &err), PITH_OK);
        assert_int_equal(again.n, before.n);
        assert_true(again.stopped == (before.n < whole.n));
        pith_goal_found_free(&again);
    }
    assert_int_equal(f.calls, 0);
    pith_goal_found_free(&whole);
}

/* One file of the early encoder; those of the others are the ones that there would be without it,
 * also of one that is tried only when no other file is within the goal. */
TEST(an_early_file_changes_no_other)
{
    for (int kind = 0; kind < 2; kind++) {
        struct fake f[3] = {{.scale = 1e-6, .power = 1, .most = 9e6},
                            {.scale = 0.013, .power = 2.6, .most = 1e6},
                            {.scale = 0.02, .power = 2, .most = 2e6}};
        struct pith_goal_encoder e[3];
        const struct pith_goal goal = goal_of(0.005);
        for (int i = 0; i < 3; i++)
            e[i] = encoder_of(&f[i]);
        e[0].early = true;
        e[0].most = 1;
        e[2].instead = true;
        f[1].fails = kind == 0 ? PITH_OK : PITH_ERR_UNSUPPORTED;
        struct pith_goal_found without = run(&goal, e + 1, 2), with = run(&goal, e, 3);
        assert_int_equal(with.n, without.n + 1);
        for (uint32_t i = 0; i < without.n; i++)
            assert_int_equal(with.point[i + 1].bytes, without.point[i].bytes);
        assert_int_equal(with.best, without.best + 1);
        pith_goal_found_free(&without);
        pith_goal_found_free(&with);
    }
}

/* The second encoder's files are smaller by a third at the same loss; the order does not matter. */
TEST(takes_the_smaller_of_two)
{
    for (int order = 0; order < 2; order++) {
        struct fake f[2] = {{.scale = 0.04, .power = 2, .most = 9e5},
                            {.scale = 0.04, .power = 2, .most = 6e5}};
        struct pith_goal_encoder e[2] = {encoder_of(&f[order]), encoder_of(&f[1 - order])};
        e[0].most = 4;
        e[order ? 0 : 1].name = "small";
        const struct pith_goal goal = goal_of(0.005);
        struct pith_goal_found found = run(&goal, e, 2);
        assert_true(found.met);
        assert_string_equal(found.point[found.best].encoder, "small");
        assert_true(f[1 - order].calls > 0);
        pith_goal_found_free(&found);
    }
}

TEST(goes_on_where_one_cannot)
{
    struct fake no = {.fails = PITH_ERR_UNSUPPORTED},
                yes = {.scale = 0.04, .power = 2, .most = 1e5};
    struct pith_goal_encoder e[2] = {encoder_of(&no), encoder_of(&yes)};
    const struct pith_goal goal = goal_of(0.005);
    e[1].instead = true;
    struct pith_goal_found found = run(&goal, e, 2);
    assert_true(found.met);
    assert_int_equal(no.calls, 1);
    pith_goal_found_free(&found);
    /* a fallback encoder does not run where it need not */
    no = yes;
    no.calls = yes.calls = 0;
    found = run(&goal, e, 2);
    assert_true(no.calls > 0);
    assert_int_equal(yes.calls, 0);
    pith_goal_found_free(&found);
}

/* Finer files lose as much: the second says so, and there is no third; the next encoder runs.
 */
TEST(stops_at_a_floor)
{
    struct fake f[2] = {{.scale = 0.05, .power = 0.05, .most = 1e6},
                        {.scale = 0.04, .power = 2, .most = 1e6}};
    struct pith_goal_encoder e[2] = {encoder_of(&f[0]), encoder_of(&f[1])};
    const struct pith_goal goal = goal_of(0.005);
    e[1].instead = true;
    struct pith_goal_found found = run(&goal, e, 2);
    assert_int_equal(f[0].calls, 2);
    assert_true(found.met && f[1].calls > 0);
    pith_goal_found_free(&found);
}

/* Where nothing that is coarse keeps the goal, the last resort runs, though all calls are
 * spent; else it is not. */
TEST(ends_with_the_last_resort)
{
    struct fake coarse = {.scale = 10, .power = 0.7, .most = 1e4};
    struct fake exact = {.scale = 0.01, .power = 2, .most = 1e6};
    struct pith_goal_encoder e[4] = {encoder_of(&coarse), encoder_of(&coarse), encoder_of(&coarse),
                                     encoder_of(&exact)};
    const struct pith_goal goal = goal_of(0.005);
    const struct pith_goal_search s = {
        .size_bytes = sizeof s, .goal = &goal, .encoder = e, .n = 4, .measure = measure};
    struct pith_goal_found found = {.n = 0};
    e[3].finest = e[3].first = e[3].coarsest = 1;
    e[3].most = 1;
    e[3].instead = true;
    for (int resort = 0; resort <= 1; resort++) {
        e[3].last_resort = resort;
        coarse.calls = exact.calls = 0;
        assert_int_equal(pith_goal_search(&s, &found, NULL), PITH_OK);
        assert_int_equal(coarse.calls, PITH_GOAL_CALLS);
        assert_int_equal(exact.calls, resort);
        assert_int_equal(found.met, resort);
        pith_goal_found_free(&found);
    }
    coarse.scale = 0.001;
    exact.calls = 0;
    assert_int_equal(pith_goal_search(&s, &found, NULL), PITH_OK);
    assert_true(found.met);
    assert_int_equal(exact.calls, 0);
    pith_goal_found_free(&found);
}

TEST(fails_as_the_last_does)
{
    static const enum pith_status fatal[] = {PITH_ERR_UNSUPPORTED, PITH_ERR_ARGUMENT,
                                             PITH_ERR_MEMORY, PITH_ERR_STOPPED};
    for (size_t i = 0; i < sizeof fatal / sizeof *fatal; i++) {
        struct fake no = {.fails = fatal[i]};
        const struct pith_goal_encoder e = encoder_of(&no);
        const struct pith_goal goal = goal_of(0.005);
        const struct pith_goal_search s = {
            .size_bytes = sizeof s, .goal = &goal, .encoder = &e, .n = 1, .measure = measure};
        struct pith_goal_found found = {.n = 7};
        struct pith_error err = {0};
        assert_int_equal(pith_goal_search(&s, &found, &err), fatal[i]);
        assert_int_equal(found.n, 7); /* untouched */
    }
}

/* With a limit on bytes alone: as little loss as they allow. */
TEST(spends_the_bytes)
{
    struct fake f = {.scale = 0.04, .power = 2, .most = 1e6};
    const struct pith_goal_encoder e = encoder_of(&f);
    struct pith_goal goal = goal_of(-1);
    goal.max_size = 400000;
    struct pith_goal_found found = run(&goal, &e, 1);
    assert_true(found.met);
    assert_in_range(found.point[found.best].bytes, 350000, 400000);
    pith_goal_found_free(&found);
    goal.max_size = 0;
    goal.max_ram = 101000; /* measure makes 1,000 of it beside the file */
    found = run(&goal, &e, 1);
    assert_true(found.met);
    assert_in_range(found.point[found.best].bytes, 87000, 100000);
    pith_goal_found_free(&found);
}

/* The first encoder's files take 2 ms, those of the one that stands in 1 ms: it runs where the
 * limit is between, and not where it is above. Where it is below both, the faster is kept. */
TEST(takes_the_fast_one)
{
    struct fake f[2] = {{.scale = 0.04, .power = 2, .most = 6e5},
                        {.scale = 0.04, .power = 2, .most = 9e5}};
    struct pith_goal_encoder e[2] = {encoder_of(&f[0]), encoder_of(&f[1])};
    struct pith_goal goal = goal_of(0.005);
    e[0].most = 5;
    e[1].name = "fast";
    e[1].instead = true;
    goal.max_latency = 1.5e-3;
    struct pith_goal_found found = run(&goal, e, 2);
    assert_true(found.met);
    assert_string_equal(found.point[found.best].encoder, "fast");
    pith_goal_found_free(&found);
    goal.max_latency = 2.5e-3;
    f[1].calls = 0;
    found = run(&goal, e, 2);
    assert_true(found.met);
    assert_int_equal(f[1].calls, 0);
    pith_goal_found_free(&found);
    goal.max_latency = 0.5e-3;
    found = run(&goal, e, 2);
    assert_false(found.met);
    assert_true(found.point[found.best].excess <= 0 && !found.point[found.best].small);
    assert_string_equal(found.point[found.best].encoder, "fast");
    pith_goal_found_free(&found);
}

/* Within the limit, but not by one standard error: what a search ends with that has nothing safer,
 * rather than a file that is safer and too large. */
TEST(meets_by_what_was_measured)
{
    struct fake f = {.scale = 0.04, .power = 2, .most = 1e6, .standard_error = 0.5};
    struct pith_goal_encoder e = encoder_of(&f);
    struct pith_goal goal = goal_of(0.005); /* q 0.707: 1.41 MB; 1.5 times that loss q 0.577 */
    goal.max_size = 1.45e6;
    struct pith_goal_found found = run(&goal, &e, 1);
    const struct pith_goal_point *best = &found.point[found.best];
    assert_true(found.met && best->small);
    assert_true(best->excess > 0 && best->loss.kl <= 0.02);
    pith_goal_found_free(&found);
}

/* Both cannot be: the smallest file within the loss is the best, and it is not within the goal. */
TEST(keeps_what_misses_least)
{
    struct fake f = {.scale = 0.04, .power = 2, .most = 1e6};
    const struct pith_goal_encoder e = encoder_of(&f);
    struct pith_goal goal = goal_of(0.005); /* q 0.707: 1.4 MB */
    goal.max_size = 500000;
    struct pith_goal_found found = run(&goal, &e, 1);
    const struct pith_goal_point *best = &found.point[found.best];
    assert_false(found.met);
    assert_true(best->loss.kl <= 0.02 && (double)best->bytes > goal.max_size);
    for (uint32_t i = 0; i < found.n; i++)
        if (found.point[i].loss.kl <= 0.02)
            assert_true(best->bytes <= found.point[i].bytes);
    pith_goal_found_free(&found);
    /* no loss is small enough: the least */
    f.scale = 1e4;
    found = run(&goal, &e, 1);
    assert_false(found.met);
    for (uint32_t i = 0; i < found.n; i++)
        assert_true(found.point[found.best].loss.kl <= found.point[i].loss.kl);
    pith_goal_found_free(&found);
}

/* Where quality ends there is no other file. */
TEST(ends_where_quality_does)
{
    struct fake f = {.scale = 1e-9, .power = 2, .most = 1e6};
    struct pith_goal_encoder e = encoder_of(&f);
    const struct pith_goal goal = goal_of(0.005);
    e.first = e.coarsest;
    struct pith_goal_found found = run(&goal, &e, 1);
    assert_int_equal(found.n, 1);
    pith_goal_found_free(&found);
}

struct watch {
    uint32_t made, best, stop_at;
};

static void made(void *watcher, const struct pith_goal_point *p, bool best)
{
    struct watch *w = watcher;
    w->made++;
    w->best += best;
    assert_true(p->file.bytes == p->bytes);
}

static bool stop(void *watcher)
{
    const struct watch *w = watcher;
    return w->made >= w->stop_at;
}

TEST(stops_with_what_there_is)
{
    for (uint32_t at = 0; at < 3; at++) {
        struct fake f = {.scale = 0.04, .power = 3, .most = 1e6};
        struct pith_goal_encoder e = encoder_of(&f);
        const struct pith_goal goal = goal_of(0.0001);
        struct watch w = {.stop_at = at};
        const struct pith_goal_search s = {.size_bytes = sizeof s,
                                           .goal = &goal,
                                           .encoder = &e,
                                           .n = 1,
                                           .measure = measure,
                                           .made = made,
                                           .stop = stop,
                                           .watcher = &w};
        struct pith_goal_found found = {.n = 0};
        struct pith_error err = {0};
        enum pith_status st = pith_goal_search(&s, &found, &err);
        assert_int_equal(st, at == 0 ? PITH_ERR_STOPPED : PITH_OK);
        assert_int_equal(found.n, at);
        assert_int_equal(w.made, at);
        assert_true(found.stopped == (at > 0));
        pith_goal_found_free(&found);
    }
}

RUN_TESTS
