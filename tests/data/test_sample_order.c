/* SPDX-License-Identifier: MIT */
/* Which shapes fit an input, which are transposed, and that nothing else does. */
#define _XOPEN_SOURCE 700
#include <stdint.h>
#include "test_run.h"
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "data_folder.h"
#include "data/data_source.h"
#include "data/npy_header.h"

struct shape {
    uint32_t rank, dim[PITH_MAX_RANK];
};

static struct pith_order order_of(struct shape a, uint32_t times, struct shape to)
{
    return pith_array_order(a.dim, a.rank, times, to.dim, to.rank);
}

TEST(ones_and_merged_axes_fit)
{
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

TEST(other_axes_do_not)
{
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

TEST(channels_are_moved)
{
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

static char said[512];

static void keep(void *user, const char *text)
{
    (void)user;
    snprintf(said, sizeof said, "%s", text);
}

/* Sample 1's target of two that are 0, 1, ... 23 and stored as [2, dim], for an output of [1, 2, 2,
 * 3] (output_rank 4) or of unknown shape (0). */
static enum pith_status read_target(uint32_t rank, const uint32_t *dim, uint32_t output_rank,
                                    float target[12])
{
    static const uint32_t flat[] = {2, 12};
    float y[24];
    uint32_t stored[PITH_MAX_RANK] = {2};
    struct pith_buffer npy[2];
    struct pith_error err = {0};
    struct pith_data *d = NULL;
    for (int k = 0; k < 24; k++)
        y[k] = (float)k;
    memcpy(stored + 1, dim, rank * sizeof *dim);
    assert_int_equal(pith_npy_write(PITH_F32, 2, flat, y, &npy[0], NULL), PITH_OK);
    assert_int_equal(pith_npy_write(PITH_F32, rank + 1, stored, y, &npy[1], NULL), PITH_OK);
    put("y.npy", npy[1].data, npy[1].bytes);
    const struct pith_data_opts o = {.size_bytes = sizeof o,
                                     .path = "x.npy",
                                     .content = npy[0].data,
                                     .content_bytes = npy[0].bytes,
                                     .labels = at("y.npy"),
                                     .output_rank = output_rank,
                                     .output_dim = {1, 2, 2, 3},
                                     .warn = keep};
    said[0] = '\0';
    enum pith_status st = pith_data_open(&o, &d, &err);
    if (st)
        snprintf(said, sizeof said, "%s", err.text);
    else
        assert_int_equal(pith_data_read_target(d, 1, target), PITH_OK);
    pith_data_free(d);
    pith_buffer_free(&npy[0]);
    pith_buffer_free(&npy[1]);
    return st;
}

TEST(targets_have_the_order_of_the_output)
{
    static const uint32_t hwc[] = {2, 3, 2}, flat[] = {12}, other[] = {3, 2, 2};
    float y[12];
    strcpy(folder, "/tmp/pith-order-XXXXXX");
    assert_non_null(mkdtemp(folder));
    assert_int_equal(read_target(3, hwc, 4, y), PITH_OK);
    for (int k = 0; k < 12; k++)
        assert_true(y[k] == (float)(12 + k % 6 * 2 + k / 6));
    assert_non_null(strstr(said, "y.npy: targets transposed from 2x3x2 (channels last) to 1x2x2x3 "
                                 "(channels first) for the output"));
    assert_int_equal(read_target(1, flat, 4, y), PITH_OK);
    assert_true(y[1] == 13 && said[0] == '\0');
    assert_int_equal(read_target(3, other, 0, y), PITH_OK);
    assert_true(y[1] == 13 && said[0] == '\0');
    assert_int_equal(read_target(3, other, 4, y), PITH_ERR_ARGUMENT);
    assert_non_null(strstr(said, "y.npy: a target of 3x2x2 does not fit 1x2x2x3: the axes are in "
                                 "another order; transpose the array"));
    assert_int_equal(remove(at("y.npy")), 0);
    assert_int_equal(rmdir(folder), 0);
}

RUN_TESTS
