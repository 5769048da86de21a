/* SPDX-License-Identifier: MIT */
/* image_jpeg.c - JPEG to grey or RGB by libjpeg-turbo, with its default integer transform and
 * upsampling: other settings give other pixels and so other accuracies. Errors come by longjmp;
 * they are caught here and nowhere else. A warning (data that ends early, say) is an error: half a
 * picture is not a sample.
 *
 * Each scan of a progressive picture goes over all its coefficients, and a scan that says nothing
 * takes some bytes: so scans are counted. Encoders write about 10. */
#include <stdio.h>

#include <jpeglib.h>
#include <jerror.h>
#include <setjmp.h>
#include <string.h>

#include "data_source.h"

bool pith_is_jpeg(const void *bytes, size_t n)
{
    return n >= 3 && memcmp(bytes, "\xff\xd8\xff", 3) == 0;
}

#define MAX_SCANS 100
#define MAX_SCANNED (UINT64_C(1) << 30) /* pixels, once for each scan */

struct jpeg_job {
    struct jpeg_error_mgr errors; /* first: libjpeg hands back a pointer to it */
    struct jpeg_progress_mgr progress;
    jmp_buf back;
    const char *name;
    uint64_t max_bytes;
    bool size_only;
    struct pith_error *err;
    struct pith_image image;
    enum pith_status st;
};

static void on_error(j_common_ptr codec)
{
    struct jpeg_job *j = (struct jpeg_job *)codec->err;
    char text[JMSG_LENGTH_MAX];
    codec->err->format_message(codec, text);
    if (codec->err->msg_code == JERR_OUT_OF_MEMORY)
        j->st = pith_error_no_memory(j->err);
    else if (codec->err->msg_code == JERR_NO_BACKING_STORE)
        j->st = pith_error_fill(j->err, PITH_ERR_LIMIT,
                                "%s: JPEG needs more than %ld bytes of memory (--max-memory)",
                                j->name, codec->mem->max_memory_to_use);
    else
        j->st = pith_error_fill(j->err, PITH_ERR_CORRUPT, "%s: broken JPEG: %s", j->name, text);
    longjmp(j->back, 1);
}

static void on_message(j_common_ptr codec, int level)
{
    if (level < 0)
        on_error(codec);
}

/* Called while a progressive picture is read, many times a scan. */
static void on_progress(j_common_ptr codec)
{
    struct jpeg_decompress_struct *d = (struct jpeg_decompress_struct *)codec;
    struct jpeg_job *j = (struct jpeg_job *)codec->err;
    uint64_t scans = (uint64_t)d->input_scan_number;
    uint64_t pixels = (uint64_t)d->image_width * d->image_height;
    if (scans <= MAX_SCANS && scans * pixels <= MAX_SCANNED)
        return;
    j->st = pith_error_fill(j->err, PITH_ERR_LIMIT,
                            "%s: progressive JPEG of %ux%u pixels with %llu scans and more; at "
                            "most %d are read, and 2^30 pixels in all scans",
                            j->name, d->image_width, d->image_height, (unsigned long long)scans,
                            MAX_SCANS);
    longjmp(j->back, 1);
}

/* Inks, stored inverted as Adobe does and all others after it; as Pillow's CMYK to RGB. */
static void ink_to_rgb(const uint8_t *cmyk, uint8_t *rgb, uint32_t width)
{
    for (uint32_t x = 0; x < width; x++, cmyk += 4)
        for (uint32_t c = 0; c < 3; c++) {
            uint32_t light = cmyk[3], t = (255u - cmyk[c]) * light + 128;
            *rgb++ = (uint8_t)(light - ((t + (t >> 8)) >> 8));
        }
}

/* Everything between setjmp and longjmp; changes only what *j holds. */
static void decode(struct jpeg_decompress_struct *codec, struct jpeg_job *j, const void *bytes,
                   size_t n)
{
    jpeg_mem_src(codec, bytes, (unsigned long)n);
    (void)jpeg_read_header(codec, TRUE);
    bool grey = codec->num_components == 1, ink = codec->num_components == 4;
    codec->out_color_space = grey ? JCS_GRAYSCALE : ink ? JCS_CMYK : JCS_RGB;
    j->st = pith_within_bound((uint64_t)codec->image_width * codec->image_height * (grey ? 1 : 3),
                              j->max_bytes, n, j->name, j->err);
    if (j->st == PITH_OK)
        j->st = pith_image_new(codec->image_width, codec->image_height, grey ? 1 : 3, j->name,
                               &j->image, j->err);
    if (j->st != PITH_OK || j->size_only)
        return;
    (void)jpeg_start_decompress(codec);
    size_t row_bytes = (size_t)j->image.width * j->image.channels;
    JSAMPARRAY inks =
        ink ? codec->mem->alloc_sarray((j_common_ptr)codec, JPOOL_IMAGE, 4 * codec->image_width, 1)
            : NULL;
    while (codec->output_scanline < codec->output_height) {
        JSAMPROW row = j->image.pixels + codec->output_scanline * row_bytes;
        (void)jpeg_read_scanlines(codec, inks ? inks : &row, 1);
        if (inks)
            ink_to_rgb(inks[0], row, codec->image_width);
    }
    (void)jpeg_finish_decompress(codec);
}

enum pith_status pith_jpeg_decode(const struct data_source *s, const void *bytes, size_t n,
                                  const char *name, struct pith_image *image,
                                  struct pith_error *err)
{
    struct jpeg_decompress_struct codec;
    struct jpeg_job j = {
        .name = name, .max_bytes = s->max_bytes, .size_only = s->sizes_only, .err = err};
    uint64_t bound = pith_input_bound(s->max_bytes, n);
    memset(&codec, 0, sizeof codec);
    codec.err = jpeg_std_error(&j.errors);
    j.errors.error_exit = on_error;
    j.progress.progress_monitor = on_progress;
    j.errors.emit_message = on_message;
    if (setjmp(j.back) == 0) {
        jpeg_create_decompress(&codec);
        /* progressive pictures are held whole: twice the coefficients of the largest allowed */
        codec.mem->max_memory_to_use =
            bound < 8ul * IMAGE_MAX_PIXELS ? (long)bound : 8l * IMAGE_MAX_PIXELS;
        codec.progress = &j.progress;
        decode(&codec, &j, bytes, n);
    }
    jpeg_destroy_decompress(&codec);
    if (j.st == PITH_OK)
        *image = j.image;
    else
        pith_image_free(&j.image);
    return j.st;
}
