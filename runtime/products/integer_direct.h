/* SPDX-License-Identifier: MIT */
/* integer_direct.h - an integer convolution or product with weights where they lie in the image, or
 * decoded at each run: nothing is packed and nothing copied, for machines that have flash and
 * little RAM. The same bits as integer_conv.h. Weights and values of 8 bits. */
#ifndef INTEGER_DIRECT_H
#define INTEGER_DIRECT_H

#include "products/integer_conv.h"

/* Scratch, of weights that are decoded at each run (coded) or lie there. c: what args is; rows
 * of pixels that can be one become one, for the runs. */
void pith_integer_direct_need(struct integer_conv *c, const struct op_args *args, bool coded,
                              struct op_need *need);
void pith_integer_direct_run(const struct integer_conv *c, const struct op_args *args,
                             const struct op_env *env, const struct integer_conv_data *data);

#endif
