/* SPDX-License-Identifier: MIT */
/* data.c - a data set as the rest of pith sees it: opens the right reader, finds labels, chooses
 * the range, and reads samples in the model's shape. */
#define _POSIX_C_SOURCE 200809L
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "core/bytes.h"
#include "data_set.h"
#include "pith_preprocess.h"
#include "core/tensor.h"

#define COLOURS 3u /* channels of a photograph */

static void close_source(struct data_source *s)
{
    pith_source_close(&s->file);
    pith_list_free(&s->list);
    free(s->folder);
    free(s->packed);
    free(s->labels);
    free(s->targets);
    free(s->lengths);
}

/* ---- labels beside --------------------------------------------------------------------------- */

/* Replaces `from` by `to`, which is as long, in the file name at the end of path. */
static bool replace_in_name(char *path, const char *from, const char *to)
{
    char *slash = strrchr(path, '/'), *at = strstr(slash ? slash : path, from);
    if (at)
        memcpy(at, to, strlen(to));
    return at != NULL;
}

/* "...images-idx3..." -> "...labels-idx1..."; false: not such a name */
static bool idx_labels_path(char *path)
{
    bool images = replace_in_name(path, "images", "labels");
    if (images)
        replace_in_name(path, "idx3", "idx1");
    return images;
}

/* path has room for what is appended to its folder. */
static bool csv_beside(char *path)
{
    char *slash = strrchr(path, '/');
    strcpy(slash ? slash + 1 : path, "labels.csv");
    return true;
}

/* The file with the labels when none was named; none there: unlabelled. */
static enum pith_status find_labels(struct pith_data *d, const char *path, struct pith_error *err)
{
    struct data_source *s = &d->source;
    struct stat info;
    if (s->labels || s->targets || strncmp(path, "raw:", 4) == 0 || s->hop || s->folder)
        return PITH_OK;
    bool pictures = s->list.n > 0 && s->n_samples > 1;
    if (!pictures && !s->big_endian)
        return PITH_OK;
    char *beside = malloc(strlen(path) + sizeof "labels.csv");
    if (!beside)
        return pith_error_no_memory(err);
    strcpy(beside, path);
    enum pith_status st = PITH_OK;
    if ((pictures ? csv_beside(beside) : idx_labels_path(beside)) && stat(beside, &info) == 0 &&
        S_ISREG(info.st_mode))
        st = pith_labels_read(s, beside, err);
    free(beside);
    return st;
}

/* ---- opening --------------------------------------------------------------------------------- */

/* The range, of the samples of the range `within`. */
static enum pith_status choose_samples(struct pith_data *d, const struct pith_data_opts *o,
                                       struct pith_error *err)
{
    const char *name = d->source.file.name;
    uint32_t *within = NULL;
    uint64_t n;
    enum pith_status st = pith_range_choose(o->within, d->source.n_samples, name, &within, &n, err);
    if (st == PITH_OK)
        st = pith_range_choose(o->range, n, name, &d->chosen, &d->n_chosen, err);
    if (st == PITH_OK && !d->chosen) {
        d->chosen = within;
        return PITH_OK;
    }
    for (uint64_t i = 0; i < d->n_chosen && st == PITH_OK && within; i++)
        d->chosen[i] = within[d->chosen[i]];
    free(within);
    return st;
}

static enum pith_status open_data(struct pith_data *d, const struct pith_data_opts *o,
                                  struct pith_error *err)
{
    enum pith_status st = PITH_OK;
    pith_preprocess_init(&d->pre);
    d->preprocessed = o->preprocess != NULL;
    if (o->preprocess)
        st = pith_preprocess_read(o->preprocess, strlen(o->preprocess), &d->pre, err);
    if (st != PITH_OK)
        return st;
    pith_shape_begin(d, o);
    st = pith_open_reader(&d->source, o, err);
    if (st == PITH_OK && o->labels)
        st = pith_labels_read(&d->source, o->labels, err);
    else if (st == PITH_OK && !o->files)
        st = find_labels(d, o->path, err);
    if (st == PITH_OK)
        st = choose_samples(d, o, err);
    if (st == PITH_OK && d->source.targets)
        st = pith_targets_check(&d->source, d->chosen, d->n_chosen, err);
    if (st == PITH_OK && o->skip_broken && d->source.list.n > 0)
        st = pith_drop_broken(d, err);
    if (st == PITH_OK)
        st = d->source.pictures ? pith_shape_pictures(d, err) : pith_shape_numbers(d, err);
    return st;
}

