/* SPDX-License-Identifier: MIT */
/* augment.h - pictures moved, turned, bent and covered at random, so that a network sees each
 * sample differently in each epoch. */
#ifndef AUGMENT_H
#define AUGMENT_H

#include "pith_model.h"

/* Largest amounts; each picture draws its own, evenly between minus and plus. 0: not at all. */
struct augment {
    float shift;  /* pixels, along each axis */
    float crop;   /* whole pixels: a window of the picture with so many of 0 around it */
    float rotate; /* degrees */
    float scale;  /* 0.1: sizes from 1 / 1.1 to 1.1 */
    float shear;  /* pixels to the side for one up */
    float
        elastic;  /* pixels: a smooth field from 7 x 7 random displacements (Simard et al., 2003) */
    float cutout; /* side of a square that is set to 0 (DeVries and Taylor, 2017) */
    /* In units of the picture's own numbers, however they are scaled. */
    float brightness; /* added to all: standard deviations */
    float contrast;   /* 0.2: distances from the mean times 0.8 .. 1.2 */
    float saturation; /* the same of a pixel's three colours and their mean */
    float noise;      /* standard deviations: of what is added to each number (Gaussian) */
    float clean;      /* 0..1: this share of the pictures stays as it is */
    float mixup;      /* alpha of the Beta distribution of shares (augment_batch.h) */
    bool flip;        /* left and right, every other picture */
};

/* "shift=2,flip,rotate=7,scale=0.07,shear=0.09,elastic=1.2,cutout=8,clean=0.5". PITH_ERR_ARGUMENT:
 * an unknown word or an amount out of range, named. */
enum pith_status pith_augment_parse(const char *text, struct augment *a, struct pith_error *err);
bool pith_augment_any(const struct augment *a);
bool pith_augment_moves(const struct augment *a); /* which only a picture can be */

struct picture_size {
    uint32_t channels, height, width;
};

/* x: [channels, height, width], changed in place; what comes from outside of the picture is 0.
 * scratch: as large. The seed alone decides what is drawn. Mixing is not done here. */
void pith_augment(const struct augment *a, uint64_t seed, const struct picture_size *size, float *x,
                  float *scratch);

#endif
