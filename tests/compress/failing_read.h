/* SPDX-License-Identifier: MIT */
/* failing_read.h - a file read, or opened to be run, with a heap that fails. */
#ifndef FAILING_READ_H
#define FAILING_READ_H

#include "compress/failing_heap.h"
#include "pith_host.h"
#include "pith_model.h"
#include "pith_load.h"

/* What reading gave is freed. */
static enum pith_status read_bytes(const struct pith_buffer *file, struct pith_error *err)
{
    enum pith_status st;
    struct pith_model *m = NULL;
    FAILING(pith_model_read(file->data, file->bytes, "net", NULL, &m, err));
    assert_int_equal(m == NULL, st != PITH_OK);
    pith_model_free(m);
    return st;
}

/* A session that was opened also runs. */
static enum pith_status open_bytes(const struct pith_buffer *file, struct pith_error *err)
{
    enum pith_status st;
    struct pith_session *s = NULL;
    FAILING(pith_open_memory(file->data, file->bytes, NULL, &s, err));
    assert_int_equal(s == NULL, st != PITH_OK);
    if (s)
        assert_int_equal(pith_plan_run(pith_plan_of(s)), PITH_OK);
    pith_close(s);
    return st;
}

#endif
