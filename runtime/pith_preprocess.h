/* SPDX-License-Identifier: MIT */
/* pith_preprocess.h - how a picture becomes a model's input. The text is given at import and stored
 * in the model under the key "preprocess":
 *
 *     scale=1/255,mean=0.485:0.456:0.406,std=0.229:0.224:0.225,resize=256,crop=224,order=rgb,
 *     layout=nchw
 *
 *     struct pith_preprocess pre;
 *     pith_preprocess_init(&pre);
 *     if (pith_blob_meta(image, bytes, "preprocess", &text, &n) == PITH_OK)
 *         status = pith_preprocess_parse(text, n, &pre);
 *     pith_preprocess_apply(&pre, pixels, h, w, 3, pith_plan_input_data(plan, 0));
 *
 * The first part may be one of these names, which stand for what many networks want; parts behind
 * it take the place of the name's own ("imagenet,crop=192"):
 *
 *     imagenet   scale=1/255,mean=0.485:0.456:0.406,std=0.229:0.224:0.225,resize=256,crop=224
 *     caffe      mean=104:117:123,resize=256,crop=224,order=bgr
 *     unit       scale=1/255: pixels from 0 to 1
 *     signed     scale=1/127.5,mean=1: pixels from -1 to 1
 *     raw        scale=1: pixels from 0 to 255
 *
 * resize=HxW resizes to that size, whatever the picture's shape. letterbox=HxW keeps its shape and
 * fills what is left around it with pad (letterbox=640x640,pad=114, as many detectors want it).
 *
 * The value fed is (pixel * scale - mean) / std. All parts may be left out. Numbers are decimal,
 * with an optional exponent, or a fraction of two such (1/255); the point is '.' in every locale.
 */
#ifndef PITH_PREPROCESS_H
#define PITH_PREPROCESS_H

#include <stdbool.h>
#include "pith_runtime.h"

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

#define PITH_PREPROCESS_CHANNELS 8u
/* Enough for every text that pith_preprocess_format writes, NUL included. */
#define PITH_PREPROCESS_TEXT_BYTES 512u

struct pith_preprocess {
    float scale;            /* default 1 */
    uint32_t n_mean, n_std; /* 0: none; 1: the same for every channel; else one per channel */
    float mean[PITH_PREPROCESS_CHANNELS]; /* in the order fed: blue first with bgr */
    float std[PITH_PREPROCESS_CHANNELS];  /* > 0 */
    uint32_t resize;                      /* shorter side becomes this many pixels first; 0: not */
    uint32_t resize_h, resize_w;          /* or: resized to this size, whatever its shape; 0: not */
    uint32_t crop;                     /* then the central square of this side is cut out; 0: not */
    uint32_t letterbox_h, letterbox_w; /* or: resized in proportion to fit into this size, in its
                                          middle (an odd rest is right and below); 0: not */
    uint32_t pad; /* with letterbox: value of the pixels around it, 0..255; default 114 */
    bool bgr;     /* feed blue first; default red first */
    bool nhwc;    /* feed channels last; default channels first */
    bool
        nchw; /* the text says layout=nchw: arrays of the other order are refused, not transposed */
};

/* The identity: pixels as they are, [C, H, W], red first. */
void pith_preprocess_init(struct pith_preprocess *pre);

/* Reads a text of n bytes (no NUL needed). *pre is untouched on failure: PITH_ERR_ARGUMENT. */
enum pith_status pith_preprocess_parse(const char *text, size_t n, struct pith_preprocess *pre);
/* The same; err->text (err may be NULL) says what is wrong. */
enum pith_status pith_preprocess_read(const char *text, size_t n, struct pith_preprocess *pre,
                                      struct pith_error *err);

/* The canonical text of *pre: defaults left out, shortest numbers that read back the same. *pre as
 * pith_preprocess_parse makes it. PITH_ERR_SPACE when it needs more than n bytes (NUL included). */
enum pith_status pith_preprocess_format(const struct pith_preprocess *pre, char *text, size_t n);

/* One value of channel c (order fed). */
float pith_preprocess_value(const struct pith_preprocess *pre, float pixel, uint32_t c);

/* One decoded picture that already has the model's size (resizing and cropping are left to who
 * decodes). pixels: [h, w, c] u8, red first. out: [c, h, w] or [h, w, c] f32.
 * PITH_ERR_ARGUMENT when mean or std have another number of channels, or c is 0 or more than
 * PITH_PREPROCESS_CHANNELS. */
enum pith_status pith_preprocess_apply(const struct pith_preprocess *pre, const uint8_t *pixels,
                                       uint32_t h, uint32_t w, uint32_t c, float *out);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
#endif
