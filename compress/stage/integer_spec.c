/* SPDX-License-Identifier: MIT */
/* integer_spec.c - "w4a8" and its like. */
#include <string.h>
#include "pith_stage.h"

/* A digit 2..8 at *text, which moves behind it; 0: none. */
static uint32_t take_bits(const char **text)
{
    uint32_t bits = **text >= '2' && **text <= '8' ? (uint32_t)(**text - '0') : 0;
    *text += bits > 0;
    return bits;
}

void pith_integer_spec_set_weights(struct pith_integer_spec *s, uint32_t bits)
{
    if (!s)
        return;
    s->highest = (1 << (bits - 1)) - 1;
    s->lowest = bits == 8 ? -s->highest : -s->highest - 1;
}

/* Moves *text behind the first word of the spec. */
static bool take_kind(const char **text, struct pith_integer_spec *s)
{
    static const char *const words[] = {"int8", "ternary", "fixed:", "w"};
    size_t i = 0;
    while (i < 4 && strncmp(*text, words[i], strlen(words[i])) != 0)
        i++;
    if (i == 4)
        return false;
    *text += strlen(words[i]);
    uint32_t weights = i < 2 ? 8 : take_bits(text), activations = i == 2 ? weights : 8;
    if (i == 3)
        activations = *(*text)++ == 'a' ? take_bits(text) : 0;
    if (!weights || !activations)
        return false;
    *s = (struct pith_integer_spec){.activation_bits = activations, .radix = i == 2};
    pith_integer_spec_set_weights(s, weights);
    if (i == 1)
        s->lowest = -1, s->highest = 1;
    return true;
}

bool pith_integer_spec_parse(const char *text, struct pith_integer_spec *spec)
{
    if (!text || !spec)
        return false;
    struct pith_integer_spec s;
    if (!take_kind(&text, &s))
        return false;
    s.all = strcmp(text, ",all") == 0;
    if (!s.all && *text)
        return false;
    *spec = s;
    return true;
}
