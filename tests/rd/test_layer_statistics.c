/* SPDX-License-Identifier: MIT */
/* Statistics of each kind of layer against windows taken by hand; goals against least squares;
 * steps against the closed form; bits against counts; a codebook's values. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include "conv_chain.h"
#include "pith_kept_values.h"
#include "test_rd.h"

static struct pith_error err;

static void check(enum pith_status status)
{
    if (status)
        fail_msg("status %d: %s", (int)status, err.text);
}

/* Channels of a sample at a place, under the taps of a 3x3 or 1x1 window: [channels, taps]. */
static void window(const float *x, uint32_t first, uint32_t channels, int size, int at, double *row)
{
    x += first * 36;
    for (uint32_t c = 0; c < channels; c++, x += 36)
        for (int ky = 0; ky < size; ky++)
            for (int kx = 0; kx < size; kx++) {
                int y = at / 6 + ky - size / 2, z = at % 6 + kx - size / 2;
                *row++ = y < 0 || y > 5 || z < 0 || z > 5 ? 0 : (double)x[y * 6 + z];
            }
}

/* H of a group of a convolution, all places of all samples. */
static void wanted_h(const struct layer_walk *w, uint32_t value, uint32_t group, uint32_t channels,
                     int size, double *h, size_t n)
{
    float x[8 * 36];
    double row[18];
    memset(h, 0, n * n * sizeof *h);
    for (uint64_t s = 0; s < SAMPLES; s++) {
        check(pith_layer_walk_read(w, value, s, x, &err));
        for (int at = 0; at < 36; at++) {
            window(x, group * channels, channels, size, at, row);
            for (size_t i = 0; i < n * n; i++)
                h[i] += row[i / n] * row[i % n] / SAMPLES;
        }
    }
}

static void expect_near(const double *found, const double *wanted, size_t n)
{
    double most = 0;
    for (size_t i = 0; i < n; i++)
        most = fmax(most, fabs(wanted[i]));
    for (size_t i = 0; i < n; i++)
        if (!(fabs(found[i] - wanted[i]) <= 1e-5 * most))
            fail_msg("element %zu is %g, wanted %g", i, found[i], wanted[i]);
}

static void statistics(struct layer_walk *now, struct layer_walk *was, uint32_t node,
                       const struct statistics_opts *opts, struct layer_statistics *s)
{
    struct layer_input reader[2];
    check(pith_layer_input_open(now, node, (struct body_span){0}, &reader[0], &err));
    check(pith_layer_input_open(was, node, (struct body_span){0}, &reader[1], &err));
    check(pith_layer_statistics(&reader[0], &reader[1], opts, s, &err));
    for (int i = 0; i < 2; i++)
        pith_layer_input_close(&reader[i]);
}

/* Of one network alone: H and its means, to the bit, and nothing crossed. */
static void expect_alone(struct layer_walk *now, uint32_t node, const struct statistics_opts *opts,
                         const struct layer_statistics *both)
{
    struct layer_input reader;
    struct layer_statistics s;
    check(pith_layer_input_open(now, node, (struct body_span){0}, &reader, &err));
    check(pith_layer_statistics(&reader, NULL, opts, &s, &err));
    assert_null(s.crossed);
    assert_null(s.mean[1]);
    assert_int_equal(s.rows, both->rows);
    assert_true(s.doubt == both->doubt);
    assert_memory_equal(s.h, both->h, s.groups * s.n * s.n * sizeof *s.h);
    assert_memory_equal(s.mean[0], both->mean[0], s.groups * s.n * sizeof **s.mean);
    pith_layer_statistics_end(&s);
    pith_layer_input_close(&reader);
}

