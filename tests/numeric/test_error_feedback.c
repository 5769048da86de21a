/* SPDX-License-Identifier: MIT */
/* A row rounded with feedback: its error is what it says, less than that of the nearest integers,
 * within bounds, 0 where it must; less yet along several paths; the scale that is found is no worse
 * than the one that cuts nothing. */
#include "test_run.h"
#include "numeric/row_panel.h"
#include "decode/trellis.h"
#include "feedback_problem.h"

static double error_of(const struct problem *p, double scale, const int16_t *q)
{
    double sum = 0;
    for (int i = 0; i < N; i++)
        for (int k = 0; k < N; k++)
            sum += (p->goal[i] - scale * q[i]) * p->h[i * N + k] * (p->goal[k] - scale * q[k]);
    return sum;
}

static double widest(const struct problem *p)
{
    double most = 0;
    for (int k = 0; k < N; k++)
        most = fmax(most, fabs(p->goal[k]));
    return most / p->row.most;
}

TEST(feedback_has_the_error_it_says_and_less_than_nearest)
{
    struct test_random r = test_seed(31);
    double nearest = 0, feedback = 0;
    for (int i = 0; i < ROWS; i++) {
        struct problem p;
        int16_t q[N];
        make_problem(&r, &p);
        double scale = widest(&p), error = pith_error_feedback(&p.row, scale, HUGE_VAL, p.q);
        assert_true(fabs(error - error_of(&p, scale, p.q)) < 1e-9 * error);
        for (int k = 0; k < N; k++)
            q[k] = (int16_t)nearbyint(p.goal[k] / scale);
        feedback += error;
        nearest += error_of(&p, scale, q);
    }
    if (feedback > 0.5 * nearest)
        fail_msg("feedback %g, nearest %g", feedback, nearest);
}

TEST(bounds_and_zeros_are_kept)
{
    struct test_random r = test_seed(32);
    struct problem p;
    uint8_t kept[N];
    int low = 0, high = 0;
    make_problem(&r, &p);
    for (int k = 0; k < N; k++)
        kept[k] = k % 3 != 0;
    p.row.kept = kept;
    pith_error_feedback(&p.row, widest(&p) / 8, HUGE_VAL, p.q);
    for (int k = 0; k < N; k++) {
        assert_true(p.q[k] >= -8 && p.q[k] <= 7);
        assert_true(kept[k] || p.q[k] == 0);
        low += p.q[k] == -8;
        high += p.q[k] == 7;
    }
    assert_true(low > 0 && high > 0);
}

TEST(stops_when_it_is_too_much)
{
    struct test_random r = test_seed(33);
    struct problem p;
    make_problem(&r, &p);
    double scale = widest(&p), error = pith_error_feedback(&p.row, scale, HUGE_VAL, p.q);
    assert_true(pith_error_feedback(&p.row, scale, error / 2, p.q) >= error / 2);
    assert_true(pith_error_feedback(&p.row, scale, 2 * error, p.q) == error);
}

/* Three weights whose errors do not meet, 0.25 each: the first is not looked at when those behind
 * it have made as much as is too much, or more. */
TEST(stops_when_it_is_exactly_too_much)
{
    static const double u[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1}, goal[3] = {1.5, 2.5, 3.5};
    double e[3];
    const struct error_feedback row = {
        .n = 3, .u = u, .goal = goal, .lowest = -8, .most = 7, .e = e};
    int16_t q[3] = {77, 77, 77};
    assert_true(pith_error_feedback(&row, 1, 0.5, q) == 0.5);
    assert_true(q[0] == 77 && q[1] == 2 && q[2] == 4);
    assert_true(pith_error_feedback(&row, 1, 0.51, q) == 0.75);
    assert_true(q[0] == 2);
}

/* ---- several paths --------------------------------------------------------------------------- */

static void use_paths(struct problem *p, uint32_t n)
{
    static double e[N * PITH_MOST_PATHS];
    p->row.n_paths = n;
    p->row.e = e;
}

