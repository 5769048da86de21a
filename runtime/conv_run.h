/* SPDX-License-Identifier: MIT */
/* conv_run.h - how a convolution whose shapes are known is prepared and run. The members of op_info
 * of the same names. */
#ifndef CONV_RUN_H
#define CONV_RUN_H

#include "op.h"

enum pith_status pith_conv_need(const struct op_args *args, const struct op_env *env,
                                struct op_need *need);
enum pith_status pith_conv_prepare(const struct op_args *args, const struct op_env *env);
void pith_conv_run(const struct op_args *args, const struct op_env *env);

#endif
