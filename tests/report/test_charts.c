/* SPDX-License-Identifier: MIT */
/* Ticks at round numbers, texts that fit, XML that no text breaks, and no two texts of a chart in
 * one place. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "test_run.h"
#include "pith_data.h"
#include "report/chart/chart.h"
#include "report/chart/chart_picture.h"

/* ---- axes ------------------------------------------------------------------------------------ */

/* 1, 2 or 5 times a power of ten. */
static bool is_round(double step)
{
    const double digit = step / pow(10, floor(log10(step) + 1e-9));
    return fabs(digit - 1) < 1e-6 || fabs(digit - 2) < 1e-6 || fabs(digit - 5) < 1e-6;
}

TEST(ticks_are_round)
{
    const struct chart_axis a = pith_axis(0, 97, 6, false);
    assert_true(a.low == 0 && a.high == 100 && a.n == 6 && a.tick[1] == 20);
    uint32_t seed = 7;
    for (uint32_t i = 0; i < 3000; i++) {
        double end[2];
        for (uint32_t k = 0; k < 2; k++) {
            seed = seed * 1664525u + 1013904223u;
            end[k] = ((double)(seed >> 8) / (1 << 24) - 0.3) * pow(10, (seed >> 4) % 19 - 9.0);
        }
        const double low = fmin(end[0], end[1]), high = fmax(end[0], end[1]);
        const uint32_t most = 2 + i % 11;
        const struct chart_axis b = pith_axis(low, high, most, false);
        const double step = b.tick[1] - b.tick[0];
        assert_true(is_round(step));
        assert_in_range(b.n, 2, most < 3 ? 3 : most);
        assert_true(b.low <= low + 1e-6 * step && b.high >= high - 1e-6 * step);
        assert_true(most < 5 || high - low > (b.high - b.low) / 4); /* little room is lost */
        const struct chart_axis in = pith_axis_inside(low, high, most);
        for (uint32_t k = 0; k < in.n; k++)
            assert_true(in.tick[k] >= in.low && in.tick[k] <= in.high);
    }
}

TEST(odd_ranges_have_ticks)
{
    const double odd[][2] = {{0, 0}, {5, 5}, {-3, -3}, {NAN, NAN}, {-INFINITY, INFINITY}, {2, 1}};
    for (size_t i = 0; i < sizeof odd / sizeof *odd; i++)
        for (int log = 0; log < 2; log++) {
            const struct chart_axis a = pith_axis(odd[i][0], odd[i][1], 5, log);
            assert_true(a.low < a.high && a.n >= 2 && a.n <= CHART_TICKS);
            assert_true(pith_axis_at(&a, NAN) >= 0 && pith_axis_at(&a, HUGE_VAL) <= 1);
        }
    const struct chart_axis decades = pith_axis(3, 4000, 6, true),
                            near = pith_axis(14, 40, 6, true);
    assert_true(decades.low == 1 && decades.high == 10000 && decades.n == 5 &&
                decades.tick[2] == 100);
    assert_true(fabs(pith_axis_at(&decades, 100) - 0.5) < 1e-9);
    assert_true(near.low == 10 && near.high == 50 && near.n == 3 && near.tick[1] == 20);
    const struct chart_axis zero =
        pith_axis_inside(-0.41, 0.38, 7); /* 0, not what is left of steps */
    assert_true(zero.tick[2] == 0 && zero.low == -0.41);
}

/* ---- texts ----------------------------------------------------------------------------------- */

TEST(numbers_are_short)
{
    char text[NUMBER_BYTES];
    assert_string_equal(pith_plain_number(1.50, 3, text), "1.5");
    assert_string_equal(pith_plain_number(-0.0001, 2, text), "0");
    assert_string_equal(pith_plain_number(100, 0, text), "100");
    assert_string_equal(pith_plain_number(NAN, 2, text), "-");
    assert_string_equal(pith_metric_text(12345, "J", text), "12.3 kJ");
    assert_string_equal(pith_metric_text(0.00000412, "J", text), "4.12 µJ");
    assert_string_equal(pith_metric_text(999.9, "", text), "1 k");
    assert_string_equal(pith_metric_text(0, "", text), "0");
    assert_string_equal(pith_size_text(1000, text), "1000 B");
    assert_string_equal(pith_size_text(1024, text), "1 KiB");
    assert_string_equal(pith_size_text(12600, text), "12.3 KiB");
}

TEST(texts_are_escaped)
{
    struct chart_text t = {0};
    pith_put_escaped(&t, "<a href=\"x\" b='c'>&\n\xff\xe2\x80\xae</a>");
    assert_string_equal(t.data, "&lt;a href=&quot;x&quot; b=&#39;c&#39;&gt;&amp;\\n\\xff\\xe2\\x80"
                                "\\xae&lt;/a&gt;");
    pith_text_free(&t);
}

