/* SPDX-License-Identifier: MIT */
/* served_model.h - a network as clients of the server see it: named inputs and outputs with the
 * datatypes of the Open Inference Protocol. */
#ifndef SERVED_MODEL_H
#define SERVED_MODEL_H

#include <jansson.h>
#include <stdbool.h>
#include "pith_load.h"
#include "pith_types.h"

/* An input or output. */
struct served_end {
    char *name;          /* owned; not empty, each once among the inputs and among the outputs */
    enum pith_type type; /* in requests and responses: that of the ONNX file */
    enum pith_type run;  /* that the runtime computes with: f32 where type is f16 or bf16 */
    uint32_t rank;       /* with the batch axis */
    uint32_t dim[PITH_MAX_RANK]; /* dim[0] is 1 where the batch is open */
    bool open[PITH_MAX_RANK];    /* follows the shapes of a request: dim is the file's value */
    uint64_t row_elems;          /* product of dim: values of one row of the batch */
};

struct served_model {
    char *name;                /* owned: in paths and responses; UTF-8 without '/' */
    struct served_end *inputs; /* owned: [n_inputs] */
    uint32_t n_inputs;
    struct served_end *outputs; /* owned: [n_outputs] */
    uint32_t n_outputs;
    bool batch_open;        /* dim[0] of every input and output is the batch */
    bool sizes_open;        /* so are other sizes */
    uint32_t max_batch;     /* rows of a request, and of requests that run together */
    const char *preprocess; /* borrowed; NULL: none is stored */
    const char *labels;     /* borrowed: class names, one a line; NULL: none are stored */
};

/* Describes packed under this name: "name.pith" and "name.onnx" become "name". packed must live as
 * long as *m. PITH_ERR_ARGUMENT: the name cannot stand in a path; PITH_ERR_MEMORY. */
enum pith_status served_model_describe(const struct pith_packed *packed, const char *name,
                                       uint32_t max_batch, struct served_model *m,
                                       struct pith_error *err);
void served_model_free(struct served_model *m);

/* "FP32", "INT8", ... */
const char *datatype_name(enum pith_type type);
/* {"name":..,"datatype":..,"shape":[-1,..]}, -1 for what is open; NULL: no memory. */
json_t *served_model_metadata(const struct served_model *m);
/* JSON as text; the receiver frees it. Takes the reference; NULL: json is NULL, or no memory. */
char *json_to_text(json_t *json);

#endif
