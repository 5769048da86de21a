/* SPDX-License-Identifier: MIT */
/* dnnl_load.h - oneDNN's functions, found when the first tape is made: whoever does not train does
 * not load the library (its start alone takes longer than most commands). */
#ifndef DNNL_LOAD_H
#define DNNL_LOAD_H

#include <dnnl.h>
#include <stdbool.h>

#if DNNL_VERSION_MAJOR != 2 || DNNL_VERSION_MINOR < 6
#error "oneDNN 2.6 or a later 2.x is needed (Debian: libdnnl-dev)"
#endif

#define DNNL_FUNCTIONS(F)                                                                          \
    F(engine_create)                                                                               \
    F(engine_destroy)                                                                              \
    F(stream_create)                                                                               \
    F(stream_destroy)                                                                              \
    F(stream_wait)                                                                                 \
    F(memory_create)                                                                               \
    F(memory_destroy)                                                                              \
    F(memory_set_data_handle)                                                                      \
    F(memory_desc_get_size)                                                                        \
    F(memory_desc_init_by_strides)                                                                 \
    F(memory_desc_init_by_tag)                                                                     \
    F(primitive_create)                                                                            \
    F(primitive_destroy)                                                                           \
    F(primitive_execute)                                                                           \
    F(primitive_desc_create)                                                                       \
    F(primitive_desc_destroy)                                                                      \
    F(primitive_desc_query_md)                                                                     \
    F(reorder_primitive_desc_create)                                                               \
    F(dilated_convolution_forward_desc_init)                                                       \
    F(dilated_convolution_backward_data_desc_init)                                                 \
    F(dilated_convolution_backward_weights_desc_init)                                              \
    F(pooling_v2_forward_desc_init)                                                                \
    F(pooling_v2_backward_desc_init)                                                               \
    F(sgemm)

/* pith_dnnl.sgemm(...) is dnnl_sgemm(...). */
struct dnnl_functions {
#define MEMBER(name) __typeof__(dnnl_##name) *name;
    DNNL_FUNCTIONS(MEMBER)
#undef MEMBER
    /* of the OpenMP that oneDNN splits its work by */
    void (*set_threads)(int n);
    int (*max_threads)(void);
};

/* Fills pith_dnnl, on the first call alone; on any thread. false: no such library here. */
bool pith_dnnl_load(void);
extern struct dnnl_functions pith_dnnl;

#endif
