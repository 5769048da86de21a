/* SPDX-License-Identifier: MIT */
/* validate.h - loss and accuracy of a model over a data set, as the runtime executes it. */
#ifndef VALIDATE_H
#define VALIDATE_H

#include "pith_data.h"
#include "pith_train.h"

/* Mean over samples; *accuracy is NAN without classes. probabilities: the output has gone through
 * softmax. The loss is the cross-entropy (PITH_SQUARED_ERROR: the mean square) without smoothing or
 * teacher, so that runs compare. */
enum pith_status pith_validate(const struct pith_model *m, struct pith_data *data,
                               enum pith_loss loss, bool probabilities, uint32_t threads,
                               double *mean_loss, double *accuracy, struct pith_error *err);

#endif