enum pith_status pith_data_open(const struct pith_data_opts *opts, struct pith_data **data,
                                struct pith_error *err)
{
    if (!opts || !data)
        return PITH_ERR_ARGUMENT;
    if (opts->size_bytes != sizeof *opts || !opts->path || opts->rank > PITH_MAX_RANK ||
        opts->output_rank > PITH_MAX_RANK)
        return pith_error_fill(err, PITH_ERR_ARGUMENT, "cannot open data: no path, or bad options");
    struct pith_data *d = calloc(1, sizeof *d);
    if (!d)
        return pith_error_no_memory(err);
    d->source.file.fd = -1;
    d->source.max_bytes = opts->max_bytes;
    d->source.options.input_name = opts->input_name;
    d->source.options.arrays = opts->arrays;
    d->source.options.n_arrays = opts->arrays ? opts->n_arrays : 0;
    d->source.options.class_names =
        opts->class_names && *opts->class_names ? opts->class_names : NULL;
    d->source.options.output_rank = opts->output_rank;
    d->source.options.output_dim = opts->output_dim;
    d->source.options.warn = opts->warn;
    d->source.options.user = opts->user;
    enum pith_status st = open_data(d, opts, err);
    if (st == PITH_OK)
        *data = d;
    else
        pith_data_free(d);
    return st;
}

enum pith_status pith_data_of_numbers(const struct pith_numbers *numbers, struct pith_data **data,
                                      struct pith_error *err)
{
    if (!numbers || !numbers->dim || !data)
        return PITH_ERR_ARGUMENT;
    struct pith_data *d = calloc(1, sizeof *d);
    const uint32_t rank = numbers->rank, *dim = numbers->dim;
    const uint64_t n = numbers->n;
    char *name = strdup("numbers in memory");
    uint64_t elems = 1;
    bool fits = rank >= 1 && rank <= PITH_MAX_RANK && n >= 1 && n <= DATA_MAX_SAMPLES;
    for (uint32_t i = 0; i < rank && fits; i++)
        fits = dim[i] >= 1 && mul_ok(elems, dim[i], &elems) && elems <= DATA_MAX_SAMPLE_ELEMS;
    if (!d || !name || !fits) {
        free(d);
        free(name);
        free(numbers->x);
        free(numbers->targets);
        return fits ? pith_error_no_memory(err)
                    : pith_error_fill(err, PITH_ERR_ARGUMENT,
                                      "cannot open data: no samples, or of no shape");
    }
    pith_preprocess_init(&d->pre);
    d->source = (struct data_source){.file = {.fd = -1,
                                              .mem = (uint8_t *)numbers->x,
                                              .bytes = n * elems * sizeof(float),
                                              .name = name},
                                     .n_samples = n,
                                     .rank = rank - 1,
                                     .elems = elems,
                                     .numbers = pith_stored_numbers,
                                     .type = PITH_F32,
                                     .targets = numbers->targets,
                                     .target_elems = numbers->targets ? numbers->target_elems : 0};
    memcpy(d->source.dim, dim + 1, (rank - 1) * sizeof *dim);
    memcpy(d->dim, dim, rank * sizeof *dim);
    d->rank = rank;
    d->elems = elems;
    d->n_chosen = n;
    d->shape_given = true;
    *data = d;
    return PITH_OK;
}

void pith_data_free(struct pith_data *data)
{
    if (!data)
        return;
    close_source(&data->source);
    free(data->chosen);
    free(data->picked);
    free(data->reordered);
    free(data->size);
    free(data);
}

/* ---- facts ----------------------------------------------------------------------------------- */

uint64_t pith_data_count(const struct pith_data *data)
{
    if (!data)
        return 0;
    const uint64_t n = data->picked ? data->n_picked : data->n_chosen;
    return data->mirrored ? 2 * n : n;
}

