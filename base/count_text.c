/* SPDX-License-Identifier: MIT */
#include "count_text.h"

#include <stdio.h>

const char *pith_count_text(uint64_t n, char *out)
{
    char digits[24];
    int total = snprintf(digits, sizeof digits, "%llu", (unsigned long long)n), k = 0;
    for (int i = 0; i < total; i++) {
        if (i > 0 && (total - i) % 3 == 0)
            out[k++] = ',';
        out[k++] = digits[i];
    }
    out[k] = '\0';
    return out;
}
