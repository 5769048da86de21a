/* SPDX-License-Identifier: MIT */
/* onnx_open.h - an import with open sizes, in parts. Internal. */
#ifndef ONNX_OPEN_H
#define ONNX_OPEN_H

#include "host/size_expression.h"
#include "kernels/crc32c.h"
#include "onnx/graph/onnx.h"
#include "onnx/onnx_fit.h"

/* A dimension of an input that is open. */
struct open_dim {
    uint32_t input, dim;
    bool named, batch;
    struct size_expression e;      /* as in the file */
    struct size_expression scaled; /* of sizes that count units: 32*height */
};

struct value_note {
    enum pith_type type;
    struct shape shape;
    bool constant, empty;
    uint32_t crc;
};

/* What a node reads: the checksum of a constant, or the number of a value, by place. */
struct input_note {
    bool constant;
    uint32_t is;
};

struct node_note {
    uint32_t op, n_slots, n_in, n_out;
    uint32_t first;        /* number of its first result; those of the inputs begin with 1 */
    uint32_t shapes;       /* a checksum of those of its results */
    int32_t *attr;         /* owns */
    struct input_note *in; /* owns */
    uint32_t pair;         /* of pass 0: the node of the last pass compared; UINT32_MAX: none */
    char name[64];
};

struct pass {
    uint32_t n_nodes, n_numbers;
    struct node_note *node;
    uint32_t n_bounds;
    struct onnx_bound *bound; /* owns */
    uint32_t n_outputs;
    struct shape *output; /* owns */
};

/* What a network takes of a size: multiples of `step` from low to high (UINT32_MAX: no end). Where
 * these are the same, the size is no open one. `name` is 0-ended. */
struct size_range {
    char name[SIZE_NAME_BYTES], same_as[SIZE_NAME_BYTES]; /* another size, which it is; or "" */
    uint32_t low, high, step;
};

/* A size that follows others, as in "past + seq"; texts are 0-ended. */
struct size_relation {
    char name[SIZE_NAME_BYTES];
    char formula[SIZE_TEXT_BYTES];
};

/* Where an import stops, and what a node there reads. */
enum { ONNX_STOP_INPUTS = 8, ONNX_STOP_NUMBERS = 8 };
struct stop {
    uint32_t place;  /* in the order of execution; UINT32_MAX: nowhere */
    uint32_t reason; /* a checksum of the message that something is not supported, or 0 */
    uint32_t n, n_numbers;
    struct shape shape[ONNX_STOP_INPUTS];
    int64_t number[ONNX_STOP_NUMBERS]; /* of its constants, those of few integers */
};

struct open_import {
    const struct onnx_import *like;
    const void *bytes;
    size_t n;
    bool batch;
    struct pith_error err; /* why the last attempt failed */
    /* the inputs */
    uint32_t n_inputs;
    struct pith_input_shape *shape; /* [n_inputs]; names are in `survey` */
    struct onnx_import survey;
    uint32_t n_dims;
    struct open_dim *dims;
    struct size_names names;
    bool picture[SIZE_NAMES];     /* a height or width */
    bool outermost[SIZE_NAMES];   /* a first dimension: rather a number of samples than a length */
    uint32_t same_as[SIZE_NAMES]; /* for numbers: that of this size */
    uint32_t unit[SIZE_NAMES];    /* a size counts so many elements: it has to be a multiple */
    uint32_t n_ranges;
    struct size_range range[SIZE_NAMES];
    uint32_t n_relations;
    struct size_relation relation[SIZE_NAMES];
    /* the passes */
    bool *sized;
    uint32_t n_sized;
    struct value_note *first; /* of the first import that came to its end: n_first values */
    uint32_t n_first;
    bool forgets; /* constants are compared with each other alone, not with `first` */
    bool differs; /* that makes a difference */
    uint32_t n_passes;
    uint32_t value[ONNX_FIT_PASSES + 1][SIZE_NAMES];
    struct pass pass[ONNX_FIT_PASSES + 1]; /* the last: larger sizes, to test what was found */
};

