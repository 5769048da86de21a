/* SPDX-License-Identifier: MIT */
/* test_crc32c.c - known answers of RFC 3720, B.4, and the definition bit by bit, for the portable
 * code, the instruction and the choice between them. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include "test_run.h"
#include "validate/container.h"
#include "pith_runtime.h"

static uint32_t bit_by_bit(const uint8_t *p, size_t n)
{
    uint32_t crc = ~0u;
    for (size_t i = 0; i < n; i++) {
        crc ^= p[i];
        for (int k = 0; k < 8; k++)
            crc = crc >> 1 ^ (crc & 1 ? 0x82f63b78u : 0);
    }
    return ~crc;
}

TEST(known_answers)
{
    uint8_t b[32];
    assert_int_equal(pith_crc32c(0, "", 0), 0);
    assert_int_equal(pith_crc32c(0, "123456789", 9), 0xe3069283);
    memset(b, 0, sizeof b);
    assert_int_equal(pith_crc32c(0, b, sizeof b), 0x8a9136aa);
    memset(b, 0xff, sizeof b);
    assert_int_equal(pith_crc32c(0, b, sizeof b), 0x62a8ab43);
    for (uint8_t i = 0; i < 32; i++)
        b[i] = i;
    assert_int_equal(pith_crc32c(0, b, sizeof b), 0x46dd794e);
}

TEST(every_length_and_split)
{
    uint8_t b[67];
    for (size_t i = 0; i < sizeof b; i++)
        b[i] = (uint8_t)(i * 151 + 7);
    for (size_t from = 0; from < 5; from++) {
        for (size_t n = 0; from + n <= sizeof b; n++) {
            uint32_t want = bit_by_bit(b + from, n);
            assert_int_equal(pith_crc32c(0, b + from, n), want);
            uint32_t first = pith_crc32c(0, b + from, n / 3);
            assert_int_equal(pith_crc32c(first, b + from + n / 3, n - n / 3), want);
        }
    }
}

/* Around the least length for the instruction, and around its blocks of 24 KB. */
TEST(long_runs)
{
    static const size_t length[] = {0,     7,     24575, 24576, 24577, 32767, 32768,
                                    32771, 49151, 49152, 49163, 73728, 100003};
    const size_t most = length[sizeof length / sizeof *length - 1];
    uint8_t *block = malloc(most + 3);
    assert_non_null(block);
    for (size_t i = 0; i < most + 3; i++)
        block[i] = (uint8_t)(i * i / 7 + i);
    for (size_t i = 0; i < sizeof length / sizeof *length; i++) {
        const uint8_t *p = block + i % 4; /* unaligned */
        const size_t n = length[i] < most ? length[i] : most - 1;
        const uint32_t want = bit_by_bit(p, n), first = bit_by_bit(p, n / 3);
        assert_int_equal(pith_crc32c(0, p, n), want);
        assert_int_equal(pith_crc32c_portable(first, p + n / 3, n - n / 3), want);
#ifdef __x86_64__
        if (pith_cpu_features() & PITH_CPU_AVX2) {
            assert_int_equal(pith_crc32c_avx2(0, p, n), want);
            assert_int_equal(pith_crc32c_avx2(first, p + n / 3, n - n / 3), want);
        }
#endif
    }
    free(block);
}

RUN_TESTS
