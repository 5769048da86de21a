/* SPDX-License-Identifier: MIT */
/* test_picture_bounds.c - the largest picture and the next larger one, crops in the middle, greys
 * by rounding, and which first bytes are an IDX file's. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>
#include "test_data.h"

static enum pith_status make(uint32_t width, uint32_t height)
{
    struct pith_image image = {0};
    enum pith_status st = pith_image_new(width, height, 1, "p", &image, NULL);
    pith_image_free(&image);
    return st;
}

static void largest(void **state)
{
    (void)state;
    assert_int_equal(make(IMAGE_MAX_SIDE, 1), PITH_OK);
    assert_int_equal(make(1, IMAGE_MAX_SIDE), PITH_OK);
    assert_int_equal(make(IMAGE_MAX_SIDE + 1, 1), PITH_ERR_LIMIT);
    assert_int_equal(make(1, IMAGE_MAX_SIDE + 1), PITH_ERR_LIMIT);
    assert_int_equal(make(IMAGE_MAX_SIDE, IMAGE_MAX_PIXELS / IMAGE_MAX_SIDE), PITH_OK);
    assert_int_equal(make(IMAGE_MAX_SIDE, IMAGE_MAX_PIXELS / IMAGE_MAX_SIDE + 1), PITH_ERR_LIMIT);
    assert_int_equal(make(0, 1), PITH_ERR_LIMIT);
    assert_int_equal(make(1, 0), PITH_ERR_LIMIT);
}

static void crops(void **state)
{
    struct pith_image image;
    (void)state;
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

static void greys(void **state)
{
    static const struct {
        uint8_t rgb[3], grey;
    } cases[] = {
        {{0, 1, 0}, 1}, {{1, 0, 0}, 0}, {{1, 0, 1}, 0}, {{255, 255, 255}, 255}, {{2, 0, 0}, 1}};
    (void)state;
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

static void idx_heads(void **state)
{
    (void)state;
    assert_true(pith_is_idx((const uint8_t[8]){0, 0, 8, PITH_MAX_RANK}, 8));
    assert_false(pith_is_idx((const uint8_t[8]){0, 0, 8, PITH_MAX_RANK + 1}, 8));
    assert_true(pith_is_idx((const uint8_t[8]){0, 0, 8, 1}, 8));
    assert_false(pith_is_idx((const uint8_t[8]){0, 0, 8, 0}, 8));
    assert_false(pith_is_idx((const uint8_t[8]){0, 0, 8, 1}, 7));
    assert_false(pith_is_idx((const uint8_t[8]){0, 0, 10, 1}, 8));
    assert_false(pith_is_idx((const uint8_t[8]){0, 1, 8, 1}, 8));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(largest),
        cmocka_unit_test(crops),
        cmocka_unit_test(greys),
        cmocka_unit_test(idx_heads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
