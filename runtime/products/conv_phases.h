/* SPDX-License-Identifier: MIT */
/* conv_phases.h - a transposed convolution as convolutions: outputs a stride apart are a phase, and
 * read the input through every stride-th tap of the kernel, as those of a convolution of stride 1
 * do.
 *
 * The calls are those of op_info (op_info.h), for ConvTranspose where pith_conv_phases_fit(). */
#ifndef CONV_PHASES_H
#define CONV_PHASES_H

#include "op_interface/op_exec.h"

/* A constant weight, packed kernels, and few phases of enough output channels. */
bool pith_conv_phases_fit(const struct op_args *args, const struct op_env *env);
enum pith_status pith_conv_phases_need(const struct op_args *args, const struct op_env *env,
                                       struct op_need *need);
enum pith_status pith_conv_phases_prepare(const struct op_args *args, const struct op_env *env);
void pith_conv_phases_run(const struct op_args *args, const struct op_env *env);

#endif
