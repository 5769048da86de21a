/* SPDX-License-Identifier: MIT */
/* chart.c - what all charts share: the element, its style, text, legends. */
#include "chart.h"
#include <stdio.h>
#include <string.h>
#include "base/escape_text.h"

/* Blue, orange, green and purple of Okabe and Ito's palette, which readers without red or green
 * tell apart; heat maps follow cividis (Nunez et al., 2018), from the paper's colour on. */
static const char style[] =
    ":root{color-scheme:light dark;--paper:#fff;--ink:#17202b;--soft:#566170;--grid:#dde3ea;"
    "--card:#f5f7f9;--before:#b3bdc8;--after:#0072b2;--third:#b85c00;--fourth:#00785a;"
    "--h0:#eef1f4;--h1:#d8dfe6;--h2:#b3c4d6;--h3:#84a5c5;--h4:#4f84b2;--h5:#235f96;"
    "--h6:#0b3a69}"
    "@media(prefers-color-scheme:dark){:root{--paper:#12171d;--ink:#e6ebf1;--soft:#9fabb9;"
    "--grid:#2b343f;--card:#1a212a;--before:#5d6977;--after:#56b4e9;--third:#e69f00;"
    "--fourth:#2fbf95;--h0:#222b35;--h1:#2a3f55;--h2:#2f587d;--h3:#3a77a5;"
    "--h4:#5a9ac6;--h5:#8cc0e2;--h6:#cfe8f8}}"
    "@media print{:root{--paper:#fff;--ink:#000;--soft:#444;--grid:#ccc;--card:#fff;"
    "--before:#b3bdc8;--after:#0072b2;--third:#b85c00;--fourth:#00785a;"
    "--h0:#eef1f4;--h1:#d8dfe6;--h2:#b3c4d6;--h3:#84a5c5;--h4:#4f84b2;--h5:#235f96;--h6:#0b3a69}}"
    ".chart{display:block;width:100%;height:auto}"
    ".chart text{font:12px system-ui,-apple-system,'Segoe UI',Roboto,sans-serif;fill:var(--ink);"
    "font-variant-numeric:tabular-nums}"
    ".chart text.s{fill:var(--soft)}.chart text.m{text-anchor:middle}"
    ".chart text.e{text-anchor:end}.chart text.k{font-weight:600}"
    ".chart text.w{fill:var(--paper)}"
    ".chart .grid{stroke:var(--grid);fill:none}"
    ".chart .edge{stroke:var(--soft);stroke-width:1.3;fill:none}"
    ".chart .b{fill:var(--before)}.chart .a{fill:var(--after)}.chart .c{fill:var(--third)}"
    ".chart .d{fill:var(--fourth)}"
    ".chart .lb{stroke:var(--before)}.chart .la{stroke:var(--after)}"
    ".chart .lc{stroke:var(--third)}.chart .ld{stroke:var(--fourth)}"
    ".chart .l{fill:none;stroke-width:1.8;stroke-linejoin:round}.chart .lc{stroke-dasharray:6 3}"
    ".chart .ld{stroke-dasharray:2 3}"
    ".chart .n{stroke:var(--soft)}"
    ".chart .h0{fill:var(--h0)}.chart .h1{fill:var(--h1)}.chart .h2{fill:var(--h2)}"
    ".chart .h3{fill:var(--h3)}.chart .h4{fill:var(--h4)}.chart .h5{fill:var(--h5)}"
    ".chart .h6{fill:var(--h6)}";

const char *pith_chart_style(void)
{
    return style;
}

void pith_chart_free(struct chart *c)
{
    pith_text_free(&c->svg);
    *c = (struct chart){0};
}

