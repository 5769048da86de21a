/* SPDX-License-Identifier: MIT */
/* validation.h - loss and accuracy of a model over a validation split, as the runtime executes it.
 */
#ifndef VALIDATION_H
#define VALIDATION_H

#include "pith_data.h"
#include "pith_train.h"

/* What validates where there are no labels: the teacher's answers to the same samples. */
struct teacher_answers {
    float *log_p; /* [samples][classes] */
};

/* answers->log_p: the receiver's, free(). probabilities: the teacher's output has gone through
 * softmax. */
enum pith_status pith_teacher_answers(const struct pith_model *teacher, struct pith_data *data,
                                      bool probabilities, uint32_t threads,
                                      struct teacher_answers *answers, struct pith_error *err);

/* How a model is validated. */
struct validate_opts {
    struct pith_data *data;
    enum pith_loss loss;
    bool probabilities; /* the output has gone through softmax */
    uint32_t threads;
    const struct pith_ranks *ranks;        /* NULL, or share the work; all get the same numbers */
    const struct teacher_answers *answers; /* NULL, or instead of labels */
};

/* Mean over samples; *accuracy is NAN without classes. The loss is the cross-entropy
 * (PITH_SQUARED_ERROR: the mean square) without smoothing or teacher, so that runs compare. With
 * answers the loss is T^2 KL to the teacher's softened classes, the accuracy the share of samples
 * that both put into the same class. */
enum pith_status pith_validate(const struct pith_model *m, const struct validate_opts *o,
                               double *mean_loss, double *accuracy, struct pith_error *err);

#endif
