/* SPDX-License-Identifier: MIT */
/* dnnl_desc.h - descriptors of tensors, convolutions and pooling, in oneDNN 2 and in 3.
 *
 * 2 lets its caller hold structures, which a function fills and primitive_desc_create takes; 3
 * hands out pointers and makes a primitive's descriptor in one call. Both take a tensor's
 * descriptor by address, so that all other calls are alike (dnnl_load.h). Which of the two is
 * loaded is known at run time alone; pith_dnnl_load comes first. */
#ifndef DNNL_DESC_H
#define DNNL_DESC_H

#include <dnnl.h>
#include <stdalign.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { DNNL_2_TENSOR_BYTES = 1024 }; /* 2.6's structure has 696 */

/* A tensor's descriptor. Zeros: none yet. */
struct dnnl_tensor {
    alignas(max_align_t) unsigned char held[DNNL_2_TENSOR_BYTES]; /* 2 */
    void *owned;                                                  /* 3 */
};

/* f32 of `rank` dims (1 to DNNL_MAX_NDIMS), each with its stride in elements. false: refused.
 * pith_dnnl_tensor_clear frees what *t owns, now and when it was refused. */
bool pith_dnnl_tensor_strided(struct dnnl_tensor *t, int rank, const int64_t *dims,
                              const int64_t *strides);

/* The same in the form that the primitive likes best. */
bool pith_dnnl_tensor_any(struct dnnl_tensor *t, int rank, const int64_t *dims);
void pith_dnnl_tensor_clear(struct dnnl_tensor *t);

/* What oneDNN's functions take; borrows from *t. */
const void *pith_dnnl_tensor(const struct dnnl_tensor *t);

/* [axes] each; dilation 0 is a window without gaps. */
struct dnnl_window {
    dnnl_dims_t kernel, stride, dilation, begin, end;
};

/* Each makes *desc, which the caller frees by primitive_desc_destroy; false: refused, and *desc is
 * untouched. `forward` is the descriptor of the same window's forward pass. */
/* Of all primitives described from here on; NULL, at first: none. Kept. */
void pith_dnnl_take_attributes(dnnl_primitive_attr_t attributes);
bool pith_dnnl_conv_forward(dnnl_primitive_desc_t *desc, dnnl_engine_t engine,
                            const struct dnnl_tensor *x, const struct dnnl_tensor *w,
                            const struct dnnl_tensor *bias, const struct dnnl_tensor *y,
                            const struct dnnl_window *v);
bool pith_dnnl_conv_data(dnnl_primitive_desc_t *desc, dnnl_engine_t engine,
                         const struct dnnl_tensor *dx, const struct dnnl_tensor *w,
                         const struct dnnl_tensor *dy, const struct dnnl_window *v,
                         const_dnnl_primitive_desc_t forward);
bool pith_dnnl_conv_weights(dnnl_primitive_desc_t *desc, dnnl_engine_t engine,
                            const struct dnnl_tensor *x, const struct dnnl_tensor *dw,
                            const struct dnnl_tensor *dbias, const struct dnnl_tensor *dy,
                            const struct dnnl_window *v, const_dnnl_primitive_desc_t forward);
bool pith_dnnl_pool_forward(dnnl_primitive_desc_t *desc, dnnl_engine_t engine, dnnl_alg_kind_t kind,
                            const struct dnnl_tensor *x, const struct dnnl_tensor *y,
                            const struct dnnl_window *v);
bool pith_dnnl_pool_backward(dnnl_primitive_desc_t *desc, dnnl_engine_t engine,
                             dnnl_alg_kind_t kind, const struct dnnl_tensor *dx,
                             const struct dnnl_tensor *dy, const struct dnnl_window *v,
                             const_dnnl_primitive_desc_t forward);

/* For dnnl_load.c: finds the functions of version `major` (2 or 3) in an open library. */
bool pith_dnnl_find_descs(void *library, int major);

/* *to (a pointer to a function): what `name` is in the library, or NULL and false. The copy of
 * bytes is how POSIX means dlsym's result to become one. */
bool pith_dnnl_find(void *library, const char *name, void *to);

#endif
