/* SPDX-License-Identifier: MIT */
/* chart_axis.c - ticks at round numbers, and where numbers lie between them. */
#include <math.h>
#include <stdio.h>
#include "chart.h"

static double finite_or(double x, double other)
{
    return isfinite(x) ? x : other;
}

/* 1, 2 or 5 times a power of ten, at least x > 0. */
static double round_up(double x)
{
    const double ten = pow(10, floor(log10(x)));
    for (uint32_t i = 0; i < 3; i++) {
        static const double digit[] = {1, 2, 5};
        if (digit[i] * ten >= x * (1 - 1e-9))
            return digit[i] * ten;
    }
    return 10 * ten;
}

/* Digits behind the point that a number of this size needs. */
static int decimals_of(double step)
{
    const double digits = -floor(log10(step) + 1e-9);
    return digits > 0 ? (int)digits : 0;
}

/* inside: the ends stay, and ticks beyond them are left out. */
static struct chart_axis linear(double low, double high, uint32_t most, bool inside)
{
    double from, to, step = 0;
    if (!(high - low > 1e-9 * fmax(fabs(low), fabs(high)))) {
        const double room = low != 0 ? fabs(low) * 0.5 : 1;
        high = low + room;
        low = low >= 0 && low - room < 0 ? 0 : low - room;
    }
    do {
        step = round_up(step > 0 ? step * 1.5 : (high - low) / (most - 1));
        from = floor(low / step + 1e-9);
        to = fmax(from + 1, ceil(high / step - 1e-9));
    } while (to - from >= most);
    struct chart_axis a = {.low = inside ? low : from * step,
                           .high = inside ? high : to * step,
                           .decimals = decimals_of(step)};
    for (double k = from; k <= to; k++)
        if (!inside || (k * step >= low && k * step <= high))
            a.tick[a.n++] = k * step;
    return a;
}

/* 1, 2, 5, 10, 20 ...: number k of them, 0 at 1. */
static double one_two_five(int k)
{
    static const double digit[] = {1, 2, 5};
    const int decade = (int)floor(k / 3.0);
    return digit[k - 3 * decade] * pow(10, decade);
}

/* At 1, 2 and 5 times powers of ten, or every `each` decades. */
static struct chart_axis logarithmic(double low, double high, uint32_t most)
{
    if (!(low > 0))
        low = high > 0 ? fmin(high, 1) : 1;
    if (!(high > low))
        high = low * 10;
    int from = 3 * (int)floor(log10(low) + 1e-9), to = from, each = 1;
    while (one_two_five(from + 1) <= low * (1 + 1e-9))
        from++;
    while (one_two_five(to) < high * (1 - 1e-9) || to == from)
        to++;
    if (to - from >= (int)most) {
        from = 3 * (int)floor(from / 3.0);
        to = 3 * (int)ceil(to / 3.0);
        each = 3;
        while ((to - from) / each >= (int)most)
            each += 3;
    }
    struct chart_axis a = {.log = true, .low = one_two_five(from), .high = one_two_five(to)};
    for (int k = from; k <= to; k += each)
        a.tick[a.n++] = one_two_five(k);
    return a;
}

struct chart_axis pith_axis(double low, double high, uint32_t most, bool log)
{
    most = most < 2 ? 2 : most > CHART_TICKS ? CHART_TICKS : most;
    if (log)
        return logarithmic(finite_or(low, 1), finite_or(high, 1), most);
    return linear(finite_or(low, 0), finite_or(high, 0), most, false);
}

struct chart_axis pith_axis_inside(double low, double high, uint32_t most)
{
    return linear(finite_or(low, 0), finite_or(high, 0), most > CHART_TICKS ? CHART_TICKS : most,
                  true);
}

double pith_axis_at(const struct chart_axis *a, double x)
{
    double at = a->log ? (x > 0 ? log(x / a->low) / log(a->high / a->low) : 0)
                       : (x - a->low) / (a->high - a->low);
    return at < 0 || isnan(at) ? 0 : at > 1 ? 1 : at;
}

uint32_t pith_heat_class(double share)
{
    if (!(share > 0))
        return 0;
    const uint32_t at = (uint32_t)(share * CHART_HEAT_CLASSES);
    return at < CHART_HEAT_CLASSES ? at : CHART_HEAT_CLASSES - 1;
}

/* 1000000 as "1M": a tick has little room. */
static void tick_text(const struct chart_axis *a, uint32_t i, char *text)
{
    const double x = a->tick[i];
    if (fabs(x) >= 1e4 || (x != 0 && fabs(x) < 1e-3)) {
        char metric[NUMBER_BYTES];
        pith_metric_text(x, "", metric);
        char *to = text;
        for (const char *c = metric; *c; c++)
            if (*c != ' ')
                *to++ = *c;
        *to = '\0';
    } else
        pith_plain_number(x, a->log ? decimals_of(fmin(x, 1)) : a->decimals, text);
}

static void put_line(struct chart_text *t, double x, double y, char way, double length)
{
    pith_put_bytes(t, "M", 1);
    pith_put_number(t, x, 1);
    pith_put_bytes(t, " ", 1);
    pith_put_number(t, y, 1);
    pith_put_bytes(t, &way, 1);
    pith_put_number(t, length, 1);
}

static void put_x(struct chart_text *t, const struct chart_frame *f, const struct chart_axis *a,
                  const char *name)
{
    char text[NUMBER_BYTES];
    double free_from = 0;
    for (uint32_t i = 0; i < a->n; i++) {
        tick_text(a, i, text);
        const double half = pith_text_width(text) / 2, end = CHART_WIDTH - half;
        double x = f->left + f->width * pith_axis_at(a, a->tick[i]);
        x = x < half ? half : x > end ? end : x;
        if (x - half < free_from) /* a number beside it has the room */
            continue;
        pith_put_text(t, x, f->top + f->height + 13, "s m", text);
        free_from = x + half + 4;
    }
    if (name)
        pith_put_text(t, f->left + f->width / 2, f->top + f->height + 28, "s m", name);
}

static void put_y(struct chart_text *t, const struct chart_frame *f, const struct chart_axis *a,
                  const char *name)
{
    char text[NUMBER_BYTES];
    for (uint32_t i = 0; i < a->n; i++) {
        tick_text(a, i, text);
        pith_put_text(t, f->left - 5, f->top + f->height * (1 - pith_axis_at(a, a->tick[i])) + 4,
                      "s e", text);
    }
    if (name)
        pith_put_text(t, 2, f->top - 10, "s", name);
}

void pith_axes_put(struct chart_text *t, const struct chart_frame *f, const struct chart_axis *x,
                   const char *x_name, const struct chart_axis *y, const char *y_name)
{
    pith_put(t, "<path class=\"grid\" d=\"");
    for (uint32_t i = 0; x && i < x->n; i++)
        put_line(t, f->left + f->width * pith_axis_at(x, x->tick[i]), f->top, 'v', f->height);
    for (uint32_t i = 0; y && i < y->n; i++)
        put_line(t, f->left, f->top + f->height * (1 - pith_axis_at(y, y->tick[i])), 'h', f->width);
    pith_put(t, "\"/>");
    if (x)
        put_x(t, f, x, x_name);
    if (y)
        put_y(t, f, y, y_name);
}
