/* SPDX-License-Identifier: MIT */
/* data_shape.c - samples in the shape that the model takes: numbers whose axes may have to be
 * transposed, pictures that are resized, cut and coloured, and sizes that the data itself gives. */
#define _POSIX_C_SOURCE 200809L
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/bytes.h"
#include "core/tensor.h"
#include "data_set.h"

void pith_shape_begin(struct pith_data *d, const struct pith_data_opts *o)
{
    d->shape_given = o->rank > 0;
    d->may_step = o->steps && o->rank > 0;
    d->rank = o->rank;
    d->elems = 1;
    for (uint32_t i = 0; i < o->rank; i++) {
        d->dim[i] = o->dim[i] ? o->dim[i] : 1;
        if (!mul_ok(d->elems, d->dim[i], &d->elems))
            d->elems = UINT64_MAX; /* fits no sample */
        d->open[i] = o->open[i];
    }
    uint32_t c = d->rank == 4 ? d->dim[d->pre.nhwc ? 3 : 1] : 0;
    d->channels = c == 1 || c == 3 ? c : 0;
    snprintf(d->input, sizeof d->input, o->input_name ? "input '%.64s'" : "the input",
             o->input_name);
}

static enum pith_status does_not_fit(const struct pith_data *d, const uint32_t *dim, uint32_t rank,
                                     const char *remedy, struct pith_error *err)
{
    char count[32], is[96], wanted[96];
    bool one = d->source.n_samples == 1;
    return pith_error_fill(err, PITH_ERR_ARGUMENT, "%s: %s sample%s of %s %s not fit %s %s%s",
                           d->source.file.name, pith_count_text(d->source.n_samples, count),
                           one ? "" : "s", pith_values_text(dim, rank, is), one ? "does" : "do",
                           d->input, pith_values_text(d->dim, d->rank, wanted), remedy);
}

/* Planes of pictures given as numbers can be cut as little as other numbers. */
static const char *remedy_for_numbers(const struct pith_data *d)
{
    const struct data_source *s = &d->source;
    if (d->elems == s->elems)
        return ": the axes are in another order; transpose the array";
    return s->rank == 3 && d->rank == 4
               ? ": arrays are fed as they are; pith resizes and crops PNG and JPEG pictures only"
               : "";
}

#define REMEDY_BYTES 640

/* What to type so that pictures fit: the preprocessing there is, with the size or the layout that
 * the input has. Of a square of 224 the picture's shorter side becomes 256 first, as is the custom.
 */
static const char *remedy_for_pictures(const struct pith_data *d, char text[REMEDY_BYTES])
{
    struct pith_preprocess pre = d->pre;
    char spec[PITH_PREPROCESS_TEXT_BYTES];
    bool last = d->rank == 4 && (d->dim[3] == 1 || d->dim[3] == 3) && d->dim[1] > 4;
    if (d->rank != 4)
        return "";
    pre.nhwc = last;
    uint32_t h = d->dim[last ? 1 : 2], w = d->dim[last ? 2 : 3], c = d->dim[last ? 3 : 1];
    if (c != 1 && c != 3)
        return ": it takes no pictures, which have 1 or 3 channels";
    if (h != w) {
        pre.resize = pre.crop = pre.letterbox_h = 0;
        pre.resize_h = h;
        pre.resize_w = w;
    } else if (pre.crop != h || pre.resize < h) {
        pre.resize_h = pre.letterbox_h = 0;
        pre.resize = h >= 64 ? (uint32_t)((uint64_t)h * 8 / 7) : h;
        pre.crop = h;
    }
    if (pith_preprocess_format(&pre, spec, sizeof spec))
        return "";
    bool scaled = pre.scale != 1.0f || pre.n_mean || pre.n_std;
    snprintf(
        text, REMEDY_BYTES, ": --preprocess %s%s makes pictures fit%s", scaled ? "" : "NAME,", spec,
        scaled ? "" : ", NAME being imagenet, caffe, unit, signed or raw (pith help preprocess)");
    return text;
}

static enum pith_status picture_does_not_fit(const struct pith_data *d, const uint32_t *dim,
                                             uint32_t rank, struct pith_error *err)
{
    char remedy[REMEDY_BYTES];
    return does_not_fit(d, dim, rank, remedy_for_pictures(d, remedy), err);
}

