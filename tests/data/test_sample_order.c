/* SPDX-License-Identifier: MIT */
/* Which shapes fit an input, which are transposed, and that nothing else does. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>
#include "data/data_source.h"
#include "data/npy_header.h"

struct shape {
    uint32_t rank, dim[PITH_MAX_RANK];
};

static struct pith_order order_of(struct shape a, uint32_t times, struct shape to)
{
    return pith_array_order(a.dim, a.rank, times, to.dim, to.rank);
}

static void ones_and_merged_axes_fit(void **state)
{
    (void)state;
    static const struct {
        struct shape is;
        uint32_t times;
        struct shape to;
    } fits[] = {
        {{3, {3, 6, 6}}, 1, {4, {1, 3, 6, 6}}},
        {{4, {1, 3, 6, 6}}, 1, {4, {1, 3, 6, 6}}},
        {{1, {108}}, 1, {4, {1, 3, 6, 6}}},
        {{2, {3, 36}}, 1, {4, {1, 3, 6, 6}}},
        {{2, {18, 6}}, 1, {4, {1, 3, 6, 6}}},
        {{3, {49, 10, 1}}, 1, {4, {1, 1, 49, 10}}},
        {{2, {28, 28}}, 1, {4, {1, 1, 28, 28}}},
        {{2, {28, 28}}, 1, {4, {1, 28, 28, 1}}},
        {{3, {1, 28, 28}}, 1, {2, {1, 784}}},
        {{4, {2, 3, 4, 5}}, 1, {3, {6, 4, 5}}},
        {{3, {2, 3, 20}}, 1, {3, {6, 4, 5}}},
        {{3, {3, 3, 3}}, 1, {4, {1, 3, 3, 3}}},
        {{0, {0}}, 1, {1, {1}}},
        {{2, {7, 40}}, 7, {2, {1, 40}}},
        {{1, {280}}, 7, {2, {1, 40}}},
        {{4, {5, 3, 6, 6}}, 5, {4, {1, 3, 6, 6}}},
        {{3, {3, 6, 6}}, 1, {3, {3, 6, 6}}},
    };
    for (size_t i = 0; i < sizeof fits / sizeof *fits; i++) {
        struct pith_order o = order_of(fits[i].is, fits[i].times, fits[i].to);
        if (!o.fits || o.rows)
            fail_msg("case %zu: fits %d, %u rows", i, o.fits, (unsigned)o.rows);
    }
}

static void other_axes_do_not(void **state)
{
    (void)state;
    static const struct {
        struct shape is;
        uint32_t times;
        struct shape to;
    } wrong[] = {
        {{3, {6, 3, 6}}, 1, {4, {1, 3, 6, 6}}},  {{2, {10, 49}}, 1, {4, {1, 1, 49, 10}}},
        {{2, {10, 49}}, 1, {4, {1, 49, 10, 1}}}, {{2, {6, 18}}, 1, {4, {1, 3, 6, 6}}},
        {{2, {36, 3}}, 1, {4, {1, 3, 6, 6}}},    {{2, {100, 3}}, 1, {3, {1, 3, 100}}},
        {{3, {5, 3, 4}}, 1, {4, {1, 3, 4, 5}}}, /* of channels last only if these are few */
        {{3, {5, 4, 3}}, 1, {4, {1, 3, 4, 5}}},  {{2, {4, 3}}, 1, {2, {2, 6}}},
        {{3, {6, 3, 4}}, 1, {4, {1, 4, 6, 3}}}, /* W, C, H */
        {{2, {40, 7}}, 7, {2, {1, 40}}},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        if (order_of(wrong[i].is, wrong[i].times, wrong[i].to).fits)
            fail_msg("case %zu fits", i);
}

static void expect_values(struct pith_order o, const float *x, size_t n, const float *want)
{
    float got[64];
    struct pith_error err = {0};
    memcpy(got, x, n * sizeof *x);
    assert_true(o.fits && o.rows > 0);
    assert_int_equal(pith_array_reorder(&o, got, n, sizeof *got, &err), PITH_OK);
    for (size_t i = 0; i < n; i++)
        assert_true(got[i] == want[i]);
}

static void channels_are_moved(void **state)
{
    (void)state;
    static const float hwc[] = {0, 6, 12, 1, 7, 13, 2, 8, 14, 3, 9, 15, 4, 10, 16, 5, 11, 17};
    static const float chw[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17};
    static const float two_hwc[] = {0, 4, 1, 5, 2, 6, 3, 7, 8, 12, 9, 13, 10, 14, 11, 15};
    struct pith_order o = order_of((struct shape){3, {2, 3, 3}}, 1, (struct shape){3, {3, 2, 3}});
    assert_false(o.channels_last);
    expect_values(o, hwc, 18, chw);
    o = order_of((struct shape){4, {1, 1, 6, 3}}, 1, (struct shape){4, {1, 3, 1, 6}});
    expect_values(o, hwc, 18, chw);
    o = order_of((struct shape){3, {3, 3, 6}}, 1, (struct shape){4, {1, 3, 6, 3}});
    assert_true(o.channels_last);
    o = order_of((struct shape){4, {1, 1, 3, 6}}, 1, (struct shape){5, {1, 3, 6, 1, 1}});
    assert_false(o.fits && o.rows); /* no image: the axes are the same */
    o = order_of((struct shape){4, {2, 1, 4, 2}}, 2, (struct shape){4, {1, 2, 1, 4}});
    expect_values(o, two_hwc, 16, chw); /* two images, each by itself */
    o = order_of((struct shape){4, {3, 4, 5, 2}}, 1, (struct shape){5, {1, 2, 3, 4, 5}});
    assert_true(o.fits && o.rows == 60 && o.columns == 2); /* a volume */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ones_and_merged_axes_fit),
        cmocka_unit_test(other_axes_do_not),
        cmocka_unit_test(channels_are_moved),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
