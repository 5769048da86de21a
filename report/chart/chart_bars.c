/* SPDX-License-Identifier: MIT */
#include <math.h>
#include "chart.h"

enum { LABEL_MOST = 118, NOTE_MOST = 118, ROW = 18, WIDE_ROW = 22, LINE = 18 };

static void put_bar(struct chart_text *t, const char *classes, double x, double y, double width,
                    double height)
{
    pith_put(t, "<path class=\"%s\" d=\"M", classes);
    pith_put_number(t, x, 1);
    pith_put(t, " ");
    pith_put_number(t, y, 1);
    pith_put(t, "h");
    pith_put_number(t, width, 2);
    pith_put(t, "v");
    pith_put_number(t, height, 1);
    pith_put(t, "H");
    pith_put_number(t, x, 1);
    pith_put(t, "z\"/>");
}

static double largest(const struct chart_bars *b)
{
    double most = 0;
    for (uint32_t i = 0; i < b->n; i++)
        for (uint32_t s = 0; s < b->n_series; s++)
            most = fmax(most, isfinite(b->bar[i].value[s]) ? b->bar[i].value[s] : 0);
    return most;
}

/* Width of the widest label (or note), at most `most`. */
static double widest(const struct chart_bars *b, bool notes, double most)
{
    double wide = 0;
    for (uint32_t i = 0; i < b->n; i++) {
        const char *text = notes ? b->bar[i].note : b->bar[i].label;
        if (text)
            wide = fmax(wide, pith_text_width(text));
    }
    return fmin(wide, most);
}

void pith_chart_bars(struct chart *c, const char *name, const char *title,
                     const struct chart_bars *b)
{
    static const char *const classes[] = {"b", "a"};
    *c = (struct chart){.name = name, .title = title};
    struct chart_text *t = &c->svg;
    double most = largest(b), one = 1;
    uint32_t unit = 0;
    for (; b->unit[unit + 1] && most / one >= 0.97 * b->per_unit; unit++)
        one *= b->per_unit;
    const double row = b->n_series > 1 ? WIDE_ROW : ROW;
    const struct chart_axis x = pith_axis(0, most / one, 5, false);
    const double label = widest(b, false, LABEL_MOST), note = widest(b, true, NOTE_MOST);
    const double top = LINE * b->n_lines;
    const struct chart_frame f = {label + 8, top + (b->n_series > 1 ? 24 : 8),
                                  CHART_WIDTH - label - 8 - (note > 0 ? note + 8 : 14), row * b->n};
    char text[160];
    for (uint32_t i = 0; i < b->n_lines; i++)
        pith_put_text(
            t, 4, 13 + LINE * i, i ? "" : "k",
            pith_text_fit(b->line[i], (CHART_WIDTH - 8) / (i ? 1 : 1.15), text, sizeof text));
    if (b->n_series > 1)
        pith_legend_put(t, f.left, top + 12, classes, b->series, 2);
    pith_axes_put(t, &f, &x, b->unit[unit], NULL, NULL);
    for (uint32_t i = 0; i < b->n; i++) {
        const struct chart_bar *bar = &b->bar[i];
        const double y = f.top + row * i, thick = b->n_series > 1 ? 7.5 : 11;
        pith_put_text(t, label + 3, y + row / 2 + 4, "e",
                      pith_text_fit(bar->label, label, text, sizeof text));
        for (uint32_t s = 0; s < b->n_series; s++)
            if (bar->value[s] > 0)
                put_bar(t, b->n_series > 1 ? classes[s] : "a", f.left, y + 2.5 + s * 8,
                        fmax(0.75, f.width * pith_axis_at(&x, bar->value[s] / one)), thick);
        if (bar->note)
            pith_put_text(t, CHART_WIDTH - note, y + row / 2 + 4, "s",
                          pith_text_fit(bar->note, note, text, sizeof text));
    }
    c->height = f.top + f.height + 34;
}
