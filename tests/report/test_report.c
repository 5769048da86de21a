/* SPDX-License-Identifier: MIT */
/* Pages of drawn networks, and the parts of them that are numbers: the same bytes twice, figures
 * with names of their own, weights of integers in the units of floats, energy, pictures of weights.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "test_run.h"
#include "pith_data.h"
#include "pith_init.h"
#include "pith_pack.h"
#include "pith_report.h"
#include "report/facts.h"

enum { SAMPLES = 12 };

static struct pith_packed packed_of(const char *architecture, uint64_t seed, float quantum)
{
    struct pith_model *m = NULL;
    struct pith_buffer file = {0};
    struct pith_packed packed = {0};
    assert_int_equal(pith_architecture_new(architecture, NULL, &m, NULL), PITH_OK);
    assert_int_equal(pith_model_draw_weights(m, seed, NULL), PITH_OK);
    struct pith_weight_ref *ref = calloc(m->n_nodes + (size_t)1, sizeof *ref);
    const uint32_t n = pith_model_weights(m, ref);
    for (uint32_t i = 0; i < n && quantum > 0; i++) {
        struct pith_const *c = m->values[ref[i].value].constant;
        float *x = c->data;
        for (uint64_t k = 0; k < c->count; k++)
            x[k] = quantum * rintf(x[k] / quantum);
    }
    free(ref);
    assert_int_equal(pith_model_pack(m, NULL, &file, NULL), PITH_OK);
    assert_int_equal(pith_packed_read(&file, "drawn", NULL, &packed, NULL), PITH_OK);
    pith_model_free(m);
    return packed;
}

static struct pith_data *numbers(uint32_t rank, const uint32_t *dim)
{
    struct pith_data *data = NULL;
    uint64_t n = SAMPLES;
    for (uint32_t i = 0; i < rank; i++)
        n *= dim[i];
    float *x = malloc((size_t)n * sizeof *x);
    for (uint64_t i = 0; i < n; i++)
        x[i] = (float)(i * 2654435761u % 1000) / 500 - 1;
    assert_int_equal(
        pith_data_of_numbers(&(struct pith_numbers){.rank = rank, .dim = dim, .n = SAMPLES, .x = x},
                             &data, NULL),
        PITH_OK);
    return data;
}

/* ---- pages ----------------------------------------------------------------------------------- */

struct figures {
    char name[200][40];
    uint32_t n, most; /* refused after so many */
};

static bool take_figure(void *user, const char *name, const char *svg, size_t bytes)
{
    struct figures *f = user;
    assert_true(f->n < 200 && bytes > 100 && strncmp(svg, "<svg ", 5) == 0);
    for (uint32_t i = 0; i < f->n; i++)
        assert_string_not_equal(name, f->name[i]);
    snprintf(f->name[f->n++], sizeof f->name[0], "%s", name);
    return f->n < f->most;
}

static bool refuse(void *user, const char *part, uint64_t done, uint64_t all)
{
    (void)user;
    (void)part;
    (void)done;
    (void)all;
    return false;
}

TEST(the_same_page_twice)
{
    static const struct {
        const char *name;
        uint32_t dim[4];
    } net[] = {{"digits", {1, 1, 28, 28}},
               {"lenet300", {1, 1, 28, 28}},
               {"dscnn", {1, 1, 49, 10}},
               {"resnet20", {1, 3, 32, 32}}};
    for (size_t i = 0; i < sizeof net / sizeof *net; i++) {
        struct pith_packed before = packed_of(net[i].name, 3, 0),
                           after = packed_of(net[i].name, 3, 0.03F);
        struct pith_data *data = numbers(4, net[i].dim);
        const struct pith_feed_input input = {.data = data};
        const struct pith_feed feed = {.size_bytes = sizeof feed, .n_inputs = 1, .input = &input};
        static const uint32_t picked[] = {1, 2, 4, 7, 8, 11};
        assert_int_equal(pith_data_pick(data, picked, 6, NULL), PITH_OK);
        struct figures figures = {.most = 1000};
        struct pith_report_opts o = {.size_bytes = sizeof o,
                                     .name = "after.pith",
                                     .packed = &after,
                                     .vs_name = "before.pith",
                                     .vs = &before,
                                     .feed = &feed,
                                     .figure = take_figure,
                                     .user = &figures};
        struct pith_buffer page[2] = {{0}};
        struct pith_error err = {0};
        for (uint32_t k = 0; k < 2; k++) {
            o.threads = 1 + 2 * k;
            figures.n = 0;
            if (pith_report(&o, &page[k], &err))
                fail_msg("%s: %s", net[i].name, err.text);
        }
        assert_true(figures.n > 8);
        assert_int_equal(page[0].bytes, page[1].bytes);
        assert_memory_equal(page[0].data, page[1].data, page[0].bytes);
        assert_true(page[0].bytes <= PITH_REPORT_MOST_BYTES);
        uint64_t n; /* as they were given */
        assert_memory_equal(pith_data_picked(data, &n), picked, sizeof picked);
        assert_int_equal(n, 6);
        /* a figure that is refused, and work that is ended, end it */
        struct pith_buffer none = {0};
        figures = (struct figures){.most = 3};
        assert_int_equal(pith_report(&o, &none, NULL), PITH_ERR_IO);
        assert_int_equal(figures.n, 3);
        o.progress = refuse;
        assert_int_equal(pith_report(&o, &none, NULL), PITH_ERR_STOPPED);
        assert_non_null(pith_data_picked(data, &n));
        assert_int_equal(n, 6);
        assert_null(none.data);
        pith_buffer_free(&page[0]);
        pith_buffer_free(&page[1]);
        pith_data_free(data);
        pith_packed_free(&before);
        pith_packed_free(&after);
    }
}

