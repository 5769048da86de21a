/* SPDX-License-Identifier: MIT */
/* Numbers as people write them: 0.5%, 8M, 64KiB. Parsed without the locale's decimal comma. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include "cli.h"

bool cli_parse_bytes(const char *text, uint64_t *value)
{
    double bytes;
    if (!pith_parse_bytes(text, &bytes) || !(bytes < 1e18))
        return false;
    *value = (uint64_t)bytes;
    return true;
}

const char *cli_format_bytes(uint64_t bytes, char buffer[32])
{
    static const char *const unit[] = {"B", "KiB", "MiB", "GiB", "TiB"};
    double v = (double)bytes;
    int u = 0;
    for (; v >= 1000 && u < 4; u++)
        v /= 1024;
    if (u == 0)
        snprintf(buffer, 32, "%" PRIu64 " B", bytes);
    else
        snprintf(buffer, 32, "%.*f %s", v < 10 ? 2 : 1, v, unit[u]);
    return buffer;
}

bool cli_find_word(const char *text, const char *const *words, int *index)
{
    for (int i = 0; words[i]; i++)
        if (!text || strcmp(text, words[i]) == 0) {
            *index = i;
            return true;
        }
    return false;
}

bool cli_next_item(const char **at, char item[32])
{
    const size_t n = strcspn(*at, ",");
    const bool fits = n > 0 && n < 32;
    memcpy(item, *at, fits ? n : 0);
    item[fits ? n : 0] = '\0';
    *at = (*at)[n] ? *at + n + 1 : NULL;
    return fits;
}
