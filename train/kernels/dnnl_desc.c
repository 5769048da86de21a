/* SPDX-License-Identifier: MIT */
/* dnnl_desc.c - the functions that differ between oneDNN 2 and 3, declared here for both: the
 * header at hand has those of one version. Dims, strides and pads are dnnl_dim_t (64 bits) in both;
 * a tensor is an address. */
#include "dnnl_desc.h"

#include <stddef.h>
#include <string.h>

/* Of 2: structures that the caller holds. Those of 2.6 have 5,976 and 3,288 bytes. */
struct operation_2 {
    alignas(max_align_t) unsigned char held[8192];
};
#if DNNL_VERSION_MAJOR == 2
_Static_assert(sizeof(dnnl_memory_desc_t) <= DNNL_2_TENSOR_BYTES, "a tensor of oneDNN 2 fits");
_Static_assert(sizeof(dnnl_convolution_desc_t) <= sizeof(struct operation_2), "so does a layer");
_Static_assert(sizeof(dnnl_pooling_v2_desc_t) <= sizeof(struct operation_2), "and a pooling");
#endif

typedef const int64_t *list; /* of dims, one an axis */
typedef dnnl_status_t status;

static struct {
    status (*memory_desc_init_by_strides)(void *, int, list, dnnl_data_type_t, list);
    status (*memory_desc_init_by_tag)(void *, int, list, dnnl_data_type_t, dnnl_format_tag_t);
    status (*primitive_desc_create)(dnnl_primitive_desc_t *, const void *operation,
                                    const_dnnl_primitive_attr_t, dnnl_engine_t,
                                    const_dnnl_primitive_desc_t forward);
    status (*dilated_convolution_forward_desc_init)(void *, dnnl_prop_kind_t, dnnl_alg_kind_t,
                                                    const void *x, const void *w, const void *bias,
                                                    const void *y, list stride, list dilation,
                                                    list begin, list end);
    status (*dilated_convolution_backward_data_desc_init)(void *, dnnl_alg_kind_t, const void *dx,
                                                          const void *w, const void *dy,
                                                          list stride, list dilation, list begin,
                                                          list end);
    status (*dilated_convolution_backward_weights_desc_init)(void *, dnnl_alg_kind_t, const void *x,
                                                             const void *dw, const void *dbias,
                                                             const void *dy, list stride,
                                                             list dilation, list begin, list end);
    status (*pooling_v2_forward_desc_init)(void *, dnnl_prop_kind_t, dnnl_alg_kind_t, const void *x,
                                           const void *y, list stride, list kernel, list dilation,
                                           list begin, list end);
    status (*pooling_v2_backward_desc_init)(void *, dnnl_alg_kind_t, const void *dx, const void *dy,
                                            list stride, list kernel, list dilation, list begin,
                                            list end);
} two;

static struct {
    status (*memory_desc_create_with_strides)(void **, int, list, dnnl_data_type_t, list);
    status (*memory_desc_create_with_tag)(void **, int, list, dnnl_data_type_t, dnnl_format_tag_t);
    status (*memory_desc_destroy)(void *);
    status (*convolution_forward_primitive_desc_create)(dnnl_primitive_desc_t *, dnnl_engine_t,
                                                        dnnl_prop_kind_t, dnnl_alg_kind_t,
                                                        const void *x, const void *w,
                                                        const void *bias, const void *y,
                                                        list stride, list dilation, list begin,
                                                        list end, const_dnnl_primitive_attr_t);
    status (*convolution_backward_data_primitive_desc_create)(
        dnnl_primitive_desc_t *, dnnl_engine_t, dnnl_alg_kind_t, const void *dx, const void *w,
        const void *dy, list stride, list dilation, list begin, list end,
        const_dnnl_primitive_desc_t forward, const_dnnl_primitive_attr_t);
    status (*convolution_backward_weights_primitive_desc_create)(
        dnnl_primitive_desc_t *, dnnl_engine_t, dnnl_alg_kind_t, const void *x, const void *dw,
        const void *dbias, const void *dy, list stride, list dilation, list begin, list end,
        const_dnnl_primitive_desc_t forward, const_dnnl_primitive_attr_t);
    status (*pooling_forward_primitive_desc_create)(dnnl_primitive_desc_t *, dnnl_engine_t,
                                                    dnnl_prop_kind_t, dnnl_alg_kind_t,
                                                    const void *x, const void *y, list stride,
                                                    list kernel, list dilation, list begin,
                                                    list end, const_dnnl_primitive_attr_t);
    status (*pooling_backward_primitive_desc_create)(dnnl_primitive_desc_t *, dnnl_engine_t,
                                                     dnnl_alg_kind_t, const void *dx,
                                                     const void *dy, list stride, list kernel,
                                                     list dilation, list begin, list end,
                                                     const_dnnl_primitive_desc_t forward,
                                                     const_dnnl_primitive_attr_t);
} three;

