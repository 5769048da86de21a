/* SPDX-License-Identifier: MIT */
/* infer_response.h - results as the body of a response: JSON, and behind it the values of binary
 * outputs. */
#ifndef INFER_RESPONSE_H
#define INFER_RESPONSE_H

#include "base/json_text.h"
#include "batch_queue.h"

/* Appends the body to *out. *json_bytes: of the JSON where values stand behind it, else 0.
 * out->failed: no memory. */
void infer_response_write(const struct served_model *m, const struct infer_request *request,
                          const struct infer_result *result, struct byte_out *out,
                          size_t *json_bytes);

#endif