static void sums_are_those_of_all_windows(void **state)
{
    (void)state;
    struct pith_model *m = chain_new(21);
    struct pith_data *data = chain_data(22);
    struct recorded_feed *feed;
    check(pith_recorded_feed_open_data(m, data, 0, &feed, &err));
    const struct layer_walk_opts o = {.feed = feed, .memory_bytes = 1 << 20};
    static const struct {
        uint32_t node, groups, channels;
        int size;
    } layer[] = {{0, 2, 2, 3}, {2, 8, 1, 3}, {4, 1, 8, 1}};
    const struct statistics_opts all = {.samples = SAMPLES, .per_column = 1000};
    struct layer_walk *w, *same;
    check(pith_layer_walk_open(m, &o, &w, &err));
    check(pith_layer_walk_open(m, &o, &same, &err));
    for (size_t i = 0; i < 3; i++) {
        const struct pith_node *node = &m->nodes[layer[i].node];
        struct layer_statistics s;
        double h[18 * 18];
        check(pith_layer_walk_to(w, layer[i].node, &err));
        check(pith_layer_walk_to(same, layer[i].node, &err));
        assert_int_equal(pith_layer_statistics_blocks(m, node), 1);
        statistics(w, same, layer[i].node, &all, &s);
        assert_int_equal(s.groups, layer[i].groups);
        assert_int_equal(s.n, layer[i].channels * (uint32_t)(layer[i].size * layer[i].size));
        assert_int_equal(s.rows, SAMPLES * 36);
        for (uint32_t g = 0; g < s.groups; g++) {
            wanted_h(w, node->in[0], g, layer[i].channels, layer[i].size, h, s.n);
            expect_near(s.h + g * s.n * s.n, h, s.n * s.n);
            expect_near(s.crossed + g * s.n * s.n, h, s.n * s.n);
        }
        expect_alone(w, layer[i].node, &all, &s);
        pith_layer_statistics_end(&s);
    }
    pith_layer_walk_close(w);
    pith_layer_walk_close(same);
    pith_recorded_feed_close(feed);
    pith_model_free(m);
    pith_data_free(data);
}

/* Of a place that the loss minds three times as much as others. */
static void places_count_as_the_loss_minds_them(void **state)
{
    (void)state;
    struct pith_model *m = chain_new(21);
    struct pith_data *data = chain_data(22);
    struct recorded_feed *feed;
    check(pith_recorded_feed_open_data(m, data, 0, &feed, &err));
    const struct layer_walk_opts o = {.feed = feed, .memory_bytes = 1 << 20};
    const struct pith_node *node = &m->nodes[4];
    struct pith_row_sensitivity of[32] = {0};
    struct pith_sensitivity known = {.n = 32, .n_samples = SAMPLES, .of = of};
    const struct statistics_opts opts = {
        .samples = SAMPLES, .per_column = 1000, .sensitivity = &known, .place_share = 0.5};
    double h[64] = {0}, mean[8] = {0}, all = 0;
    struct layer_walk *w;
    struct layer_statistics s;
    check(pith_layer_walk_open(m, &o, &w, &err));
    check(pith_layer_walk_to(w, 4, &err));
    of[node->in[1]].n_places = 36;
    of[node->in[1]].place_mean = 1;
    assert_non_null(known.place = pith_kept_new(32, 1 << 20));
    for (uint64_t i = 0; i < SAMPLES; i++) {
        float place[36], x[8 * 36];
        check(pith_layer_walk_read(w, node->in[0], i, x, &err));
        for (uint64_t at = 0; at < 36; at++) {
            place[at] = (at + i) % 3 == 0 ? 3 : 0;
            double weight = 0.5 + 0.5 * (double)place[at];
            all += weight;
            for (int k = 0; k < 64; k++)
                h[k] += weight * (double)x[k / 8 * 36 + (int)at] * (double)x[k % 8 * 36 + (int)at] /
                        SAMPLES;
            for (int k = 0; k < 8; k++)
                mean[k] += weight * (double)x[k * 36 + (int)at];
        }
        check(pith_kept_write(known.place, node->in[1], SAMPLES * sizeof place, i * sizeof place,
                              place, sizeof place, &err));
    }
    for (int k = 0; k < 8; k++)
        mean[k] /= all;
    statistics(w, w, (uint32_t)(node - m->nodes), &opts, &s);
    expect_near(s.h, h, 64);
    expect_near(s.crossed, h, 64);
    expect_near(s.mean[0], mean, 8);
    pith_layer_statistics_end(&s);
    pith_kept_free(known.place);
    pith_layer_walk_close(w);
    pith_recorded_feed_close(feed);
    pith_model_free(m);
    pith_data_free(data);
}

