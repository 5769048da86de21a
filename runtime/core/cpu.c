/* SPDX-License-Identifier: MIT */
/* What the processor offers and the operating system keeps across task switches. A feature counts
 * only when both say so: cpuid names the instructions, XCR0 the registers that are saved. */
#include <stdbool.h>
#include "pith_runtime.h"

#if defined(__x86_64__) || defined(__i386__)
#include <cpuid.h>

/* Intel SDM vol. 2A, CPUID. */
enum {
    LEAF1_ECX_FMA = 1u << 12,
    LEAF1_ECX_POPCNT = 1u << 23,
    LEAF1_ECX_OSXSAVE = 1u << 27,
    LEAF1_ECX_AVX = 1u << 28,
    LEAF1_ECX_F16C = 1u << 29,
    LEAF7_EBX_BMI1 = 1u << 3,
    LEAF7_EBX_AVX2 = 1u << 5,
    LEAF7_EBX_BMI2 = 1u << 8,
    LEAF7_EBX_AVX512F = 1u << 16,
    LEAF7_EBX_AVX512DQ = 1u << 17,
    LEAF7_EBX_AVX512CD = 1u << 28,
    LEAF7_EBX_AVX512BW = 1u << 30,
    LEAF7_ECX_VBMI = 1u << 1,
    LEAF7_ECX_VBMI2 = 1u << 6,
    LEAF7_ECX_VNNI = 1u << 11,
    LEAF7_EDX_AMX = 3u << 24, /* tiles, int8 */
    LEAF7_1_EAX_AVXVNNI = 1u << 4,
    LEAF81_ECX_LZCNT = 1u << 5,
    XCR0_AVX = 0x06,     /* xmm and ymm */
    XCR0_AMX = 3u << 17, /* configuration and data of tiles */
    XCR0_AVX512 = 0xe6,  /* and mask registers and both halves of zmm */
};
#define LEAF7_EBX_AVX512VL (1u << 31)

static bool has(uint32_t reg, uint32_t bits)
{
    return (reg & bits) == bits;
}

static uint32_t saved_state(void)
{
    uint32_t lo, hi;
    __asm__ volatile("xgetbv" : "=a"(lo), "=d"(hi) : "c"(0));
    (void)hi;
    return lo;
}

/* Tile registers are 8 KB more to save at each switch, so Linux gives them to a process on request;
 * a second request changes nothing. It refuses where a thread has a signal stack too small for
 * them. The system call is made here, without a library's function: the core calls none. */
static bool may_use_tiles(void)
{
#if defined(__linux__) && defined(__x86_64__)
    const long arch_prctl = 158, require_permission = 0x1023, tile_data = 18;
    long result;
    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "a"(arch_prctl), "D"(require_permission), "S"(tile_data)
                     : "rcx", "r11", "memory");
    return result == 0;
#else
    return false;
#endif
}

uint32_t pith_cpu_features(void)
{
    uint32_t a, b, c, d, c81, features = 0;
    /* Each cpuid is a trap of some microseconds in a virtual machine: none but these. A CPU
     * with leaf 7 has leaf 0x80000001. */
    if (__get_cpuid_max(0, NULL) < 7)
        return 0;
    __cpuid(1, a, b, c, d);
    if (!has(c, LEAF1_ECX_OSXSAVE))
        return 0;
    const uint32_t state = saved_state(), c1 = c;
    __cpuid(0x80000001u, a, b, c81, d);
    __cpuid_count(7, 0, a, b, c, d);
    if (!has(state, XCR0_AVX) || !has(c81, LEAF81_ECX_LZCNT) ||
        !has(c1, LEAF1_ECX_AVX | LEAF1_ECX_FMA | LEAF1_ECX_F16C | LEAF1_ECX_POPCNT) ||
        !has(b, LEAF7_EBX_AVX2 | LEAF7_EBX_BMI1 | LEAF7_EBX_BMI2))
        return 0;
    features |= PITH_CPU_AVX2;
    uint32_t a1, unused;
    __cpuid_count(7, 1, a1, unused, unused, unused);
    if (has(a1, LEAF7_1_EAX_AVXVNNI))
        features |= PITH_CPU_AVXVNNI;
    if (!has(state, XCR0_AVX512) ||
        !has(b, LEAF7_EBX_AVX512F | LEAF7_EBX_AVX512DQ | LEAF7_EBX_AVX512CD | LEAF7_EBX_AVX512BW |
                    LEAF7_EBX_AVX512VL))
        return features;
    features |= PITH_CPU_AVX512;
    if (has(c, LEAF7_ECX_VBMI | LEAF7_ECX_VBMI2))
        features |= PITH_CPU_VBMI;
    if (!has(c, LEAF7_ECX_VNNI))
        return features;
    features |= PITH_CPU_VNNI;
    if (has(d, LEAF7_EDX_AMX) && has(state, XCR0_AMX) && may_use_tiles())
        features |= PITH_CPU_AMX;
    return features;
}

#elif defined(__aarch64__)

#ifdef __linux__
#include <sys/auxv.h>
#endif

/* The feature registers are the kernel's: Linux exports them, elsewhere the compiler's target
 * decides. */
uint32_t pith_cpu_features(void)
{
    bool dotprod = false, i8mm = false;
#if defined(__linux__)
    dotprod = (getauxval(AT_HWCAP) & 1ul << 20) != 0; /* HWCAP_ASIMDDP */
    i8mm = (getauxval(AT_HWCAP2) & 1ul << 13) != 0;   /* HWCAP2_I8MM */
#endif
#if defined(__ARM_FEATURE_DOTPROD)
    dotprod = true;
#endif
#if defined(__ARM_FEATURE_MATMUL_INT8)
    i8mm = true;
#endif
    /* NEON is part of the base instruction set */
    return PITH_CPU_NEON | (dotprod ? (uint32_t)PITH_CPU_DOTPROD : 0) |
           (dotprod && i8mm ? (uint32_t)PITH_CPU_I8MM : 0);
}

#else

#if defined(__arm__) && defined(__linux__)
#include <sys/auxv.h>
#endif

uint32_t pith_cpu_features(void)
{
#if defined(__ARM_NEON) || defined(__wasm_simd128__)
    return PITH_CPU_NEON;
#elif defined(__arm__) && defined(__linux__)
    return getauxval(AT_HWCAP) & 1ul << 12 ? (uint32_t)PITH_CPU_NEON : 0; /* HWCAP_NEON */
#else
    return 0;
#endif
}

#endif
