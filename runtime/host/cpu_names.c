/* SPDX-License-Identifier: MIT */
/* Names of instruction set levels, for command lines and reports. */
#include <stdbool.h>
#include <string.h>
#include "pith_host.h"

/* From lower to higher, so that names read as a machine's levels do; "ref" last, for it is listed
 * only where nothing else is. */
static const struct level {
    const char *name;
    uint32_t bit;
    uint32_t mask; /* the level and all it stands on */
} levels[] = {
    {"avx2", PITH_CPU_AVX2, PITH_CPU_AVX2},
    {"avxvnni", PITH_CPU_AVXVNNI, PITH_CPU_AVX2 | PITH_CPU_AVXVNNI},
    {"avx512", PITH_CPU_AVX512, PITH_CPU_AVX2 | PITH_CPU_AVX512},
    {"vbmi", PITH_CPU_VBMI, PITH_CPU_AVX2 | PITH_CPU_AVX512 | PITH_CPU_VBMI},
    {"vnni", PITH_CPU_VNNI, PITH_CPU_AVX2 | PITH_CPU_AVX512 | PITH_CPU_VNNI},
    {"amx", PITH_CPU_AMX, PITH_CPU_AVX2 | PITH_CPU_AVX512 | PITH_CPU_VNNI | PITH_CPU_AMX},
    {"neon", PITH_CPU_NEON, PITH_CPU_NEON},
    {"dotprod", PITH_CPU_DOTPROD, PITH_CPU_NEON | PITH_CPU_DOTPROD},
    {"i8mm", PITH_CPU_I8MM, PITH_CPU_NEON | PITH_CPU_DOTPROD | PITH_CPU_I8MM},
    {"ref", PITH_CPU_REF, PITH_CPU_REF},
};
#define N_LEVELS (sizeof levels / sizeof *levels)

/* Several names are the union of what they mean; without strtok(), which would write to the
 * text. */
enum pith_status pith_cpu_mask_parse(const char *text, uint32_t *mask)
{
    if (!text || !mask)
        return PITH_ERR_ARGUMENT;
    uint32_t all = 0;
    for (;;) {
        size_t n = strcspn(text, ",|"), i = 0;
        while (i < N_LEVELS && (strlen(levels[i].name) != n || strncmp(levels[i].name, text, n)))
            i++;
        if (i == N_LEVELS)
            return PITH_ERR_ARGUMENT;
        all |= levels[i].mask;
        if (text[n] == '\0')
            break;
        text += n + 1;
    }
    /* "ref" beside a level adds nothing: the reference is always there. */
    *mask = all == PITH_CPU_REF ? all : all & ~(uint32_t)PITH_CPU_REF;
    return PITH_OK;
}

const char *pith_cpu_names(uint32_t features, char *text, size_t n)
{
    if (!text)
        return NULL;
    size_t used = 0;
    if (n == 0)
        return text;
    text[0] = '\0';
    for (size_t i = 0; i < N_LEVELS; i++) {
        /* What would not fit is left out whole, never cut in two. */
        bool named = levels[i].bit == PITH_CPU_REF ? used == 0 : (features & levels[i].bit) != 0;
        size_t length = strlen(levels[i].name), gap = used > 0;
        if (!named || used + gap + length + 1 > n)
            continue;
        if (gap)
            text[used] = ' ';
        memcpy(text + used + gap, levels[i].name, length + 1);
        used += gap + length;
    }
    return text;
}
