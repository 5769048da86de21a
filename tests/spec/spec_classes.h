/* SPDX-License-Identifier: MIT */
/* spec_classes.h - the elements of tensors coded by classes or adaptively: S11, S8. */
#ifndef SPEC_CLASSES_H
#define SPEC_CLASSES_H

#include "spec_tensor.h"

struct column {
    int64_t q, C, G;
};

struct lane {
    uint64_t x;
    int64_t B, q, lean;
    uint32_t s;
    bool there;
};

struct walk {
    const struct tensor *t;
    struct classes *m;         /* of classes */
    struct adaptive *adaptive; /* of S8 */
    struct span words;
    uint64_t rows, cols, place, line, lanes, run;
    struct column *column;
    struct lane lane[4];
    int64_t M, R, balance, n_read;
    uint32_t state;
};

/* S11, "Class". */
struct around {
    int64_t left, above, beside, up, corner;
};

int64_t lg(int64_t x);
int64_t size_of(int64_t v);
int64_t Q(const struct walk *k, uint64_t c, uint64_t back);
struct around look_around(const struct walk *k, uint64_t c);

/* value: room for the elements */
void read_class_values(const struct tensor *t, uint8_t *value);

#endif