/* One row of one input in which nothing is known but its sum: the goal has as good results as the
 * weight that it stands for had from other inputs. */
static void goals_make_up_for_other_inputs(void **state)
{
    (void)state;
    enum { N = 6 };
    struct test_random r = test_seed(24);
    struct layer_statistics s = {.n = N, .groups = 1, .samples = 1000, .rows = 1000, .places = 1};
    float w[N];
    double mix[N * N], goal[N], room[N], x[N], was[N];
    s.h = calloc(N * N, sizeof *s.h);
    s.crossed = calloc(N * N, sizeof *s.crossed);
    s.mean[0] = calloc(N, sizeof **s.mean);
    s.mean[1] = calloc(N, sizeof **s.mean);
    for (int i = 0; i < N * N; i++)
        mix[i] = (i % (N + 1) == 0 ? 2 : 0) + 0.3 * (double)test_gauss(&r);
    for (int k = 0; k < N; k++)
        w[k] = test_gauss(&r);
    for (int at = 0; at < 1000; at++) { /* was = mix now, so the row of now is w mix */
        for (int k = 0; k < N; k++)
            x[k] = (double)test_gauss(&r);
        for (int k = 0; k < N; k++) {
            was[k] = 0;
            for (int i = 0; i < N; i++)
                was[k] += mix[k * N + i] * x[i];
        }
        for (int i = 0; i < N * N; i++) {
            s.h[i] += x[i / N] * x[i % N] / 1000;
            s.crossed[i] += x[i / N] * was[i % N] / 1000;
        }
    }
    struct layer_factor f;
    check(pith_layer_factor(&s, 0, 1e-9, 1, &f, &err));
    pith_layer_row_goal(&f, 0, w, goal, room);
    for (size_t j = 0; j < N; j++) {
        double wanted = 0;
        for (int k = 0; k < N; k++)
            wanted += (double)w[k] * mix[k * N + (int)f.order[j]];
        assert_true(fabs(goal[j] - wanted) < 1e-6);
    }
    check(pith_layer_goals(&f, w, 1, NULL, NULL,
                           &err)); /* found for all rows at once: the same bits */
    assert_null(f.crossed);
    pith_layer_row_goal(&f, 0, w, room, room);
    assert_memory_equal(room, goal, sizeof goal);
    pith_layer_factor_end(&f);
    pith_layer_statistics_end(&s);
}

/* ---- doubts ---------------------------------------------------------------------------------- */

#define COLUMNS 48
#define EACH 6 /* rows of a sample */

/* Neighbouring columns are alike, and so are the rows of a sample; none has the mean 0. */
static void draw_sample(struct test_random *r, float *x)
{
    const double loud = exp((double)test_gauss(r) / 5);
    for (int i = 0; i < EACH; i++)
        for (int k = 0; k < COLUMNS; k++) {
            const double before = k > 0 ? (double)x[i * COLUMNS + k - 1] - 3 : 0;
            x[i * COLUMNS + k] = (float)(3 + 0.8 * before + loud * test_gauss(r));
        }
}

