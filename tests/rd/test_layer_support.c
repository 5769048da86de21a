/* SPDX-License-Identifier: MIT */
/* Patterns that the sweep chooses: what a removal costs and what stays become is the constrained
 * minimum; patterns hold exactly, whatever the layers, and are the same for any number of threads;
 * they cost less than those of the smallest weights. */
#include "test_run.h"
#include "conv_chain.h"
#include "numeric/cholesky.h"
#include "layers/layer_round.h"
#include "pith_host.h"
#include "rd/weight_sweep.h"
#include "layers/kept_row.h"
#include "layers/shrinkage.h"
#include "rd/block_choice.h"
#include "rd/eliminate.h"
#include "rd/layer_support.h"
#include "rd/row_windows.h"
#include "rd/step_choice.h"

#define N 12

static struct pith_error err;

static void check(enum pith_status status)
{
    if (status)
        fail_msg("status %d: %s", (int)status, err.text);
}

/* X X^T of inputs with something in common. */
static void draw_gram(struct test_random *r, size_t n, double *h)
{
    memset(h, 0, n * n * sizeof *h);
    for (int i = 0; i < 100; i++) {
        double x[64], common = (double)test_gauss(r);
        for (size_t k = 0; k < n; k++)
            x[k] = common + (double)test_gauss(r) * (1 + 0.1 * (double)k);
        for (size_t a = 0; a < n * n; a++)
            h[a] += x[a / n] * x[a % n] / 100;
    }
}

static struct layer_factor factor_of(struct test_random *r, size_t n, size_t window)
{
    struct layer_moments s = pith_layer_moments_none(n);
    struct layer_factor f;
    s.h = malloc(n * n * sizeof *s.h);
    draw_gram(r, n, s.h);
    for (int net = 0; net < 2; net++)
        s.mean[net] = calloc(n, sizeof **s.mean);
    check(pith_layer_factor(&s, 0, 0.01, window, &f, &err));
    pith_layer_moments_end(&s);
    return f;
}

/* Element of H with its ridge, by place. */
static double damped(const struct layer_factor *f, size_t i, size_t k)
{
    if (i == k)
        return f->diagonal[i] + f->ridge[0];
    return i > k ? f->u[i * f->n + k] : f->u[k * f->n + i];
}

/* The least (g - w) H (g - w)^T with zeros where kept is 0, and w as it is where kept is FIXED; w
 * [n] where it is. Gauss-Seidel: slow, and nothing that is tested here. */
enum { FIXED = 2 };
static double minimum(const double *h, size_t n, const double *g, const uint8_t *kept, double *w)
{
    double cost = 0;
    for (size_t k = 0; k < n; k++)
        w[k] = kept[k] == FIXED ? w[k] : kept[k] ? g[k] : 0;
    for (int i = 0; i < 3000; i++)
        for (size_t k = 0; k < n; k++) {
            double slope = 0;
            for (size_t j = 0; j < n && kept[k] == 1; j++)
                slope += h[k * n + j] * (g[j] - w[j]);
            w[k] += slope / h[k * n + k];
        }
    for (size_t a = 0; a < n * n; a++)
        cost += h[a] * (g[a / n] - w[a / n]) * (g[a % n] - w[a % n]);
    return cost;
}

static void invert(const double *h, double *inverse)
{
    double u[N * N];
    memcpy(u, h, sizeof u);
    assert_true(pith_cholesky(u, N));
    for (size_t k = 0; k < N; k++) {
        for (size_t j = 0; j < N; j++)
            inverse[k * N + j] = j == k;
        pith_cholesky_solve(u, N, inverse + k * N);
    }
}

