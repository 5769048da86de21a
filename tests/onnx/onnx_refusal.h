/* SPDX-License-Identifier: MIT */
/* onnx_refusal.h - what tests of the importer call: a model, or the message it is refused
 * with. Both release the file. One test program includes it behind cmocka's header. */
#ifndef ONNX_REFUSAL_H
#define ONNX_REFUSAL_H

#include <string.h>
#include "failing_import.h"

static inline struct pith_model *import_file(struct proto file)
{
    struct pith_model *m = NULL;
    struct pith_error err = {0};
    SUCCEEDS(pith_onnx_read(file.data, file.n, "net.onnx", NULL, &m, &err));
    fail_import(&file, NULL, FEW);
    free(file.data);
    return m;
}

/* `text`: the whole message behind the name of the file. */
static inline void refuse_file(struct proto file, enum pith_status status, const char *text)
{
    struct pith_model *m = NULL;
    struct pith_error err = {0};
    const struct pith_import_opts opts = {.size_bytes = sizeof opts, .max_bytes = 1u << 30};
    enum pith_status got = pith_onnx_read(file.data, file.n, "net.onnx", &opts, &m, &err);
    free(file.data);
    pith_model_free(m);
    const char *said = strncmp(err.text, "net.onnx: ", 10) == 0 ? err.text + 10 : err.text;
    assert_string_equal(said, text);
    assert_int_equal(got, status);
}

/* The operators of the model in their order, of which none is missing and none too many. */
static inline void ops_are(const struct pith_model *m, uint32_t n, const uint32_t *ops)
{
    for (uint32_t i = 0; i < m->n_nodes && i < n; i++)
        if (m->nodes[i].op != ops[i])
            fail_msg("node %u is operator %u, expected %u", i, m->nodes[i].op, ops[i]);
    assert_int_equal(m->n_nodes, n);
}

#endif
