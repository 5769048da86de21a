/* SPDX-License-Identifier: MIT */
/* Moments of each kind of layer against windows taken by hand, and of two columns to the digit;
 * targets against least squares; shrinkage against all samples' matrices. */
#include "test_run.h"
#include "conv_chain.h"
#include "base/kept_values.h"
#include "layers/layer_factor.h"
#include "layers/kept_row.h"
#include "layers/shrinkage.h"

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

static void sum_up(struct layer_walk *now, struct layer_walk *was, uint32_t node,
                   const struct moments_opts *opts, struct layer_moments *s)
{
    struct layer_input reader[2];
    check(pith_layer_input_open(now, node, (struct body_span){0}, &reader[0], &err));
    check(pith_layer_input_open(was, node, (struct body_span){0}, &reader[1], &err));
    struct layer_rows rows[2];
    for (int i = 0; i < 2; i++)
        check(pith_layer_rows_of(&reader[i], &rows[i], &err));
    check(pith_layer_moments(&rows[0], &rows[1], opts, s, &err));
    for (int i = 0; i < 2; i++) {
        pith_layer_rows_end(&rows[i]);
        pith_layer_input_close(&reader[i]);
    }
}

/* Of one network alone: H and its means, to the bit, and nothing crossed. */
static void expect_alone(struct layer_walk *now, uint32_t node, const struct moments_opts *opts,
                         const struct layer_moments *both)
{
    struct layer_input reader;
    struct layer_moments s;
    check(pith_layer_input_open(now, node, (struct body_span){0}, &reader, &err));
    struct layer_rows rows;
    check(pith_layer_rows_of(&reader, &rows, &err));
    check(pith_layer_moments(&rows, NULL, opts, &s, &err));
    pith_layer_rows_end(&rows);
    assert_null(s.cross);
    assert_null(s.mean[1]);
    assert_int_equal(s.rows, both->rows);
    assert_true(s.shrinkage == both->shrinkage);
    assert_memory_equal(s.h, both->h, s.groups * s.n * s.n * sizeof *s.h);
    assert_memory_equal(s.mean[0], both->mean[0], s.groups * s.n * sizeof **s.mean);
    pith_layer_moments_end(&s);
    pith_layer_input_close(&reader);
}

TEST(sums_are_those_of_all_windows)
{
    struct pith_model *m = chain_new(21);
    struct pith_data *data = chain_data(22);
    struct recorded_feed *feed;
    check(pith_recorded_feed_open(m, NULL, data, 0, &feed, &err));
    const struct layer_walk_opts o = {.feed = feed, .memory_bytes = 1 << 20};
    static const struct {
        uint32_t node, groups, channels;
        int size;
    } layer[] = {{0, 2, 2, 3}, {2, 8, 1, 3}, {4, 1, 8, 1}};
    const struct moments_opts all = {.samples = SAMPLES, .per_column = 1000};
    struct layer_walk *w, *same;
    check(pith_layer_walk_open(m, &o, &w, &err));
    check(pith_layer_walk_open(m, &o, &same, &err));
    for (size_t i = 0; i < 3; i++) {
        const struct pith_node *node = &m->nodes[layer[i].node];
        struct layer_moments s;
        double h[18 * 18];
        check(pith_layer_walk_to(w, layer[i].node, &err));
        check(pith_layer_walk_to(same, layer[i].node, &err));
        assert_int_equal(pith_layer_blocks(m, node), 1);
        sum_up(w, same, layer[i].node, &all, &s);
        assert_int_equal(s.groups, layer[i].groups);
        assert_int_equal(s.n, layer[i].channels * (uint32_t)(layer[i].size * layer[i].size));
        assert_int_equal(s.rows, SAMPLES * 36);
        for (uint32_t g = 0; g < s.groups; g++) {
            wanted_h(w, node->in[0], g, layer[i].channels, layer[i].size, h, s.n);
            expect_near(s.h + g * s.n * s.n, h, s.n * s.n);
            expect_near(s.cross + g * s.n * s.n, h, s.n * s.n);
        }
        expect_alone(w, layer[i].node, &all, &s);
        pith_layer_moments_end(&s);
    }
    pith_layer_walk_close(w);
    pith_layer_walk_close(same);
    pith_recorded_feed_close(feed);
    pith_model_free(m);
    pith_data_free(data);
}

