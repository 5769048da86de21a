/* SPDX-License-Identifier: MIT */
/* Numbers as people write them: 0.5%, 8M, 64KiB. Parsed without the locale's decimal comma. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include "cli.h"

bool cli_parse_bytes(const char *text, uint64_t *value)
{
    static const struct {
        const char *suffix;
        double factor;
    } units[] = {{"", 1},          {"B", 1},      {"K", 1e3},  {"KB", 1e3},
                 {"kB", 1e3},      {"KiB", 1024}, {"M", 1e6},  {"MB", 1e6},
                 {"MiB", 1048576}, {"G", 1e9},    {"GB", 1e9}, {"GiB", 1073741824}};
    double v;
    if (!pith_take_decimal(&text, &v))
        return false;
    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        if (strcmp(text, units[i].suffix) == 0 && v * units[i].factor < 1e18) {
            *value = (uint64_t)(v * units[i].factor);
            return true;
        }
    return false;
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
