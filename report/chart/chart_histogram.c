/* SPDX-License-Identifier: MIT */
#include <math.h>
#include "chart.h"

enum { HEIGHT = 92 };

static uint64_t most_of(const uint64_t *count, uint32_t n)
{
    uint64_t most = 1;
    for (uint32_t i = 0; i < n; i++)
        most = count[i] > most ? count[i] : most;
    return most;
}

/* An outline over the bins: heights change where counts do. */
static void put_bins(struct chart_text *t, const struct chart_frame *f, const struct chart_axis *x,
                     const struct chart_histogram *h, const uint64_t *count, const char *classes)
{
    const double most = (double)most_of(count, h->n_bins), wide = (h->high - h->low) / h->n_bins;
    pith_put(t, "<path class=\"%s\" d=\"M", classes);
    pith_put_number(t, f->left + f->width * pith_axis_at(x, h->low), 1);
    pith_put(t, " ");
    pith_put_number(t, f->top + f->height, 1);
    for (uint32_t i = 0; i < h->n_bins; i++) {
        pith_put(t, "V");
        pith_put_number(t, f->top + f->height * (1 - (double)count[i] / most), 1);
        pith_put(t, "H");
        pith_put_number(t, f->left + f->width * pith_axis_at(x, h->low + (i + 1) * wide), 1);
    }
    pith_put(t, "V");
    pith_put_number(t, f->top + f->height, 1);
    pith_put(t, "z\"/>");
}

static void put_sticks(struct chart_text *t, const struct chart_frame *f,
                       const struct chart_axis *x, const struct chart_histogram *h)
{
    const double most = (double)most_of(h->level_count, h->n_levels);
    pith_put(t, "<path class=\"l la\" stroke-width=\"%s\" d=\"", h->n_levels > 64 ? "1" : "2");
    for (uint32_t i = 0; i < h->n_levels; i++) {
        const double high = f->height * (double)h->level_count[i] / most;
        if (high <= 0)
            continue;
        pith_put(t, "M");
        pith_put_number(t, f->left + f->width * pith_axis_at(x, h->level[i]), 1);
        pith_put(t, " ");
        pith_put_number(t, f->top + f->height, 0);
        pith_put(t, "v");
        pith_put_number(t, -fmax(high, 2), 1);
    }
    pith_put(t, "\"/>");
}

void pith_chart_histogram(struct chart *c, const char *name, const char *title,
                          const struct chart_histogram *h)
{
    static const char *const classes[] = {"b", "a"}, *const names[] = {"before", "after"};
    *c = (struct chart){.name = name, .title = title, .height = HEIGHT + 64};
    struct chart_text *t = &c->svg;
    const struct chart_axis x = pith_axis_inside(h->low, h->high, 7);
    const struct chart_frame f = {14, 24, CHART_WIDTH - 28, HEIGHT};
    const bool before = h->bin[0] != NULL, after = h->bin[1] || h->n_levels;
    pith_axes_put(t, &f, &x, h->x_name, NULL, NULL);
    if (before)
        put_bins(t, &f, &x, h, h->bin[0], "b");
    if (h->n_levels)
        put_sticks(t, &f, &x, h);
    else if (h->bin[1])
        put_bins(t, &f, &x, h, h->bin[1], before ? "l la" : "a");
    if (before && after)
        pith_legend_put(t, f.left, 12, classes, names, 2);
}
