/* SPDX-License-Identifier: MIT */
/* pattern.c - the text form of a pruning pattern. */
#include "pith_prune.h"

#include <stdio.h>
#include <string.h>

#include "base/error_fill.h"

/* Decimal without sign or leading zero, 1..PITH_PATTERN_MAX; advances *text. 0: not such a number.
 */
static uint32_t read_number(const char **text)
{
    const char *p = *text;
    uint32_t v = 0;
    if (*p == '0')
        return 0;
    for (; *p >= '0' && *p <= '9'; p++) {
        v = v * 10 + (uint32_t)(*p - '0');
        if (v > PITH_PATTERN_MAX)
            return 0;
    }
    *text = p;
    return v;
}

static bool read_pair(const char *text, char between, struct pith_pattern *p)
{
    p->a = read_number(&text);
    if (p->a == 0 || *text++ != between)
        return false;
    p->b = read_number(&text);
    return p->b != 0 && *text == '\0';
}

static bool read_pattern(const char *text, struct pith_pattern *p)
{
    static const struct {
        const char *word;
        enum pith_pattern_kind kind;
    } words[] = {
        {"any", PITH_PATTERN_ANY}, {"row", PITH_PATTERN_ROW}, {"channel", PITH_PATTERN_CHANNEL}};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        if (strcmp(text, words[i].word) == 0) {
            *p = (struct pith_pattern){words[i].kind, 0, 0};
            return true;
        }
    }
    static const char balanced[] = "balanced:";
    if (strncmp(text, balanced, sizeof balanced - 1) == 0) {
        p->kind = PITH_PATTERN_BALANCED;
        return read_pair(text + sizeof balanced - 1, '/', p) && p->a <= p->b;
    }
    if (strchr(text, ':')) {
        p->kind = PITH_PATTERN_N_OF_M;
        return read_pair(text, ':', p) && p->a <= p->b;
    }
    p->kind = PITH_PATTERN_BLOCK;
    return read_pair(text, 'x', p);
}

enum pith_status pith_pattern_parse(const char *text, struct pith_pattern *pattern,
                                    struct pith_error *err)
{
    if (!text || !pattern)
        return PITH_ERR_ARGUMENT;
    struct pith_pattern p;
    if (!read_pattern(text, &p))
        return pith_error_fill(err, PITH_ERR_ARGUMENT,
                               "unknown pattern '%s': any, N:M (2:4), RxC (1x4), balanced:K/N "
                               "(balanced:12/128), row or channel, numbers 1 to %u",
                               text, PITH_PATTERN_MAX);
    *pattern = p;
    return PITH_OK;
}

void pith_pattern_print(const struct pith_pattern *pattern, char *out, size_t out_bytes)
{
    if (!pattern || !out)
        return;
    switch (pattern->kind) {
    case PITH_PATTERN_ANY:
        snprintf(out, out_bytes, "any");
        break;
    case PITH_PATTERN_N_OF_M:
        snprintf(out, out_bytes, "%u:%u", pattern->a, pattern->b);
        break;
    case PITH_PATTERN_BLOCK:
        snprintf(out, out_bytes, "%ux%u", pattern->a, pattern->b);
        break;
    case PITH_PATTERN_BALANCED:
        snprintf(out, out_bytes, "balanced:%u/%u", pattern->a, pattern->b);
        break;
    case PITH_PATTERN_ROW:
        snprintf(out, out_bytes, "row");
        break;
    case PITH_PATTERN_CHANNEL:
        snprintf(out, out_bytes, "channel");
        break;
    }
}

uint64_t pith_pattern_kept(const struct pith_pattern *pattern, uint64_t n)
{
    if (!pattern)
        return 0;
    uint64_t k = (2 * n * pattern->a + pattern->b) / (2 * (uint64_t)pattern->b);
    return k > 0 ? k : 1;
}
