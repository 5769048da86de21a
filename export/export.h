/* SPDX-License-Identifier: MIT */
/* export.h - a network as C99 source without dependencies, for microcontrollers.
 *
 *     struct pith_export_opts o;
 *     pith_export_opts_init(&o, sizeof o);
 *     o.name = "kws";
 *     struct pith_export *e;
 *     if (pith_export_c(model, &o, &e, &err) == PITH_OK)
 *         for (uint32_t i = 0; i < e->n_files; i++)
 *             ... e->file[i].name, e->file[i].text ...
 *     pith_export_free(e);
 *
 * The code has the bits of the runtime with its reference kernels (docs/arithmetic.md): integers of
 * 8 bits between layers, float layers as they are. Every layer is a call with constant arguments;
 * only the kernels that the network uses are written. Values lie in one array whose places are
 * chosen here: a layer writes where its input lies wherever its reads stay ahead of its writes. */
#ifndef PITH_EXPORT_H
#define PITH_EXPORT_H

#include "pith_model.h"
#include "pith_option.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What the first input is given as. Bytes are the integers that the network's own first
 * QuantizeLinear would make, pixel by pixel ([H][W][C]); floats are as in the ONNX file. */
enum pith_export_input { PITH_EXPORT_F32 = 0, PITH_EXPORT_U8 = 1, PITH_EXPORT_I8 = 2 };

/* Processors that code is written for. 0 is none of them. */
enum pith_export_target {
    PITH_TARGET_GENERIC = 1, /* as a Cortex-M4F, where a figure depends on it */
    PITH_TARGET_CORTEX_M0,   /* M0+, too */
    PITH_TARGET_CORTEX_M3,
    PITH_TARGET_CORTEX_M4, /* without FPU */
    PITH_TARGET_CORTEX_M4F,
    PITH_TARGET_CORTEX_M7,
    PITH_TARGET_CORTEX_M33,
    PITH_TARGET_CORTEX_M55,
    PITH_TARGET_CORTEX_M85,
    PITH_TARGET_RV32
};
extern const struct pith_word pith_export_targets[]; /* their names */

struct pith_export_opts {
    uint32_t size_bytes;
    const char *name; /* a C identifier: prefix of all names and files; NULL: "net" */
    enum pith_export_input input;
    enum pith_export_target target; /* without FPU: requantization in integers alone */
    bool caller_arena;    /* the caller gives the working memory; else it is a static array */
    uint64_t flash_limit; /* bytes of model and code: weights are coded until they fit; 0: none */
    uint32_t selftest;    /* stored pairs of input and output, 1 to 64 */
    bool no_files;        /* figures and layers alone */
};
void pith_export_opts_init(struct pith_export_opts *opts, uint32_t size_bytes);

struct pith_export_file {
    const char *name;
    char *text;
    size_t bytes;
};

struct pith_export_layer {
    const char *name, *kernel;
    uint64_t macs, model_bytes, output_bytes;
};

#define PITH_EXPORT_FILES 5u
struct pith_export {
    struct pith_export_file file[PITH_EXPORT_FILES]; /* NAME.h, NAME.c, test, Makefile, CMake */
    uint32_t n_files;
    struct pith_export_layer *layer;
    uint32_t n_layers;
    uint64_t model_bytes; /* weights, biases, factors, tables */
    uint64_t
        code_bytes; /* estimated: sums of what each kernel and call takes on a Cortex-M4F, -Os */
    uint64_t arena_bytes; /* values and scratch of all layers */
    uint64_t macs;
    uint64_t stack_bytes, instructions; /* of a run, estimated for the target (target.c) */
    void *memory;                       /* private */
};

/* PITH_ERR_UNSUPPORTED: err->text names the layer and the operator that has no C kernel, or a shape
 * that is not fixed; PITH_ERR_ARGUMENT: the name is no identifier, the flash limit cannot be
 * reached, or the input is requested as
 * bytes where the network does not quantize it. On failure *e is untouched. */
enum pith_status pith_export_c(const struct pith_model *m, const struct pith_export_opts *opts,
                               struct pith_export **e, struct pith_error *err);
void pith_export_free(struct pith_export *e); /* accepts NULL */

#ifdef __cplusplus
}
#endif
#endif
