/* SPDX-License-Identifier: MIT */
/* infer_request.h - the body of a request to a network: JSON of the Open Inference Protocol, with
 * the binary tensor extension, or values alone. Everything in it is untrusted. */
#ifndef INFER_REQUEST_H
#define INFER_REQUEST_H

#include "served_model.h"

enum answer_form {
    ANSWER_NONE = 0, /* this output was not requested */
    ANSWER_JSON = 1,
    ANSWER_BINARY = 2
};

struct infer_request {
    uint32_t rows; /* of the batch; 1 where it is not open */
    struct infer_shape {
        uint32_t dim[PITH_MAX_RANK];
        uint64_t elems; /* their product: of all rows */
    } * shape;          /* owned: [n_inputs] */
    const void **input; /* owned: [n_inputs] values as the runtime takes them; unaligned */
    void **made; /* owned: [n_inputs], each owned: converted values; NULL: input lies in the body */
    struct answer {
        enum answer_form form;
        uint32_t top; /* not 0: the largest so many of each row, with their class names */
    } * answers;      /* owned: [n_outputs] */
    char *id;         /* owned; NULL: none was given */
};

/* body: n bytes, of which json_bytes are JSON and the others values of inputs with a
 * binary_data_size, in the order of the inputs in the JSON. json_bytes 0: the body is the values of
 * the only input. Borrows the body until infer_request_free. *r is set in any case.
 * PITH_ERR_ARGUMENT: the request is wrong; PITH_ERR_UNSUPPORTED, PITH_ERR_MEMORY. */
enum pith_status infer_request_parse(const struct served_model *m, const uint8_t *body, size_t n,
                                     size_t json_bytes, struct infer_request *r,
                                     struct pith_error *err);
/* Memory that reading the JSON takes at most, in bytes. */
uint64_t infer_request_cost(const uint8_t *json, size_t n);
/* Values of a request that has 1 row of a single f32 input, in malloc'ed memory that *r owns from
 * now on. */
enum pith_status infer_request_of_values(const struct served_model *m, float *values,
                                         struct infer_request *r, struct pith_error *err);
void infer_request_free(const struct served_model *m, struct infer_request *r);

#endif
