/* SPDX-License-Identifier: MIT */
/* import_refuse.h - a file of proto_builder.h imported, or refused with a whole message; both
 * release it. One test program includes it behind cmocka's header. */
#ifndef IMPORT_REFUSE_H
#define IMPORT_REFUSE_H

#include "failing_import.h"
#include "network_text.h"

static inline struct pith_model *import(struct proto *file, const struct pith_import_opts *opts)
{
    struct pith_model *m = NULL;
    struct pith_error err = {0};
    SUCCEEDS(pith_onnx_read(file->data, file->n, "net.onnx", opts, &m, &err));
    fail_import(file, opts, FEW);
    free(file->data);
    return m;
}

static inline struct pith_model *import_text(const char *text)
{
    struct proto file = network_file(text, NULL, false);
    return import(&file, NULL);
}

static inline void refuse(struct proto *file, const struct pith_import_opts *opts,
                          enum pith_status status, const char *text)
{
    struct pith_model *m = NULL;
    struct pith_error err = {0};
    enum pith_status got = pith_onnx_read(file->data, file->n, "net.onnx", opts, &m, &err);
    assert_string_equal(err.text, text);
    assert_int_equal(got, status);
    assert_int_equal(err.status, status);
    assert_null(m);
    free(file->data);
}

#endif