/* A sample of several steps has an axis of them in front. */
static enum pith_status order_numbers(struct pith_data *d, struct pith_error *err)
{
    const struct data_source *s = &d->source;
    char text[PITH_ORDER_TEXT_BYTES], line[PITH_ORDER_TEXT_BYTES + 256];
    d->order = pith_array_order(s->dim, s->rank, (uint32_t)pith_data_steps(d), d->dim, d->rank);
    if (!d->order.fits || (d->order.rows && d->pre.nchw))
        return does_not_fit(d, s->dim, s->rank, remedy_for_numbers(d), err);
    if (d->order.rows == 0)
        return PITH_OK;
    d->pre.nhwc = d->order.channels_last;
    snprintf(line, sizeof line, "%.200s: samples %s for %s", s->file.name,
             pith_order_text(&d->order, s->dim, s->rank, d->dim, d->rank, text), d->input);
    d->reordered = strdup(line);
    return d->reordered ? PITH_OK : pith_error_no_memory(err);
}

/* Open dimensions become those of the numbers, where all others are as they should be. */
static void take_dims(struct pith_data *d)
{
    const struct data_source *s = &d->source;
    uint32_t dim[PITH_MAX_RANK];
    uint64_t elems = 1;
    if (s->rank >= d->rank)
        return;
    for (uint32_t i = 0; i < d->rank; i++) {
        const uint32_t before = d->rank - s->rank, is = i < before ? 1 : s->dim[i - before];
        if (is != d->dim[i] && !d->open[i])
            return;
        dim[i] = is;
        elems *= is;
    }
    memcpy(d->dim, dim, sizeof dim[0] * d->rank);
    d->elems = elems;
}

enum pith_status pith_shape_numbers(struct pith_data *d, struct pith_error *err)
{
    const struct data_source *s = &d->source;
    if (!d->shape_given) {
        assert(s->rank < PITH_MAX_RANK); /* the file has one axis more, of the samples */
        d->rank = s->rank + 1;
        d->dim[0] = 1;
        memcpy(d->dim + 1, s->dim, s->rank * sizeof d->dim[0]);
        d->elems = s->elems;
    }
    take_dims(d);
    if (d->may_step && s->elems % d->elems == 0)
        d->elems = s->elems;
    if (d->elems != s->elems)
        return does_not_fit(d, s->dim, s->rank, remedy_for_numbers(d), err);
    enum pith_status st = order_numbers(d, err);
    if (st != PITH_OK)
        return st;
    if (d->pre.resize || d->pre.resize_h || d->pre.crop || d->pre.letterbox_h)
        return pith_error_fill(err, PITH_ERR_ARGUMENT,
                               "%s: holds numbers, not pictures: resize, crop and letterbox do "
                               "not apply",
                               s->file.name);
    uint32_t axis = d->pre.nhwc ? d->rank - 1 : 1;
    uint32_t c = d->rank >= 2 ? d->dim[axis] : 1;
    if ((d->pre.n_mean > 1 && d->pre.n_mean != c) || (d->pre.n_std > 1 && d->pre.n_std != c))
        return pith_error_fill(err, PITH_ERR_ARGUMENT,
                               "%s: mean or std is given for other than the %u channels of %s",
                               s->file.name, c, d->input);
    return PITH_OK;
}

/* Colour, size and cut as the model wants them. */
static enum pith_status prepare_picture(const struct pith_data *d, struct pith_image *image,
                                        const char *name, struct pith_error *err)
{
    enum pith_status st = PITH_OK;
    if (d->channels && image->pixels)
        st = pith_image_set_channels(image, d->channels, name, err);
    const struct pith_preprocess *p = &d->pre;
    if (st == PITH_OK && p->resize)
        st = pith_image_resize_shorter(image, p->resize, name, err);
    if (st == PITH_OK && p->resize_h)
        st = pith_image_resize_to(image, p->resize_w, p->resize_h, name, err);
    if (st == PITH_OK && p->crop)
        st = pith_image_crop(image, p->crop, p->crop, name, err);
    if (st == PITH_OK && p->letterbox_h)
        st =
            pith_image_letterbox(image, p->letterbox_w, p->letterbox_h, (uint8_t)p->pad, name, err);
    return st;
}

