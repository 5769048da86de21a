/* SPDX-License-Identifier: MIT */
/* onnx_short_name.c - names that are longer than a .pith stores.
 *
 * Exporters that write the path of modules into each name reach hundreds of bytes, mostly the same
 * ones in front. What is kept is the head and, behind a '~', 16 hexadecimal digits of the whole
 * name's 64-bit FNV-1a hash: the same in each import, and different for names that differ anywhere.
 */
#include <stdio.h>

#include "onnx/graph/onnx.h"

enum { DIGITS = 16, TAIL = DIGITS + 1 };

static uint64_t hash_of(const char *name)
{
    uint64_t h = UINT64_C(0xcbf29ce484222325);
    for (; *name; name++)
        h = (h ^ (uint8_t)*name) * UINT64_C(0x100000001b3);
    return h;
}

const char *pith_onnx_short_name(struct onnx_import *im, const char *name, size_t limit)
{
    if (strlen(name) <= limit)
        return name;
    size_t head = limit - TAIL;
    while (head > 0 && ((uint8_t)name[head] & 0xC0) == 0x80) /* not within a UTF-8 sequence */
        head--;
    char *text = pith_onnx_alloc(&im->budget, head + TAIL + 1, 1);
    if (text)
        snprintf(text, head + TAIL + 1, "%.*s~%016llx", (int)head, name,
                 (unsigned long long)hash_of(name));
    return text;
}