TEST(texts_are_cut_in_their_middle)
{
    static const char *const texts[] = {"features.18.conv.0.weight",
                                        "层层层层层层层层层",
                                        "WWWWWWWWWWWWWW",
                                        "é",
                                        "",
                                        "a\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        for (double width = 14; width < 200; width += 7) {
            char fit[64];
            pith_text_fit(texts[i], width, fit, sizeof fit);
            assert_true(pith_text_width(fit) <= width);
        }
    char fit[64];
    assert_string_equal(pith_text_fit("features.18.conv.0", 70, fit, sizeof fit), "feat…onv.0");
    assert_string_equal(pith_text_fit("abc", 70, fit, sizeof fit), "abc");
}

/* ---- layout ---------------------------------------------------------------------------------- */

struct box {
    double x0, x1, y;
};

/* Where each <text> of a chart lies, by its anchor. */
static uint32_t read_boxes(const char *svg, struct box *box, uint32_t room)
{
    uint32_t n = 0;
    for (const char *at = svg; (at = strstr(at, "<text x=\"")) && n < room; at++) {
        char classes[16] = "", content[256] = "";
        double x, y;
        assert_int_equal(sscanf(at, "<text x=\"%lf\" y=\"%lf\"", &x, &y), 2);
        const char *end = strchr(at, '>'), *class_at = strstr(at, "class=\"");
        if (class_at && class_at < end)
            sscanf(class_at, "class=\"%15[^\"]", classes);
        sscanf(end, ">%255[^<]", content);
        const double wide = pith_text_width(content);
        const double left = strchr(classes, 'm')   ? x - wide / 2
                            : strchr(classes, 'e') ? x - wide
                                                   : x;
        box[n++] = (struct box){left, left + wide, y};
    }
    return n;
}

static void assert_apart(const struct chart *c)
{
    static struct box box[2000];
    assert_false(c->failed || c->svg.failed);
    const uint32_t n = read_boxes(c->svg.data, box, 2000);
    assert_true(n > 0);
    for (uint32_t i = 0; i < n; i++) {
        assert_true(box[i].x0 >= -0.5 && box[i].x1 <= CHART_WIDTH + 0.5);
        assert_true(box[i].y >= 8 && box[i].y <= c->height);
        for (uint32_t k = 0; k < i; k++)
            assert_false(fabs(box[i].y - box[k].y) < 9 && box[i].x0 < box[k].x1 &&
                         box[k].x0 < box[i].x1);
    }
}

static const char *const bytes_units[] = {"bytes", "KiB", "MiB", "GiB", NULL};

TEST(bars_keep_apart)
{
    static const char *const labels[] = {"a", "a layer with a very long name.conv.0", "<&>",
                                         "卷积"};
    const double scales[] = {0, 0.4, 1, 980, 1000, 1024, 5e5, 3e9, 7e13};
    for (uint32_t series = 1; series <= 2; series++)
        for (size_t s = 0; s < sizeof scales / sizeof *scales; s++) {
            struct chart_bar bar[40];
            for (uint32_t i = 0; i < 40; i++)
                bar[i] =
                    (struct chart_bar){labels[i % 4],
                                       {scales[s] * i, i % 7 ? scales[s] : NAN},
                                       i % 3 ? "12.3 KiB, 13.5x and more than fits here" : NULL};
            const struct chart_bars b = {bar,         40,   series, {"before", "after"},
                                         bytes_units, 1024, NULL,   0};
            struct chart c;
            pith_chart_bars(&c, "bars", "Bars", &b);
            assert_apart(&c);
            pith_chart_free(&c);
        }
}

TEST(plots_keep_apart)
{
    const double x[] = {12, 55, 240, 1900, NAN}, y[] = {0.1, NAN, 0.5, 33, 2};
    for (uint32_t kind = 0; kind < 4; kind++) {
        const struct chart_series series[] = {
            {"within the goal", x, y, 5, true, true, "a"},
            {"beyond the goal of the search", y, x, 5, false, true, "c"},
            {"a third one", x, y, 5, true, false, "d"}};
        const struct chart_plot p = {.series = series,
                                     .n_series = 3,
                                     .x_name = "KiB",
                                     .y_name = "KL divergence, nats",
                                     .log_x = kind & 1,
                                     .log_y = kind & 2};
        struct chart c;
        pith_chart_plot(&c, "plot", "Plot", &p);
        assert_apart(&c);
        assert_null(strstr(c.svg.data, "nan"));
        pith_chart_free(&c);
    }
}