/* size: what the picture has by its header, as fed; NULL: that of the input. */
static bool picture_fits(const struct pith_data *d, const struct pith_image *image,
                         const uint32_t *size)
{
    const uint32_t h = d->pre.nhwc ? 1 : 2, c = image->channels;
    const uint32_t chw[] = {c, image->height, image->width};
    const uint32_t hwc[] = {image->height, image->width, c};
    if (d->rank == 4 && !size)
        size = &d->dim[h];
    if (size && (size[0] != image->height || size[1] != image->width))
        return false;
    if (d->size)
        return d->dim[d->pre.nhwc ? 3 : 1] == c;
    if ((uint64_t)image->width * image->height * c != d->elems)
        return false;
    const struct pith_order order =
        pith_array_order(d->pre.nhwc ? hwc : chw, 3, 1, d->dim, d->rank);
    return order.fits && order.rows == 0;
}

static void shape_from_picture(struct pith_data *d, const struct pith_image *image)
{
    const uint32_t chw[] = {1, image->channels, image->height, image->width};
    const uint32_t hwc[] = {1, image->height, image->width, image->channels};
    memcpy(d->dim, d->pre.nhwc ? hwc : chw, sizeof chw);
    d->rank = 4;
    d->elems = (uint64_t)image->width * image->height * image->channels;
    d->channels = image->channels;
}

static const char *picture_name(const struct data_source *s, uint64_t n)
{
    return s->list.n ? s->list.entry[n].name : s->file.name;
}

/* Of a picture, not of the whole: other pictures may do. */
static bool is_broken(enum pith_status st)
{
    return st == PITH_ERR_CORRUPT || st == PITH_ERR_UNSUPPORTED || st == PITH_ERR_LIMIT ||
           st == PITH_ERR_IO;
}

static enum pith_status decode_picture(struct data_source *s, uint64_t n, struct pith_image *image,
                                       struct pith_error *err)
{
    enum pith_status st = s->picture(s, n, image, err);
    size_t at = err ? strlen(err->text) : 0;
    if (is_broken(st) && err && s->list.n > 1)
        snprintf(err->text + at, sizeof err->text - at, " (--skip-broken leaves it out)");
    return st;
}

enum pith_status pith_drop_broken(struct pith_data *d, struct pith_error *err)
{
    struct data_source *s = &d->source;
    uint32_t *kept = malloc((size_t)d->n_chosen * sizeof *kept);
    uint64_t n = 0;
    enum pith_status st = kept ? PITH_OK : pith_error_no_memory(err);
    for (uint64_t i = 0; i < d->n_chosen && st == PITH_OK; i++) {
        struct pith_error own = {0};
        struct pith_image image = {0};
        uint32_t number = d->chosen ? d->chosen[i] : (uint32_t)i;
        st = s->picture(s, number, &image, &own);
        pith_image_free(&image);
        if (st == PITH_OK) {
            kept[n++] = number;
        } else if (is_broken(st)) {
            pith_source_warn(s, "left out: %s", own.text);
            st = PITH_OK;
        } else if (err) {
            *err = own;
        }
    }
    if (st == PITH_OK && n == 0)
        st = pith_error_fill(err, PITH_ERR_CORRUPT, "%s: none of its pictures can be read",
                             s->file.name);
    if (st != PITH_OK) {
        free(kept);
        return st;
    }
    free(d->chosen);
    d->chosen = kept;
    d->n_skipped = d->n_chosen - n;
    d->n_chosen = n;
    return PITH_OK;
}

/* One more picture: its own sizes, the largest so far in dim, and whether they differ. */
static bool see_size(const struct pith_image *image, const bool *open, uint32_t own[2],
                     uint32_t dim[2])
{
    const uint32_t is[] = {image->height, image->width};
    bool differs = false;
    for (uint32_t k = 0; k < 2; k++) {
        own[k] = open[k] ? is[k] : dim[k];
        differs |= dim[k] != 0 && dim[k] != own[k];
        dim[k] = own[k] > dim[k] ? own[k] : dim[k];
    }
    return differs;
}

