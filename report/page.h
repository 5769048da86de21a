/* SPDX-License-Identifier: MIT */
/* page.h - the parts of a report's page. Each appends its section, or nothing where there is
 * nothing to show. */
#ifndef REPORT_PAGE_H
#define REPORT_PAGE_H

#include "report/chart/chart.h"
#include "report/chart/chart_picture.h"
#include "facts.h"

struct page {
    struct report *r;
    struct chart_text t;
    const char *was, *is; /* what the two models are called */
    bool refused;         /* the caller's figure() ended the work */
};

struct page_tile {
    const char *title;
    char value[NUMBER_BYTES], was[NUMBER_BYTES]; /* was "": there is no other model */
    char note[120];                              /* behind "was ..." */
};
#define PAGE_TILES 10u
/* The figures that come first, in words; returns how many. */
uint32_t pith_page_tiles(const struct report *r, struct page_tile tile[PAGE_TILES]);

/* Opens <section id> with a heading, or ends it. */
void pith_page_section(struct page *p, const char *id, const char *title);
void pith_page_section_end(struct page *p);
/* The chart with a caption ("": none) below its title, in the page, for the caller's figure(), or
 * both; frees it. */
void pith_page_figure(struct page *p, struct chart *c, const char *caption);
void pith_page_figure_inside(struct page *p, struct chart *c, const char *caption);
void pith_page_figure_alone(struct page *p, struct chart *c);
/* A picture of `size` pixels, shown `scale` times as large. */
void pith_page_picture(struct page *p, const struct pith_buffer *png, const uint32_t size[2],
                       const char *alt);
/* "31.2 dB", "no change", "-". */
const char *pith_page_db(double db, char *to);

void pith_page_bytes(struct page *p);
void pith_page_graph(struct page *p);
void pith_page_energy(struct page *p);
void pith_page_table(struct page *p);
/* As many layers as fit until the page has so many bytes, those with the most bytes first. */
void pith_page_details(struct page *p, size_t most_bytes);

void pith_page_sweep(struct page *p);
void pith_page_curve(struct page *p);
void pith_page_predictions(struct page *p);

#endif
