/* SPDX-License-Identifier: MIT */
/* loss.c - all sums in double, sample after sample, so that no order is left open. */
#include "loss.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

/* log sum exp of x[n] / t, and the largest x. */
static double log_sum(const float *x, uint32_t n, float t, uint32_t *largest)
{
    uint32_t best = 0;
    for (uint32_t i = 1; i < n; i++)
        if (x[i] > x[best])
            best = i;
    double others = 0, top = (double)x[best] / (double)t;
    for (uint32_t i = 0; i < n; i++)
        others += i == best ? 0 : exp((double)x[i] / (double)t - top);
    *largest = best;
    return top + log1p(others);
}

/* One row: logits, those of a teacher, and how much each loss counts. */
struct loss_row {
    const float *x, *teacher;
    int64_t label;
    double ce, kl, t;
};

/* (1 - kl) cross-entropy against the label, and kl T^2 KL(teacher || student) of softened classes,
 * whose gradient by the student's logits is T (p - q). d: the gradient of weight times the sum. */
static double loss_of_row(const struct loss_row *r, uint32_t n, double weight, float *d,
                          uint32_t *best)
{
    uint32_t unused;
    const float t = (float)r->t;
    const bool soft = r->kl > 0;
    const double lse = log_sum(r->x, n, 1.0f, best);
    const double lse_s = soft ? log_sum(r->x, n, t, &unused) : 0;
    const double lse_t = soft ? log_sum(r->teacher, n, t, &unused) : 0;
    double kl = 0;
    for (uint32_t i = 0; i < n; i++) {
        double g = 0;
        if (r->ce > 0)
            g += r->ce * (exp((double)r->x[i] - lse) - (i == r->label));
        if (soft) {
            double log_p = (double)r->x[i] / r->t - lse_s,
                   log_q = (double)r->teacher[i] / r->t - lse_t, q = exp(log_q);
            kl += q * (log_q - log_p);
            g += r->kl * r->t * (exp(log_p) - q);
        }
        d[i] = (float)(weight * g);
    }
    double loss = r->ce > 0 ? r->ce * (lse - (double)r->x[r->label]) : 0;
    return weight * (soft ? loss + r->kl * r->t * r->t * kl : loss);
}

struct loss_part pith_loss_classes(const struct class_rows *rows, float *d)
{
    const uint32_t classes = rows->classes;
    struct loss_part part = {0, 0};
    for (uint32_t s = 0; s < rows->n; s++, d += classes) {
        uint32_t best;
        struct loss_row r = {
            .x = rows->logits + (size_t)s * classes, .kl = (double)rows->kl, .t = (double)rows->t};
        if (rows->label && rows->label[s] < 0) {
            memset(d, 0, classes * sizeof *d);
            continue;
        }
        if (rows->kl > 0)
            r.teacher = rows->teacher + (size_t)s * classes;
        if (rows->label) {
            r.label = rows->label[s];
            r.ce = 1 - (double)rows->kl;
        }
        part.loss += loss_of_row(&r, classes, rows->weight, d, &best);
        part.right += rows->label && rows->label[s] == best;
    }
    return part;
}

/* Cross-entropy is linear in the target; and what is logits' common part, drops out. */
double pith_loss_mixed(const struct class_rows *rows, const float *share, float *d)
{
    const float *logits = rows->logits;
    double loss = 0;
    for (uint32_t s = 0; (s | 1) < rows->n; s++, logits += rows->classes, d += rows->classes) {
        double other = (1 - (double)share[s]) * (1 - (double)rows->kl);
        int64_t own = rows->label[s], with = rows->label[s ^ 1];
        loss += other * ((double)logits[own] - (double)logits[with]);
        d[own] += (float)other;
        d[with] -= (float)other;
    }
    return loss;
}

struct loss_part pith_loss_squares(uint32_t n, uint64_t elems, const float *y, const float *target,
                                   float *d)
{
    struct loss_part part = {0, 0};
    for (uint64_t i = 0; i < n * elems; i++) {
        double off = (double)y[i] - (double)target[i];
        part.loss += off * off / (double)elems;
        d[i] = (float)(2 * off / (double)elems);
    }
    return part;
}