/* *im: an import with these sizes, to be run; *shape [n_inputs] and *opts are what it reads. */
enum pith_status pith_onnx_begin_pass(struct open_import *o, const uint32_t *value,
                                      struct pith_input_shape *shape, struct pith_import_opts *opts,
                                      struct onnx_import *im);

/* What the network takes of size i of o->names; NULL: any number that it does not refuse. */
const struct size_range *pith_onnx_range_of(const struct open_import *o, uint32_t i);

/* Continues a checksum of shapes. */
static inline uint32_t pith_onnx_add_shape(uint32_t crc, uint32_t rank, const uint32_t *dim)
{
    return pith_crc32c(pith_crc32c(crc, &rank, sizeof rank), dim, rank * sizeof *dim);
}

/* The import with the sizes o->value[k], noted in o->pass[k]; *m, where m is not NULL: the model.
 */
enum pith_status pith_onnx_sized_pass(struct open_import *o, uint32_t k, struct pith_model **m);
void pith_onnx_free_pass(struct pass *p);
/* "node 'name' why" as the reason. PITH_ERR_UNSUPPORTED. */
enum pith_status pith_onnx_fail_sized(struct open_import *o, const struct node_note *node,
                                      const char *why);

/* onnx_more_passes.c: what formulas are fitted to, without their numbers: one name for all sizes
 * that are the same number. */
void pith_onnx_fill_fit(const struct open_import *o, struct onnx_fit *f);
/* Passes that decide between formulas; *f is overwritten. step: of the sizes that are tried.
 * PITH_ERR_MEMORY. */
enum pith_status pith_onnx_add_passes(struct open_import *o, uint32_t step, struct onnx_fit *f);

/* onnx_size_range.c. PITH_OK: the nodes of pass 0, but for attributes and, where m is given, nodes
 * that do nothing with the sizes that it has; those of pass 0 are paired. PITH_ERR_MEMORY;
 * PITH_ERR_UNSUPPORTED: others, o->err says which. */
enum pith_status pith_onnx_same_nodes(struct open_import *o, const struct pass *p,
                                      const struct pith_model *m);
/* PITH_ERR_MEMORY. */
enum pith_status pith_onnx_choose_sizes(struct open_import *o, struct pith_model *m);
/* PITH_OK: imports at larger and smaller sizes make what m says. PITH_ERR_UNSUPPORTED, with the
 * reason in o->err: they do not. PITH_ERR_MEMORY. */
enum pith_status pith_onnx_test_sizes(struct open_import *o, struct pith_model *m);

/* Of low to high, low > 0, the number that the largest power of two divides. */
uint32_t pith_onnx_roundest(uint32_t low, uint32_t high);
/* onnx_fixed_sizes.c: sizes of which the network takes one number, multiples or a range are added
 * to o->range. value [SIZE_NAMES]: numbers that it does not take; changed. *found false: there are
 * none. PITH_ERR_MEMORY, PITH_ERR_LIMIT. */
enum pith_status pith_onnx_fix_sizes(struct open_import *o, uint32_t *value, bool *found);
/* PITH_OK wherever it stops. s->shape: what node `of` reads, where import comes so far, else what
 * the one reads where it stops. PITH_ERR_MEMORY, PITH_ERR_LIMIT. */
enum pith_status pith_onnx_find_stop(struct open_import *o, const uint32_t *value, uint32_t of,
                                     struct stop *s);

/* onnx_related_sizes.c: whether the node that refuses the numbers value [SIZE_NAMES] shows that a
 * size follows others. One is added to o->relation. PITH_ERR_MEMORY, PITH_ERR_LIMIT. */
enum pith_status pith_onnx_relate_sizes(struct open_import *o, const uint32_t *value, bool *found);
/* Dimensions have what is known instead of the sizes that follow others, which lose their names. */
void pith_onnx_apply_relations(struct open_import *o);

#endif
