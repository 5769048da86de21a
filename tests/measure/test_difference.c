/* SPDX-License-Identifier: MIT */
/* test_difference.c - sums of pairs worked out by hand, and NaN and infinity before them. */
#include <stdint.h>
#include <math.h>
#include "test_run.h"
#include "measure/difference.h"

static const struct output_kind logits = {.classes = 2, .rows = 1, .inner = 1};
static const struct output_kind probabilities = {
    .classes = 2, .rows = 1, .inner = 1, .softmax = true};

static struct pith_difference_sums of(const struct output_kind *kind, const float *a,
                                      const float *b, uint64_t n)
{
    struct pith_difference_sums s = {0};
    pith_difference_add(&s, kind, a, b, n);
    return s;
}

TEST(finite_pairs_are_summed)
{
    const float a[4] = {1, -2, 3, 0}, b[4] = {1, -1, 3, 1};
    struct pith_difference_sums s = of(NULL, a, b, 4);
    assert_true(s.signal == 14 && s.noise == 2 && s.cross == 12 && s.signal_b == 12);
    assert_true(s.low == -2 && s.high == 3 && s.rows == 1 && s.agree == 1 && s.unequal_bits);
    assert_true(fabs(pith_difference_snr_db(&s) - 10 * log10(7)) < 1e-12);
    assert_true(pith_difference_max_abs(&s) == 1);
    assert_true(fabs(pith_difference_cosine(&s) - 12 / sqrt(14.0 * 12)) < 1e-12);
    pith_difference_add(&s, NULL, a, a, 4);
    assert_true(s.calls == 2 && s.numbers == 8 && s.noise == 2 && s.noise_squares == 4);
    s = of(NULL, a, a, 4);
    assert_true(pith_difference_snr_db(&s) == HUGE_VAL && pith_difference_cosine(&s) == 1);
    assert_false(s.unequal_bits);
}

/* Whatever stands on the other side, and wherever in the row. */
TEST(nonfinite_on_one_side_meets_no_limit)
{
    const float odd[] = {NAN, INFINITY, -INFINITY}, other[] = {0, 1, 3e38f};
    for (int k = 0; k < 3; k++)
        for (int o = 0; o < 3; o++)
            for (int at = 0; at < 3; at++) {
                float a[3] = {1, 2, 3}, b[3] = {1, 2, 3};
                a[at] = other[o];
                b[at] = odd[k];
                struct pith_difference_sums s = of(NULL, a, b, 3);
                assert_true(s.nonfinite_a == 0 && s.nonfinite_b == 1 && s.nonfinite_both == 0);
                assert_false(pith_difference_is_finite(&s));
                assert_true(pith_difference_snr_db(&s) == -HUGE_VAL);
                assert_true(pith_difference_max_abs(&s) == HUGE_VAL && s.noise == 0);
                pith_difference_add(&s, NULL, a, a, 3); /* what is equal does not make up for it */
                assert_true(pith_difference_snr_db(&s) == -HUGE_VAL);
                s = of(NULL, b, a, 3);
                assert_true(s.nonfinite_a == 1 && s.nonfinite_b == 0);
                s = of(NULL, b, b, 3);
                assert_true(s.nonfinite_both == 1 && pith_difference_is_finite(&s));
                assert_true(pith_difference_snr_db(&s) == HUGE_VAL && s.agree == 1);
                pith_difference_add_centred(&s, a, b, 3);
                assert_true(s.nonfinite_b == 1 && pith_difference_snr_db(&s) == -HUGE_VAL);
            }
    const struct output_kind kind = {.classes = 3, .rows = 1, .inner = 1};
    const float scores[3] = {1, 2, 4}, lost[3] = {1, 2, NAN};
    struct pith_difference_sums c = of(&kind, scores, lost, 3);
    assert_true(c.logit_signal > 0 && pith_difference_logit_db(&c, NULL) == -HUGE_VAL);
    const float a[3] = {NAN, INFINITY, -INFINITY}, b[3] = {INFINITY, -INFINITY, NAN};
    struct pith_difference_sums s = of(NULL, a, b, 3);
    assert_true(s.nonfinite_a == 3 && s.nonfinite_b == 3);
}

