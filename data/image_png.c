/* SPDX-License-Identifier: MIT */
/* image_png.c - PNG to grey or RGB with 8 bits, by libpng, as a stream: so it inflates nothing
 * behind the last row, where a file may have 1,000 bytes for each of its own. Only plain transforms
 * are requested: palette to RGB, few bits to 8, 16 bits to 8, alpha away. libpng reports errors by
 * longjmp; it is caught here and nowhere else. It reports a lack of memory as it does a broken
 * file, so its heap remembers what it refused. */
#include <png.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>

#include "data_source.h"

enum { PNG_SIGNATURE_BYTES = 8 };

bool pith_is_png(const void *bytes, size_t n)
{
    return n >= PNG_SIGNATURE_BYTES && memcmp(bytes, "\x89PNG\r\n\x1a\n", PNG_SIGNATURE_BYTES) == 0;
}

struct png_job {
    size_t n;
    const char *name;
    uint64_t max_bytes;
    struct pith_error *err;
    struct pith_image image;
    enum pith_status st;
    bool has_error; /* st and *err hold the reason */
    bool refused_memory, ended, size_only;
};

static png_voidp allocate(png_structp png, png_alloc_size_t n)
{
    struct png_job *j = png_get_mem_ptr(png);
    void *p = malloc(n);
    j->refused_memory |= !p;
    return p;
}

static void release(png_structp png, png_voidp p)
{
    (void)png;
    free(p);
}

static void on_error(png_structp png, png_const_charp text)
{
    struct png_job *j = png_get_error_ptr(png);
    if (j->refused_memory && !j->has_error)
        j->st = pith_error_no_memory(j->err);
    else if (!j->has_error)
        j->st = pith_error_fill(j->err, PITH_ERR_CORRUPT, "%s: broken PNG: %s", j->name, text);
    longjmp(png_jmpbuf(png), 1);
}

static void on_warning(png_structp png, png_const_charp text)
{
    (void)png;
    (void)text;
}

static void request_8_bits(png_structp png, png_infop info)
{
    png_set_expand(png);
    png_set_strip_16(png);
    png_set_strip_alpha(png);
    (void)png_set_interlace_handling(png);
    png_read_update_info(png, info);
}

/* All in front of the pixels is read. */
static void on_info(png_structp png, png_infop info)
{
    struct png_job *j = png_get_progressive_ptr(png);
    request_8_bits(png, info);
    uint32_t width = png_get_image_width(png, info), height = png_get_image_height(png, info);
    uint32_t channels = png_get_channels(png, info);
    j->st =
        pith_within_bound((uint64_t)width * height * channels, j->max_bytes, j->n, j->name, j->err);
    if (j->st == PITH_OK)
        j->st = pith_image_new(width, height, channels, j->name, &j->image, j->err);
    if (j->st != PITH_OK || j->size_only) {
        j->has_error = true;
        png_error(png, "ends here");
    }
}

/* row: NULL where a pass has nothing for it. */
static void on_row(png_structp png, png_bytep row, png_uint_32 y, int pass)
{
    struct png_job *j = png_get_progressive_ptr(png);
    size_t row_bytes = (size_t)j->image.width * j->image.channels;
    (void)pass;
    if (y < j->image.height)
        png_progressive_combine_row(png, j->image.pixels + y * row_bytes, row);
}

/* Whether all rows came; the stream of a broken file may end in good order before. */
static void on_end(png_structp png, png_infop info)
{
    struct png_job *j = png_get_progressive_ptr(png);
    j->ended = png_get_interlace_type(png, info) == PNG_INTERLACE_NONE
                   ? png_get_current_row_number(png) >= j->image.height
                   : png_get_current_pass_number(png) >= PNG_INTERLACE_ADAM7_PASSES;
}

/* Everything between setjmp and longjmp; changes only what *j holds. */
static void decode(png_structp png, png_infop info, struct png_job *j, const void *bytes)
{
    png_set_progressive_read_fn(png, j, on_info, on_row, on_end);
    png_set_user_limits(png, IMAGE_MAX_SIDE, IMAGE_MAX_SIDE);
    /* -1: of all but the picture's own chunks nothing is kept, or even inflated: a text of 8 KB may
     * unpack to 8 MB, and a file may have any number of them */
    png_set_keep_unknown_chunks(png, PNG_HANDLE_CHUNK_NEVER, NULL, -1);
    png_process_data(png, info, (png_bytep)(uintptr_t)bytes, j->n); /* it is not written to */
    if (!j->ended)
        png_error(png, "ends early");
}

enum pith_status pith_png_decode(const struct data_source *s, const void *bytes, size_t n,
                                 const char *name, struct pith_image *image, struct pith_error *err)
{
    struct png_job j = {
        .n = n, .name = name, .max_bytes = s->max_bytes, .size_only = s->sizes_only, .err = err};
    png_structp png = png_create_read_struct_2(PNG_LIBPNG_VER_STRING, &j, on_error, on_warning, &j,
                                               allocate, release);
    png_infop info = png ? png_create_info_struct(png) : NULL;
    if (!info) {
        png_destroy_read_struct(&png, NULL, NULL);
        return pith_error_no_memory(err);
    }
    if (setjmp(png_jmpbuf(png)) == 0)
        decode(png, info, &j, bytes);
    png_destroy_read_struct(&png, &info, NULL);
    if (j.st == PITH_OK)
        *image = j.image;
    else
        pith_image_free(&j.image);
    return j.st;
}
