/* SPDX-License-Identifier: MIT */
/* CPU features: levels stand on one another, a mask only takes away, and the table obeys it. */
#include <string.h>
#include "test_run.h"
#include "plan/plan.h"

static bool stands(uint32_t features, uint32_t level, uint32_t below)
{
    return !(features & level) || (features & below) == below;
}

TEST(test_levels)
{
    uint32_t f = pith_cpu_features();
    assert_true(stands(f, PITH_CPU_AVX512, PITH_CPU_AVX2));
    assert_true(stands(f, PITH_CPU_AVXVNNI, PITH_CPU_AVX2));
    assert_true(stands(f, PITH_CPU_VBMI, PITH_CPU_AVX512));
    assert_true(stands(f, PITH_CPU_VNNI, PITH_CPU_AVX512));
    assert_true(stands(f, PITH_CPU_AMX, PITH_CPU_VNNI));
    assert_true(stands(f, PITH_CPU_DOTPROD, PITH_CPU_NEON));
    assert_true(stands(f, PITH_CPU_I8MM, PITH_CPU_DOTPROD));
    assert_false(f & PITH_CPU_REF);
#if defined(__x86_64__)
    assert_false(f & (PITH_CPU_NEON | PITH_CPU_DOTPROD | PITH_CPU_I8MM));
    assert_int_equal((f & PITH_CPU_AVX2) != 0, __builtin_cpu_supports("avx2") &&
                                                   __builtin_cpu_supports("fma") &&
                                                   __builtin_cpu_supports("bmi2"));
    assert_int_equal((f & PITH_CPU_AVX512) != 0,
                     __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl") &&
                         __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512cd"));
#endif
}

static uint32_t resolved(uint32_t mask)
{
    struct pith_opts given, opts;
    pith_opts_init(&given, sizeof given);
    given.cpu_mask = mask;
    assert_int_equal(pith_opts_resolve(&given, &opts), PITH_OK);
    return opts.cpu_mask;
}

TEST(test_mask)
{
    uint32_t f = pith_cpu_features();
    assert_int_equal(resolved(0), f);
    assert_int_equal(resolved(PITH_CPU_REF), 0);
    assert_int_equal(resolved(PITH_CPU_AVX2), f & PITH_CPU_AVX2);
    assert_int_equal(resolved(0x7fffffff), f);
}

TEST(test_table)
{
    struct pith_kernels a, b;
    memset(&a, 0, sizeof a);
    memset(&b, 0, sizeof b);
    pith_kernels_fill(&a, 0);
    pith_kernels_fill(&b, 0);
    assert_int_equal(a.features, 0);
    assert_memory_equal(&a, &b, sizeof a);
    pith_kernels_fill(&b, pith_cpu_features());
    assert_int_equal(b.features, pith_cpu_features());
}

TEST(test_options)
{
    struct {
        struct pith_opts known;
        uint64_t newer;
    } given;
    struct pith_opts opts;
    memset(&given, 0, sizeof given);
    given.known.size_bytes = sizeof given;
    assert_int_equal(pith_opts_resolve(&given.known, &opts), PITH_OK);
    assert_int_equal(opts.batch, 1);
    assert_int_equal(opts.max_bytes, UINT64_C(4) << 30);
    given.newer = 1; /* a field of a later version, in use */
    assert_int_equal(pith_opts_resolve(&given.known, &opts), PITH_ERR_ARGUMENT);
    given.newer = 0;
    given.known.flags = 1u << 31;
    assert_int_equal(pith_opts_resolve(&given.known, &opts), PITH_ERR_ARGUMENT);
    given.known.flags = 0;
    given.known.size_bytes = 0; /* not set */
    assert_int_equal(pith_opts_resolve(&given.known, &opts), PITH_ERR_ARGUMENT);
    given.known.size_bytes = offsetof(struct pith_opts, batch); /* a caller from before batch */
    given.known.batch = 7;
    assert_int_equal(pith_opts_resolve(&given.known, &opts), PITH_OK);
    assert_int_equal(opts.batch, 1);
    assert_int_equal(pith_opts_resolve(NULL, &opts), PITH_OK);
    assert_int_equal(pith_version(), 0x000200);
}

RUN_TESTS