static bool is_three;
/* Working memory is the caller's: oneDNN's own belongs to the thread that made a primitive, and is
 * not there for another one that executes it. */
static dnnl_primitive_attr_t apart;

static bool find_two(void *library)
{
#define FIND(name) pith_dnnl_find(library, "dnnl_" #name, &two.name)
    return FIND(memory_desc_init_by_strides) && FIND(memory_desc_init_by_tag) &&
           FIND(primitive_desc_create) && FIND(dilated_convolution_forward_desc_init) &&
           FIND(dilated_convolution_backward_data_desc_init) &&
           FIND(dilated_convolution_backward_weights_desc_init) &&
           FIND(pooling_v2_forward_desc_init) && FIND(pooling_v2_backward_desc_init);
#undef FIND
}

static bool find_three(void *library)
{
#define FIND(name) pith_dnnl_find(library, "dnnl_" #name, &three.name)
    return FIND(memory_desc_create_with_strides) && FIND(memory_desc_create_with_tag) &&
           FIND(memory_desc_destroy) && FIND(convolution_forward_primitive_desc_create) &&
           FIND(convolution_backward_data_primitive_desc_create) &&
           FIND(convolution_backward_weights_primitive_desc_create) &&
           FIND(pooling_forward_primitive_desc_create) &&
           FIND(pooling_backward_primitive_desc_create);
#undef FIND
}

bool pith_dnnl_find_descs(void *library, int major)
{
    is_three = major == 3;
    return is_three ? find_three(library) : find_two(library);
}

void pith_dnnl_take_attributes(dnnl_primitive_attr_t attributes)
{
    apart = attributes;
}

/* ---- tensors --------------------------------------------------------------------------------- */

bool pith_dnnl_tensor_strided(struct dnnl_tensor *t, int rank, const int64_t *dims,
                              const int64_t *strides)
{
    t->owned = NULL;
    status s = is_three
                   ? three.memory_desc_create_with_strides(&t->owned, rank, dims, dnnl_f32, strides)
                   : two.memory_desc_init_by_strides(t->held, rank, dims, dnnl_f32, strides);
    return s == dnnl_success;
}

bool pith_dnnl_tensor_any(struct dnnl_tensor *t, int rank, const int64_t *dims)
{
    t->owned = NULL;
    status s =
        is_three ? three.memory_desc_create_with_tag(&t->owned, rank, dims, dnnl_f32,
                                                     dnnl_format_tag_any)
                 : two.memory_desc_init_by_tag(t->held, rank, dims, dnnl_f32, dnnl_format_tag_any);
    return s == dnnl_success;
}

void pith_dnnl_tensor_clear(struct dnnl_tensor *t)
{
    if (t->owned)
        three.memory_desc_destroy(t->owned);
    t->owned = NULL;
}

const void *pith_dnnl_tensor(const struct dnnl_tensor *t)
{
    return is_three ? t->owned : (const void *)t->held;
}

/* ---- primitives ------------------------------------------------------------------------------ */

/* 2's second step: the operation that a first call wrote. */
static bool describe_two(dnnl_primitive_desc_t *desc, status filled, const struct operation_2 *o,
                         dnnl_engine_t engine, const_dnnl_primitive_desc_t forward)
{
    return filled == dnnl_success &&
           two.primitive_desc_create(desc, o, apart, engine, forward) == dnnl_success;
}

