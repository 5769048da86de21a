/* SPDX-License-Identifier: MIT */
/* dnnl_load.h - oneDNN's functions, found when the first tape is made: whoever does not train does
 * not load the library (its start alone takes longer than most commands).
 *
 * Built with the header of oneDNN 2 or 3, a program runs with the library of either: what both have
 * alike is called as the header declares it (the constants that are used have the same values),
 * and descriptors, which differ, are in dnnl_desc.h. */
#ifndef DNNL_LOAD_H
#define DNNL_LOAD_H

#if defined(__has_include)
#if !__has_include(<dnnl.h>)
#error "dnnl.h not found: install oneDNN 2.2 or later (Debian, Ubuntu: libdnnl-dev; make deps does)"
#endif
#endif
#include <dnnl.h>
#include <stdbool.h>

#if !(DNNL_VERSION_MAJOR == 2 && DNNL_VERSION_MINOR >= 2) && DNNL_VERSION_MAJOR != 3
#error "oneDNN 2.2 or later, or 3, is needed (Debian, Ubuntu: libdnnl-dev)"
#endif

/* What oneDNN 2 and 3 have alike. */
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
    F(primitive_attr_create)                                                                       \
    F(primitive_attr_set_scratchpad_mode)                                                          \
    F(primitive_create)                                                                            \
    F(primitive_destroy)                                                                           \
    F(primitive_execute)                                                                           \
    F(primitive_desc_destroy)                                                                      \
    F(primitive_desc_query_md)                                                                     \
    F(reorder_primitive_desc_create)                                                               \
    F(set_max_cpu_isa)                                                                             \
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
