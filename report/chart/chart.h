/* SPDX-License-Identifier: MIT */
/* chart.h - charts as SVG: bars, histograms, plots, heat maps, graphs.
 *
 *     struct chart c;
 *     pith_chart_bars(&c, "bytes", "Bytes by layer", &bars);
 *     pith_chart_put(&c, PITH_CHART_IN_PAGE, &page);       // or PITH_CHART_ALONE: a file of its
 * own pith_chart_free(&c);
 *
 * A chart is CHART_WIDTH units wide and as high as it needs; what shows it scales it. Colours come
 * from CSS custom properties (pith_chart_style), for light and dark, and differ in lightness, so
 * that they are told apart without colour, too. Text is FONT units high and cut where there is no
 * room. The same input gives the same bytes. */
#ifndef CHART_H
#define CHART_H

#include "chart_text.h"

#define CHART_WIDTH 360.0
#define CHART_FONT 12.0
#define CHART_HEAT_CLASSES 7u /* h0 (least) to h6 */

struct chart {
    struct chart_text svg; /* owns: elements inside of <svg> */
    const char *name;      /* of the file without ending, and of the element; borrowed */
    const char *title;     /* borrowed; what a screen reader reads */
    double height;
    bool failed; /* no memory */
};

enum chart_form { PITH_CHART_IN_PAGE, PITH_CHART_ALONE };

/* The <svg> element. ALONE: with title, style and namespace, for a file. */
void pith_chart_put(const struct chart *c, enum chart_form form, struct chart_text *to);
void pith_chart_free(struct chart *c);
/* Rules of CSS: custom properties for light and dark, and the classes that charts use. */
const char *pith_chart_style(void);

/* ---- parts, for charts and tests ---------------------------------------------------------------
 */

/* How wide the text is drawn at most, in units; what is not ASCII counts as high as the font. */
double pith_text_width(const char *text);
/* The text, cut in its middle with "…" to be at most `width` wide; to: room bytes. Returns to. */
const char *pith_text_fit(const char *text, double width, char *to, size_t room);

#define CHART_TICKS 12u /* at most */
struct chart_axis {
    double low, high; /* at its ends; low < high */
    double tick[CHART_TICKS];
    uint32_t n;
    bool log;     /* low > 0 */
    int decimals; /* of the ticks' numbers, where they are not log */
};

/* Ticks at 1, 2 or 5 times a power of ten apart, at most `most` (2..CHART_TICKS) of them, the ends
 * at ticks. log: of positive numbers, ticks at 1, 2 and 5 times powers of ten, or at these alone.
 * What is not finite counts as 0 (log: 1). */
struct chart_axis pith_axis(double low, double high, uint32_t most, bool log);
/* The same with its ends as given and the ticks between them: low < high. */
struct chart_axis pith_axis_inside(double low, double high, uint32_t most);
/* 0 at the low end, 1 at the high end, beyond them cut. */
double pith_axis_at(const struct chart_axis *a, double x);
/* The class of a share 0..1: 0..CHART_HEAT_CLASSES - 1. */
uint32_t pith_heat_class(double share);

/* Where a chart's data lie. */
struct chart_frame {
    double left, top, width, height;
};
/* Grid lines, numbers and names of both axes; x or y may be NULL. */
void pith_axes_put(struct chart_text *t, const struct chart_frame *f, const struct chart_axis *x,
                   const char *x_name, const struct chart_axis *y, const char *y_name);
void pith_put_text(struct chart_text *t, double x, double y, const char *classes, const char *text);
/* A coloured square and the name for each. classes: "a", "b", ... */
void pith_legend_put(struct chart_text *t, double x, double y, const char *const *classes,
                     const char *const *names, uint32_t n);

/* ---- charts --------------------------------------------------------------------------------- */

struct chart_bar {
    const char *label;
    double value[2];  /* >= 0; NAN: none */
    const char *note; /* behind the bars; NULL: none */
};
struct chart_bars {
    const struct chart_bar *bar;
    uint32_t n, n_series;    /* 1 or 2 */
    const char *series[2];   /* their names */
    const char *const *unit; /* names of units, each `per_unit` of the one before; NULL behind */
    double per_unit;         /* 1024 of bytes, 1000 of others */
    const char *const *line; /* [n_lines] of text above */
    uint32_t n_lines;
};
/* One row a bar, values from the left on a linear axis. */
void pith_chart_bars(struct chart *c, const char *name, const char *title,
                     const struct chart_bars *b);

struct chart_histogram {
    double low, high;       /* ends of the bins */
    uint32_t n_bins;        /* 1 or more */
    const uint64_t *bin[2]; /* counts: before (NULL: none), after (NULL: none) */
    const double *level;    /* [n_levels] values, drawn as sticks; counts beside */
    const uint64_t *level_count;
    uint32_t n_levels; /* 0: none */
    const char *x_name;
};
/* Heights are shares of each series' largest: what matters is the shape. */
void pith_chart_histogram(struct chart *c, const char *name, const char *title,
                          const struct chart_histogram *h);

struct chart_series {
    const char *name;
    const double *x, *y; /* [n]; points with a NAN are left out */
    uint32_t n;
    bool line, dots;
    const char *classes; /* "a", "b", "c", "d" */
};
struct chart_plot {
    const struct chart_series *series;
    uint32_t n_series;
    const char *x_name, *y_name;
    bool log_x, log_y;
};
void pith_chart_plot(struct chart *c, const char *name, const char *title,
                     const struct chart_plot *p);

struct chart_heat {
    uint32_t n;               /* rows and columns */
    const uint64_t *count;    /* [n, n], row: label, column: prediction */
    const char *const *label; /* [n]; NULL: numbers */
    const char *row_name, *column_name;
};
/* Cells coloured by their share of the row; n at most CHART_HEAT_MOST. */
#define CHART_HEAT_MOST 40u
void pith_chart_heat(struct chart *c, const char *name, const char *title,
                     const struct chart_heat *h);

struct chart_node {
    const char *label;
    const uint32_t *from; /* [n_from] numbers of nodes before this one */
    uint32_t n_from;
    double share[3];     /* 0..1: its colour by each measure; NAN: none */
    const char *text[3]; /* the value; NULL: none */
};
struct chart_graph {
    const struct chart_node *node; /* [n], in an order of execution */
    uint32_t n;
    uint32_t first, last; /* measures that are drawn, each in a group of class m<number> */
};
/* One row a node; values flow down in lanes, as in a graph of versions. Any number of nodes fits
 * any width. */
void pith_chart_graph(struct chart *c, const char *name, const struct chart_graph *g);

#endif