TEST(paths_have_the_error_they_say_and_less)
{
    struct test_random r = test_seed(41);
    double sum[PITH_MOST_PATHS + 1] = {0};
    for (int i = 0; i < ROWS; i++) {
        struct problem p;
        make_problem(&r, &p);
        double scale = widest(&p);
        for (uint32_t k = 1; k <= PITH_MOST_PATHS; k++) {
            use_paths(&p, k);
            double error = pith_error_feedback(&p.row, scale, HUGE_VAL, p.q);
            assert_true(fabs(error - error_of(&p, scale, p.q)) < 1e-9 * error);
            sum[k] += error;
        }
    }
    if (!(sum[4] < 0.95 * sum[1] && sum[16] < sum[4]))
        fail_msg("errors %g, 4 paths %g, 16 paths %g", sum[1], sum[4], sum[16]);
}

/* Of four weights no choice of two each is given up; so what is found is the best of these, and
 * against all rows there are not far. */
TEST(the_best_of_few_is_found)
{
    enum { FEW = 4 };
    struct test_random r = test_seed(42);
    for (int trial = 0; trial < ROWS; trial++) {
        struct problem p;
        int16_t q[N] = {0};
        make_problem(&r, &p);
        for (int i = 0; i < FEW; i++)
            memmove(p.u + i * FEW, p.u + i * N, FEW * sizeof *p.u);
        use_paths(&p, PITH_MOST_PATHS);
        p.row.n = FEW;
        p.row.lowest = -2;
        p.row.most = 2;
        double least = HUGE_VAL, found = pith_error_feedback(&p.row, 0.75, HUGE_VAL, p.q);
        for (int k = 0; k < 625; k++) {
            double error = 0;
            for (int i = 0, rest = k; i < FEW; i++, rest /= 5)
                q[i] = (int16_t)(rest % 5 - 2);
            for (int i = 0; i < FEW; i++) {
                double sum = 0;
                for (int j = i; j < FEW; j++)
                    sum += p.u[i * FEW + j] * (p.goal[j] - 0.75 * q[j]);
                error += sum * sum;
            }
            least = fmin(least, error);
        }
        if (!(found >= least * (1 - 1e-12) && found < 1.5 * least))
            fail_msg("found %g, least %g", found, least);
    }
}

/* More places than a block: rest and errors move from path to path. */
TEST(long_rows_have_the_error_they_say)
{
    enum { LONG = 100, R = 5, K = 16 };
    struct test_random r = test_seed(43);
    static double u[LONG * LONG], x[LONG * R], e[LONG * K], goal[LONG];
    for (int i = 0; i < LONG * R; i++)
        x[i] = (double)test_gauss(&r);
    for (int i = 0; i < LONG; i++) {
        goal[i] = (double)test_gauss(&r);
        for (int k = 0; k < LONG; k++) {
            u[i * LONG + k] = i == k ? .1 : 0;
            for (int s = 0; s < R; s++)
                u[i * LONG + k] += x[i * R + s] * x[k * R + s];
        }
    }
    assert_true(pith_cholesky(u, LONG));
    struct error_feedback row = {
        .n = LONG, .u = u, .goal = goal, .lowest = -8, .most = 7, .n_paths = K, .e = e};
    int16_t q[LONG], low[LONG];
    double error = pith_error_feedback(&row, 0.3, HUGE_VAL, q), sum = 0;
    for (int i = 0; i < LONG; i++) {
        double left = 0;
        for (int j = i; j < LONG; j++)
            left += u[i * LONG + j] * (goal[j] - 0.3 * q[j]);
        sum += left * left;
    }
    assert_true(fabs(error - sum) < 1e-9 * error);
    const struct row_panel_kernels panel = pith_row_panel_kernels();
    row.panel = &panel; /* no bit depends on it */
    assert_true(pith_error_feedback(&row, 0.3, HUGE_VAL, low) == error);
    assert_memory_equal(low, q, sizeof q);
    row.n_paths = 1;
    assert_true(pith_error_feedback(&row, 0.3, HUGE_VAL, low) > error);
    assert_true(pith_error_feedback(&row, 0.3, HUGE_VAL, low) > 0);
}