bool pith_dnnl_conv_forward(dnnl_primitive_desc_t *desc, dnnl_engine_t engine,
                            const struct dnnl_tensor *x, const struct dnnl_tensor *w,
                            const struct dnnl_tensor *bias, const struct dnnl_tensor *y,
                            const struct dnnl_window *v)
{
    if (is_three)
        return three.convolution_forward_primitive_desc_create(
                   desc, engine, dnnl_forward_training, dnnl_convolution_direct,
                   pith_dnnl_tensor(x), pith_dnnl_tensor(w), pith_dnnl_tensor(bias),
                   pith_dnnl_tensor(y), v->stride, v->dilation, v->begin, v->end,
                   apart) == dnnl_success;
    struct operation_2 o;
    status filled = two.dilated_convolution_forward_desc_init(
        &o, dnnl_forward_training, dnnl_convolution_direct, x->held, w->held, bias->held, y->held,
        v->stride, v->dilation, v->begin, v->end);
    return describe_two(desc, filled, &o, engine, NULL);
}

bool pith_dnnl_conv_data(dnnl_primitive_desc_t *desc, dnnl_engine_t engine,
                         const struct dnnl_tensor *dx, const struct dnnl_tensor *w,
                         const struct dnnl_tensor *dy, const struct dnnl_window *v,
                         const_dnnl_primitive_desc_t forward)
{
    if (is_three)
        return three.convolution_backward_data_primitive_desc_create(
                   desc, engine, dnnl_convolution_direct, pith_dnnl_tensor(dx), pith_dnnl_tensor(w),
                   pith_dnnl_tensor(dy), v->stride, v->dilation, v->begin, v->end, forward,
                   apart) == dnnl_success;
    struct operation_2 o;
    status filled = two.dilated_convolution_backward_data_desc_init(
        &o, dnnl_convolution_direct, dx->held, w->held, dy->held, v->stride, v->dilation, v->begin,
        v->end);
    return describe_two(desc, filled, &o, engine, forward);
}

bool pith_dnnl_conv_weights(dnnl_primitive_desc_t *desc, dnnl_engine_t engine,
                            const struct dnnl_tensor *x, const struct dnnl_tensor *dw,
                            const struct dnnl_tensor *dbias, const struct dnnl_tensor *dy,
                            const struct dnnl_window *v, const_dnnl_primitive_desc_t forward)
{
    if (is_three)
        return three.convolution_backward_weights_primitive_desc_create(
                   desc, engine, dnnl_convolution_direct, pith_dnnl_tensor(x), pith_dnnl_tensor(dw),
                   pith_dnnl_tensor(dbias), pith_dnnl_tensor(dy), v->stride, v->dilation, v->begin,
                   v->end, forward, apart) == dnnl_success;
    struct operation_2 o;
    status filled = two.dilated_convolution_backward_weights_desc_init(
        &o, dnnl_convolution_direct, x->held, dw->held, dbias->held, dy->held, v->stride,
        v->dilation, v->begin, v->end);
    return describe_two(desc, filled, &o, engine, forward);
}

bool pith_dnnl_pool_forward(dnnl_primitive_desc_t *desc, dnnl_engine_t engine, dnnl_alg_kind_t kind,
                            const struct dnnl_tensor *x, const struct dnnl_tensor *y,
                            const struct dnnl_window *v)
{
    if (is_three)
        return three.pooling_forward_primitive_desc_create(
                   desc, engine, dnnl_forward_training, kind, pith_dnnl_tensor(x),
                   pith_dnnl_tensor(y), v->stride, v->kernel, v->dilation, v->begin, v->end,
                   apart) == dnnl_success;
    struct operation_2 o;
    status filled =
        two.pooling_v2_forward_desc_init(&o, dnnl_forward_training, kind, x->held, y->held,
                                         v->stride, v->kernel, v->dilation, v->begin, v->end);
    return describe_two(desc, filled, &o, engine, NULL);
}

bool pith_dnnl_pool_backward(dnnl_primitive_desc_t *desc, dnnl_engine_t engine,
                             dnnl_alg_kind_t kind, const struct dnnl_tensor *dx,
                             const struct dnnl_tensor *dy, const struct dnnl_window *v,
                             const_dnnl_primitive_desc_t forward)
{
    if (is_three)
        return three.pooling_backward_primitive_desc_create(
                   desc, engine, kind, pith_dnnl_tensor(dx), pith_dnnl_tensor(dy), v->stride,
                   v->kernel, v->dilation, v->begin, v->end, forward, apart) == dnnl_success;
    struct operation_2 o;
    status filled = two.pooling_v2_backward_desc_init(&o, kind, dx->held, dy->held, v->stride,
                                                      v->kernel, v->dilation, v->begin, v->end);
    return describe_two(desc, filled, &o, engine, forward);
}
