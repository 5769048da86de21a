/* SPDX-License-Identifier: MIT */
/* feedback_problem.h - a row of weights to be rounded with error feedback, and the Hessian of its
 * inputs. One test program includes it behind cmocka's header. */
#ifndef FEEDBACK_PROBLEM_H
#define FEEDBACK_PROBLEM_H

#include "gemm_model.h"
#include "numeric/cholesky.h"
#include "numeric/error_feedback.h"

enum { N = 24, ROWS = 40, PATCHES = 200 };

struct problem {
    double h[N * N], u[N * N], goal[N], e[N];
    int16_t q[N];
    struct error_feedback row;
};

/* Inputs that are much alike, as neighbours in pictures are. */
static inline void make_problem(struct test_random *r, struct problem *p)
{
    memset(p, 0, sizeof *p);
    for (int s = 0; s < PATCHES; s++) {
        double x[N], common = (double)test_gauss(r);
        for (int k = 0; k < N; k++)
            x[k] = common + 0.5 * (double)test_gauss(r);
        for (int i = 0; i < N; i++)
            for (int k = 0; k < N; k++)
                p->h[i * N + k] += x[i] * x[k];
    }
    memcpy(p->u, p->h, sizeof p->h);
    assert_true(pith_cholesky(p->u, N));
    for (int k = 0; k < N; k++)
        p->goal[k] = (double)test_gauss(r);
    p->row = (struct error_feedback){
        .n = N, .u = p->u, .goal = p->goal, .lowest = -8, .most = 7, .e = p->e};
}

#endif
