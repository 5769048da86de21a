/* SPDX-License-Identifier: MIT */
/* failing_import.h - a file is imported while allocations fail. One test program includes it behind
 * cmocka's header. */
#ifndef FAILING_IMPORT_H
#define FAILING_IMPORT_H

#include <stdbool.h>
#include <stdlib.h>
#include "onnx/onnx_read.h"
#include "pith_onnx.h"
#include "proto_builder.h"

enum { FEW = 100 }; /* trials; of a large file fewer */

struct failing {
    size_t left; /* allocations that still succeed */
    size_t live;
    bool alone; /* only one fails; else all behind it do, too */
    bool hit;
};

static inline void *failing_alloc(void *user, size_t bytes)
{
    struct failing *f = user;
    if (f->left == 0 && !(f->alone && f->hit)) {
        f->hit = true;
        return NULL;
    }
    f->left -= f->left > 0;
    f->live++;
    return malloc(bytes);
}

static inline void failing_free(void *user, void *p)
{
    ((struct failing *)user)->live--;
    free(p);
}

/* At most so many allocations of an import fail, spread over all, each alone and with all behind
 * it: each time it is refused, and what it took is released. Returns how many an import makes. */
static inline size_t fail_import(const struct proto *file, const struct pith_import_opts *given,
                                 size_t trials)
{
    struct failing f = {.left = SIZE_MAX};
    const struct pith_alloc alloc = {failing_alloc, failing_free, &f};
    struct pith_import_opts opts = {.size_bytes = sizeof opts};
    size_t n = 0, all = SIZE_MAX, step = 1;
    if (given)
        opts = *given;
    opts.alloc = &alloc;
    opts.warn = NULL;
    for (size_t trial = 0; n < all; trial++) {
        struct pith_model *m = NULL;
        struct pith_error err = {0};
        enum pith_status st = pith_onnx_read(file->data, file->n, "net.onnx", &opts, &m, &err);
        if (f.hit)
            assert_string_equal(err.text, "net.onnx: not enough memory");
        assert_int_equal(st, f.hit ? PITH_ERR_MEMORY : PITH_OK);
        assert_true(f.hit == (trial > 0));
        if (trial == 0) {
            all = SIZE_MAX - f.left;
            step = all / (trials == FEW && file->n > 16384 ? 4 : trials) + 1;
        }
        pith_model_free(m);
        assert_int_equal(f.live, 0);
        n += trial % 2 ? 0 : trial > 0 ? step : 0;
        f = (struct failing){.left = n, .alone = trial % 2 == 0};
    }
    return all;
}

#endif
