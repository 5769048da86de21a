/* SPDX-License-Identifier: MIT */
/* test_kernel_list.c - every entry of the lists of kernels is what a table of its features runs,
 * and is masked where they are: so the tests of the tables (test_kernels_*.c), which go through the
 * same levels, run every kernel against its reference. And costs decide which kernel is planned. */
#include <string.h>
#include "test_run.h"
#include "cpu_levels.h"
#include "kernels/kernels.h"
#include "products/integer_conv.h"
#include "products/product_f32.h"
#include "weight_case.h"

static const uint32_t levels[] = {CPU_LEVELS};
#define N_LEVELS (sizeof levels / sizeof *levels)

/* Tables are only filled here: nothing runs, so the CPU need not have the features. */
static struct pith_kernels table_of(uint32_t features)
{
    struct pith_kernels k;
    pith_kernels_fill(&k, features);
    return k;
}

/* In some table with its features, in none without. */
#define CHECK(member, function, features)                                                          \
    do {                                                                                           \
        const uint32_t needs = (features);                                                         \
        bool runs = needs == 0;                                                                    \
        for (size_t l = 0; l < N_LEVELS; l++) {                                                    \
            struct pith_kernels k = table_of(levels[l]);                                           \
            if (k.member == &(function)) {                                                         \
                assert_int_equal(needs & ~levels[l], 0);                                           \
                runs = true;                                                                       \
            }                                                                                      \
        }                                                                                          \
        struct pith_kernels reference = table_of(0);                                               \
        if (!runs || (reference.member == &(function)) != (needs == 0))                            \
            fail_msg("%s is not what its features run", #function);                                \
    } while (0);
#define CHECK_SPARSE(member, type, name, features) CHECK(sparse.member, name, features)
#define CHECK_DENSE(member, type, name, features) CHECK(dense.member, name, features)
#define CHECK_ROW(member, type, name, features) CHECK(row.member, name, features)
#define CHECK_INTEGER(member, type, name, features) CHECK(integer.member, name, features)

TEST(test_every_entry)
{
    SPARSE_KERNELS(CHECK_SPARSE)
    DENSE_KERNELS(CHECK_DENSE)
    ROW_KERNELS(CHECK_ROW)
    INTEGER_KERNELS(CHECK_INTEGER)
}

static const char *kernel_for(const struct weight_case *c, const struct pith_costs *costs,
                              uint32_t rows_of_x)
{
    struct pith_kernels k = table_of(0);
    struct op_env env = {.kernels = &k, .flags = PITH_FLAG_DECODE_ONCE};
    struct product p = {
        .m = rows_of_x, .n = c->rows, .k = c->cols, .trans_b = true, .alpha = 1.0f, .beta = 1.0f};
    struct op_need need;
    k.sparse.costs = *costs;
    assert_int_equal(pith_product_need(&p, &c->w, 0, &env, &need), PITH_OK);
    return need.kernel;
}

/* What decides is the given speed, not the machine. */
TEST(test_costs_decide)
{
    uint64_t seed = 3;
    struct weight_want want = {.rows = 64,
                               .cols = 96,
                               .pattern = PATTERN_FULL,
                               .dense = true,
                               .n_centroids = 16,
                               .n_groups = 1,
                               .scale = 1.0f};
    struct weight_case c = case_new(&want, &seed);
    struct pith_costs costs;
    const char *name;
    pith_costs_of(0, &costs, &name);
    assert_string_equal(name, "scalar");
    assert_string_equal(kernel_for(&c, &costs, 1), "gemv-codebook");
    costs.form[FORM_DENSE4] = costs.dense[DENSE_IN_L2] - 1;
    assert_string_equal(kernel_for(&c, &costs, 1), "gemv-f32");
    costs.form[FORM_DENSE4] = costs.dense[DENSE_IN_L2]; /* no slower, and smaller */
    assert_string_equal(kernel_for(&c, &costs, 1), "gemv-codebook");
    costs.form[FORM_DENSE4] = 0;
    assert_string_equal(kernel_for(&c, &costs, 5), "gemv-f32");
    case_free(&c);
}

RUN_TESTS
