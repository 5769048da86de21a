/* SPDX-License-Identifier: MIT */
/* writer.c - see writer.h. */
#include "writer.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "core/f32_bits.h"

/* "NAME BYTES NEEDS...", text; parts stand behind those that they need. Bytes: of the code, of
 * macros that of one use, by arm-none-eabi-gcc 12 -Os for a Cortex-M4F; none: it has no code of its
 * own. */
static const struct {
    const char *head, *text;
} part[] = {
#include "export_kernels.h"
};
#define N_PARTS (sizeof part / sizeof *part)
_Static_assert(N_PARTS <= MOST_PARTS, "struct writer has room for all");

void pith_c_say(struct byte_out *o, const char *format, ...)
{
    char text[1024];
    va_list args;
    va_start(args, format);
    const int n = vsnprintf(text, sizeof text, format, args);
    va_end(args);
    o->failed = o->failed || n < 0 || (size_t)n >= sizeof text;
    if (!o->failed)
        pith_out_bytes(o, text, (size_t)n);
}

/* ---- parts ------------------------------------------------------------------------------------
 */

static size_t part_of(const char *name)
{
    const size_t n = strlen(name);
    size_t i = 0;
    while (strncmp(part[i].head, name, n) != 0 || (part[i].head[n] != ' ' && part[i].head[n]))
        i++;
    return i;
}

void pith_c_use(struct writer *w, const char *name)
{
    const size_t i = part_of(name);
    if (w->used[i])
        return;
    w->used[i] = true;
    for (const char *h = part[i].head + strlen(name); *h == ' ';) {
        char need[32];
        const size_t m = strcspn(++h, " ");
        memcpy(need, h, m);
        need[m] = '\0';
        if (*h >= '0' && *h <= '9')
            w->part_bytes[i] = (uint32_t)strtoul(need, NULL, 10);
        else
            pith_c_use(w, need);
        h += m;
    }
    w->code_bytes += w->part_bytes[i];
}

void pith_c_instance(struct writer *w, char name[80], const char *macro, const char *from,
                     const uint32_t *number, uint32_t n)
{
    char line[200];
    const size_t i = part_of(from);
    int at = snprintf(name, 80, "%s", from);
    for (uint32_t k = 0; k < n; k++)
        at += snprintf(name + at, 80u - (size_t)at, "_%u", number[k]);
    at = snprintf(line, sizeof line, "%s(%s", macro, name);
    for (uint32_t k = 0; k < n; k++)
        at += snprintf(line + at, sizeof line - (size_t)at, ", %u", number[k]);
    snprintf(line + at, sizeof line - (size_t)at, ")\n");
    pith_c_use(w, from);
    if (w->kernels.bytes) {
        pith_out_u8(&w->kernels, 0);
        const bool there = !w->kernels.failed && strstr((const char *)w->kernels.data, line);
        w->kernels.bytes--;
        if (there)
            return;
    }
    pith_c_say(&w->kernels, "%s", line);
    w->code_bytes += w->instances[i]++ ? w->part_bytes[i] : 0; /* the first is counted as used */
}

/* ---- constants ---------------------------------------------------------------------------------
 */

void pith_c_f32(struct byte_out *o, float v)
{
    const uint32_t bits = f32_bits(v), exponent = bits >> 23 & 255, fraction = bits & 0x7fffff;
    if (exponent == 255)
        pith_c_say(o, fraction     ? "__builtin_nanf(\"\")"
                      : bits >> 31 ? "-__builtin_inff()"
                                   : "__builtin_inff()");
    else
        pith_c_say(o, "%s0x%xp%df", bits >> 31 ? "-" : "", fraction | (exponent ? 0x800000u : 0u),
                   (int)(exponent ? exponent : 1) - 150);
}

/* An array of n items of `size` bytes. false: it is counted alone. */
static bool open_array(struct writer *w, const char *type, uint32_t size, char letter,
                       uint32_t step, uint64_t n)
{
    w->model_bytes += n * size;
    if (w->net->counts)
        return false;
    pith_c_say(&w->constants, "static const %s %c%u[%llu] %s_ALIGN = {", type, letter, step,
               (unsigned long long)n, w->upper);
    return true;
}