TEST(removals_cost_the_constrained_minimum)
{
    struct test_random r = test_seed(31);
    const double loss[2] = {2, 3};
    for (size_t unit = 1; unit <= 3; unit++) {
        double h[N * N], inverse[N * N], w[2 * N], goal[2 * N], room[3 * (N + 4)], total = 0;
        uint8_t gone[N] = {0}, kept[N];
        draw_gram(&r, N, h);
        invert(h, inverse);
        for (int k = 0; k < 2 * N; k++)
            w[k] = goal[k] = (double)test_gauss(&r);
        struct elimination x = {.n = N,
                                .unit = unit,
                                .rows = 2,
                                .inverse = inverse,
                                .w = w,
                                .loss = loss,
                                .gone = gone,
                                .room = room};
        for (size_t left = N / unit; left > 0; left--) {
            double cost = -1, least[N], best = HUGE_VAL, sum = 0;
            for (size_t i = 0; i < N / unit; i++) { /* every unit that could go */
                for (size_t k = 0; k < N; k++)
                    kept[k] = !gone[k / unit] && k / unit != i;
                double both = 0;
                for (int row = 0; row < 2; row++)
                    both += loss[row] / 2 * minimum(h, N, goal + row * N, kept, least);
                best = gone[i] || both > best ? best : both;
            }
            const size_t at = pith_eliminate_cheapest(&x, &cost);
            assert_true(at < N / unit && !gone[at]);
            pith_eliminate(&x, at);
            total += cost;
            for (size_t k = 0; k < N; k++)
                kept[k] = !gone[k / unit];
            for (int row = 0; row < 2; row++) {
                sum += loss[row] / 2 * minimum(h, N, goal + row * N, kept, least);
                for (size_t k = 0; k < N; k++)
                    assert_true(fabs(least[k] - w[row * N + (int)k]) < 1e-6);
            }
            assert_true(fabs(total - sum) < 1e-6 * (1 + sum));
            assert_true(fabs(best - sum) < 1e-6 * (1 + sum));
        }
        double cost;
        assert_int_equal(pith_eliminate_cheapest(&x, &cost), N / unit);
    }
}

TEST(kept_rows_make_up_for_all_that_is_gone)
{
    struct test_random r = test_seed(32);
    struct layer_factor f = factor_of(&r, N, 1);
    struct kept_row row;
    double h[N * N], goal[N], least[N];
    uint8_t kept[N];
    assert_true(pith_kept_row_open(&f, &row));
    for (int i = 0; i < N * N; i++)
        h[i] = damped(&f, (size_t)i / N, (size_t)i % N);
    for (int draw = 0; draw < 5; draw++) {
        size_t n = 0;
        for (int k = 0; k < N; k++) {
            goal[k] = (double)test_gauss(&r);
            kept[k] = draw == 4 ? 0 : (test_below(&r, 2) != 0);
            n += kept[k];
        }
        minimum(h, N, goal, kept, least);
        assert_true(pith_kept_row_take(&f, 0, goal, kept, &row));
        assert_int_equal(row.n, n);
        for (size_t i = 0; i < n; i++) {
            assert_true(kept[row.place[i]]);
            assert_true(fabs(row.goal[i] - least[row.place[i]]) < 1e-6);
        }
    }
    pith_kept_row_close(&row);
    pith_layer_factor_end(&f);
}

/* One of three goes of each window: the one for which the error is least with the windows behind as
 * they became then, and all in front still free. */
TEST(windows_are_chosen_when_they_are_reached)
{
    struct test_random r = test_seed(37);
    const struct pith_pattern p = {PITH_PATTERN_N_OF_M, 2, 3};
    struct layer_factor f = factor_of(&r, N, 3);
    struct row_windows c;
    struct row_windows_room room;
    double h[N * N], goal[N], w[N] = {0}, least[N];
    uint8_t kept[N], chosen[N];
    for (int i = 0; i < N * N; i++)
        h[i] = damped(&f, (size_t)i / N, (size_t)i % N);
    assert_true(pith_row_windows_open(&c, &f, &p) && pith_row_windows_room(&c, &room));
    for (int draw = 0; draw < 10; draw++) {
        for (int k = 0; k < N; k++)
            goal[k] = (double)test_gauss(&r);
        memset(chosen, 1, sizeof chosen);
        memset(kept, 1, sizeof kept);
        pith_row_windows_choose(&c, 0, goal, &room, chosen);
        for (int first = N - 3; first >= 0; first -= 3) {
            double best = HUGE_VAL, values[N];
            int gone = -1;
            for (int k = first; k < first + 3; k++) {
                assert_int_equal(f.order[k] / 3, f.order[first] / 3);
                memcpy(least, w, sizeof least);
                kept[k] = 0;
                const double cost = minimum(h, N, goal, kept, least);
                kept[k] = 1;
                if (cost < best) {
                    best = cost;
                    gone = k;
                    memcpy(values, least, sizeof values);
                }
            }
            for (int k = first; k < first + 3; k++) {
                assert_int_equal(chosen[k], k != gone);
                w[k] = values[k];
                kept[k] = FIXED;
            }
        }
    }
    pith_row_windows_room_end(&room);
    pith_row_windows_close(&c);
    pith_layer_factor_end(&f);
}

