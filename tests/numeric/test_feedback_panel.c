/* SPDX-License-Identifier: MIT */
/* Rows that are rounded beside each other have the bits of each alone: errors, integers, the scales
 * that are found; those given up, too. */
#include "test_run.h"
#include "numeric/feedback_panel.h"
#include "numeric/gram_tile.h"
#include "numeric/row_panel_list.h"
#include "feedback_problem.h"
#include "panels_that_run.h"
#include "pith_runtime.h"

enum { BESIDE = PITH_ROW_PANEL };

struct beside {
    struct problem p; /* of which the factor is everybody's */
    double goals[N * BESIDE], e[N * BESIDE];
    double goal[BESIDE][N];
    uint8_t kept[BESIDE][N], all_kept[N * BESIDE];
    int16_t q[BESIDE * N];
    struct feedback_panel panel;
};

/* Of some of the rows weights are 0 and stay so. */
static void make_rows(struct test_random *r, struct beside *b, bool pruned, uint32_t rows)
{
    make_problem(r, &b->p);
    for (uint32_t row = 0; row < BESIDE; row++)
        for (uint32_t k = 0; k < N; k++) {
            b->goal[row][k] = b->goals[k * BESIDE + row] = (double)test_gauss(r);
            b->kept[row][k] = b->all_kept[k * BESIDE + row] = (row + k) % 3 != 0;
        }
    for (int i = 0; i < N * BESIDE; i++)
        b->e[i] = 7; /* what is there before does not matter */
    b->panel = (struct feedback_panel){.n = N,
                                       .rows = rows,
                                       .u = b->p.u,
                                       .goal = b->goals,
                                       .kept = pruned ? b->all_kept : NULL,
                                       .lowest = b->p.row.lowest,
                                       .most = b->p.row.most,
                                       .e = b->e,
                                       .q = b->q};
}

static struct error_feedback alone(struct beside *b, uint32_t row)
{
    struct error_feedback one = b->p.row;
    one.goal = b->goal[row];
    one.kept = b->panel.kept ? b->kept[row] : NULL;
    one.n_paths = 1;
    return one;
}

static double widest_of(const struct error_feedback *one)
{
    double widest = 0;
    for (size_t i = 0; i < one->n; i++)
        if (!one->kept || one->kept[i])
            widest = fmax(widest, fabs(one->goal[i]) / one->most);
    return widest;
}

/* Row 1 may not go so far, row 2 is not looked at. */
static void compare_rounding(struct beside *b)
{
    double scale[BESIDE], enough[BESIDE], error[BESIDE], whole[BESIDE];
    for (uint32_t row = 0; row < b->panel.rows; row++) {
        const struct error_feedback one = alone(b, row);
        scale[row] = widest_of(&one) * (0.9 - 0.05 * row);
        whole[row] = pith_error_feedback(&one, scale[row], HUGE_VAL, b->p.q);
        enough[row] = row == 1 ? whole[row] / 2 : row == 2 ? 0 : HUGE_VAL;
    }
    memset(b->q, 0, sizeof b->q);
    pith_feedback_panel(&b->panel, scale, enough, error);
    for (uint32_t row = 0; row < b->panel.rows; row++) {
        const struct error_feedback one = alone(b, row);
        assert_true(error[row] == pith_error_feedback(&one, scale[row], enough[row], b->p.q));
        if (error[row] < enough[row])
            assert_memory_equal(b->q + row * N, b->p.q, sizeof b->p.q);
        else
            assert_true(row == 1 || row == 2);
    }
}

static void compare_scales(struct beside *b, bool halves)
{
    double least[BESIDE], best[BESIDE];
    for (uint32_t row = 0; row < b->panel.rows; row++) {
        const struct error_feedback one = alone(b, row);
        least[row] = widest_of(&one) * (row == 3 ? 1.5 : row % 2 ? 0.8 : 0.3);
    }
    pith_search_scales(&b->panel, least, halves, best);
    for (uint32_t row = 0; row < b->panel.rows; row++) {
        const struct error_feedback one = alone(b, row);
        assert_true(best[row] == pith_search_scale(&one, least[row], halves, b->p.q));
    }
}

TEST(rows_beside_each_other_are_those_alone)
{
    struct test_random r = test_seed(51);
    const struct row_panel_kernels *of[PANELS];
    const size_t n = panels_that_run(of);
    for (uint32_t rows = 1; rows <= BESIDE; rows++)
        for (size_t kind = 0; kind < n; kind++)
            for (int variant = 0; variant < 4; variant++) {
                struct beside b;
                make_rows(&r, &b, variant % 2, rows);
                if (variant > 1)
                    b.p.row.u = b.panel.u = NULL;
                b.panel.kernels = of[kind];
                compare_rounding(&b);
                compare_scales(&b, false);
                compare_scales(&b, true);
            }
}

RUN_TESTS