/* ---- numbers --------------------------------------------------------------------------------- */

TEST(energy_is_that_of_the_table)
{
    /* 1000 products, 40 bytes of weights, 80 of activations, in pJ */
    const struct report_energy floats = pith_energy_45nm(1000, 40, 80, false);
    const struct report_energy integers = pith_energy_45nm(1000, 40, 80, true);
    assert_true(fabs(floats.arithmetic - 4600e-12) < 1e-20);
    assert_true(fabs(integers.arithmetic - 300e-12) < 1e-20);
    assert_true(fabs(floats.weights - 6400e-12) < 1e-20 &&
                fabs(floats.activations - 100e-12) < 1e-20);
    assert_true(fabs(pith_energy_sum(&floats) - 11100e-12) < 1e-20);
}

/* 3 outputs of 2 x 1 kernels of 2 x 2: kernels side by side, a line between them. */
TEST(weights_have_a_pixel_each)
{
    float x[12] = {1, -1, 0, 1, 0, 0, 0, 0, -1, 1, 1, -1};
    const struct pith_weight_array w = {.rank = 4, .dim = {3, 1, 2, 2}, .count = 12, .x = x};
    struct pith_buffer png = {0};
    struct pith_image image = {0};
    assert_int_equal(pith_weight_png(&w, &png, NULL), PITH_OK);
    assert_int_equal(pith_image_decode(png.data, png.bytes, "w.png", 0, &image, NULL), PITH_OK);
    assert_int_equal(image.width, 2);
    assert_int_equal(image.height, 8);
    const uint8_t *p = image.pixels;
    assert_true(p[0] < p[2]);                                  /* 1: blue */
    assert_true(p[3] > p[5]);                                  /* -1: orange */
    assert_true(p[6] == 255 && p[7] == 255 && p[8] == 255);    /* 0: white */
    assert_true(p[12] == 200 && p[13] == 200 && p[14] == 200); /* a line */
    pith_image_free(&image);
    pith_buffer_free(&png);
    const struct pith_weight_array wide = {
        .rank = 2, .dim = {1, 20000}, .count = 20000, .x = calloc(20000, sizeof(float))};
    struct pith_error err = {0};
    assert_int_equal(pith_weight_png(&wide, &png, &err), PITH_ERR_LIMIT);
    assert_non_null(strstr(err.text, "16384"));
    free(wide.x);
}

/* Many outputs of one small kernel stand side by side, not in a thread of pixels. */
TEST(short_rows_are_folded)
{
    struct pith_weight_array w = {
        .rank = 4, .dim = {100, 1, 3, 3}, .count = 900, .x = calloc(900, sizeof(float))};
    uint32_t side[2];
    struct pith_buffer png = {0};
    assert_int_equal(pith_weight_picture(&w, 0, &png, side), PITH_OK);
    assert_in_range(side[1], side[0], 5 * side[0]);
    pith_buffer_free(&png);
    free(w.x);
}

