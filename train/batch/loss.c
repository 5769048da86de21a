/* SPDX-License-Identifier: MIT */
/* loss.c - all sums in double, sample after sample, so that no order is left open. */
#include "loss.h"

#include <math.h>
#include <stddef.h>

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

/* weight * cross-entropy against the label; adds its gradient to d. */
static double cross_entropy(uint32_t n, const float *x, double lse, int64_t label, double weight,
                            double *d)
{
    for (uint32_t i = 0; i < n; i++)
        d[i] += weight * (exp((double)x[i] - lse) - (i == label));
    return weight * (lse - (double)x[label]);
}

/* weight * T^2 KL; its gradient by the student's logits is T (p - q). */
static double softened(uint32_t n, const float *x, const float *teacher, float t, double weight,
                       double *d)
{
    uint32_t unused;
    double lse = log_sum(x, n, t, &unused), lse_t = log_sum(teacher, n, t, &unused), loss = 0;
    for (uint32_t i = 0; i < n; i++) {
        double log_p = (double)x[i] / (double)t - lse,
               log_q = (double)teacher[i] / (double)t - lse_t;
        double q = exp(log_q);
        loss += q * (log_q - log_p);
        d[i] += weight * (double)t * (exp(log_p) - q);
    }
    return weight * (double)t * (double)t * loss;
}

struct loss_part pith_loss_classes(uint32_t n, uint32_t classes, const float *logits,
                                   const int64_t *label, float kl, float t, const float *teacher,
                                   float *d)
{
    struct loss_part part = {0, 0};
    for (uint32_t s = 0; s < n; s++, logits += classes, d += classes) {
        uint32_t best;
        double lse = log_sum(logits, classes, 1.0f, &best);
        double g[LOSS_MAX_CLASSES];
        for (uint32_t i = 0; i < classes; i++)
            g[i] = 0;
        if (label && kl < 1)
            part.loss += cross_entropy(classes, logits, lse, label[s], 1 - (double)kl, g);
        if (kl > 0)
            part.loss += softened(classes, logits, teacher + (size_t)s * classes, t, (double)kl, g);
        for (uint32_t i = 0; i < classes; i++)
            d[i] = (float)g[i];
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
