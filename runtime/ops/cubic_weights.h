/* SPDX-License-Identifier: MIT */
/* cubic_weights.h - cubic convolution (Keys, "Cubic convolution interpolation for digital image
 * processing", 1981). */
#ifndef CUBIC_WEIGHTS_H
#define CUBIC_WEIGHTS_H

#define CUBIC_TAPS 4u

/* Weights of the neighbours floor(v) - 1 .. floor(v) + 2, part = v - floor(v). Keys' piecewise
 * cubic with parameter a, written by Horner; a = -0.75 is ONNX's default, -0.5 the one of the
 * paper. */
static inline void cubic_weights(float a, float part, float w[CUBIC_TAPS])
{
    float s = part, t = 1.0f - part;
    w[0] = ((a * (s + 1.0f) - 5.0f * a) * (s + 1.0f) + 8.0f * a) * (s + 1.0f) - 4.0f * a;
    w[1] = ((a + 2.0f) * s - (a + 3.0f)) * s * s + 1.0f;
    w[2] = ((a + 2.0f) * t - (a + 3.0f)) * t * t + 1.0f;
    w[3] = ((a * (t + 1.0f) - 5.0f * a) * (t + 1.0f) + 8.0f * a) * (t + 1.0f) - 4.0f * a;
}

#endif
