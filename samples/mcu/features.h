/* SPDX-License-Identifier: MIT */
/* features.h - what the keyword spotter hears: 12 classes, 10 MFCCs of each of 49 frames. */
#ifndef FEATURES_H
#define FEATURES_H
#include <stdint.h>

/* One second at 16 kHz; frames of 30 ms begin every 20 ms. */
enum { CLIP = 16000, FRAME = 480, HOP = 320, FRAMES = 49, COEFFICIENTS = 10, CLASSES = 12 };

/* The classes of MLPerf Tiny's keyword benchmark, in its order. */
static const char *const class_names[CLASSES] = {
    "down", "go", "left", "no", "off", "on", "right", "stop", "up", "yes", "silence", "unknown"};

/* mfcc: [COEFFICIENTS], of FRAME samples; not for two threads at a time. */
void frame_features(const int16_t *sound, float *mfcc);

#endif
