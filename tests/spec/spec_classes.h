/* SPDX-License-Identifier: MIT */
/* spec_classes.h - the elements of tensors coded by classes: S11. */
#ifndef SPEC_CLASSES_H
#define SPEC_CLASSES_H

#include "spec_tensor.h"

/* value: room for the elements */
void read_class_values(const struct tensor *t, uint8_t *value);

#endif