/* Of a place that counts three times as much as others. */
TEST(places_count_by_their_loss_weight)
{
    struct pith_model *m = chain_new(21);
    struct pith_data *data = chain_data(22);
    struct recorded_feed *feed;
    check(pith_recorded_feed_open(m, NULL, data, 0, &feed, &err));
    const struct layer_walk_opts o = {.feed = feed, .memory_bytes = 1 << 20};
    const struct pith_node *node = &m->nodes[4];
    struct pith_row_sensitivity of[32] = {0};
    struct pith_sensitivity known = {.n = 32, .n_samples = SAMPLES, .of = of};
    const struct moments_opts opts = {.samples = SAMPLES,
                                      .per_column = 1000,
                                      .sensitivity = &known,
                                      .place_share = 0.5,
                                      .weight = node->in[1]};
    double h[64] = {0}, mean[8] = {0}, all = 0;
    struct layer_walk *w;
    struct layer_moments s;
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
        check(pith_kept_open(known.place, node->in[1], SAMPLES * sizeof place, &err));
        check(
            pith_kept_write(known.place, node->in[1], i * sizeof place, place, sizeof place, &err));
    }
    for (int k = 0; k < 8; k++)
        mean[k] /= all;
    sum_up(w, w, (uint32_t)(node - m->nodes), &opts, &s);
    expect_near(s.h, h, 64);
    expect_near(s.cross, h, 64);
    expect_near(s.mean[0], mean, 8);
    pith_layer_moments_end(&s);
    /* What is not known of all samples and places counts for none of them. */
    wanted_h(w, node->in[0], 0, 8, 1, h, 8);
    for (int i = 0; i < 4; i++) {
        struct moments_opts one = opts;
        known.n_samples = SAMPLES - (i == 0);
        one.place_share = i == 1 ? 0 : 0.5;
        of[node->in[1]].n_places = 36 + (i == 2);
        of[node->in[1]].place_mean = i != 3;
        sum_up(w, w, (uint32_t)(node - m->nodes), &one, &s);
        expect_near(s.h, h, 64);
        pith_layer_moments_end(&s);
    }
    pith_kept_free(known.place);
    pith_layer_walk_close(w);
    pith_recorded_feed_close(feed);
    pith_model_free(m);
    pith_data_free(data);
}

/* One row of one input in which nothing is known but its sum: the goal has as good results as the
 * weight that it stands for had from other inputs. */
TEST(targets_make_up_for_other_inputs)
{
    enum { N = 6 };
    struct test_random r = test_seed(24);
    struct layer_moments s = {.n = N, .groups = 1, .samples = 1000, .rows = 1000, .places = 1};
    float w[N];
    double mix[N * N], goal[N], room[N], x[N], was[N];
    s.h = calloc(N * N, sizeof *s.h);
    s.cross = calloc(N * N, sizeof *s.cross);
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
            s.cross[i] += x[i / N] * was[i % N] / 1000;
        }
    }
    struct layer_factor f;
    check(pith_layer_factor(&s, 0, 1e-9, 1, &f, &err));
    pith_layer_row_target(&f, 0, w, goal, room);
    for (size_t j = 0; j < N; j++) {
        double wanted = 0;
        for (int k = 0; k < N; k++)
            wanted += (double)w[k] * mix[k * N + (int)f.order[j]];
        assert_true(fabs(goal[j] - wanted) < 1e-6);
    }
    check(pith_layer_targets(&f, w, 1, NULL, &err)); /* found for all rows at once: the same bits */
    assert_null(f.cross);
    pith_layer_row_target(&f, 0, w, room, room);
    assert_memory_equal(room, goal, sizeof goal);
    pith_layer_factor_end(&f);
    pith_layer_moments_end(&s);
}