void pith_chart_put(const struct chart *c, enum chart_form form, struct chart_text *to)
{
    char height[NUMBER_BYTES];
    pith_plain_number(c->height, 0, height);
    pith_put(to, "<svg class=\"chart\" viewBox=\"0 0 %d %s\" role=\"img\" aria-label=\"",
             (int)CHART_WIDTH, height);
    pith_put_escaped(to, c->title);
    if (form == PITH_CHART_ALONE) {
        pith_put(to,
                 "\" xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%s\"><style>%s"
                 "svg{background:var(--paper)}</style><title>",
                 2 * (int)CHART_WIDTH, pith_plain_number(2 * c->height, 0, height), style);
        pith_put_escaped(to, c->title);
        pith_put(to, "</title>");
    } else
        pith_put(to, "\">");
    if (c->svg.data)
        pith_put_bytes(to, c->svg.data, c->svg.bytes);
    pith_put(to, "</svg>\n");
    to->failed |= c->svg.failed || c->failed;
}

double pith_text_width(const char *text)
{
    /* of ASCII from the space on, in hundredths of the font's height: DejaVu Sans, the widest of
     * the fonts that a browser takes for system-ui */
    static const uint8_t wide[] = {32,  41, 46, 84, 64, 96, 78, 28, 40, 40, 50, 84, 32, 37, 32, 34,
                                   64,  64, 64, 64, 64, 64, 64, 64, 64, 64, 34, 34, 84, 84, 84, 54,
                                   100, 69, 69, 70, 77, 64, 58, 78, 76, 30, 30, 66, 56, 87, 75, 79,
                                   61,  79, 70, 64, 62, 74, 69, 99, 69, 62, 69, 40, 34, 40, 84, 50,
                                   50,  62, 64, 55, 64, 62, 36, 64, 64, 28, 28, 58, 28, 98, 64, 62,
                                   64,  64, 42, 53, 40, 64, 60, 82, 60, 60, 53, 64, 34, 64, 84};
    double em = 0;
    for (const unsigned char *p = (const unsigned char *)text; *p; p++)
        em += *p >= ' ' && *p < 0x7f ? wide[*p - ' '] / 100.0 : *p >= 0xc0 ? 1.0 : 0;
    return em * CHART_FONT;
}

const char *pith_text_fit(const char *text, double width, char *to, size_t room)
{
    char visible[1024];
    pith_escape_text(text, visible, sizeof visible);
    const size_t n = strlen(visible);
    size_t head = 0, tail = n;
    if (pith_text_width(visible) <= width && n < room) {
        memcpy(to, visible, n + 1);
        return to;
    }
    /* By turns a character more of the end and of the beginning, which tells layers apart less. */
    for (bool end = true, grew = true; grew; end = !end) {
        char trial[1024];
        size_t h = head, e = tail;
        if (end)
            do
                e--;
            while (e > h && ((unsigned char)visible[e] & 0xc0) == 0x80);
        else
            h += pith_utf8_length(visible + h, n - h);
        if (h > e)
            break;
        snprintf(trial, sizeof trial, "%.*s…%s", (int)h, visible, visible + e);
        grew = pith_text_width(trial) <= width && strlen(trial) < room;
        if (grew) {
            head = h;
            tail = e;
        }
    }
    snprintf(to, room, "%.*s…%s", (int)head, visible, visible + tail);
    return to;
}

void pith_put_text(struct chart_text *t, double x, double y, const char *classes, const char *text)
{
    pith_put(t, "<text x=\"");
    pith_put_number(t, x, 1);
    pith_put(t, "\" y=\"");
    pith_put_number(t, y, 1);
    pith_put(t, *classes ? "\" class=\"%s\">" : "\"%s>", classes);
    pith_put_escaped(t, text);
    pith_put(t, "</text>");
}

void pith_legend_put(struct chart_text *t, double x, double y, const char *const *classes,
                     const char *const *names, uint32_t n)
{
    char text[128];
    for (uint32_t i = 0; i < n; i++) {
        pith_text_fit(names[i], (CHART_WIDTH - x) / (n - i) - 26, text, sizeof text);
        pith_put(t, "<rect class=\"%s\" x=\"", classes[i]);
        pith_put_number(t, x, 1);
        pith_put(t, "\" y=\"");
        pith_put_number(t, y - 8.5, 1);
        pith_put(t, "\" width=\"9\" height=\"9\"/>");
        pith_put_text(t, x + 13, y, "", text);
        x += 13 + pith_text_width(text) + 12;
    }
}