/* ---- a layer --------------------------------------------------------------------------------- */

enum { ROWS = 6, COLUMNS = 40 };

static double count_kept(const uint8_t *kept, size_t n)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += kept[i];
    return sum;
}

static bool kept_holds(const uint8_t *kept, size_t rows, size_t cols, const struct pith_pattern *p)
{
    for (size_t row = 0; row < rows; row++)
        for (size_t k = 0; k < cols; k += p->b) {
            const size_t n = cols - k < p->b ? cols - k : p->b;
            if (count_kept(kept + row * cols + k, n) > (double)pith_pattern_kept(p, n))
                return false;
        }
    return true;
}

/* What the rows of kept cost when all that stays makes up for it. */
static double cost_of(const struct layer_factor *f, const float *w, const uint8_t *kept,
                      size_t rows)
{
    const size_t n = f->n;
    double *h = malloc(n * n * sizeof *h), goal[64], least[64], sum = 0;
    uint8_t by_place[64];
    for (size_t i = 0; i < n * n; i++)
        h[i] = damped(f, i / n, i % n);
    for (size_t row = 0; row < rows; row++) {
        for (size_t j = 0; j < n; j++) {
            goal[j] = (double)w[row * n + f->order[j]];
            by_place[j] = kept[row * n + f->order[j]];
        }
        sum += minimum(h, n, goal, by_place, least);
    }
    free(h);
    return sum;
}

/* Windows whose largest weights stay. */
static void keep_largest(const float *w, const struct pith_pattern *p, uint8_t *kept)
{
    for (int row = 0; row < ROWS; row++)
        for (int k = 0; k < COLUMNS; k++) {
            const int first = k / (int)p->b * (int)p->b,
                      n = COLUMNS - first < (int)p->b ? COLUMNS - first : (int)p->b;
            uint32_t larger = 0;
            for (int j = first; j < first + n; j++)
                larger += fabsf(w[row * COLUMNS + j]) > fabsf(w[row * COLUMNS + k]);
            kept[row * COLUMNS + k] = larger < pith_pattern_kept(p, (uint64_t)n);
        }
}

TEST(windows_cost_less_than_small_weights)
{
    static const char *const patterns[] = {"2:4", "1:8", "3:40", "balanced:4/16", "balanced:9/64"};
    struct test_random r = test_seed(33);
    for (size_t i = 0; i < sizeof patterns / sizeof *patterns; i++) {
        struct pith_pattern p;
        float w[ROWS * COLUMNS];
        uint8_t kept[ROWS * COLUMNS], largest[ROWS * COLUMNS], by_place[COLUMNS];
        double goal[COLUMNS];
        check(pith_pattern_parse(patterns[i], &p, &err));
        struct layer_factor f = factor_of(&r, COLUMNS, p.b);
        struct row_windows c;
        struct row_windows_room room;
        assert_true(pith_row_windows_open(&c, &f, &p) && pith_row_windows_room(&c, &room));
        for (int row = 0; row < ROWS; row++) {
            for (int k = 0; k < COLUMNS; k++)
                w[row * COLUMNS + k] = test_gauss(&r);
            w[row * COLUMNS + 3] = 0; /* is to be 0 anyway */
            for (int j = 0; j < COLUMNS; j++) {
                goal[j] = (double)w[row * COLUMNS + (int)f.order[j]];
                by_place[j] = f.order[j] != 3;
            }
            pith_row_windows_choose(&c, 0, goal, &room, by_place);
            for (int j = 0; j < COLUMNS; j++)
                kept[row * COLUMNS + (int)f.order[j]] = by_place[j];
            assert_false(kept[row * COLUMNS + 3]);
        }
        assert_true(kept_holds(kept, ROWS, COLUMNS, &p));
        keep_largest(w, &p, largest);
        assert_true(count_kept(kept, sizeof kept) == count_kept(largest, sizeof largest));
        const double chosen = cost_of(&f, w, kept, ROWS), plain = cost_of(&f, w, largest, ROWS);
        if (!(chosen < 0.95 * plain))
            fail_msg("%s: %g, of the largest %g", patterns[i], chosen, plain);
        pith_row_windows_room_end(&room);
        pith_row_windows_close(&c);
        pith_layer_factor_end(&f);
    }
}

