/* SPDX-License-Identifier: MIT */
/* integer_conv.h - a convolution or matrix product of integers with constant weights, on the
 * kernels of kernel_integer.h. Those of 16 bits leave their sums; they are never fused. A
 * matrix product is a 1x1 convolution over a column of pixels. */
#ifndef INTEGER_CONV_H
#define INTEGER_CONV_H

#include "products/integer_layout.h"
#include "op_interface/op_exec.h"

/* x is [n, h, w, channels] when channels_last, else [n, channels, h, w]; y is channels-last with
 * y_step elements from pixel to pixel, or [n, outputs, oh, ow] where y_step is 0. */
struct integer_conv {
    uint32_t n, groups;
    uint32_t channels, h, w;
    uint32_t outputs, oh, ow;
    uint32_t kh, kw, stride_h, stride_w, dil_h, dil_w, pad_top, pad_left;
    bool x_signed, y_signed, channels_last;
    bool to_values;    /* y is i8 or u8, else the sums as i32 */
    bool to_real;      /* or (f32)sum * factor */
    bool few_weights;  /* their values: 15 at most, and 0 */
    uint64_t nonzeros; /* of the weights; 0: they are dense */
    bool words;        /* x is i16 or u16; else i8 or u8 */
    bool long_sums;    /* of weights of 16 bits: y and bias are i64 */
    bool zero_w;       /* weights have a zero point, one for all; no words */
    uint32_t y_step;
};

/* Where weight (output o, channel c of its group, tap t) stands: o * output + c * channel + t. */
struct integer_weights {
    const void *w; /* i8; i16 where sums are long */
    size_t output, channel;
};

/* Weight e of output o, of bytes with one segment. Of a matrix, which has one tap, without
 * dividing. */
static inline int32_t integer_weight_at(const struct integer_layout *l,
                                        const struct integer_weights *weights, size_t o, uint32_t e)
{
    const uint32_t tap = e < l->cg ? 0 : e / l->cg, channel = e - tap * l->cg;
    return ((const int8_t *)weights->w)[o * weights->output + channel * weights->channel + tap];
}

/* Bytes of a sum, and of an element of x. */
static inline size_t integer_sum_bytes(const struct integer_conv *c)
{
    return c->long_sums ? sizeof(int64_t) : sizeof(int32_t);
}

static inline size_t integer_x_bytes(const struct integer_conv *c)
{
    return c->words ? 2 : 1;
}

struct integer_conv_data {
    const uint8_t *x;
    uint8_t *y;
    int32_t zero_x, zero_y, zero_w;
    const void *bias;    /* [outputs] of the type of the sums, or NULL */
    const float *factor; /* [outputs], or of step 0: one for all */
    size_t factor_step;
    const uint8_t *residual;         /* pixels of `outputs` bytes, or planes as y; NULL: none */
    bool residual_last;              /* pixels, also where y is planes */
    const struct combine_bytes *add; /* of values and residual */
    const void *prep;
};

/* The convolution or product that a ConvInteger or MatMulInteger is; a product may have been given
 * a bias, at the place of ConvInteger's. With grids (enum product_grid), output 0 is that of what
 * it was fused with. false: the kernels do not do it - the weights are not i8, or have a zero point
 * for each output, there are more than two axes, it is too large. Reads types and shapes. */
bool pith_integer_conv_of_conv(const struct op_args *args, struct integer_conv *c);
bool pith_integer_conv_of_matmul(const struct op_args *args, struct integer_conv *c);
/* Of args->lowered: where weights stay as they are, it has no layout. */
#define INTEGER_LOWERED_MAX (PACKED_BUILT ? OP_LOWERED_MAX : 96u)

enum { INTEGER_ZERO_X = 2, INTEGER_ZERO_W = 3, INTEGER_BIAS = 4 };

/* false: it does not run on the kernels of env with weights packed so (a depthwise product of
 * words; dense weights; without fusion). */
bool pith_integer_conv_need(const struct integer_conv *c, const struct op_env *env,
                            enum integer_packing packing, struct integer_layout *l);
/* Whether slots, where they are supported, are faster than plain weights. */
bool pith_integer_conv_slots(const struct integer_conv *c, const struct integer_kernels *k);
/* Groups of slots of a window of c that find room; run: elements of a segment. */
uint32_t pith_integer_most_groups(const struct integer_conv *c, uint32_t run);
void pith_integer_conv_pack(const struct integer_conv *c, const struct integer_layout *l,
                            const struct op_env *env, const struct integer_weights *weights,
                            void *prep);
void pith_integer_conv_run(const struct integer_conv *c, const struct integer_layout *l,
                           const struct op_env *env, const struct integer_conv_data *data);

/* Of the outputs of group g of no depthwise product: bias, less the zero point of x as kernels see
 * it (0 to 255) times the sums of weights, which stand in front of data->prep; factors, 0 behind
 * the last. Both [groups * rounded], i32 sums. */
void pith_integer_conv_offsets(const struct integer_layout *l, const struct integer_conv_data *data,
                               int32_t zero_x, uint32_t g, int32_t *offset, float *factor);

/* The same for an operator: lowered, needs, prepare and run of args. of: one of the above. need:
 * its kernel is args->choice, or where that is 0 the first that supports it and pays off;
 * need->kernel stays as it was, and run is false, when it does not run on the kernels.
 * pith_integer_op_weights then are its weights as they are, constant or not: in the image where
 * they can be used there, else prep. PITH_ERR_CORRUPT: the choice is none of its kernels. */
typedef bool integer_conv_of(const struct op_args *args, struct integer_conv *c);
uint32_t pith_integer_op_lowered_bytes(const struct op_args *args, const struct op_env *env);
enum pith_status pith_integer_op_need(const struct op_args *args, const struct op_env *env,
                                      integer_conv_of *of, struct op_need *need);
enum pith_status pith_integer_op_prepare(const struct op_args *args, const struct op_env *env,
                                         const struct integer_weights *strides);
const void *pith_integer_op_weights(const struct op_args *args);
bool pith_integer_op_run(const struct op_args *args, const struct op_env *env);

#endif
