/* SPDX-License-Identifier: MIT */
/* class_names.c - the class that a text names: among the class names that a model stores, one a
 * line, class 0 first. A text names a class as its whole line does; else in other case, with '_'
 * for ' ', or by the ImageNet synset in front of the line ("n01440764 tench, Tinca tinca"); else by
 * one of the line's names between commas. Each step is tried with all lines before the next. */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "data_source.h"

enum { SYNSET_BYTES = 9 };

struct text_span {
    const char *p;
    size_t n;
};

static struct text_span trimmed(const char *p, size_t n)
{
    while (n > 0 && isspace((unsigned char)*p))
        p++, n--;
    while (n > 0 && isspace((unsigned char)p[n - 1]))
        n--;
    return (struct text_span){p, n};
}

static bool same_bytes(struct text_span a, struct text_span b)
{
    return a.n == b.n && memcmp(a.p, b.p, a.n) == 0;
}

static int folded(char c)
{
    return c == '_' ? ' ' : tolower((unsigned char)c);
}

static bool same_folded(struct text_span a, struct text_span b)
{
    size_t i = 0;
    while (a.n == b.n && i < a.n && folded(a.p[i]) == folded(b.p[i]))
        i++;
    return a.n == b.n && i == a.n;
}

/* "n01440764", alone or in front of something else. */
static bool has_synset(struct text_span t)
{
    if (t.n < SYNSET_BYTES || t.p[0] != 'n')
        return false;
    for (size_t i = 1; i < SYNSET_BYTES; i++)
        if (!isdigit((unsigned char)t.p[i]))
            return false;
    return t.n == SYNSET_BYTES || !isalnum((unsigned char)t.p[SYNSET_BYTES]);
}

/* What stands behind a synset and the character that ends it. */
static struct text_span behind_synset(struct text_span line)
{
    if (!has_synset(line))
        return line;
    size_t from = line.n > SYNSET_BYTES ? SYNSET_BYTES + 1 : SYNSET_BYTES;
    return trimmed(line.p + from, line.n - from);
}

static bool same_class(struct text_span line, struct text_span text)
{
    if (has_synset(line) && has_synset(text))
        return memcmp(line.p, text.p, SYNSET_BYTES) == 0;
    return same_folded(line, text) || same_folded(behind_synset(line), text);
}

static bool has_synonym(struct text_span line, struct text_span text)
{
    struct text_span rest = behind_synset(line);
    while (rest.n > 0) {
        const char *comma = memchr(rest.p, ',', rest.n);
        size_t n = comma ? (size_t)(comma - rest.p) : rest.n;
        if (same_folded(trimmed(rest.p, n), text))
            return true;
        n += comma != NULL;
        rest = (struct text_span){rest.p + n, rest.n - n};
    }
    return false;
}

uint32_t pith_class_find(const char *names, const char *text, size_t n, int64_t *number)
{
    static bool (*const same[])(struct text_span line,
                                struct text_span text) = {same_bytes, same_class, has_synonym};
    const struct text_span wanted = trimmed(text, n);
    uint32_t found = 0;
    for (size_t step = 0; step < sizeof same / sizeof same[0] && !found && wanted.n; step++) {
        int64_t class = 0;
        for (const char *line = names; line && *line; class ++) {
            size_t bytes = strcspn(line, "\n");
            if (same[step](trimmed(line, bytes), wanted) && !found++)
                *number = class;
            line += bytes + (line[bytes] == '\n');
        }
    }
    return found;
}

bool pith_class_number(const char *text, size_t n, int64_t *number)
{
    const struct text_span t = trimmed(text, n);
    int64_t v = 0;
    for (size_t i = 0; i < t.n; i++) {
        if (!isdigit((unsigned char)t.p[i]))
            return false;
        v = v * 10 + (t.p[i] - '0');
        if (v > INT32_MAX)
            return false;
    }
    *number = v;
    return t.n > 0;
}

uint32_t pith_class_count(const char *names)
{
    uint32_t n = 0;
    for (const char *line = names; line && *line; n++)
        line += strcspn(line, "\n") + (line[strcspn(line, "\n")] == '\n');
    return n;
}

const char *pith_class_unknown(const char *names, uint32_t found, char reason[CLASS_REASON_BYTES])
{
    char count[32];
    if (!names || !*names)
        snprintf(reason, CLASS_REASON_BYTES,
                 "is not a class number, and the model stores no class names (pith import "
                 "--class-names FILE)");
    else if (found > 1)
        snprintf(reason, CLASS_REASON_BYTES, "is the name of %u classes", found);
    else
        snprintf(reason, CLASS_REASON_BYTES,
                 "is neither a class number nor one of the %s class names that the model stores",
                 pith_count_text(pith_class_count(names), count));
    return reason;
}