static void assert_whole_blocks(const uint8_t *kept, uint32_t rows, uint32_t cols, double gone)
{
    for (uint32_t row = 0; row < ROWS; row++)
        for (uint32_t k = 0; k < COLUMNS; k++)
            assert_int_equal(kept[row * COLUMNS + k],
                             kept[row / rows * rows * COLUMNS + k / cols * cols]);
    assert_true(count_kept(kept, ROWS * COLUMNS) == ROWS * COLUMNS - gone * rows * cols);
}

/* The price at which so many of the layer's 30 blocks go. */
static void price_of(struct block_choice *c, uint32_t gone, uint8_t *kept)
{
    double low = 1e-9, high = 1e9;
    for (int i = 0; i < 100; i++) {
        c->price = sqrt(low * high);
        memset(kept, 1, ROWS * COLUMNS);
        check(pith_block_choose(c, kept, &err));
        if (count_kept(kept, ROWS * COLUMNS) == ROWS * COLUMNS - gone * 8u)
            return;
        if (count_kept(kept, ROWS * COLUMNS) < ROWS * COLUMNS - gone * 8u)
            high = c->price;
        else
            low = c->price;
    }
    fail_msg("no price at which %u blocks go", gone);
}

TEST(blocks_go_by_price)
{
    struct test_random r = test_seed(34);
    struct layer_factor f = factor_of(&r, COLUMNS, 1);
    float w[ROWS * COLUMNS];
    double loss[ROWS];
    uint8_t kept[3][ROWS * COLUMNS];
    for (int i = 0; i < ROWS * COLUMNS; i++)
        w[i] = test_gauss(&r);
    for (int i = 0; i < ROWS; i++)
        loss[i] = 2;
    struct block_choice c = {.factor = &f,
                             .w = w,
                             .rows = ROWS,
                             .loss = loss,
                             .block_rows = 2,
                             .block_cols = 4,
                             .price = 1};
    price_of(&c, 12, kept[0]);
    for (uint32_t threads = 1; threads <= 3; threads++) {
        struct pith_opts runtime = {.size_bytes = sizeof runtime};
        check(pith_threads_start(&runtime, threads));
        c.runtime = &runtime;
        memset(kept[threads - 1], 1, sizeof kept[0]);
        check(pith_block_choose(&c, kept[threads - 1], &err));
        assert_memory_equal(kept[threads - 1], kept[0], sizeof kept[0]);
        pith_threads_stop(&runtime);
    }
    c.runtime = NULL;
    assert_whole_blocks(kept[0], 2, 4, 12); /* of 30 */
    const double chosen = cost_of(&f, w, kept[0], ROWS);
    c.price = 1e-9; /* none costs less */
    memset(kept[1], 1, sizeof kept[1]);
    check(pith_block_choose(&c, kept[1], &err));
    assert_whole_blocks(kept[1], 2, 4, 0);
    c.price = 1e9; /* all do, and one stays */
    check(pith_block_choose(&c, kept[1], &err));
    assert_whole_blocks(kept[1], 2, 4, 29);
    /* A block of zeros goes first; the mean block costs at least what the chosen ones did. */
    c.price = 1e-9;
    memset(kept[2], 1, sizeof kept[2]);
    for (int i = 0; i < 8; i++)
        kept[2][(2 + i / 4) * COLUMNS + 8 + i % 4] = 0;
    check(pith_block_choose(&c, kept[2], &err));
    assert_whole_blocks(kept[2], 2, 4, 1);
    assert_int_equal(kept[2][2 * COLUMNS + 8], 0);
    double others = 0;
    for (int draw = 0; draw < 5; draw++) { /* 12 blocks at random */
        memset(kept[1], 1, sizeof kept[1]);
        for (int gone = 0; gone < 12;) {
            const uint32_t b = (uint32_t)test_below(&r, 30);
            uint8_t *at = kept[1] + b / 10 * 2 * COLUMNS + b % 10 * 4;
            if (!*at)
                continue;
            memset(at, 0, 4);
            memset(at + COLUMNS, 0, 4);
            gone++;
        }
        others += cost_of(&f, w, kept[1], ROWS) / 5;
    }
    if (!(chosen < 0.7 * others))
        fail_msg("%g, of blocks at random %g", chosen, others);
    pith_layer_factor_end(&f);
}

