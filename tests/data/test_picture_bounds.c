/* SPDX-License-Identifier: MIT */
/* test_picture_bounds.c - the largest picture and the next larger one, crops in the middle, greys
 * by rounding, and which first bytes are an IDX file's. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include "test_run.h"
#include "guard_page.h"
#include "data/data_source.h"
#include "data/npy_header.h"

static enum pith_status make(uint32_t width, uint32_t height)
{
    struct pith_image image = {0};
    enum pith_status st = pith_image_new(width, height, 1, "p", &image, NULL);
    pith_image_free(&image);
    return st;
}

TEST(largest)
{
    assert_int_equal(make(IMAGE_MAX_SIDE, 1), PITH_OK);
    assert_int_equal(make(1, IMAGE_MAX_SIDE), PITH_OK);
    assert_int_equal(make(IMAGE_MAX_SIDE + 1, 1), PITH_ERR_LIMIT);
    assert_int_equal(make(1, IMAGE_MAX_SIDE + 1), PITH_ERR_LIMIT);
    assert_int_equal(make(IMAGE_MAX_SIDE, IMAGE_MAX_PIXELS / IMAGE_MAX_SIDE), PITH_OK);
    assert_int_equal(make(IMAGE_MAX_SIDE, IMAGE_MAX_PIXELS / IMAGE_MAX_SIDE + 1), PITH_ERR_LIMIT);
    assert_int_equal(make(0, 1), PITH_ERR_LIMIT);
    assert_int_equal(make(1, 0), PITH_ERR_LIMIT);
}

TEST(crops)
{
    struct pith_image image;
    assert_int_equal(pith_image_new(5, 5, 1, "p", &image, NULL), PITH_OK);
    for (uint8_t i = 0; i < 25; i++)
        image.pixels[i] = i;
    assert_int_equal(pith_image_crop(&image, 6, 5, "p", NULL), PITH_ERR_ARGUMENT);
    assert_int_equal(pith_image_crop(&image, 5, 6, "p", NULL), PITH_ERR_ARGUMENT);
    assert_int_equal(pith_image_crop(&image, 0, 5, "p", NULL), PITH_ERR_ARGUMENT);
    assert_int_equal(pith_image_crop(&image, 2, 2, "p", NULL),
                     PITH_OK); /* of 3 left over, 1 before */
    assert_memory_equal(image.pixels, ((uint8_t[]){6, 7, 11, 12}), 4);
    pith_image_free(&image);
}

TEST(greys)
{
    static const struct {
        uint8_t rgb[3], grey;
    } cases[] = {
        {{0, 1, 0}, 1}, {{1, 0, 0}, 0}, {{1, 0, 1}, 0}, {{255, 255, 255}, 255}, {{2, 0, 0}, 1}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct pith_image image;
        assert_int_equal(pith_image_new(1, 1, 3, "p", &image, NULL), PITH_OK);
        for (size_t c = 0; c < 3; c++)
            image.pixels[c] = cases[i].rgb[c];
        assert_int_equal(pith_image_set_channels(&image, 1, "p", NULL), PITH_OK);
        assert_int_equal(image.pixels[0], cases[i].grey);
        pith_image_free(&image);
    }
}

/* A line of n values, `step` apart, scaled to n_out: each output is the mean of its inputs under a
 * triangle as wide as the step between outputs, or between inputs where those are further apart. */
static void scale_line(const double *in, uint32_t n, double *out, uint32_t n_out, size_t step)
{
    const double scale = (double)n / n_out, reach = scale < 1 ? 1 : scale;
    for (uint32_t i = 0; i < n_out; i++) {
        double sum = 0, total = 0;
        for (uint32_t k = 0; k < n; k++) {
            double far = (k + 0.5 - (i + 0.5) * scale) / reach, w = 1 - (far < 0 ? -far : far);
            sum += w > 0 ? w * in[k * step] : 0;
            total += w > 0 ? w : 0;
        }
        out[i * step] = sum / total;
    }
}

enum { SIDES = 9 };