/* a / (1 - a) by the matrices of all samples. x: [samples, EACH, COLUMNS] */
static double odds_by_hand(const float *x, uint64_t samples, const double *mean, double *h)
{
    double variance = 0, spread = 0, trace = 0;
    for (int i = 0; i < COLUMNS * COLUMNS; i++) {
        const int a = i / COLUMNS, b = i % COLUMNS;
        double sum = 0, squares = 0;
        for (uint64_t s = 0; s < samples; s++) {
            double one = 0;
            for (int row = 0; row < EACH; row++) {
                const float *at = x + (s * EACH + (uint64_t)row) * COLUMNS;
                one += ((double)at[a] - mean[a]) * ((double)at[b] - mean[b]);
            }
            sum += one / (double)samples;
            squares += one * one / (double)samples;
        }
        h[i] = sum + EACH * mean[a] * mean[b];
        variance += (squares - sum * sum) / ((double)samples - 1);
        spread += sum * sum;
        trace += a == b ? sum : 0;
    }
    const double share = variance / (spread - trace * trace / COLUMNS);
    return share / (1 - share);
}

static double odds_found(const float *x, uint64_t samples, double *by_hand)
{
    double h[COLUMNS * COLUMNS], mean[COLUMNS] = {0};
    struct sample_doubt d;
    assert_true(pith_doubt_open(&d, samples, EACH, 1, COLUMNS));
    for (uint64_t row = 0; row < samples * EACH; row++) {
        pith_doubt_add(&d, row / EACH, row % EACH, 0, x + row * COLUMNS, 1);
        for (int k = 0; k < COLUMNS; k++)
            mean[k] += (double)x[row * COLUMNS + (uint64_t)k] / (double)(samples * EACH);
    }
    *by_hand = odds_by_hand(x, samples, mean, h);
    const struct doubted of = {h, mean, 1.0 / (double)samples, EACH, 1};
    const double odds = pith_doubt_odds(&d, &of);
    pith_doubt_close(&d);
    return odds;
}

static void few_samples_leave_doubts(void **state)
{
    (void)state;
    static float x[160 * EACH * COLUMNS];
    double by_hand, found, many;
    struct test_random r = test_seed(51);
    for (int s = 0; s < 160; s++)
        draw_sample(&r, x + s * EACH * COLUMNS);
    for (uint64_t samples = 20; samples <= 160; samples *= 2) { /* all kept, and some */
        found = odds_found(x, samples, &by_hand);
        if (!(fabs(log(found / by_hand)) < 0.3))
            fail_msg("%d samples: odds %g, by hand %g", (int)samples, found, by_hand);
    }
    many = found;
    found = odds_found(x, 20, &by_hand);
    assert_true(many < found / 4 && many > found / 16);
    assert_true(odds_found(x, 1, &by_hand) > 3); /* as much as may be */
    for (int s = 1; s < 20; s++)
        memcpy(x + s * EACH * COLUMNS, x, EACH * COLUMNS * sizeof *x);
    assert_true(odds_found(x, 20, &by_hand) < 1e-9);
}

/* D + lambda * bits, of D = F noise / 24 s^2 n and bits = -n log2 s, has its least there. */
static void steps_are_where_a_bit_costs_lambda(void **state)
{
    (void)state;
    const double loss[] = {1, 16, 400}, most[] = {0.1, 0.1, 0.1};
    double step[3];
    struct step_choice c = {.rows = 3,
                            .n = 100,
                            .lambda = 1e-3,
                            .loss = loss,
                            .most = most,
                            .levels = 127,
                            .by_row = 0};
    assert_false(pith_step_choose(&c, step));
    double mean = (1 + 16 + 400) / 3.0, best = HUGE_VAL, at = 0;
    for (double s = 1e-3; s < 1; s *= 1.001) {
        double cost = mean * s * s / 24 - c.lambda * log2(s);
        if (cost < best) {
            best = cost;
            at = s;
        }
    }
    assert_true(fabs(log(step[0] / at)) < 2e-3);
    assert_true(step[0] == step[1] && step[1] == step[2]);
    assert_true(pith_step_reach(&c, false, step));
    c.trellis = true;
    assert_false(pith_step_choose(&c, step));
    assert_true(fabs(log(step[0] / at / 0.56)) < 2e-3);
    assert_true(pith_step_reach(&c, false, step));
    c.trellis = false;
    c.by_row = -1; /* they differ by much */
    assert_true(pith_step_choose(&c, step));
    for (int i = 0; i < 3; i++) {
        double wanted = sqrt(12 * c.lambda / (log(2) * loss[i]));
        assert_true(fabs(log2(step[i] / wanted)) < 0.17);
        int e;
        double eighths = 8 * frexp(step[i], &e);
        assert_true(eighths == floor(eighths));
    }
    c.lambda = 1e-9; /* finer than 127 of them reach */
    assert_true(pith_step_choose(&c, step));
    for (int i = 0; i < 3; i++)
        assert_true(step[i] * 127 >= 0.1 && step[i] * 127 < 0.13);
    assert_false(pith_step_reach(&c, true, step));
    const double alike[] = {1, 1, 1};
    c.loss = alike;
    assert_false(pith_step_choose(&c, step));
}