/* Six integers of two rows, stored [2, 3] or as MatMulInteger has them, [3, 2]. */
TEST(integers_come_in_the_units_of_floats)
{
    struct pith_packed net = packed_of("lenet300", 1, 0);
    struct pith_model *m = NULL;
    assert_int_equal(pith_model_read(net.data, net.bytes, "drawn", NULL, &m, NULL), PITH_OK);
    struct pith_weight_ref *ref = calloc(m->n_nodes + (size_t)1, sizeof *ref);
    assert_int_equal(pith_model_weights(m, ref), 3);
    struct pith_const *c = m->values[ref[2].value].constant;
    const uint64_t n = c->count;
    int8_t *q = malloc((size_t)n);
    float *like = malloc((size_t)n * sizeof *like), *x = malloc((size_t)n * sizeof *x);
    for (uint64_t i = 0; i < n; i++) {
        q[i] = (int8_t)(i * 37 % 251 - 125);
        like[i] = (float)q[i] * 0.01F * (float)(1 + i / ref[2].cols);
    }
    void *was = c->data;
    const enum pith_type type = m->values[ref[2].value].type;
    c->data = q;
    m->values[ref[2].value].type = PITH_I8;
    bool integers = false;
    assert_int_equal(pith_weight_numbers(m, &ref[2], NULL, x, &integers), PITH_OK);
    assert_true(integers && x[3] == (float)q[3]);
    assert_int_equal(pith_weight_numbers(m, &ref[2], like, x, &integers), PITH_OK);
    assert_false(integers);
    for (uint64_t i = 0; i < n; i++)
        assert_true(fabsf(x[i] - like[i]) <= 1e-5F * fabsf(like[i]));
    m->values[ref[2].value].type = PITH_F64;
    assert_int_equal(pith_weight_numbers(m, &ref[2], NULL, x, &integers), PITH_ERR_UNSUPPORTED);
    c->data = was;
    m->values[ref[2].value].type = type;
    free(q);
    free(like);
    free(x);
    free(ref);
    pith_model_free(m);
    pith_packed_free(&net);
}

TEST(logs_are_checked)
{
    static const char *const bad[] = {"epoch\n1\n",
                                      "loss,epoch\nx,1\n",
                                      "{\"event\":\"end\"}\n",
                                      "{\"event\":\"epoch\"}\n{\"event\":\n",
                                      "{}",
                                      "[",
                                      "\xff"};
    struct pith_packed net = packed_of("digits", 1, 0);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct pith_report_opts o = {.size_bytes = sizeof o, .name = "net", .packed = &net};
        struct pith_buffer page = {0};
        struct pith_error err = {0};
        o.curve = (struct pith_report_log){"log.file", bad[i], strlen(bad[i])};
        assert_int_equal(pith_report(&o, &page, &err), PITH_ERR_CORRUPT);
        assert_non_null(strstr(err.text, "log.file"));
        o.curve = (struct pith_report_log){0};
        o.sweep = (struct pith_report_log){"log.file", bad[i], strlen(bad[i])};
        assert_int_equal(pith_report(&o, &page, &err), PITH_ERR_CORRUPT);
    }
    pith_packed_free(&net);
}

/* Of several runs the last counts: its epochs, or where it has none its files. */
TEST(events_make_a_curve)
{
#define START "{\"event\":\"start\",\"command\":\"train\"}\n"
#define SMALL "{\"event\":\"file\",\"bytes\":20,\"loss\":3}\n"
#define EPOCH(n, loss)                                                                             \
    "{\"event\":\"epoch\",\"epoch\":" n ",\"loss\":" loss ",\"val_accuracy\":0.5}\n"
    static const struct {
        const char *log, *curve;
    } runs[] = {
        {START EPOCH("1", "9") START SMALL EPOCH("1", "2") EPOCH("2", "1") SMALL,
         "\"curve\":{\"epoch\":[1.0,2.0],\"loss\":[2.0,1.0],\"top1\":[null,null],"
         "\"val_loss\":[null,null],\"val_top1\":[0.5,0.5]}"},
        {START EPOCH("1", "9") START SMALL "\n" SMALL "{\"event\":\"end\"}\n",
         "\"curve\":{\"bytes\":[20.0,20.0],\"loss\":[3.0,3.0],"},
    };
    struct pith_packed net = packed_of("digits", 1, 0);
    for (size_t i = 0; i < sizeof runs / sizeof *runs; i++) {
        struct pith_report_opts o = {.size_bytes = sizeof o, .name = "net", .packed = &net};
        struct pith_buffer page = {0};
        struct pith_error err = {0};
        o.curve = (struct pith_report_log){"run.jsonl", runs[i].log, strlen(runs[i].log)};
        SUCCEEDS(pith_report(&o, &page, &err));
        const char *found = memmem(page.data, page.bytes, "\"curve\":", 8);
        if (!found || strncmp(found, runs[i].curve, strlen(runs[i].curve)) != 0)
            fail_msg("%.200s", found ? found : "no curve");
        const char *title = i == 1 ? "Loss by bytes" : "Loss by epoch";
        assert_non_null(memmem(page.data, page.bytes, title, strlen(title)));
        pith_buffer_free(&page);
    }
    pith_packed_free(&net);
}

RUN_TESTS
