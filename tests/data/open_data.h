/* SPDX-License-Identifier: MIT */
/* open_data.h - data sets of files in a folder that goes away, opened, refused and read. */
#ifndef OPEN_DATA_H
#define OPEN_DATA_H

#include "data_folder.h"
#include <png.h>
#include <stdlib.h>
#include <string.h>
#include "pith_data.h"

/* A grey or RGB picture whose every byte is `value`. */
static inline size_t png_of(uint32_t w, uint32_t h, bool colour, uint8_t value, uint8_t *out,
                            size_t room)
{
    uint8_t pixels[64 * 64 * 3];
    memset(pixels, value, sizeof pixels);
    png_image image = {.version = PNG_IMAGE_VERSION,
                       .width = w,
                       .height = h,
                       .format = colour ? PNG_FORMAT_RGB : PNG_FORMAT_GRAY};
    png_alloc_size_t n = room;
    assert_int_equal(png_image_write_to_memory(&image, out, &n, 0, pixels, 0, NULL), 1);
    return n;
}

static inline void put_png(const char *name, uint32_t w, uint32_t h, bool colour, uint8_t value)
{
    uint8_t bytes[4096];
    put(name, bytes, png_of(w, h, colour, value, bytes, sizeof bytes));
}

static inline struct pith_data_opts opts_for(const char *path)
{
    return (struct pith_data_opts){
        .size_bytes = sizeof(struct pith_data_opts), .path = path, .input_name = "x"};
}

static inline struct pith_data *open_ok(const struct pith_data_opts *o)
{
    struct pith_data *d = NULL;
    struct pith_error err = {0};
    SUCCEEDS(pith_data_open(o, &d, &err));
    return d;
}

/* `want` with %s for the folder. */
static inline void open_fails(const struct pith_data_opts *o, enum pith_status status,
                              const char *want)
{
    struct pith_data *d = NULL;
    struct pith_error err = {0};
    char text[512] = "", *to = text;
    for (const char *p = want; *p; p++) {
        if (*p == '$')
            to += sprintf(to, "%s/", folder);
        else
            *to++ = *p;
    }
    *to = '\0';
    enum pith_status st = pith_data_open(o, &d, &err);
    if (st != status || strcmp(err.text, text) != 0)
        fail_msg("status %d, '%s'; expected %d, '%s'", st, err.text, status, text);
    assert_null(d);
}

static inline void expect_sample(struct pith_data *d, uint64_t i, const float *want, int64_t label)
{
    float x[64];
    int64_t got = 0;
    struct pith_error err = {0};
    assert_true(pith_data_elems(d) <= 64);
    SUCCEEDS(pith_data_read(d, i, x, &got, &err));
    for (uint64_t k = 0; k < pith_data_elems(d); k++) {
        if (x[k] != want[k])
            fail_msg("sample %d, value %d: %g, expected %g", (int)i, (int)k, (double)x[k],
                     (double)want[k]);
    }
    assert_int_equal(got, label);
}

#endif
