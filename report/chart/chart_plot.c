/* SPDX-License-Identifier: MIT */
#include <math.h>
#include "chart.h"

enum { PLOT_HEIGHT = 190, LEFT = 44 };

struct range {
    double low, high;
};

static void widen(struct range *r, double x, bool log)
{
    if (!isfinite(x) || (log && !(x > 0)))
        return;
    r->low = fmin(r->low, x);
    r->high = fmax(r->high, x);
}

struct plot {
    const struct chart_plot *p;
    struct chart_frame f;
    struct chart_axis x, y;
};

static void find_axes(struct plot *q)
{
    const struct chart_plot *p = q->p;
    struct range x = {INFINITY, -INFINITY}, y = x;
    for (uint32_t s = 0; s < p->n_series; s++)
        for (uint32_t i = 0; i < p->series[s].n; i++) {
            if (isnan(p->series[s].x[i]) || isnan(p->series[s].y[i]))
                continue;
            widen(&x, p->series[s].x[i], p->log_x);
            widen(&y, p->series[s].y[i], p->log_y);
        }
    q->x = pith_axis(x.low, x.high, 6, p->log_x);
    q->y = pith_axis(y.low, y.high, 6, p->log_y);
}

static double place_x(const struct plot *q, double x)
{
    return q->f.left + q->f.width * pith_axis_at(&q->x, x);
}

static double place_y(const struct plot *q, double y)
{
    return q->f.top + q->f.height * (1 - pith_axis_at(&q->y, y));
}

static void put_circle(struct chart_text *t, const char *classes, double x, double y, double r)
{
    pith_put(t, "<circle class=\"%s\" cx=\"", classes);
    pith_put_number(t, x, 1);
    pith_put(t, "\" cy=\"");
    pith_put_number(t, y, 1);
    pith_put(t, "\" r=\"");
    pith_put_number(t, r, 1);
    pith_put(t, "\"/>");
}

static void put_series(struct chart_text *t, const struct plot *q, const struct chart_series *s)
{
    bool begun = false;
    for (uint32_t i = 0; s->line && i < s->n; i++) {
        if (isnan(s->x[i]) || isnan(s->y[i]))
            continue;
        if (!begun)
            pith_put(t, "<path class=\"l l%s\" d=\"", s->classes);
        pith_put(t, begun ? "L" : "M");
        pith_put_number(t, place_x(q, s->x[i]), 1);
        pith_put(t, " ");
        pith_put_number(t, place_y(q, s->y[i]), 1);
        begun = true;
    }
    if (begun)
        pith_put(t, "\"/>");
    for (uint32_t i = 0; s->dots && i < s->n; i++)
        if (!isnan(s->x[i]) && !isnan(s->y[i]))
            put_circle(t, s->classes, place_x(q, s->x[i]), place_y(q, s->y[i]), 3.4);
}

/* Rows of names above the frame; returns the height taken. */
static double put_names(struct chart_text *t, const struct plot *q)
{
    const struct chart_plot *p = q->p;
    double x = LEFT, y = 12;
    for (uint32_t s = 0; s < p->n_series; s++) {
        const double wide = 25 + pith_text_width(p->series[s].name);
        if (x > LEFT && x + wide > CHART_WIDTH) {
            x = LEFT;
            y += 16;
        }
        pith_legend_put(t, x, y, &p->series[s].classes, &p->series[s].name, 1);
        x += wide;
    }
    return y;
}

void pith_chart_plot(struct chart *c, const char *name, const char *title,
                     const struct chart_plot *p)
{
    *c = (struct chart){.name = name, .title = title};
    struct plot q = {.p = p};
    find_axes(&q);
    const double names = put_names(&c->svg, &q);
    q.f = (struct chart_frame){LEFT, names + 28, CHART_WIDTH - LEFT - 14, PLOT_HEIGHT};
    pith_axes_put(&c->svg, &q.f, &q.x, p->x_name, &q.y, p->y_name);
    for (uint32_t s = 0; s < p->n_series; s++)
        put_series(&c->svg, &q, &p->series[s]);
    c->height = q.f.top + q.f.height + 34;
}
