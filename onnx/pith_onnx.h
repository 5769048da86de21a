/* SPDX-License-Identifier: MIT */
/* pith_onnx.h - will this ONNX file import, and if not, everything that stands in the way at once.
 *
 *     struct pith_onnx_report *r;
 *     struct pith_error err;
 *     if (pith_onnx_check(bytes, n, "net.onnx", NULL, &r, &err)) ... // broken file: err
 *     for (uint32_t i = 0; i < r->n_issues; i++)
 *         printf("%s %ux %s: %s\n", r->issues[i].op, r->issues[i].count, r->issues[i].nodes[0],
 *                r->issues[i].hint);
 *     pith_onnx_report_free(r);
 *
 * A file imports when n_unsupported and n_open are 0. Not-finite weights do not prevent it, but
 * stages that decide from weights refuse them. */
#ifndef PITH_ONNX_H
#define PITH_ONNX_H

#include "pith_model.h"

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

struct pith_grids_found;

struct pith_input_shape {
    const char *name; /* NULL: the only input */
    uint32_t rank;
    uint32_t dim[PITH_MAX_RANK]; /* 0: leave open (dim 0 only) */
};

struct pith_input_value {
    const char *name;
    const char *text; /* a number, a comma-separated list, or @file.npy */
};

struct pith_import_opts {
    uint32_t size_bytes;
    const struct pith_input_shape *shapes;
    uint32_t n_shapes;
    const struct pith_input_value *set_inputs; /* inputs frozen to constants */
    uint32_t n_set_inputs;
    const char *const *outputs; /* cut the graph here; NULL: as the file says */
    uint32_t n_outputs;
    const char *preprocess; /* stored as meta; NULL: none */
    const char *labels;     /* newline-separated class names, stored as meta */
    /* Memory the import may use beyond the file; 0: as the file is long, 40 MiB and 40 bytes for
     * each of its bytes (and of the files beside it), at most 4 GiB. A file of a few bytes
     * can require gigabytes of constants. */
    uint64_t max_bytes;
    const struct pith_alloc *alloc;
    /* Called during the call for what is taken though it may be read wrongly: an opset newer than
     * those known, the name of an input or output that had to be shortened. text: one line that
     * names the file, borrowed until warn returns. NULL: no warnings. */
    void (*warn)(void *user, const char *text);
    void *warn_user;
    struct pith_grids_found *grids; /* pith_model_load, _read fill it for ONNX; may be NULL */
    bool no_grids;   /* pith_model_load, _read leave weights on a grid as floats (exact_grid.h) */
    bool strict;     /* with max_bytes 0 a .pith obeys a limit by its length, too (pith_load.h) */
    const char *dir; /* folder of external data; NULL: none allowed. pith_model_load, _packed_load:
                        that of path */
};

/* The effective network as ONNX (opset 13). f32 weights that are integers of 8 bits times a scale,
 * or all f16 or bf16, are written as such, with a node behind them that makes f32. Open sizes are
 * names of dimensions, and nodes compute what follows them (n_sizes 0: what the model has now).
 * PITH_ERR_UNSUPPORTED: a node has no ONNX form, or differs with other sizes. The caller owns
 * *file. */
enum pith_status pith_model_write_onnx(const struct pith_model *m, struct pith_buffer *file,
                                       struct pith_error *err);

#define PITH_ONNX_SHOWN 3u

/* Nodes of one operator that cannot be imported for one kind of reason. */
struct pith_onnx_issue {
    const char *op; /* "Einsum", "com.microsoft.Gelu" */
    uint32_t count;
    uint32_t n_nodes;                   /* 1..PITH_ONNX_SHOWN */
    const char *nodes[PITH_ONNX_SHOWN]; /* names of the first ones */
    bool known;                         /* the operator is supported, these uses of it are not */
    const char *hint;                   /* what to do; where known: why the first is refused */
};

/* A dimension that must be given by --input-shape. */
struct pith_onnx_open_dim {
    const char *input;
    uint32_t dim;
    const char *symbol;  /* its name in the file, "?" when it has none */
    const char *example; /* "x:1x3x224x224" */
};

struct pith_onnx_nonfinite {
    const char *tensor;
    uint64_t count; /* of NaN and infinite elements */
};

struct pith_onnx_report {
    uint32_t n_nodes; /* of the graph; dead ones included */
    uint32_t n_unsupported;
    struct pith_onnx_issue *issues; /* sorted by op */
    uint32_t n_issues;
    struct pith_onnx_open_dim *open_dims;
    uint32_t n_open;
    struct pith_onnx_nonfinite *nonfinite;
    uint32_t n_nonfinite;
    struct pith_onnx_survey *survey; /* private */
};

/* Parameters as for pith_model_read. The caller owns *report: pith_onnx_report_free. While
 * dimensions are open, operators are checked by name alone, because their shapes are not known yet.
 * PITH_OK also when the report has issues; otherwise *report is untouched:
 * PITH_ERR_CORRUPT, _UNSUPPORTED (opset, sparse initializers), _ARGUMENT (opts), _IO (external
 * data), _MEMORY, _LIMIT. */
enum pith_status pith_onnx_check(const void *bytes, size_t n, const char *name,
                                 const struct pith_import_opts *opts,
                                 struct pith_onnx_report **report, struct pith_error *err);
void pith_onnx_report_free(struct pith_onnx_report *report); /* accepts NULL */

/* The i-th supported ONNX operator, in alphabetical order; NULL behind the last. */
const char *pith_onnx_op_name(uint32_t i);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
#endif
