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

static struct chart_axis linear(double low, double high, uint32_t most)
{
    struct chart_axis a = {.n = 0};
    if (!(high - low > 1e-9 * fmax(fabs(low), fabs(high)))) {
        const double room = low != 0 ? fabs(low) * 0.5 : 1;
        high = low + room;
        low = low >= 0 && low - room < 0 ? 0 : low - room;
    }
    for (a.step = round_up((high - low) / (most - 1));; a.step = round_up(a.step * 1.5)) {
        const double from = floor(low / a.step + 1e-9);
        const double to = fmax(from + 1, ceil(high / a.step - 1e-9));
        a.n = (uint32_t)(to - from) + 1;
        a.first = a.low = from * a.step;
        a.high = to * a.step;
        if (a.n <= most)
            break;
    }
    const double digits = -floor(log10(a.step) + 1e-9);
    a.decimals = digits > 0 ? (int)digits : 0;
    return a;
}

static struct chart_axis logarithmic(double low, double high, uint32_t most)
{
    struct chart_axis a = {.log = true};
    if (!(low > 0))
        low = high > 0 ? fmin(high, 1) : 1;
    if (!(high > low))
        high = low * 10;
    const double from = floor(log10(low) + 1e-9), to = ceil(log10(high) - 1e-9);
    double each = 1;
    while ((to - from) / each + 1 > most)
        each++;
    a.first = a.low = pow(10, from);
    a.step = pow(10, each);
    a.n = (uint32_t)(floor((to - from) / each + 1e-9)) + 1;
    a.high = pow(10, to);
    a.decimals = from < 0 ? (int)-from : 0;
    return a;
}

struct chart_axis pith_axis(double low, double high, uint32_t most, bool log)
{
    most = most < 2 ? 2 : most > CHART_TICKS ? CHART_TICKS : most;
    if (log)
        return logarithmic(finite_or(low, 1), finite_or(high, 1), most);
    return linear(finite_or(low, 0), finite_or(high, 0), most);
}

struct chart_axis pith_axis_inside(double low, double high, uint32_t most)
{
    struct chart_axis a = pith_axis(low, high, most, false);
    for (; a.n > 1 && a.first < low; a.n--)
        a.first += a.step;
    for (; a.n > 1 && pith_axis_tick(&a, a.n - 1) > high; a.n--)
        continue;
    a.low = low;
    a.high = high > low ? high : a.high;
    return a;
}

double pith_axis_tick(const struct chart_axis *a, uint32_t i)
{
    return a->log ? a->first * pow(a->step, i) : a->first + i * a->step;
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
    const double x = pith_axis_tick(a, i);
    if (fabs(x) >= 1e4 || (x != 0 && fabs(x) < 1e-3)) {
        char metric[NUMBER_BYTES];
        pith_metric_text(x, "", metric);
        char *to = text;
        for (const char *c = metric; *c; c++)
            if (*c != ' ')
                *to++ = *c;
        *to = '\0';
    } else
        pith_plain_number(x, a->log && x >= 1 ? 0 : a->decimals > 6 ? 6 : a->decimals, text);
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
    double free_from = -1;
    for (uint32_t i = 0; i < a->n; i++) {
        const double x = f->left + f->width * pith_axis_at(a, pith_axis_tick(a, i));
        tick_text(a, i, text);
        const double half = pith_text_width(text) / 2;
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
        pith_put_text(t, f->left - 5,
                      f->top + f->height * (1 - pith_axis_at(a, pith_axis_tick(a, i))) + 4, "s e",
                      text);
    }
    if (name)
        pith_put_text(t, 2, f->top - 10, "s", name);
}

void pith_axes_put(struct chart_text *t, const struct chart_frame *f, const struct chart_axis *x,
                   const char *x_name, const struct chart_axis *y, const char *y_name)
{
    pith_put(t, "<path class=\"grid\" d=\"");
    for (uint32_t i = 0; x && i < x->n; i++)
        put_line(t, f->left + f->width * pith_axis_at(x, pith_axis_tick(x, i)), f->top, 'v',
                 f->height);
    for (uint32_t i = 0; y && i < y->n; i++)
        put_line(t, f->left, f->top + f->height * (1 - pith_axis_at(y, pith_axis_tick(y, i))), 'h',
                 f->width);
    pith_put(t, "\"/>");
    if (x)
        put_x(t, f, x, x_name);
    if (y)
        put_y(t, f, y, y_name);
}
