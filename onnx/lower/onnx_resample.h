/* SPDX-License-Identifier: MIT */
/* onnx_resample.h - what onnx_resize.c calls in onnx_resample.c. */
#ifndef ONNX_RESAMPLE_H
#define ONNX_RESAMPLE_H

#include "onnx/graph/onnx.h"

enum resize_mode { RESIZE_NEAREST = 0, RESIZE_LINEAR = 1, RESIZE_CUBIC = 2 };

/* In the order of Resize's coordinate attribute; the last one is ONNX's alone. */
enum resize_coord {
    COORD_HALF_PIXEL,
    COORD_ASYMMETRIC,
    COORD_ALIGN_CORNERS,
    COORD_PYTORCH_HALF_PIXEL,
    COORD_HALF_PIXEL_SYMMETRIC,
    COORD_CROP
};

enum resize_nearest { ROUND_PREFER_FLOOR, ROUND_PREFER_CEIL, ROUND_FLOOR, ROUND_CEIL };

struct resample_rule {
    uint32_t mode, coord, nearest;
    bool antialias, exclude_outside;
    float cubic_a, extrapolation;
};

struct resample_axis {
    uint32_t in, out;  /* samples */
    double scale;      /* output / input */
    double start, end; /* COORD_CROP: of the cut-out, in units of the whole axis */
};

/* Lowers l, a Resize of input 0, axis[] one an axis. */
enum pith_status pith_onnx_resample(struct onnx_lower *l, const struct resample_rule *rule,
                                    const struct resample_axis *axis);

#endif
