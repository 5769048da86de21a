/* SPDX-License-Identifier: MIT */
/* data_set.h - a data set, and how its samples get the model's shape (data_shape.c). */
#ifndef DATA_SET_H
#define DATA_SET_H

#include "data_source.h"
#include "pith_preprocess.h"

struct pith_data {
    struct data_source source;
    struct pith_preprocess pre;
    uint32_t *chosen; /* sample numbers of the range; NULL: all */
    uint64_t n_chosen, n_skipped;
    uint32_t *picked; /* of the range, the selected ones; NULL: all */
    uint64_t n_picked;
    bool mirrored; /* each of these is followed by its mirror image */
    uint32_t rank; /* of one sample as the model takes it */
    uint32_t dim[PITH_MAX_RANK];
    uint64_t elems; /* of one sample, all its steps */
    bool shape_given, may_step, preprocessed;
    bool open[PITH_MAX_RANK]; /* dim is what the data has */
    uint32_t (*size)[2];      /* owns: height and width of stored picture i as fed, where those
                                 of the range differ; NULL: all are alike */
    bool cut;                 /* pictures are cut to dim, but where they are read whole */
    uint32_t channels;        /* of pictures as fed; 0: as they are */
    struct pith_order order;  /* of stored numbers */
    char *reordered;          /* owns; NULL: they stand in the input's order */
    char input[96];           /* "input 'x'" for messages */
    char name[64];            /* of a sample that has none */
};

/* The shape that the options want, before the source is opened. */
void pith_shape_begin(struct pith_data *d, const struct pith_data_opts *o);
/* Does the opened source fit it? Open dimensions are taken from the source. */
enum pith_status pith_shape_numbers(struct pith_data *d, struct pith_error *err);
enum pith_status pith_shape_pictures(struct pith_data *d, struct pith_error *err);
/* Keeps the pictures of the range that can be decoded. */
enum pith_status pith_drop_broken(struct pith_data *d, struct pith_error *err);
/* Stored picture n with the colours, size and cut that the model takes; the caller frees it. */
enum pith_status pith_shaped_picture(struct pith_data *d, uint64_t n, struct pith_image *image,
                                     struct pith_error *err);

#endif