/* Without moments by F w^2 / 2: pairs of columns have 0.5, 2.125 and 3.6, 0.1; rows of the first
 * two columns come before those of the others. Windows that two blocks of columns cut, too. */
TEST(without_moments_by_hand)
{
    static const float w[] = {1, 0, 2, 0.5f, 0.6f, 0.6f, 0.1f, 0.1f};
    static const double loss[] = {1, 10};
    static const struct {
        struct pith_pattern pattern;
        double price;
        uint8_t kept[8];
    } of[] = {
        {{PITH_PATTERN_BLOCK, 1, 2}, 0.5, {0, 0, 1, 1, 1, 1, 0, 0}},
        {{PITH_PATTERN_BLOCK, 1, 2}, 0.2, {1, 1, 1, 1, 1, 1, 0, 0}},
        {{PITH_PATTERN_BLOCK, 1, 2}, 100, {0, 0, 1, 1, 0, 0, 0, 0}},
        {{PITH_PATTERN_BLOCK, 2, 1}, 0.95, {1, 0, 1, 0, 1, 0, 1, 0}},
        {{PITH_PATTERN_N_OF_M, 1, 4}, 0, {0, 0, 1, 0, 1, 0, 0, 0}},
    };
    struct layer_factor f = {.n = 2, .groups = 2};
    for (size_t i = 0; i < sizeof of / sizeof *of; i++) {
        struct layer_support s = {.pattern = &of[i].pattern, .price = of[i].price};
        const struct supported_layer l = {.factor = &f,
                                          .rows = 4,
                                          .weight_rows = 2,
                                          .weight_cols = 4,
                                          .blocks = 2,
                                          .w = w,
                                          .weight = w,
                                          .loss = loss};
        check(pith_support_choose(&s, &l, &err));
        if (memcmp(s.kept, of[i].kept, 8))
            fail_msg("pattern %zu", i);
        pith_support_close(&s);
    }
    const struct pith_pattern two = {PITH_PATTERN_N_OF_M, 2, 4}, block = {PITH_PATTERN_BLOCK, 1, 4};
    assert_int_equal(pith_support_window(&two, 6, 1), 4);
    assert_int_equal(pith_support_window(&two, 8, 2), 4);
    assert_int_equal(pith_support_window(&two, 12, 2), 1);
    assert_int_equal(pith_support_window(&block, 8, 1), 1);
}

/* One column; and rows that are all zeros. */
TEST(narrow_and_empty_layers)
{
    static const char *const patterns[] = {"balanced:1/4", "1x1", "1:1"};
    struct test_random r = test_seed(35);
    float w[4] = {1, -2, 0.5f, 3}, zero[4] = {0};
    double loss[4] = {1, 1, 1, 1}, step[4] = {0.5, 0.5, 0.5, 0.5};
    for (size_t i = 0; i < 3; i++)
        for (int empty = 0; empty < 2; empty++) {
            struct layer_factor f = factor_of(&r, 1, 1);
            struct pith_pattern p;
            check(pith_pattern_parse(patterns[i], &p, &err));
            struct layer_support s = {.pattern = &p, .price = i == 1 ? 2 : 0};
            const float *is = empty ? zero : w;
            const struct supported_layer l = {.factor = &f,
                                              .rows = 4,
                                              .weight_rows = 4,
                                              .weight_cols = 1,
                                              .blocks = 1,
                                              .w = is,
                                              .weight = is,
                                              .loss = loss,
                                              .keep_zeros = empty};
            check(pith_support_choose(&s, &l, &err));
            struct layer_round round = {.factor = &f,
                                        .rows = 4,
                                        .w = is,
                                        .loss = loss,
                                        .step = step,
                                        .lambda = 1e-3,
                                        .keep_zeros = empty,
                                        .kept = s.kept,
                                        .choose_kept = s.windows.factor ? pith_support_row : NULL,
                                        .choice = &s,
                                        .own_factors = true,
                                        .lowest = -RATE_MOST,
                                        .most = RATE_MOST,
                                        .paths = 4};
            check(pith_layer_round(&round, &err));
            const int16_t wanted[4] = {2, -4, 1, 6}, half[4] = {0, -4, 0, 6};
            for (int row = 0; row < 4; row++)
                assert_int_equal(round.q[row], empty ? 0 : i == 1 ? half[row] : wanted[row]);
            free(round.q);
            free(round.error);
            pith_support_close(&s);
            pith_layer_factor_end(&f);
        }
}

