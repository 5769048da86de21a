/* SPDX-License-Identifier: MIT */
/* conv_run.h - how a convolution whose shapes are known is prepared and run. The members of op_info
 * of the same names. */
#ifndef CONV_RUN_H
#define CONV_RUN_H

#include "op_interface/op_exec.h"

#define CONV_MAX_AXES 4u /* the list of pads has two entries an axis */

/* op_conv.c: attributes, and the output's shape, of all convolutions. bias: NULL for none.
 * PITH_ERR_CORRUPT when they do not fit, PITH_ERR_UNSUPPORTED for more axes. */
#define PITH_CONV_FIELDS 4
extern const struct attr_field pith_conv_fields[PITH_CONV_FIELDS];
enum pith_status pith_conv_out_shape(const int32_t *attr, const struct shape *x,
                                     const struct shape *w, const struct shape *bias,
                                     struct shape *out);

uint32_t pith_conv_lowered_bytes(const struct op_args *args, const struct op_env *env);
enum pith_status pith_conv_need(const struct op_args *args, const struct op_env *env,
                                struct op_need *need);
enum pith_status pith_conv_prepare(const struct op_args *args, const struct op_env *env);
void pith_conv_run(const struct op_args *args, const struct op_env *env);

#endif