/* ---- shrinkage ------------------------------------------------------------------------------- */

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
    struct shrinkage d;
    assert_true(pith_shrinkage_open(&d, samples, EACH, 1, COLUMNS));
    for (uint64_t row = 0; row < samples * EACH; row++) {
        pith_shrinkage_add(&d, row / EACH, row % EACH, 0, x + row * COLUMNS, 1);
        for (int k = 0; k < COLUMNS; k++)
            mean[k] += (double)x[row * COLUMNS + (uint64_t)k] / (double)(samples * EACH);
    }
    *by_hand = odds_by_hand(x, samples, mean, h);
    const struct shrunk of = {h, mean, 1.0 / (double)samples, EACH, 1};
    const double odds = pith_shrinkage_find(&d, &of);
    pith_shrinkage_close(&d);
    return odds;
}

TEST(few_samples_shrink)
{
    static float x[160 * EACH * COLUMNS];
    double by_hand, found, many;
    struct test_random r = test_seed(51);
    for (int s = 0; s < 160; s++)
        draw_sample(&r, x + s * EACH * COLUMNS);
    for (uint64_t samples = 20; samples <= 160; samples *= 2) { /* all kept, and some */
        found = odds_found(x, samples, &by_hand);
        if (!(fabs(log(found / by_hand)) < (samples > 64 ? 0.3 : 1e-5)))
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

/* ---- by hand --------------------------------------------------------------------------------- */

/* Samples of two rows of two numbers each, beside which one number stands. */
static enum pith_status read_pairs(const void *of, uint64_t sample, float *x,
                                   struct pith_error *error)
{
    (void)error;
    memcpy(x, (const float *)of + sample * 4, 4 * sizeof *x);
    return PITH_OK;
}

static enum pith_status read_single(const void *of, uint64_t sample, float *x,
                                    struct pith_error *error)
{
    (void)error;
    memcpy(x, (const float *)of + sample * 2, 2 * sizeof *x);
    return PITH_OK;
}

static const float pairs[] = {1, 0, 2, 1, 0, 3, 1, 1}, single[] = {1, 2, -1, 0};

/* Rows (1 0) (2 1) | (0 3) (1 1) with 1, 2 | -1, 0: per sample half of the sums over all four. */
TEST(moments_of_two_columns)
{
    const struct layer_rows x = {
        .n = 2, .groups = 1, .places = 2, .elems = 4, .read = read_pairs, .of = pairs};
    const struct layer_rows y = {
        .n = 1, .groups = 1, .places = 2, .elems = 2, .read = read_single, .of = single};
    struct moments_opts o = {.samples = 2, .per_column = 100};
    struct layer_moments m;
    check(pith_layer_moments(&x, &y, &o, &m, &err));
    assert_memory_equal(m.h, ((double[]){3, 1.5, 1.5, 5.5}), 4 * sizeof *m.h);
    assert_memory_equal(m.cross, ((double[]){2.5, -0.5}), 2 * sizeof *m.cross);
    assert_memory_equal(m.mean[0], ((double[]){1, 1.25}), 2 * sizeof **m.mean);
    assert_true(m.mean[1][0] == 0.5 && m.rows == 4 && m.samples == 2);
    pith_layer_centre(&m, 1); /* less 2 places times the means' products */
    assert_memory_equal(m.h, ((double[]){1, -1, -1, 2.375}), 4 * sizeof *m.h);
    assert_memory_equal(m.cross, ((double[]){1.5, -1.75}), 2 * sizeof *m.cross);
    pith_layer_moments_end(&m);
    o.first = 1; /* the second sample alone */
    o.step = 2;
    check(pith_layer_moments(&x, NULL, &o, &m, &err));
    assert_memory_equal(m.h, ((double[]){1, 1, 1, 10}), 4 * sizeof *m.h);
    assert_true(m.samples == 1 && m.cross == NULL);
    pith_layer_moments_end(&m);
}

/* Half of four places: places 0 and 2 of sample 0, 1 and 3 of sample 1. */
TEST(places_are_taken_evenly)
{
    static const float x[] = {1, 2, 4, 8, 16, 32, 64, 128};
    const struct layer_rows rows = {
        .n = 1, .groups = 1, .places = 4, .elems = 4, .read = read_pairs, .of = x};
    const struct moments_opts o[] = {{.samples = 2, .per_column = 4},
                                     {.samples = 2, .per_column = 1, .least_rows = 3}};
    for (int i = 0; i < 2; i++) {
        struct layer_moments m;
        check(pith_layer_moments(&rows, NULL, &o[i], &m, &err));
        assert_true(m.rows == 4 && m.weight == 4 && m.places == 4);
        assert_true(m.h[0] == 1 + 4 * 4 + 32 * 32 + 128 * 128 &&
                    m.mean[0][0] == (1 + 4 + 32 + 128) / 4.);
        pith_layer_moments_end(&m);
    }
}

/* Two samples of one row, (3 0) and (3 1). Of H = (9 1.5; 1.5 0.5): |H|^2 = 85.75, tr H = 9.5, so
 * the spread is 40.625; |H_s|^2 = 81 and 100, the variance 90.5 - 85.75. With means (1 0.5), whose
 * square counts 2 * 0.75 times, half of each is taken off the rows, which are weighted 1 and 2:
 * (2.5 -0.25) and (2 0.5) have 6.3125^2 and 4.25^2, and (5 0.625; 0.625 0.8125) is left of H. */
TEST(shrinkage_by_hand)
{
    const float x[2][2] = {{3, 0}, {3, 1}};
    const double mean[] = {1, 0.5}, half = (39.84765625 + 18.0625) / 2 - 26.44140625;
    const struct shrunk of[] = {
        {(const double[]){9, 1.5, 1.5, 0.5}, mean, 0.5, 1, 0},
        {(const double[]){6.5, 1.375, 1.375, 1.1875}, mean, 0.5, 2, 0.75},
        {(const double[]){2, 0, 0, 2}, mean, 0.5, 1, 0},
    };
    const double odds[] = {4.75 / (40.625 - 4.75),
                           half / (26.44140625 - 5.8125 * 5.8125 / 2 - half), 0};
    struct shrinkage d;
    assert_true(pith_shrinkage_open(&d, 2, 1, 1, 2));
    for (uint64_t i = 0; i < 2; i++)
        pith_shrinkage_add(&d, i, 0, 0, x[i], (float)(i + 1));
    for (size_t i = 0; i < 3; i++)
        assert_true(fabs(pith_shrinkage_find(&d, &of[i]) - odds[i]) < 1e-9);
    pith_shrinkage_close(&d);
}

/* Columns of a window stay together: sums of diagonals are 6, 4 and 9, so windows 1, 0, 2, columns
 * by their diagonals within. */
TEST(windows_are_ordered_by_their_sums)
{
    static const double diagonal[] = {5, 1, 2, 2, 9};
    static const size_t order[] = {2, 3, 1, 0, 4};
    struct layer_moments m = pith_layer_moments_none(5);
    struct layer_factor f;
    m.mean[0] = calloc(5, sizeof **m.mean);
    m.h = malloc(25 * sizeof *m.h);
    for (size_t i = 0; i < 5; i++)
        for (size_t k = 0; k < 5; k++) {
            const size_t low = i < k ? i : k, high = i < k ? k : i;
            m.h[i * 5 + k] = i == k ? diagonal[i] : 0.01 * (double)(10 * low + high);
        }
    check(pith_layer_factor(&m, 0, 0, 2, &f, &err));
    assert_memory_equal(f.order, order, sizeof order);
    assert_non_null(f.u);
    for (size_t i = 0; i < 5; i++) {
        assert_true(f.diagonal[i] == diagonal[order[i]]);
        for (size_t k = 0; k < i; k++) {
            const size_t a = order[i] < order[k] ? order[i] : order[k], b = order[i] + order[k] - a;
            assert_true(f.u[i * 5 + k] == 0.01 * (double)(10 * a + b));
        }
    }
    pith_layer_factor_end(&f);
    pith_layer_moments_end(&m);
}

/* Of groups with 4 and 0 on the diagonal: half of 4, and half of a millionth of the mean 2. */
TEST(empty_groups_are_damped_by_the_others)
{
    struct layer_moments m = {.n = 1, .groups = 2, .places = 1, .shrinkage = 0.5};
    struct layer_factor f;
    assert_true(pith_layer_damping(&m) == 0); /* without H */
    m.mean[0] = calloc(2, sizeof **m.mean);
    m.h = calloc(2, sizeof *m.h);
    m.h[0] = 4;
    assert_true(pith_layer_damping(&m) == PITH_LAYER_DAMPING + 0.5);
    check(pith_layer_factor(&m, 0, 0.5, 1, &f, &err));
    assert_true(f.ridge[0] == 2 && fabs(f.ridge[1] - 1e-6) < 1e-15);
    assert_true(fabs(f.noise[0] - 6) < 1e-12 && fabs(f.noise[1] - 1e-6) < 1e-15);
    assert_true(f.trace[0] == 4 && f.trace[1] == 0);
    pith_layer_factor_end(&f);
    pith_layer_moments_end(&m);
}

static struct layer_factor two_columns(double damping)
{
    struct layer_moments m = pith_layer_moments_none(2);
    struct layer_factor f;
    m.h = malloc(4 * sizeof *m.h);
    memcpy(m.h, ((double[]){4, 2, 2, 2}), 4 * sizeof *m.h);
    m.mean[0] = calloc(2, sizeof **m.mean);
    check(pith_layer_factor(&m, 0, damping, 1, &f, &err));
    pith_layer_moments_end(&m);
    return f;
}

/* H = (4 2; 2 2), damped by nothing: the weight with the smaller diagonal stands first, U = (sqrt
 * 2, sqrt 2; 0, sqrt 2), so that rounding by 1 costs 2 each. By half of the mean 3: 1.5 more on the
 * diagonal. */
TEST(factor_of_two_columns)
{
    struct layer_factor f = two_columns(0);
    assert_true(f.order[0] == 1 && f.order[1] == 0);
    assert_true(fabs(f.u[0] - sqrt(2)) < 1e-12 && fabs(f.u[1] - sqrt(2)) < 1e-12 &&
                fabs(f.u[3] - sqrt(2)) < 1e-12);
    assert_true(f.trace[0] == 6 && fabs(f.noise[0] - 2) < 1e-12 && f.ridge[0] == 0);
    pith_layer_factor_end(&f);
    f = two_columns(0.5);
    assert_true(f.ridge[0] == 1.5 && fabs(f.u[0] * f.u[0] - 3.5) < 1e-12);
    pith_layer_factor_end(&f);
}

/* H = 4, 2 in common with the results, a shrinkage of 1/2 in a damping of 3/4: the target of 1 has
 * 4 (3/4 + 1/2) added, (2 + 5) / (4 + 5), and U^2 is 4 + 3 again. */
TEST(targets_have_twice_the_shrinkage)
{
    struct layer_moments m = pith_layer_moments_none(1);
    struct layer_factor f;
    m.h = malloc(sizeof *m.h);
    m.cross = malloc(sizeof *m.cross);
    m.mean[0] = calloc(1, sizeof **m.mean);
    m.mean[1] = calloc(1, sizeof **m.mean);
    assert_true(m.h && m.cross && m.mean[0] && m.mean[1]);
    *m.h = 4;
    *m.cross = 2;
    m.n_others = 1;
    m.of_results = true;
    m.shrinkage = 0.5;
    assert_true(pith_layer_damping(&m) == PITH_LAYER_DAMPING + 0.5);
    check(pith_layer_factor(&m, 0, 0.75, 1, &f, &err));
    check(pith_layer_targets(&f, &(const float){1}, 1, NULL, &err));
    assert_true(fabs(f.target[0] - 7.0 / 9) < 1e-12 && fabs(f.u[0] * f.u[0] - 7) < 1e-12);
    pith_layer_factor_end(&f);
    pith_layer_moments_end(&m);
}

RUN_TESTS