TEST(bounds_zeros_and_too_much_on_paths)
{
    struct test_random r = test_seed(44);
    struct problem p;
    uint8_t kept[N];
    int low = 0, high = 0;
    make_problem(&r, &p);
    use_paths(&p, 8);
    for (int k = 0; k < N; k++)
        kept[k] = k % 3 != 0;
    p.row.kept = kept;
    double error = pith_error_feedback(&p.row, widest(&p) / 8, HUGE_VAL, p.q);
    for (int k = 0; k < N; k++) {
        assert_true(p.q[k] >= -8 && p.q[k] <= 7);
        assert_true(kept[k] || p.q[k] == 0);
        low += p.q[k] == -8;
        high += p.q[k] == 7;
    }
    assert_true(low > 0 && high > 0);
    p.q[0] = 77;
    assert_true(pith_error_feedback(&p.row, widest(&p) / 8, error / 2, p.q) >= error / 2);
    assert_true(pith_error_feedback(&p.row, widest(&p) / 8, error, p.q) == error);
    assert_true(p.q[0] == 77);
    assert_true(pith_error_feedback(&p.row, widest(&p) / 8, 2 * error, p.q) == error);
}

/* ---- order and scale ------------------------------------------------------------------------- */

TEST(order_rises_and_equal_ones_stay)
{
    static const double diagonal[7] = {3, 1, 2, 1, 0, 2, 1};
    static const size_t wanted[7] = {4, 1, 3, 6, 2, 5, 0};
    size_t order[14];
    pith_order_by_diagonal(diagonal, 7, order);
    assert_memory_equal(order, wanted, sizeof wanted);
}

TEST(the_scale_found_is_no_worse)
{
    struct test_random r = test_seed(34);
    int finer = 0;
    struct problem p;
    for (int i = 0; i < ROWS; i++) {
        make_problem(&r, &p);
        const double most = widest(&p);
        double error = pith_error_feedback(&p.row, most, HUGE_VAL, p.q);
        double found = pith_search_scale(&p.row, most / 4, false, p.q);
        assert_true(pith_error_feedback(&p.row, found, HUGE_VAL, p.q) <= error);
        finer += found < most;
        double least = pith_search_scale(&p.row, 0.95 * most, false, p.q);
        assert_true(least >= 0.95 * most);
        double above = pith_radix_above(most),
               half = pith_search_scale(&p.row, most / 8, true, p.q);
        assert_true(half == above || half == above / 2 || half == above / 4);
        assert_true(pith_search_scale(&p.row, 2 * most, false, p.q) >= 2 * most);
    }
    assert_true(finer > ROWS / 2);
    memset(p.goal, 0, sizeof p.goal);
    assert_true(pith_search_scale(&p.row, 1, false, p.q) == 0);
}

/* Error and prices of all rows there are of few weights: along many paths the best of them is found
 * but for little, and what is returned is its cost; on one path prices make it no dearer than
 * rounding without them. */
TEST(prices_count_beside_the_error)
{
    enum { FEW = 5, LEVELS = 2, ALL = 2 * LEVELS + 1 };
    struct test_random r = test_seed(37);
    double best_sum = 0, found_sum = 0, one_sum = 0, free_sum = 0;
    for (int i = 0; i < ROWS; i++) {
        struct problem p;
        double price[ALL], e[FEW * PITH_MOST_PATHS], scale = 0.8, best = HUGE_VAL;
        make_problem(&r, &p);
        struct error_feedback row = p.row;
        double u[FEW * FEW];
        for (int k = 0; k < FEW * FEW; k++)
            u[k] = p.u[k / FEW * N + k % FEW];
        for (int k = 0; k < ALL; k++)
            price[k] = 20.0 * abs(k - LEVELS);
        row.n = FEW;
        row.u = u;
        row.e = e;
        row.lowest = -LEVELS;
        row.most = LEVELS;
        row.price = price;
        for (int code = 0; code < 3125; code++) {
            double cost = 0;
            for (int j = 0; j < FEW; j++) {
                double sum = 0;
                for (int k = j, at = code; k < FEW; k++) {
                    int q = at / (int)pow(ALL, k) % ALL - LEVELS;
                    sum += u[j * FEW + k] * (p.goal[k] - scale * q);
                    cost += k == j ? price[q + LEVELS] : 0;
                }
                cost += sum * sum;
            }
            best = fmin(best, cost);
        }
        row.n_paths = PITH_MOST_PATHS;
        double found = pith_error_feedback(&row, scale, HUGE_VAL, p.q), expected = 0;
        for (int j = 0; j < FEW; j++) {
            double sum = 0;
            for (int k = j; k < FEW; k++)
                sum += u[j * FEW + k] * (p.goal[k] - scale * p.q[k]);
            expected += sum * sum + price[p.q[j] + LEVELS];
        }
        assert_true(fabs(found - expected) < 1e-9 * expected);
        assert_true(found > best * (1 - 1e-9));
        row.n_paths = 1;
        one_sum += pith_error_feedback(&row, scale, HUGE_VAL, p.q);
        row.price = NULL;
        free_sum += pith_error_feedback(&row, scale, HUGE_VAL, p.q);
        for (int j = 0; j < FEW; j++)
            free_sum += price[p.q[j] + LEVELS];
        best_sum += best;
        found_sum += found;
    }
    if (found_sum > 1.01 * best_sum || one_sum > free_sum || one_sum < found_sum)
        fail_msg("best %g, found %g, one path %g, without prices %g", best_sum, found_sum, one_sum,
                 free_sum);
}