/* ---- networks -------------------------------------------------------------------------------- */

static bool weight_holds(const struct pith_model *m, const struct pith_weight_ref *ref,
                         const struct pith_pattern *p)
{
    const float *w = m->values[ref->value].constant->data;
    uint8_t *kept = malloc((size_t)(ref->rows * ref->cols));
    for (uint64_t i = 0; i < ref->rows * ref->cols; i++)
        kept[i] = w[i] != 0;
    const bool holds = kept_holds(kept, (size_t)ref->rows, (size_t)ref->cols, p);
    free(kept);
    return holds;
}

static uint64_t zero_blocks(const struct pith_model *m, const struct pith_weight_ref *ref,
                            const struct pith_pattern *p)
{
    const float *w = m->values[ref->value].constant->data;
    uint64_t n = 0;
    for (uint64_t row = 0; row < ref->rows; row += p->a)
        for (uint64_t k = 0; k < ref->cols; k += p->b) {
            bool zero = true;
            for (uint64_t i = 0; i < p->a * p->b; i++)
                zero = zero && w[(row + i / p->b) * ref->cols + k + i % p->b] == 0;
            n += zero;
        }
    return n;
}

static void assert_pattern(const struct pith_model *m, const struct pith_model *out,
                           const struct pith_weight_sweep_opts *o)
{
    struct pith_weight_ref refs[16];
    const uint32_t n = pith_model_weights(m, refs);
    uint32_t taken = 0;
    uint64_t n_zero = 0;
    for (uint32_t i = 0; i < n; i++) {
        if (pith_prune_leaves(m, &refs[i], &o->pattern, NULL) != PITH_PRUNE_TAKEN)
            continue;
        taken++;
        const struct pith_const *c = out->values[refs[i].value].constant;
        assert_non_null(c->mask);
        for (uint64_t k = 0; k < c->count; k++)
            assert_int_equal(c->mask[k], ((const float *)c->data)[k] != 0);
        if (o->pattern.kind == PITH_PATTERN_BLOCK)
            n_zero += zero_blocks(out, &refs[i], &o->pattern);
        else
            assert_true(weight_holds(out, &refs[i], &o->pattern));
    }
    assert_true(taken > 0 && taken < n);
    assert_true(o->pattern.kind != PITH_PATTERN_BLOCK || n_zero > 0);
}

