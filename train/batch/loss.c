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

struct loss_part pith_loss_classes(uint32_t n, uint32_t classes, double weight, const float *logits,
                                   const int64_t *label, float kl, float t, const float *teacher,
                                   float *d)
{
    struct loss_part part = {0, 0};
    for (uint32_t s = 0; s < n; s++, logits += classes, d += classes) {
        uint32_t best;
        struct loss_row r = {.x = logits, .kl = (double)kl, .t = (double)t};
        if (label && label[s] < 0) {
            memset(d, 0, classes * sizeof *d);
            continue;
        }
        if (kl > 0)
            r.teacher = teacher + (size_t)s * classes;
        if (label) {
            r.label = label[s];
            r.ce = 1 - (double)kl;
        }
        part.loss += loss_of_row(&r, classes, weight, d, &best);
        part.right += label && label[s] == best;
    }
    return part;
}

/* Cross-entropy is linear in the target; and what is logits' common part, drops out. */
double pith_loss_mixed(uint32_t n, uint32_t classes, const float *logits, const int64_t *label,
                       const float *share, float kl, float *d)
{
    double loss = 0;
    for (uint32_t s = 0; (s | 1) < n; s++, logits += classes, d += classes) {
        double other = (1 - (double)share[s]) * (1 - (double)kl);
        int64_t own = label[s], with = label[s ^ 1];
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