/* Three pixels of two classes where the model's own size has two; and positions. */
TEST(samples_of_other_sizes_have_other_rows)
{
    const struct output_kind pixels = {.classes = 2, .rows = 2, .inner = 2},
                             positions = {.classes = 2, .rows = 2, .inner = 1};
    const float a[6] = {5, 1, 1, 2, 3, 3}, b[6] = {5, 1, 5, 2, 3, 3};
    struct pith_difference_sums s = of(&pixels, a, b, 6);
    assert_true(s.rows == 3 && s.agree == 2 && s.kl > 0 && s.logit_signal > 0);
    s = of(&positions, a, b, 6);
    assert_true(s.rows == 3 && s.agree == 2 && s.kl > 0 && s.logit_signal > 0);
    s = of(&positions, a, b, 5);
    assert_true(s.rows == 1 && s.kl == 0);
    s = of(&logits, a, b, 6);
    assert_true(s.rows == 1 && s.kl == 0);
}

/* NaN is no class, not the first one. */
TEST(scores_that_are_nan_stand_for_no_class)
{
    const float nan_last[2] = {1, NAN}, nan_first[2] = {NAN, 1}, fine[2] = {1, 0};
    assert_int_equal(pith_top_class(nan_first, 2), 2);
    assert_int_equal(pith_top_class(nan_last, 2), 2);
    assert_int_equal(of(&logits, fine, nan_last, 2).agree, 0);
    assert_int_equal(of(&logits, nan_first, nan_last, 2).agree, 1);
}

TEST(divergence_of_rows_at_the_edge)
{
    const float fine[2] = {1, 0}, bad[2] = {NAN, 0}, masked[2] = {-INFINITY, 0},
                over[2] = {INFINITY, 0}, none[2] = {-INFINITY, -INFINITY};
    const float *rows[] = {fine, bad, masked, over, none};
    for (int i = 0; i < 5; i++) {
        assert_true(of(&logits, rows[i], rows[i], 2).kl == 0);
        assert_true(of(&probabilities, rows[i], rows[i], 2).kl == 0);
    }
    const double most = -log(1e-30);
    assert_true(of(&logits, fine, bad, 2).kl == most);
    assert_true(of(&logits, fine, over, 2).kl == most);
    assert_true(of(&logits, fine, none, 2).kl == most);
    assert_true(of(&logits, fine, masked, 2).kl == most);
    assert_true(of(&logits, bad, fine, 2).kl == 0);
    /* probabilities 0, 1 against softmax(1, 0) */
    assert_true(fabs(of(&logits, masked, fine, 2).kl - log(1 + exp(1))) < 1e-6);
}

TEST(a_shift_of_all_numbers_is_no_noise)
{
    const float a[4] = {1, -1, 3, 5}, shifted[4] = {3, 1, 5, 7}, one[1] = {2}, two[1] = {3};
    struct pith_difference_sums s = {0};
    pith_difference_add_centred(&s, a, shifted, 4);
    assert_true(s.noise == 0 && s.signal == 20 && s.rows == 1 && s.agree == 1);
    s = (struct pith_difference_sums){0};
    pith_difference_add_centred(&s, one, two, 1);
    assert_true(s.signal == 4 && s.noise == 1);
}

TEST(an_output_of_another_size_is_noise)
{
    const float a[2] = {3, 4};
    struct pith_difference_sums s = {0};
    pith_difference_add_missing(&s, a, 2);
    assert_true(pith_difference_snr_db(&s) == 0 && s.rows == 1 && s.agree == 0 && s.unequal_bits);
}

RUN_TESTS
