/* SPDX-License-Identifier: MIT */
/* avxvnni_twin.h - the kernels of AVX-VNNI on machines without it: the same source, compiled for
 * the same instruction in the encoding of AVX-512 VNNI (tests/module.mk). What the twin lacks is
 * the encoding alone: vpdpbusd is specified once for both. */
#ifndef AVXVNNI_TWIN_H
#define AVXVNNI_TWIN_H

#include "kernels/kernels.h"
#include "pith_runtime.h"

#define AVXVNNI_TWIN (1u << 30) /* as a level */

#ifdef __x86_64__
void pith_gemm_i8_twin(const struct gemm_i8_job *job);
void pith_depthwise_i8_twin(const struct depthwise_i8_job *job);

/* k: the level's own, as filled. */
static inline void twin_of_avxvnni(struct integer_kernels *k)
{
    k->gemm_i8 = pith_gemm_i8_twin;
    k->depthwise_i8 = pith_depthwise_i8_twin;
}

static inline uint32_t features_with_twin(void)
{
    uint32_t features = pith_cpu_features();
    return features & PITH_CPU_VNNI ? features | AVXVNNI_TWIN : features;
}
#else
static inline void twin_of_avxvnni(struct integer_kernels *k)
{
    (void)k;
}

static inline uint32_t features_with_twin(void)
{
    return pith_cpu_features();
}
#endif

#endif
