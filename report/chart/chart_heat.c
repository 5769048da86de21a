/* SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include "chart.h"

enum { NAMES = 84, ABOVE = 30 };

/* Of row and column i; number: 16 bytes for where there is none. */
static const char *label_of(const struct chart_heat *h, uint32_t i, char *number)
{
    snprintf(number, 16, "%" PRIu32, i);
    return h->label && h->label[i] ? h->label[i] : number;
}

static void put_cell(struct chart_text *t, double x, double y, double side, uint64_t count,
                     double share)
{
    const uint32_t heat = count ? 1 + pith_heat_class(share) * 5 / 6 : 0;
    pith_put(t, "<rect class=\"h%" PRIu32 "\" x=\"", heat);
    pith_put_number(t, x, 1);
    pith_put(t, "\" y=\"");
    pith_put_number(t, y, 1);
    pith_put(t, "\" width=\"");
    pith_put_number(t, side - 1, 1);
    pith_put(t, "\" height=\"");
    pith_put_number(t, side - 1, 1);
    pith_put(t, "\"/>");
    char text[24];
    snprintf(text, sizeof text, "%" PRIu64, count);
    if (count && pith_text_width(text) < side - 2 && side >= 16)
        pith_put_text(t, x + side / 2, y + side / 2 + 4, heat >= 4 ? "m w" : "m", text);
}

void pith_chart_heat(struct chart *c, const char *name, const char *title,
                     const struct chart_heat *h)
{
    *c = (struct chart){.name = name, .title = title};
    struct chart_text *t = &c->svg;
    const uint32_t n = h->n < CHART_HEAT_MOST ? h->n : CHART_HEAT_MOST;
    const double side = n ? (CHART_WIDTH - NAMES - 2) / n : 0, used = side > 40 ? 40 : side;
    pith_put_text(t, NAMES - 5, 12, "s e", h->row_name);
    pith_put_text(t, NAMES, 12, "s", h->column_name);
    /* The first word of the name, which is the number of the class, where it has room. */
    for (uint32_t i = 0; i < n; i++) {
        char number[16], word[24];
        const char *label = label_of(h, i, number);
        snprintf(word, sizeof word, "%.*s", (int)strcspn(label, " "), label);
        if (pith_text_width(word) < used)
            pith_put_text(t, NAMES + used * i + used / 2, ABOVE - 4, "s m", word);
    }
    for (uint32_t row = 0; row < n; row++) {
        char number[16], text[160];
        uint64_t all = 0;
        for (uint32_t k = 0; k < n; k++)
            all += h->count[(size_t)row * n + k];
        if (used >= 12 || row % 2 == 0)
            pith_put_text(t, NAMES - 5, ABOVE + used * row + used / 2 + 4, "e",
                          pith_text_fit(label_of(h, row, number), NAMES - 8, text, sizeof text));
        for (uint32_t k = 0; k < n; k++) {
            const uint64_t count = h->count[(size_t)row * n + k];
            put_cell(t, NAMES + used * k, ABOVE + used * row, used, count,
                     all ? (double)count / (double)all : 0);
        }
    }
    c->height = ABOVE + used * n + 8;
}