/* One weight 3.6 among -8 .. 7: nothing is cut off by 3.6 / 7, so by 1, where 4 errs by 0.4; half
 * of that gives 3.5, a quarter 1.75. The least is allowed itself; a row of zeros has no scale. */
TEST(halves_by_hand)
{
    static const struct {
        double goal, least, best;
    } of[] = {{3.6, 0, 0.5},  {3.6, 0.5, 0.5}, {3.6, 0.6, 1}, {3.6, 1.5, 2},
              {-3.6, 0, 0.5}, {1.76, 0, 0.25}, {0, 0, 0}};
    for (size_t i = 0; i < sizeof of / sizeof *of; i++) {
        double e;
        int16_t q;
        const struct error_feedback row = {
            .n = 1, .goal = &of[i].goal, .lowest = -8, .most = 7, .n_paths = 1, .e = &e};
        assert_true(pith_search_scale(&row, of[i].least, true, &q) == of[i].best);
    }
}

/* ---- trellis --------------------------------------------------------------------------------- */

static struct quantizer_trellis trellis_of(uint32_t n_states)
{
    struct quantizer_trellis t = {.n_states = n_states};
    for (uint32_t s = 0; s < n_states; s++)
        for (uint32_t odd = 0; odd < 2; odd++)
            t.next[s][odd] = (uint8_t)pith_trellis_next(n_states, s, odd);
    return t;
}

/* From the last place on. */
static bool are_levels(uint32_t n_states, const int16_t *q, size_t n)
{
    uint32_t state = 0;
    bool levels = true;
    while (n-- > 0) {
        levels = levels && (q[n] == 0 || (q[n] & 1) == (int)(state & 1));
        state = pith_trellis_after(n_states, state, q[n]);
    }
    return levels;
}

TEST(levels_have_the_error_they_say_and_obey)
{
    struct test_random r = test_seed(52);
    double room[N * 32];
    for (uint32_t states = 8; states <= 16; states += 8)
        for (int round = 0; round < 20; round++) {
            struct quantizer_trellis t = trellis_of(states);
            struct problem p;
            uint8_t kept[N];
            make_problem(&r, &p);
            p.row.trellis = &t;
            p.row.n_paths = 32;
            p.row.e = room;
            double scale = widest(&p) * (round % 3 ? 0.7 : 0.3);
            double error = pith_error_feedback(&p.row, scale, HUGE_VAL, p.q);
            double expected = error_of(&p, scale, p.q);
            assert_true(fabs(error - expected) < 1e-9 * expected);
            assert_true(are_levels(states, p.q, N));
            for (int k = 0; k < N; k++)
                kept[k] = k % 4 != 0;
            p.row.kept = kept;
            pith_error_feedback(&p.row, scale, HUGE_VAL, p.q);
            assert_true(are_levels(states, p.q, N));
            for (int k = 0; k < N; k++)
                assert_true(p.q[k] >= -8 && p.q[k] <= 7 && (kept[k] || p.q[k] == 0));
        }
}

/* Every sequence of levels from place j down; the least error. */
static double best_levels(const struct error_feedback *r, double scale, size_t j, uint32_t state)
{
    double best = HUGE_VAL;
    for (int32_t q = r->lowest; q <= r->most; q++) {
        double e = r->goal[j] - scale * q, u = r->u[j * r->n + j];
        if (q != 0 && (q & 1) != (int32_t)(state & 1))
            continue;
        e *= e * u * u;
        if (j > 0)
            e += best_levels(r, scale, j - 1, pith_trellis_after(r->trellis->n_states, state, q));
        best = fmin(best, e);
    }
    return best;
}

