/* SPDX-License-Identifier: MIT */
/* onnx_export.h - what the two files of the ONNX writer share: a graph under construction whose
 * parts live in one arena and are released with it. */
#ifndef ONNX_EXPORT_H
#define ONNX_EXPORT_H

#include "onnx.pb-c.h"
#include "op.h"
#include "pith_model.h"

enum {
    EXPORT_OPSET = 13,
    EXPORT_IR = 7,          /* the IR version that came with opset 13 */
    EXPORT_MAX_NODES = 3,   /* ONNX nodes one node becomes, at most */
    EXPORT_MAX_TENSORS = 4, /* initializers it adds, at most */
    EXPORT_MAX_ATTRS = 8
};

struct onnx_export {
    const struct pith_model *m;
    struct pith_model *arena; /* an empty model: it owns the memory */
    struct pith_error *err;
    char **names;    /* of values, none empty, all different */
    uint32_t *uses;  /* by inputs of nodes */
    bool *replaced;  /* constants written in another form: not written as they are */
    uint32_t n_made; /* names made so far */
    uint32_t widest; /* names a node has room for, on either side */
    Onnx__GraphProto graph;
    bool failed; /* memory ran out somewhere: tested once, at the end */
};

/* All return NULL or do nothing when memory is out, and set x->failed. */
void *pith_export_alloc(struct onnx_export *x, uint64_t count, size_t each);
/* A name that no value has, for what has no counterpart in the model. */
char *pith_export_name(struct onnx_export *x, const char *stem);

/* A node with room for n_in + n_out names and EXPORT_MAX_ATTRS attributes. */
Onnx__NodeProto *pith_export_node(struct onnx_export *x, const char *op_type, const char *name);
void pith_export_input(Onnx__NodeProto *node, const char *name);
void pith_export_output(Onnx__NodeProto *node, const char *name);
void pith_export_int(struct onnx_export *x, Onnx__NodeProto *node, const char *name, int64_t v);
void pith_export_float(struct onnx_export *x, Onnx__NodeProto *node, const char *name, float v);
void pith_export_string(struct onnx_export *x, Onnx__NodeProto *node, const char *name,
                        const char *v);
void pith_export_ints(struct onnx_export *x, Onnx__NodeProto *node, const char *name,
                      const int64_t *v, size_t n);

/* Initializers; return their names. dims: rank entries; data is borrowed until the file is made. */
const char *pith_export_tensor(struct onnx_export *x, const char *name, int32_t data_type,
                               uint32_t rank, const uint32_t *dims, const void *data,
                               uint64_t bytes);
const char *pith_export_ints_tensor(struct onnx_export *x, const int64_t *v, uint32_t n);
const char *pith_export_float_tensor(struct onnx_export *x, const float *v, uint32_t n,
                                     bool scalar);

/* onnx_export_op.c: one node of the model as one or more of ONNX. PITH_ERR_UNSUPPORTED when
 * opset 13 cannot say it. */
enum pith_status pith_export_op(struct onnx_export *x, const struct pith_node *node);

#endif