static void sensitivities_are_drawn_to_their_mean(void **state)
{
    (void)state;
    double few[] = {0, 1, 5}, many[] = {0, 1, 5}, last[] = {0, 1, 5};
    pith_step_shrink(few, 3, 32, false);
    pith_step_shrink(many, 3, 1 << 20, false);
    pith_step_shrink(last, 3, 1 << 20, true);
    assert_true(few[0] == 1 && few[1] == 1.5 && few[2] == 3.5);
    assert_true(many[0] == 2e-3 && fabs(many[2] - 5) < 1e-3);
    assert_true(last[0] == 2 && last[1] == 2 && last[2] == 2);
}

static void bits_are_those_of_the_counts(void **state)
{
    (void)state;
    struct rate_table t = {{0}, {0}, 0};
    int16_t q[4096];
    for (int i = 0; i < 4096; i++)
        q[i] = (int16_t)(i % 4 == 0 ? 1 : i % 4 == 1 ? -1 : 0);
    pith_rate_count(&t, q, 4096);
    pith_rate_finish(&t);
    assert_true(fabs(t.bits[RATE_MOST] - 1) < 0.01);
    assert_true(fabs(t.bits[RATE_MOST + 1] - 2) < 0.01);
    assert_true(fabs(t.total - 4096 * 1.5) < 20);
    assert_true(t.bits[RATE_MOST + 2] > 12 && t.bits[RATE_MOST - 90] > 12);
}

static void codebooks_have_the_steps(void **state)
{
    (void)state;
    struct pith_model *m = chain_new(25);
    struct pith_const *c = m->values[m->nodes[4].in[1]].constant; /* [6, 8] */
    int16_t q[48];
    const double step[6] = {1, 2, 3, 4, 5, 6};
    for (int i = 0; i < 48; i++)
        q[i] = (int16_t)(i % 7 - 3);
    check(pith_weight_store(m, c, 6, q, step, true, false));
    assert_int_equal(c->codebook->n_centroids, 7);
    assert_int_equal(c->codebook->n_groups, 6);
    for (int i = 0; i < 48; i++)
        assert_true(((float *)c->data)[i] == (float)(q[i] * step[i / 8]));
    check(pith_weight_store(m, c, 6, q, step, false, false));
    assert_int_equal(c->codebook->n_groups, 1);
    assert_true(((float *)c->data)[47] == (float)q[47]);
    pith_model_free(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sums_are_those_of_all_windows),
        cmocka_unit_test(places_count_as_the_loss_minds_them),
        cmocka_unit_test(goals_make_up_for_other_inputs),
        cmocka_unit_test(few_samples_leave_doubts),
        cmocka_unit_test(steps_are_where_a_bit_costs_lambda),
        cmocka_unit_test(sensitivities_are_drawn_to_their_mean),
        cmocka_unit_test(bits_are_those_of_the_counts),
        cmocka_unit_test(codebooks_have_the_steps),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
