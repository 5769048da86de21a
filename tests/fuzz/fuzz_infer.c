/* SPDX-License-Identifier: MIT */
/* Requests to a server: what is accepted gives every input its values, and has an answer in JSON.
 * The first byte chooses the network, the next two the length of the JSON. */
#include <stdlib.h>
#include <string.h>
#include "core/tensor.h"
#include "serve/infer_response.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n);

#define END(n, t, r)                                                                               \
    {                                                                                              \
        .name = (n), .type = (t), .run = (r), .rank = 2, .dim = {1, 2}, .row_elems = 2             \
    }
static struct served_end ends[] = {END("x", PITH_F32, PITH_F32),  END("h", PITH_F16, PITH_F32),
                                   END("b", PITH_BF16, PITH_F32), END("i", PITH_I8, PITH_I8),
                                   END("l", PITH_I64, PITH_I64),  END("o", PITH_BOOL, PITH_BOOL),
                                   END("d", PITH_F64, PITH_F64)};
#define N_ENDS (sizeof ends / sizeof *ends)

/* The outputs are the inputs. */
static void answer(const struct served_model *m, const struct infer_request *r)
{
    struct infer_output o[N_ENDS];
    struct byte_out out = {0};
    size_t json_bytes;
    for (uint32_t i = 0; i < m->n_inputs; i++) {
        const size_t size =
            (size_t)(m->inputs[i].row_elems * r->rows) * pith_type_bytes(m->inputs[i].run);
        o[i] = (struct infer_output){
            .data = malloc(size), .bytes = size, .rank = 2, .dim = {r->rows, 2}};
        memcpy(o[i].data, r->input[i], size);
    }
    const struct infer_result result = {.outputs = o};
    infer_response_write(m, r, &result, &out, &json_bytes);
    json_t *json = json_loadb((const char *)out.data, json_bytes ? json_bytes : out.bytes, 0, NULL);
    if (out.failed || !json)
        abort();
    json_decref(json);
    pith_out_clear(&out);
    for (uint32_t i = 0; i < m->n_inputs; i++)
        free(o[i].data);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    if (n < 3)
        return 0;
    const uint32_t n_ends = 1 + bytes[0] % N_ENDS;
    const struct served_model m = {.name = "m",
                                   .inputs = ends,
                                   .n_inputs = n_ends,
                                   .outputs = ends,
                                   .n_outputs = n_ends,
                                   .batch_open = bytes[0] & 128,
                                   .max_batch = bytes[0] & 128 ? 4 : 1,
                                   .labels = "a\nb"};
    const size_t json_bytes = bytes[1] | (size_t)bytes[2] << 8;
    uint8_t *body = malloc(n - 3 ? n - 3 : 1); /* an overread of it is noticed */
    struct infer_request r;
    memcpy(body, bytes + 3, n - 3);
    if (!infer_request_parse(&m, body, n - 3, json_bytes == 0xffff ? n - 3 : json_bytes, &r, NULL))
        answer(&m, &r);
    infer_request_free(&m, &r);
    free(body);
    return 0;
}