TEST(histograms_and_maps_keep_apart)
{
    const uint64_t bin[] = {1, 5, 9, 0, 2};
    const double level[] = {-0.4, 0, 0.1}, ends[][2] = {{-0.41, 0.37}, {0, 1e-7}, {-127, 127}};
    struct chart c;
    for (uint32_t i = 0; i < 3; i++) {
        const struct chart_histogram h = {.low = ends[i][0],
                                          .high = ends[i][1],
                                          .n_bins = 5,
                                          .bin = {i ? bin : NULL, bin},
                                          .level = level,
                                          .level_count = bin,
                                          .n_levels = i == 1 ? 3 : 0,
                                          .x_name = "weight"};
        pith_chart_histogram(&c, "h", "Histogram", &h);
        assert_apart(&c);
        pith_chart_free(&c);
    }
    for (uint32_t n = 2; n <= CHART_HEAT_MOST; n += 3) {
        uint64_t *count = calloc((size_t)n * n, sizeof *count);
        for (uint32_t i = 0; i < n * n; i++)
            count[i] = i % 11 ? i : 12345;
        const struct chart_heat heat = {n, count, NULL, "label", "prediction"};
        pith_chart_heat(&c, "heat", "Heat", &heat);
        assert_apart(&c);
        pith_chart_free(&c);
        free(count);
    }
}

/* A chain with a branch over it, and one that fans out. */
TEST(graphs_have_a_row_a_node)
{
    for (uint32_t n = 1; n <= 60; n += 7) {
        struct chart_node node[60];
        uint32_t from[60][60];
        for (uint32_t i = 0; i < n; i++) {
            const uint32_t n_from = i == 0 ? 0 : i == n - 1 ? i : i % 3 == 2 ? 2 : 1;
            for (uint32_t k = 0; k < n_from; k++)
                from[i][k] = i == n - 1 ? k : k == 0 ? i - 1 : i / 2;
            node[i] = (struct chart_node){"a name that is long, with operator and shape 3x3x3x3",
                                          from[i],
                                          n_from,
                                          {0.5, NAN, 1},
                                          {"12.3 KiB", NULL, "9 kMAC"}};
        }
        const struct chart_graph g = {node, n, 0, 0};
        struct chart c;
        pith_chart_graph(&c, "graph", &g);
        assert_apart(&c);
        uint32_t rows = 0;
        for (const char *at = c.svg.data; (at = strstr(at, "<circle")); at++)
            rows++;
        assert_int_equal(rows, n);
        pith_chart_free(&c);
    }
}

TEST(charts_stand_alone)
{
    const struct chart_bar bar = {"layer", {3, 1}, NULL};
    const struct chart_bars b = {&bar, 1, 2, {"before", "after"}, bytes_units, 1024, NULL, 0};
    struct chart_text page = {0}, file = {0};
    struct chart c;
    pith_chart_bars(&c, "bars", "A & B", &b);
    pith_chart_put(&c, PITH_CHART_IN_PAGE, &page);
    pith_chart_put(&c, PITH_CHART_ALONE, &file);
    assert_null(strstr(page.data, "<style>"));
    assert_non_null(strstr(file.data, "xmlns=\"http://www.w3.org/2000/svg\""));
    assert_non_null(strstr(file.data, "<title>A &amp; B</title>"));
    assert_non_null(strstr(file.data, "prefers-color-scheme:dark"));
    pith_text_free(&page);
    pith_text_free(&file);
    pith_chart_free(&c);
}

/* ---- pictures -------------------------------------------------------------------------------- */

/* Few colours, many colours, grey: what is written is read back the same. */
TEST(pictures_come_back)
{
    for (uint32_t colours = 2; colours <= 1000; colours *= 3)
        for (uint32_t channels = 1; channels <= 3; channels += 2) {
            const uint32_t w = 31, h = 17;
            uint8_t *pixels = malloc((size_t)w * h * channels);
            for (uint32_t i = 0; i < w * h; i++)
                for (uint32_t c = 0; c < channels; c++)
                    pixels[i * channels + c] = (uint8_t)((i * 7 % colours) >> (c * 4));
            struct pith_buffer png = {0};
            struct pith_image back = {0};
            assert_int_equal(pith_png_encode(pixels, w, h, channels, &png), PITH_OK);
            assert_int_equal(pith_image_decode(png.data, png.bytes, "x.png", 0, &back, NULL),
                             PITH_OK);
            assert_int_equal(back.width, w);
            assert_int_equal(back.height, h);
            assert_int_equal(back.channels, channels);
            assert_memory_equal(back.pixels, pixels, (size_t)w * h * channels);
            pith_image_free(&back);
            pith_buffer_free(&png);
            free(pixels);
        }
    assert_int_equal(pith_png_encode(NULL, 1, 1, 1, NULL), PITH_ERR_ARGUMENT);
}

TEST(base64_is_padded)
{
    static const char *const want[] = {"", "TQ==", "TWE=", "TWFu", "TWFucA=="};
    uint8_t bytes[] = "Manp";
    for (size_t n = 0; n <= 4; n++) {
        const struct pith_buffer b = {bytes, n};
        struct chart_text t = {0};
        pith_put_png(&t, &b);
        assert_string_equal(t.data + strlen("data:image/png;base64,"), want[n]);
        pith_text_free(&t);
    }
}

RUN_TESTS
