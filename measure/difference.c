/* SPDX-License-Identifier: MIT */
/* difference.c - sums of each call first, then over calls: the figures of a call do not depend on
 * those before it, and the sums are the same for every number of threads. */
#include "difference.h"

#include <math.h>
#include <string.h>

#include "base/snr.h"

/* NaN, or the same infinity, is the same on both sides. */
static bool same_nonfinite(float a, float b)
{
    return a == b || (isnan(a) && isnan(b));
}

/* False: one of the two is not finite, which is counted. */
static bool both_finite(struct pith_difference_sums *s, float a, float b)
{
    if (isfinite(a) && isfinite(b))
        return true;
    if (same_nonfinite(a, b)) {
        s->nonfinite_both++;
        return false;
    }
    s->nonfinite_a += isfinite(a) ? 0 : 1;
    s->nonfinite_b += isfinite(b) ? 0 : 1;
    return false;
}

/* About what is subtracted from each. */
static void add_numbers(struct pith_difference_sums *s, const float *a, const float *b, uint64_t n,
                        double mean_a, double mean_b)
{
    s->numbers = n;
    s->unequal_bits = n > 0 && memcmp(a, b, (size_t)n * sizeof *a) != 0;
    s->low = HUGE_VAL;
    s->high = -HUGE_VAL;
    for (uint64_t i = 0; i < n; i++) {
        if (!both_finite(s, a[i], b[i]))
            continue;
        double x = (double)a[i] - mean_a, y = (double)b[i] - mean_b, d = x - y;
        s->signal += x * x;
        s->signal_b += y * y;
        s->cross += x * y;
        s->noise += d * d;
        s->max_abs = fmax(s->max_abs, fabs(d));
        s->low = fmin(s->low, (double)a[i]);
        s->high = fmax(s->high, (double)a[i]);
    }
}

static void end_call(struct pith_difference_sums *s, struct pith_difference_sums *call)
{
    call->calls = 1;
    call->noise_squares = call->noise * call->noise;
    call->logit_noise_squares = call->logit_noise * call->logit_noise;
    call->kl_squares = call->kl * call->kl;
    pith_difference_merge(s, call);
}

/* Of a call of n numbers: a sample of another size than the model has another number of rows.
 * false: it is just numbers. */
static bool find_rows(struct output_kind *kind, uint64_t n)
{
    const uint64_t rows = kind->classes ? n / kind->classes : 0;
    if (rows == 0 || rows * kind->classes != n)
        return false;
    if (rows == kind->rows)
        return true;
    const bool apart = kind->inner > 1;
    if (kind->rows < 2 || (apart && kind->inner != kind->rows))
        return false;
    kind->rows = rows;
    kind->inner = apart ? rows : 1;
    return true;
}

void pith_difference_add(struct pith_difference_sums *s, const struct output_kind *kind,
                         const float *a, const float *b, uint64_t n)
{
    struct pith_difference_sums call = {0};
    struct output_kind own = kind ? *kind : (struct output_kind){0};
    add_numbers(&call, a, b, n, 0, 0);
    if (find_rows(&own, n)) {
        call.rows = own.rows;
        call.kl = pith_class_divergence(&own, a, b, &call.agree);
        pith_class_logit_squares(&own, a, b, &call.logit_signal, &call.logit_noise);
    } else if (n > 0) {
        call.rows = 1;
        call.agree = pith_top_class(a, n) == pith_top_class(b, n);
    }
    end_call(s, &call);
}

void pith_difference_add_centred(struct pith_difference_sums *s, const float *a, const float *b,
                                 uint64_t n)
{
    struct pith_difference_sums call = {0};
    double sum_a = 0, sum_b = 0;
    uint64_t finite = 0;
    for (uint64_t i = 0; i < n; i++)
        if (isfinite(a[i]) && isfinite(b[i])) {
            sum_a += (double)a[i];
            sum_b += (double)b[i];
            finite++;
        }
    const double many = finite > 1 ? (double)finite : HUGE_VAL;
    add_numbers(&call, a, b, n, sum_a / many, sum_b / many);
    call.rows = n > 0;
    call.agree = n > 0 && pith_top_class(a, n) == pith_top_class(b, n);
    end_call(s, &call);
}

void pith_difference_add_missing(struct pith_difference_sums *s, const float *a, uint64_t n)
{
    struct pith_difference_sums call = {0};
    add_numbers(&call, a, a, n, 0, 0);
    call.noise = call.signal;
    call.rows = n > 0;
    call.unequal_bits = true;
    call.nonfinite_a = call.nonfinite_both;
    call.nonfinite_both = 0;
    end_call(s, &call);
}

void pith_difference_merge(struct pith_difference_sums *s, const struct pith_difference_sums *more)
{
    bool first = s->calls == 0;
    s->low = first ? more->low : fmin(s->low, more->low);
    s->high = first ? more->high : fmax(s->high, more->high);
    s->max_abs = fmax(s->max_abs, more->max_abs);
    s->calls += more->calls;
    s->numbers += more->numbers;
    s->nonfinite_a += more->nonfinite_a;
    s->nonfinite_b += more->nonfinite_b;
    s->nonfinite_both += more->nonfinite_both;
    s->signal += more->signal;
    s->signal_b += more->signal_b;
    s->cross += more->cross;
    s->noise += more->noise;
    s->noise_squares += more->noise_squares;
    s->rows += more->rows;
    s->agree += more->agree;
    s->logit_signal += more->logit_signal;
    s->logit_noise += more->logit_noise;
    s->logit_noise_squares += more->logit_noise_squares;
    s->kl += more->kl;
    s->kl_squares += more->kl_squares;
    s->unequal_bits |= more->unequal_bits;
}

bool pith_difference_is_finite(const struct pith_difference_sums *s)
{
    return s->nonfinite_a + s->nonfinite_b == 0;
}

double pith_difference_snr_db(const struct pith_difference_sums *s)
{
    return pith_difference_is_finite(s) ? pith_snr_db(s->signal, s->noise) : -HUGE_VAL;
}

/* Relative to noise, in dB: of a sum of n, from it and the sum of squares. */
static double noise_error_db(double sum, double squares, double n)
{
    double variance = n > 1 && sum > 0 ? (squares / (sum * sum) * n - 1) / (n - 1) : 0;
    return 10 / log(10) * sqrt(fmax(variance, 0));
}

double pith_difference_logit_db(const struct pith_difference_sums *s, double *error_db)
{
    const bool classes = s->logit_signal > 0;
    const double n = (double)s->calls;
    if (error_db)
        *error_db = classes ? noise_error_db(s->logit_noise, s->logit_noise_squares, n)
                            : noise_error_db(s->noise, s->noise_squares, n);
    if (!classes || !pith_difference_is_finite(s))
        return pith_difference_snr_db(s);
    return pith_snr_db(s->logit_signal, s->logit_noise);
}

double pith_difference_max_abs(const struct pith_difference_sums *s)
{
    return pith_difference_is_finite(s) ? s->max_abs : HUGE_VAL;
}

double pith_difference_cosine(const struct pith_difference_sums *s)
{
    if (!pith_difference_is_finite(s))
        return 0;
    if (s->noise == 0)
        return 1;
    return s->signal > 0 && s->signal_b > 0 ? s->cross / sqrt(s->signal * s->signal_b) : 0;
}