static void next_item(struct writer *w, uint64_t i, uint32_t each)
{
    pith_c_say(&w->constants, i % each ? " " : "\n    ");
}

static void close_array(struct writer *w)
{
    pith_c_say(&w->constants, "\n};\n");
}

void pith_c_bytes_array(struct writer *w, char letter, uint32_t step, struct int8_rows m)
{
    const uint64_t count = m.rows * m.padded;
    if (!open_array(w, "int8_t", 1, letter, step, count))
        return;
    for (uint64_t i = 0; i < count; i++) {
        const uint64_t r = i / m.padded, c = i % m.padded;
        next_item(w, i, 20);
        pith_c_say(&w->constants, "%d,", r < m.n && c < m.size ? m.p[r * m.size + c] : 0);
    }
    close_array(w);
}

void pith_c_u8_array(struct writer *w, char letter, uint32_t step, const uint8_t *p, uint64_t n)
{
    if (!open_array(w, "uint8_t", 1, letter, step, n))
        return;
    for (uint64_t i = 0; i < n; i++) {
        next_item(w, i, 20);
        pith_c_say(&w->constants, "%u,", p[i]);
    }
    close_array(w);
}

void pith_c_u16_array(struct writer *w, char letter, uint32_t step, const uint32_t *p, uint64_t n)
{
    if (!open_array(w, "uint16_t", 2, letter, step, n))
        return;
    for (uint64_t i = 0; i < n; i++) {
        next_item(w, i, 16);
        pith_c_say(&w->constants, "%u,", p[i]);
    }
    close_array(w);
}

void pith_c_i32_array(struct writer *w, char letter, uint32_t step, const int32_t *p, uint64_t n,
                      uint64_t count)
{
    if (!open_array(w, "int32_t", 4, letter, step, count))
        return;
    for (uint64_t i = 0; i < count; i++) {
        next_item(w, i, 8);
        pith_c_say(&w->constants, "%d,", i < n ? p[i] : 0);
    }
    close_array(w);
}

void pith_c_f32_array(struct writer *w, char letter, uint32_t step, const float *p, uint64_t n)
{
    if (!open_array(w, "float", 4, letter, step, n))
        return;
    for (uint64_t i = 0; i < n; i++) {
        next_item(w, i, 6);
        pith_c_f32(&w->constants, p[i]);
        pith_c_say(&w->constants, ",");
    }
    close_array(w);
}

/* m * 2^-e, m of 24 bits, as m | e << 24. false: it is above 2^8 or below 2^-56. */
static bool in_integers(float factor, uint32_t *me)
{
    const uint32_t bits = f32_bits(factor), exponent = bits >> 23;
    const uint32_t e = 150u - exponent;
    *me = (0x800000u | (bits & 0x7fffffu)) | e << 24;
    return bits >> 31 == 0 && exponent != 0 && e >= 16 && e <= 79;
}

bool pith_c_factor_array(struct writer *w, uint32_t step, const float *f, uint32_t n,
                         uint32_t count)
{
    const bool written = open_array(w, "factor_t", 4, 'f', step, count);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t me = 0;
        const float v = i < n ? f[i] : f[n - 1];
        if (!in_integers(v, &me) && !w->net->cpu->fpu)
            return false;
        if (!written)
            continue;
        next_item(w, i, 3);
        pith_c_say(&w->constants, "FACTOR(");
        pith_c_f32(&w->constants, v);
        pith_c_say(&w->constants, ", 0x%xu),", me);
    }
    if (written)
        close_array(w);
    return true;
}

void pith_c_parts(const struct writer *w, struct byte_out *o)
{
    for (size_t i = 0; i < N_PARTS; i++)
        if (w->used[i])
            pith_out_bytes(o, part[i].text, strlen(part[i].text));
}