enum pith_status pith_data_pick(struct pith_data *data, const uint32_t *numbers, uint64_t n,
                                struct pith_error *err)
{
    if (!data)
        return PITH_ERR_ARGUMENT;
    uint32_t *picked = NULL;
    for (uint64_t i = 0; i < n; i++)
        if (numbers[i] >= data->n_chosen)
            return pith_error_fill(err, PITH_ERR_ARGUMENT, "%s: no sample %u",
                                   data->source.file.name, numbers[i]);
    if (n > 0) {
        picked = malloc((size_t)n * sizeof *picked);
        if (!picked)
            return pith_error_no_memory(err);
        memcpy(picked, numbers, (size_t)n * sizeof *picked);
    }
    free(data->picked);
    data->picked = picked;
    data->n_picked = n;
    data->mirrored = false;
    return PITH_OK;
}

const uint32_t *pith_data_picked(const struct pith_data *data, uint64_t *n)
{
    if (!data || !n)
        return NULL;
    *n = data->n_picked;
    return data->picked;
}

bool pith_data_mirror(struct pith_data *data)
{
    if (!data)
        return false;
    const uint32_t *dim = data->dim;
    data->mirrored = pith_data_pictures(data) && data->rank == 4 &&
                     dim[data->pre.nhwc ? 3 : 1] == COLOURS && !data->source.targets;
    return data->mirrored;
}

uint64_t pith_data_elems(const struct pith_data *data)
{
    if (!data)
        return 0;
    return data->elems;
}

uint64_t pith_data_steps(const struct pith_data *data)
{
    if (!data)
        return 0;
    uint64_t one = 1;
    for (uint32_t i = 0; i < data->rank; i++)
        one *= data->dim[i];
    return data->elems / one;
}

uint32_t pith_data_shape(const struct pith_data *data, uint32_t dim[PITH_MAX_RANK])
{
    if (!data || !dim)
        return 0;
    memcpy(dim, data->dim, sizeof data->dim);
    return data->rank;
}

const char *pith_data_reordered(const struct pith_data *data)
{
    if (!data)
        return NULL;
    return data->reordered;
}

/* IDX holds planes of bytes that may be anything, as npy does. */
bool pith_data_pictures(const struct pith_data *data)
{
    if (!data)
        return false;
    return data->source.pictures && (data->source.list.n > 0 || data->source.rank == 3);
}

bool pith_data_unscaled_pixels(const struct pith_data *data)
{
    if (!data)
        return false;
    const struct data_source *s = &data->source;
    return !data->preprocessed && (s->pictures || s->type == PITH_U8);
}

bool pith_data_labelled(const struct pith_data *data)
{
    if (!data)
        return false;
    return data->source.labels != NULL;
}

uint64_t pith_data_target_elems(const struct pith_data *data)
{
    if (!data)
        return 0;
    return data->source.target_elems;
}

uint64_t pith_data_skipped(const struct pith_data *data)
{
    if (!data)
        return 0;
    return data->n_skipped;
}

const char *pith_data_unlabelled(const struct pith_data *data)
{
    if (!data)
        return NULL;
    return data->source.labels || data->source.targets ? "" : data->source.unlabelled;
}

static uint64_t stored_number(const struct pith_data *d, uint64_t i)
{
    i /= d->mirrored ? 2 : 1;
    i = d->picked ? d->picked[i] : i;
    return d->chosen ? d->chosen[i] : i;
}

const char *pith_data_sample_file(const struct pith_data *data, uint64_t i)
{
    if (!data)
        return NULL;
    bool named = i < pith_data_count(data) && data->source.list.n > 0;
    return named ? data->source.list.entry[stored_number(data, i)].name : NULL;
}

const char *pith_data_sample_name(struct pith_data *data, uint64_t i)
{
    if (!data)
        return NULL;
    if (pith_data_sample_file(data, i))
        return pith_data_sample_file(data, i);
    uint64_t n = i < pith_data_count(data) ? stored_number(data, i) : i;
    snprintf(data->name, sizeof data->name, "sample %llu", (unsigned long long)n);
    return data->name;
}

/* ---- reading --------------------------------------------------------------------------------- */