/* Groups, a depthwise layer, blocks of rows of two groups; dead inputs, no H; a layer of zeros. */
TEST(sweeps_keep_patterns)
{
    static const char *const patterns[] = {"1:2", "2:4", "balanced:2/8", "2x3", "8x3", "2x2"};
    struct pith_data *data = chain_data(12);
    for (size_t i = 0; i < 3 * sizeof patterns / sizeof *patterns; i++) {
        struct pith_model *m = chain_new(40 + i), *out[3];
        struct pith_weight_sweep_opts o = {
            .size_bytes = sizeof o, .lambda = 1e-4, .rate_share = 0.5, .states = 8};
        check(pith_pattern_parse(patterns[i / 3], &o.pattern, &err));
        if (o.pattern.kind == PITH_PATTERN_BLOCK)
            o.lambda = 1; /* half of the blocks cost less */
        o.without = i % 3 == 2 ? PITH_SWEEP_NO_STATISTICS : 0;
        for (int k = 0; k < 8 && i % 3 == 1; k++) /* relu gives nothing but zeros */
            ((float *)m->values[m->nodes[0].in[2]].constant->data)[k] = -1000;
        memset(m->values[m->nodes[7].in[1]].constant->data, 0, i % 3 ? 30 * sizeof(float) : 0);
        for (uint32_t threads = 1; threads <= 3; threads++) {
            struct pith_opts runtime = {.size_bytes = sizeof runtime};
            check(pith_threads_start(&runtime, threads));
            o.runtime = &runtime;
            check(pith_weight_sweep(m, data, &o, &out[threads - 1], NULL, &err));
            pith_threads_stop(&runtime);
        }
        assert_pattern(m, out[0], &o);
        for (uint32_t v = 0; v < m->n_values; v++)
            for (int k = 1; k < 3 && m->values[v].constant; k++)
                assert_memory_equal(out[k]->values[v].constant->data,
                                    out[0]->values[v].constant->data,
                                    m->values[v].constant->count * sizeof(float));
        for (int k = 0; k < 3; k++)
            pith_model_free(out[k]);
        pith_model_free(m);
    }
    pith_data_free(data);
}

TEST(few_levels_hold)
{
    struct pith_model *m = chain_new(51);
    struct pith_data *data = chain_data(52);
    struct pith_weight_ref refs[16];
    const uint32_t n = pith_model_weights(m, refs);
    struct pith_weight_sweep_report report[3];
    static const uint32_t levels[] = {16, 5, 4};
    for (int i = 0; i < 3; i++) {
        struct pith_model *out;
        const struct pith_weight_sweep_opts o = {.size_bytes = sizeof o,
                                                 .lambda = 1e-7,
                                                 .rate_share = 0.5,
                                                 .states = 8,
                                                 .levels = levels[i]};
        check(pith_weight_sweep(m, data, &o, &out, &report[i], &err));
        for (uint32_t k = 0; k < n; k++) {
            const struct pith_codebook *b = out->values[refs[k].value].constant->codebook;
            assert_non_null(b);
            assert_true(b->n_centroids <= levels[i]);
        }
        pith_model_free(out);
    }
    assert_true(report[0].loss < report[1].loss && report[1].loss < report[2].loss);
    pith_data_free(data);
    pith_model_free(m);
}

/* A large weight is cut off where that loses less than a step that reaches it. */
TEST(few_levels_cut_off_what_is_rare)
{
    struct test_random r = test_seed(36);
    float w[400];
    double most = 0, step[2], loss = 1;
    for (int i = 0; i < 400; i++)
        w[i] = test_gauss(&r);
    w[7] = 8;
    for (int i = 0; i < 400; i++)
        most = fmax(most, fabs((double)w[i]));
    struct step_choice c = {
        .rows = 1, .n = 400, .lambda = 1e-12, .loss = &loss, .most = &most, .levels = 7};
    for (int i = 0; i < 2; i++) {
        c.cut = i ? w : NULL;
        pith_step_choose(&c, &step[i]);
    }
    assert_true(fabs(step[0] - 8.0 / 7) < 1e-6);
    assert_true(step[1] < 0.7 * step[0] && step[1] > 0.3 * step[0]);
    c.lambda = 1; /* what the loss allows is coarser than either */
    pith_step_choose(&c, &step[1]);
    assert_true(step[1] > 2 * step[0]);
}

TEST(refuses)
{
    struct pith_model *m = chain_new(61), *out = NULL;
    struct pith_data *data = chain_data(62);
    static const struct {
        const char *pattern;
        uint32_t levels;
    } bad[] = {{"row", 0}, {"channel", 0}, {"2:7", 0}, {"any", 2}, {"any", 17}};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct pith_weight_sweep_opts o = {
            .size_bytes = sizeof o, .lambda = 1e-4, .levels = bad[i].levels};
        check(pith_pattern_parse(bad[i].pattern, &o.pattern, &err));
        assert_int_equal(pith_weight_sweep(m, data, &o, &out, NULL, &err), PITH_ERR_ARGUMENT);
        assert_null(out);
    }
    pith_model_free(m);
    pith_data_free(data);
}

RUN_TESTS