/* Rows, then columns of any picture to any size, within the rounding between. */
TEST(resized)
{
    for (uint32_t at = 0; at < SIDES * SIDES * SIDES * SIDES; at += 7) {
        const uint32_t w = at % SIDES + 1, h = at / SIDES % SIDES + 1;
        const uint32_t to_w = at / SIDES / SIDES % SIDES + 1,
                       to_h = at / SIDES / SIDES / SIDES % SIDES + 1, c = at % 2 ? 3 : 1;
        double in[SIDES * SIDES * 3], wide[SIDES * SIDES * 3], want[SIDES * SIDES * 3];
        struct guarded g = guard_new((size_t)w * h * c, 1);
        struct pith_image image = {w, h, c, g.data}, out;
        for (uint32_t i = 0; i < w * h * c; i++)
            in[i] = image.pixels[i] = (uint8_t)(i * i * 37 + i * 11 + at);
        for (uint32_t y = 0; y < h; y++)
            for (uint32_t k = 0; k < c; k++)
                scale_line(in + y * w * c + k, w, wide + y * to_w * c + k, to_w, c);
        for (uint32_t x = 0; x < to_w * c; x++)
            scale_line(wide + x, h, want + x, to_h, to_w * c);
        assert_int_equal(pith_image_resize(&image, to_w, to_h, "p", &out, NULL), PITH_OK);
        assert_true(out.width == to_w && out.height == to_h && out.channels == c);
        for (uint32_t i = 0; i < to_w * to_h * c; i++)
            if (out.pixels[i] < want[i] - 1.01 || out.pixels[i] > want[i] + 1.01)
                fail_msg("%ux%u to %ux%u, value %u: %u, expected %.2f", w, h, to_w, to_h, i,
                         out.pixels[i], want[i]);
        pith_image_free(&out);
        guard_free(&g);
    }
}

TEST(shorter_sides)
{
    static const struct {
        uint32_t w, h, side, to_w, to_h; /* 0: too large */
    } cases[] = {{8, 4, 2, 4, 2},     {4, 8, 2, 2, 4},    {5, 3, 2, 3, 2},
                 {3, 3, 7, 7, 7},     {7, 5, 5, 7, 5},    {2, 32768, 4, 4, IMAGE_MAX_SIDE},
                 {1, 32769, 2, 0, 0}, {32769, 1, 2, 0, 0}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct pith_image image;
        assert_int_equal(pith_image_new(cases[i].w, cases[i].h, 1, "p", &image, NULL), PITH_OK);
        memset(image.pixels, 9, (size_t)cases[i].w * cases[i].h);
        assert_int_equal(pith_image_resize_shorter(&image, cases[i].side, "p", NULL),
                         cases[i].to_w ? PITH_OK : PITH_ERR_LIMIT);
        assert_int_equal(image.width, cases[i].to_w ? cases[i].to_w : cases[i].w);
        assert_int_equal(image.height, cases[i].to_h ? cases[i].to_h : cases[i].h);
        assert_int_equal(image.pixels[image.width * image.height - 1], 9);
        pith_image_free(&image);
    }
    struct pith_image image;
    assert_int_equal(pith_image_new(1, 1, 2, "p", &image, NULL), PITH_ERR_UNSUPPORTED);
    assert_int_equal(pith_image_new(3, 2, 1, "p", &image, NULL), PITH_OK);
    for (uint8_t i = 0; i < 6; i++)
        image.pixels[i] = i;
    assert_int_equal(pith_image_set_channels(&image, 3, "p", NULL), PITH_OK);
    assert_int_equal(pith_image_crop(&image, 1, 2, "p", NULL), PITH_OK);
    assert_memory_equal(image.pixels, ((uint8_t[]){1, 1, 1, 4, 4, 4}), 6);
    pith_image_free(&image);
}

TEST(idx_heads)
{
    assert_true(pith_is_idx((const uint8_t[8]){0, 0, 8, PITH_MAX_RANK}, 8));
    assert_false(pith_is_idx((const uint8_t[8]){0, 0, 8, PITH_MAX_RANK + 1}, 8));
    assert_true(pith_is_idx((const uint8_t[8]){0, 0, 8, 1}, 8));
    assert_false(pith_is_idx((const uint8_t[8]){0, 0, 8, 0}, 8));
    assert_false(pith_is_idx((const uint8_t[8]){0, 0, 8, 1}, 7));
    assert_false(pith_is_idx((const uint8_t[8]){0, 0, 10, 1}, 8));
    assert_false(pith_is_idx((const uint8_t[8]){0, 1, 8, 1}, 8));
}

RUN_TESTS