/* Values follow one another by channel planes, or channel by channel with layout=nhwc. */
static void scale_numbers(const struct pith_data *d, float *x)
{
    bool last = d->pre.nhwc;
    uint64_t c = d->rank >= 2 ? d->dim[last ? d->rank - 1 : 1] : 1, inner = 1;
    for (uint32_t i = 2; !last && i < d->rank; i++)
        inner *= d->dim[i];
    for (uint64_t k = 0; k < d->elems; k++) {
        uint32_t channel = (uint32_t)(k / inner % c);
        bool many = d->pre.n_mean > 1 || d->pre.n_std > 1;
        x[k] = pith_preprocess_value(&d->pre, x[k], many ? channel : 0);
    }
}

/* Of sample i, whose numbers are of `type`. */
static enum pith_status refuse_nonfinite(struct pith_data *d, uint64_t i, enum pith_type type,
                                         const void *x, struct pith_error *err)
{
    bool nan;
    return pith_numbers_usable(type, x, d->elems, &nan)
               ? PITH_OK
               : pith_error_fill(err, PITH_ERR_UNSUPPORTED, "%s is %s for %s of %s", d->input,
                                 nan ? "NaN" : "infinite", pith_data_sample_name(d, i),
                                 d->source.file.name);
}

/* Left for right. */
static void mirror(const struct pith_image *image)
{
    const size_t c = image->channels, w = image->width;
    for (size_t at = 0; at < image->height * w; at += w)
        for (size_t i = 0; i < w / 2; i++)
            for (size_t k = 0; k < c; k++) {
                uint8_t *a = image->pixels + (at + i) * c + k,
                        *b = image->pixels + (at + w - 1 - i) * c + k, t = *a;
                *a = *b;
                *b = t;
            }
}

static enum pith_status read_picture(struct pith_data *d, uint64_t i, bool whole, float *x,
                                     struct pith_error *err)
{
    const uint64_t n = stored_number(d, i);
    const bool mirrored = d->mirrored && i % 2;
    const uint32_t *hw = &d->dim[d->pre.nhwc ? 1 : 2];
    struct pith_image image = {0};
    enum pith_status st = pith_shaped_picture(d, n, &image, err);
    if (st == PITH_OK && d->cut && !whole)
        st = pith_image_crop(&image, hw[1], hw[0], d->source.file.name, err);
    if (st == PITH_OK && mirrored)
        mirror(&image);
    if (st == PITH_OK)
        st = pith_preprocess_apply(&d->pre, image.pixels, image.height, image.width, image.channels,
                                   x);
    if (st == PITH_OK && d->size && !whole) {
        const uint64_t own = (uint64_t)image.height * image.width * image.channels;
        memset(x + own, 0, (size_t)(d->elems - own) * sizeof *x);
    }
    pith_image_free(&image);
    return st;
}

enum pith_status pith_data_read(struct pith_data *data, uint64_t i, float *x, int64_t *label,
                                struct pith_error *err)
{
    if (!data || !x)
        return PITH_ERR_ARGUMENT;
    const struct data_source *s = &data->source;
    if (i >= pith_data_count(data))
        return pith_error_fill(err, PITH_ERR_ARGUMENT, "%s: no sample %llu", s->file.name,
                               (unsigned long long)i);
    enum pith_status st;
    if (s->pictures) {
        st = read_picture(data, i, false, x, err);
    } else {
        st = s->numbers(s, stored_number(data, i), x, err);
        if (st == PITH_OK)
            st = pith_array_reorder(&data->order, x, data->elems, sizeof *x, err);
        if (st == PITH_OK) {
            scale_numbers(data, x);
            st = refuse_nonfinite(data, i, PITH_F32, x, err);
        }
    }
    if (st == PITH_OK && label)
        *label = pith_data_label(data, i);
    return st;
}

uint64_t pith_data_label_count(const struct pith_data *data)
{
    if (!data || !data->source.labels)
        return 0;
    return data->source.label_elems ? data->source.label_elems : 1;
}

const int64_t *pith_data_labels(const struct pith_data *data, uint64_t i)
{
    if (!data || !data->source.labels || i >= pith_data_count(data))
        return NULL;
    const uint64_t step = data->source.label_step ? data->source.label_step : 1;
    return data->source.labels + stored_number(data, i) * step;
}

bool pith_data_uneven(const struct pith_data *data)
{
    return data && (data->source.lengths || data->size);
}

