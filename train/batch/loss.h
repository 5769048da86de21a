/* SPDX-License-Identifier: MIT */
/* loss.h - losses of one slice: their sum over samples, and the gradient of the batch's sum. */
#ifndef LOSS_H
#define LOSS_H

#include <stdbool.h>
#include <stdint.h>

/* Of a teacher's softened classes (Hinton et al., 2015). */
#define TEACHER_TEMPERATURE 2.0f

struct loss_part {
    double loss;    /* sum over the slice's rows */
    uint32_t right; /* rows whose largest score is the label's */
};

/* logits: [n, classes], 2 or more classes; a row for each sample, or for each of its positions.
 * label: [n], each below classes; a row whose label is negative counts for nothing. weight *
 * cross-entropy, and part `kl` of the loss instead T^2 KL(teacher || student) of classes softened
 * by T (Hinton et al., 2015); teacher: logits [n, classes], NULL where kl is 0. label NULL: kl must
 * be 1. */
struct class_rows {
    uint32_t n, classes;
    const float *logits;
    const int64_t *label;
    double weight;
    float kl, t;
    const float *teacher;
};

/* d: [n, classes], set. */
struct loss_part pith_loss_classes(const struct class_rows *rows, float *d);

/* Labels that are mixed of two: part share[i] of sample i's loss is its own label's, the rest that
 * of sample i ^ 1. What that adds to the loss of pith_loss_classes, each weight 1; d is changed
 * accordingly. */
double pith_loss_mixed(const struct class_rows *rows, const float *share, float *d);

/* Mean over the elements of the squared difference; summed over samples. y, target, d: [n, elems].
 */
struct loss_part pith_loss_squares(uint32_t n, uint64_t elems, const float *y, const float *target,
                                   float *d);

#endif
