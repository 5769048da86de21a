/* SPDX-License-Identifier: MIT */
/* difference.h - by how much the outputs of B differ from those of A.
 *
 * NaN and infinity are counted first, number by number. Where A and B hold the same there (NaN, or
 * infinities of one sign) the pair is equal; else B differs from A by more than any limit. The sums
 * of squares are of the pairs that are finite in both.
 *
 *     struct pith_difference_sums s = {0};
 *     for (each call) pith_difference_add(&s, &kind, a, b, n);
 *     pith_difference_snr_db(&s) > 30 ...       false where a NaN is in one of them alone */
#ifndef PITH_DIFFERENCE_H
#define PITH_DIFFERENCE_H

#include "class_output.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Over all calls so far; all 0 before the first. */
struct pith_difference_sums {
    uint64_t calls, numbers;
    uint64_t nonfinite_a;           /* numbers NaN or infinite in A that are something else in B */
    uint64_t nonfinite_b;           /* NaN or infinite in B, something else in A */
    uint64_t nonfinite_both;        /* the same in both: NaN, or infinities of one sign */
    double signal, signal_b, cross; /* sums of a^2, b^2, a b */
    double noise;                   /* sum of (a - b)^2 */
    double noise_squares;           /* sum over calls of the square of a call's noise */
    double max_abs;                 /* largest |a - b| */
    double low, high;               /* smallest and largest a */
    uint64_t rows, agree;           /* predictions; those with the same class (pith_top_class) */
    double logit_signal, logit_noise; /* of classes, as pith_class_logit_squares */
    double logit_noise_squares;
    double kl, kl_squares; /* sums over calls of KL(A || B) in nats, and of its square */
    bool unequal_bits;
};

/* One call's output. a, b: [n] f32. kind: how a is classes at the model's own size, of which the
 * call may have more or fewer rows; where n is no number of rows, and with NULL, the call is one
 * prediction and has no KL. */
void pith_difference_add(struct pith_difference_sums *s, const struct output_kind *kind,
                         const float *a, const float *b, uint64_t n);
/* The same where a shift of all n numbers changes nothing: signal and noise are sums about the
 * means of the call (n >= 2; a single number stays as it is). One prediction, no KL. */
void pith_difference_add_centred(struct pith_difference_sums *s, const float *a, const float *b,
                                 uint64_t n);
/* One call where B's output has another size: all of A is noise. */
void pith_difference_add_missing(struct pith_difference_sums *s, const float *a, uint64_t n);
/* Adds the sums of other calls. */
void pith_difference_merge(struct pith_difference_sums *s, const struct pith_difference_sums *more);

/* Is every number that is NaN or infinite in A or B the same in both? */
bool pith_difference_is_finite(const struct pith_difference_sums *s);
/* In dB; HUGE_VAL: no pair of numbers differs. -HUGE_VAL: pith_difference_is_finite is false, or
 * there is noise and no signal. */
double pith_difference_snr_db(const struct pith_difference_sums *s);
/* The same of the logits of classes, where there are some, else of the numbers; *error_db (may be
 * NULL): its standard error, from how much the noise of calls differs. */
double pith_difference_logit_db(const struct pith_difference_sums *s, double *error_db);
/* Largest |a - b|; HUGE_VAL where pith_difference_is_finite is false. */
double pith_difference_max_abs(const struct pith_difference_sums *s);
/* Sum of a b over the root of the sums of squares; 1: nothing differs; 0 where one of them is all
 * zeros or pith_difference_is_finite is false. */
double pith_difference_cosine(const struct pith_difference_sums *s);

#ifdef __cplusplus
}
#endif
#endif