uint32_t pith_data_sample_shape(const struct pith_data *data, uint64_t i,
                                uint32_t dim[PITH_MAX_RANK])
{
    if (!data || !dim || i >= pith_data_count(data))
        return 0;
    const uint64_t n = stored_number(data, i);
    memcpy(dim, data->dim, sizeof data->dim);
    if (data->source.lengths && data->rank > 1)
        dim[1] = data->source.lengths[n];
    if (data->size)
        memcpy(dim + (data->pre.nhwc ? 1 : 2), data->size[n], sizeof data->size[n]);
    return data->rank;
}

enum pith_status pith_data_cut(struct pith_data *data, const uint32_t *dim, struct pith_error *err)
{
    if (!data || !dim)
        return PITH_ERR_ARGUMENT;
    const uint32_t h = data->pre.nhwc ? 1 : 2;
    uint32_t own[PITH_MAX_RANK];
    if (data->rank != 4 || !data->source.pictures || !(data->open[h] || data->open[h + 1]))
        return pith_error_fill(err, PITH_ERR_ARGUMENT, "%s: no pictures of open height and width",
                               data->source.file.name);
    for (uint64_t i = 0; i < pith_data_count(data); i++) {
        pith_data_sample_shape(data, i, own);
        if (own[h] < dim[h] || own[h + 1] < dim[h + 1])
            return pith_error_fill(
                err, PITH_ERR_ARGUMENT, "%.200s: %u x %u pixels, the others are cut to %u x %u",
                pith_data_sample_name(data, i), own[h], own[h + 1], dim[h], dim[h + 1]);
    }
    if (!data->size) {
        data->size = calloc((size_t)data->source.n_samples, sizeof *data->size);
        if (!data->size)
            return pith_error_no_memory(err);
        for (uint64_t i = 0; i < data->source.n_samples; i++)
            memcpy(data->size[i], data->dim + h, sizeof *data->size);
    }
    memcpy(data->dim + h, dim + h, sizeof *data->size);
    data->elems = (uint64_t)data->dim[1] * data->dim[2] * data->dim[3];
    data->cut = true;
    return PITH_OK;
}

enum pith_status pith_data_read_whole(struct pith_data *data, uint64_t i, float *x,
                                      struct pith_error *err)
{
    if (!data || !x || !data->source.pictures || i >= pith_data_count(data))
        return PITH_ERR_ARGUMENT;
    return read_picture(data, i, true, x, err);
}

void pith_data_set_lengths(struct pith_data *data, uint32_t *lengths)
{
    data->source.lengths = lengths;
}

int64_t pith_data_label(const struct pith_data *data, uint64_t i)
{
    const int64_t *label = pith_data_labels(data, i);
    return label && pith_data_label_count(data) == 1 ? *label : PITH_NO_LABEL;
}

enum pith_status pith_data_read_as(struct pith_data *data, uint64_t i, enum pith_type type, void *x,
                                   int64_t *label, struct pith_error *err)
{
    if (!data || !x)
        return PITH_ERR_ARGUMENT;
    const struct data_source *s = &data->source;
    if (type == PITH_F32)
        return pith_data_read(data, i, x, label, err);
    if (s->numbers != pith_stored_numbers)
        return pith_error_fill(err, PITH_ERR_UNSUPPORTED, "%s: gives f32, which %s does not take",
                               s->file.name, data->input);
    if (i >= pith_data_count(data))
        return pith_error_fill(err, PITH_ERR_ARGUMENT, "%s: no sample %llu", s->file.name,
                               (unsigned long long)i);
    if (label)
        *label = pith_data_label(data, i);
    enum pith_status st = pith_stored_as(s, stored_number(data, i), type, x, err);
    if (st == PITH_OK)
        st = pith_array_reorder(&data->order, x, data->elems, pith_type_bytes(type), err);
    return st == PITH_OK ? refuse_nonfinite(data, i, type, x, err) : st;
}

enum pith_status pith_data_read_target(struct pith_data *data, uint64_t i, float *y)
{
    if (!data || !y)
        return PITH_ERR_ARGUMENT;
    const struct data_source *s = &data->source;
    if (!s->targets || i >= pith_data_count(data))
        return PITH_ERR_ARGUMENT;
    memcpy(y, s->targets + stored_number(data, i) * s->target_elems,
           (size_t)s->target_elems * sizeof *y);
    return PITH_OK;
}