TEST(viterbi_finds_the_best_levels)
{
    enum { FEW = 6 };
    struct test_random r = test_seed(53);
    for (uint32_t states = 8; states <= 16; states += 8)
        for (int round = 0; round < 20; round++) {
            struct quantizer_trellis t = trellis_of(states);
            double u[FEW * FEW] = {0}, goal[FEW], e[FEW * 16];
            int16_t q[FEW];
            for (int k = 0; k < FEW; k++) {
                u[k * FEW + k] = 0.5 + fabs((double)test_gauss(&r));
                goal[k] = 2 * (double)test_gauss(&r);
            }
            struct error_feedback row = {.n = FEW,
                                         .u = u,
                                         .goal = goal,
                                         .lowest = -7,
                                         .most = 7,
                                         .trellis = &t,
                                         .n_paths = states,
                                         .e = e};
            double found = pith_error_feedback(&row, 1, HUGE_VAL, q);
            double best = best_levels(&row, 1, FEW - 1, 0);
            assert_true(fabs(found - best) < 1e-9 * best);
        }
}

/* Of the levels q, as the search should have expected them: errors, and the price of each
 * quantizer.
 */
static double error_of_levels(const struct error_feedback *r, double scale, const int16_t *q)
{
    uint32_t state = 0;
    double expected = 0;
    for (size_t j = r->n; j-- > 0;) {
        double e = r->u[j * r->n + j] * (r->goal[j] - scale * q[j]);
        const int32_t integers = r->most - r->lowest + 1;
        expected += e * e + r->price[(int32_t)(state & 1) * integers + q[j] - r->lowest];
        state = pith_trellis_after(r->trellis->n_states, state, q[j]);
    }
    return expected;
}

TEST(each_quantizer_has_its_prices)
{
    enum { FEW = 40, LEVELS = 7 };
    struct test_random r = test_seed(55);
    struct quantizer_trellis t = trellis_of(8);
    double u[FEW * FEW] = {0}, goal[FEW], e[FEW * 32], price[2][2 * LEVELS + 1];
    int16_t q[2][FEW];
    for (int k = 0; k < FEW; k++) {
        u[k * FEW + k] = 1;
        goal[k] = 2 * (double)test_gauss(&r);
    }
    for (int z = 0; z < 2; z++)
        for (int k = -LEVELS; k <= LEVELS; k++)
            price[z][k + LEVELS] = (z ? 0.3 : 0.2) * (1 + abs(k));
    struct error_feedback row = {.n = FEW,
                                 .u = u,
                                 .goal = goal,
                                 .lowest = -LEVELS,
                                 .most = LEVELS,
                                 .price = price[0],
                                 .trellis = &t,
                                 .n_paths = 32,
                                 .e = e};
    double found = pith_error_feedback(&row, 1, HUGE_VAL, q[0]);
    assert_true(fabs(found - error_of_levels(&row, 1, q[0])) < 1e-9 * found);
    row.price = NULL;
    pith_error_feedback(&row, 1, HUGE_VAL, q[1]);
    row.price = price[0];
    assert_true(found < error_of_levels(&row, 1, q[1]));
}

/* The granular gain that the codes are known for, over steps as wide as their quantizers'. */
TEST(a_trellis_gains_a_decibel)
{
    enum { LONG = 4000 };
    static double goal[LONG], e[LONG * 16];
    struct test_random r = test_seed(54);
    for (int k = 0; k < LONG; k++)
        goal[k] = 40 * (double)test_gauss(&r);
    for (uint32_t states = 8; states <= 16; states += 8) {
        struct quantizer_trellis t = trellis_of(states);
        int16_t q[LONG];
        struct error_feedback row = {.n = LONG,
                                     .goal = goal,
                                     .lowest = -1000,
                                     .most = 1000,
                                     .trellis = &t,
                                     .n_paths = states,
                                     .e = e};
        double error = pith_error_feedback(&row, 1, HUGE_VAL, q) / LONG;
        double gain = 10 * log10(4.0 / 12 / error);
        if (!(gain > (states == 8 ? 1.03 : 1.1) && gain < 1.25))
            fail_msg("%u states gain %g dB", states, gain);
    }
}

RUN_TESTS