/* Open height and width become those of the pictures, the largest where they differ. Preprocessing
 * may make all alike; else their headers say how large they are. */
static enum pith_status take_sizes(struct pith_data *d, struct pith_error *err)
{
    struct data_source *s = &d->source;
    uint32_t *dim = &d->dim[d->pre.nhwc ? 1 : 2];
    const bool *open = &d->open[dim - d->dim];
    const bool alike = d->pre.resize_h || d->pre.crop || d->pre.letterbox_h || d->n_chosen == 1;
    enum pith_status st = PITH_OK;
    bool differ = false;
    if (d->rank != 4 || !(open[0] || open[1]))
        return PITH_OK;
    d->size = calloc((size_t)s->n_samples, sizeof *d->size);
    if (!d->size)
        return pith_error_no_memory(err);
    for (uint32_t k = 0; k < 2; k++)
        dim[k] = open[k] ? 0 : dim[k];
    s->sizes_only = !alike;
    for (uint64_t i = 0; i < (alike ? 1 : d->n_chosen) && !st; i++) {
        struct pith_image image = {0};
        const uint64_t n = d->chosen ? d->chosen[i] : i;
        st = decode_picture(s, n, &image, err);
        if (!st)
            st = prepare_picture(d, &image, picture_name(s, n), err);
        differ |= see_size(&image, open, d->size[n], dim);
        pith_image_free(&image);
    }
    s->sizes_only = false;
    d->elems = (uint64_t)d->dim[1] * d->dim[2] * d->dim[3];
    if (!st && differ && d->elems > DATA_MAX_SAMPLE_ELEMS)
        st = pith_error_fill(err, PITH_ERR_LIMIT, "%s: pictures of up to %u x %u pixels in one set",
                             s->file.name, dim[0], dim[1]);
    if (differ)
        return st;
    free(d->size);
    d->size = NULL;
    return st;
}

/* The first picture of the range decides whether the data fits; later ones are tested as read. */
enum pith_status pith_shape_pictures(struct pith_data *d, struct pith_error *err)
{
    struct data_source *s = &d->source;
    struct pith_image image = {0};
    uint64_t first = d->chosen ? d->chosen[0] : 0;
    enum pith_status st = take_sizes(d, err);
    st = st ? st : decode_picture(s, first, &image, err);
    if (st != PITH_OK)
        return st;
    uint32_t whole[] = {image.channels, image.height, image.width};
    st = prepare_picture(d, &image, picture_name(s, first), err);
    if (st == PITH_OK && !d->shape_given)
        shape_from_picture(d, &image);
    if (st == PITH_OK && !picture_fits(d, &image, d->size ? d->size[first] : NULL))
        st = s->rank ? picture_does_not_fit(d, s->dim, s->rank, err)
                     : picture_does_not_fit(d, whole, 3, err);
    if (st == PITH_OK && ((d->pre.n_mean > 1 && d->pre.n_mean != image.channels) ||
                          (d->pre.n_std > 1 && d->pre.n_std != image.channels)))
        st = pith_error_fill(err, PITH_ERR_ARGUMENT,
                             "%s: mean or std is given for other than the %u channels of %s",
                             s->file.name, image.channels, d->input);
    pith_image_free(&image);
    return st;
}

enum pith_status pith_shaped_picture(struct pith_data *d, uint64_t n, struct pith_image *image,
                                     struct pith_error *err)
{
    struct data_source *s = &d->source;
    const char *name = picture_name(s, n);
    enum pith_status st = decode_picture(s, n, image, err);
    if (st == PITH_OK)
        st = prepare_picture(d, image, name, err);
    if (st == PITH_OK && !picture_fits(d, image, d->size ? d->size[n] : NULL)) {
        char wanted[96], remedy[REMEDY_BYTES];
        st = pith_error_fill(err, PITH_ERR_ARGUMENT, "%s: picture of %ux%ux%u does not fit %s %s%s",
                             name, image->channels, image->height, image->width, d->input,
                             pith_values_text(d->dim, d->rank, wanted),
                             remedy_for_pictures(d, remedy));
    }
    return st;
}
