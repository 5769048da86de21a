/* SPDX-License-Identifier: MIT */
/* train_with.h - one call of pith_train that has to succeed. Included behind cmocka's header. */
#ifndef TRAIN_WITH_H
#define TRAIN_WITH_H

#include "pith_train.h"

/* data is released, and val, which may be NULL or data itself. */
static inline struct pith_train_result train_with(struct pith_model *m,
                                                  const struct pith_train_opts *o,
                                                  struct pith_data *data, struct pith_data *val)
{
    struct pith_train_result r;
    struct pith_error err = {0};
    SUCCEEDS(pith_train(m, data, val, o, &r, &err));
    if (val != data)
        pith_data_free(val);
    pith_data_free(data);
    return r;
}

#endif
