/* SPDX-License-Identifier: MIT */
/* failing_read.h - a file read with a heap that fails. */
#ifndef FAILING_READ_H
#define FAILING_READ_H

#include "compress/failing_heap.h"
#include "pith_model.h"

/* What reading gave is freed. */
static enum pith_status read_bytes(const struct pith_buffer *file, struct pith_error *err)
{
    enum pith_status st;
    struct pith_model *m = NULL;
    FAILING(pith_model_read(file->data, file->bytes, "net", NULL, NULL, &m, err));
    assert_int_equal(m == NULL, st != PITH_OK);
    pith_model_free(m);
    return st;
}

#endif
