/* SPDX-License-Identifier: MIT */
/* onnx_import.c - an ONNX file becomes a struct pith_model; the road is drawn in onnx.h.
 *
 * What import settles for good: opset differences, attribute or input, implicit padding, open
 * dimensions, float types (all f32), constants. What it leaves as it is: batch normalization,
 * separate activations, the order of nodes. Batch folding and fusion belong to later steps. */
#include "onnx/graph/onnx.h"
#include "pith_onnx.h"

#include <stdio.h>

enum pith_status pith_onnx_open(struct onnx_import *im, const void *bytes, size_t n)
{
    const struct pith_import_opts *o = im->opts;
    im->table = &pith_onnx_table;
    pith_onnx_budget_init(&im->budget, o ? o->alloc : NULL, o ? o->max_bytes : 0, n);
    enum pith_status status = pith_onnx_unpack(im, bytes, n);
    if (!status)
        status = pith_onnx_inline(im);
    im->n_file_values = im->n_values;
    if (!status)
        status = pith_onnx_link_outputs(im);
    if (!status)
        status = pith_onnx_sort(im);
    if (!status)
        status = pith_onnx_bind_inputs(im);
    if (!status)
        status = pith_onnx_lower_all(im);
    return status;
}

const char *pith_onnx_reason(const struct onnx_import *im, const struct onnx_refusal *r)
{
    char prefix[160];
    int n = snprintf(prefix, sizeof prefix, "%.150s: ", im->file);
    return strncmp(r->why, prefix, (size_t)n) == 0 ? r->why + n : r->why;
}

void pith_onnx_close(struct onnx_import *im)
{
    pith_onnx_budget_clear(&im->budget); /* the unpacked file lies in it too */
}

/* Why r was refused, without what its group is headed by: its node and operator. */
static const char *bare_reason(const struct onnx_import *im, const struct onnx_refusal *r)
{
    char prefix[160];
    const char *why = pith_onnx_reason(im, r);
    int n = snprintf(prefix, sizeof prefix, "node '%.100s' (%.40s): ", r->label, r->op);
    return strncmp(why, prefix, (size_t)n) == 0 ? why + n : why;
}

/* " Einsum 2x (a, b): hint;" for one operator - the hint is the first's - returns the new length.
 */
static size_t list_operator(const struct onnx_import *im, uint32_t first, char *text, size_t at,
                            size_t size)
{
    const struct onnx_refusal *r = &im->refusals[first];
    uint32_t count = 0, shown = 0;
    char names[128] = "";
    size_t n = 0;
    for (uint32_t i = first; i < im->n_refusals; i++) {
        if (strcmp(im->refusals[i].op, r->op) != 0)
            continue;
        count++;
        if (shown < 3 && n < sizeof names - 50) {
            n += (size_t)snprintf(names + n, sizeof names - n, "%s%.40s", n ? ", " : "",
                                  im->refusals[i].label);
            shown++;
        }
    }
    int added = snprintf(text + at, size - at, "%s %.40s %ux (%s%s): %.160s", at ? ";" : "", r->op,
                         count, names, count > shown ? ", ..." : "",
                         *r->why ? bare_reason(im, r) : pith_onnx_hint(r->op));
    return at + (size_t)added < size ? at + (size_t)added : size - 1;
}

static bool listed_before(const struct onnx_import *im, uint32_t i)
{
    for (uint32_t k = 0; k < i; k++)
        if (strcmp(im->refusals[k].op, im->refusals[i].op) == 0)
            return true;
    return false;
}

/* All refused nodes, grouped, as far as the text has room. */
static enum pith_status fail_refused(struct onnx_import *im)
{
    char list[360] = "";
    size_t at = 0;
    const struct onnx_refusal *r = im->refusals;
    if (im->n_refusals == 1 && *r->why)
        return pith_onnx_fail(im, PITH_ERR_UNSUPPORTED, "%s", pith_onnx_reason(im, r));
    for (uint32_t i = 0; i < im->n_refusals && at < sizeof list - 1; i++)
        if (!listed_before(im, i))
            at = list_operator(im, i, list, at, sizeof list);
    return pith_onnx_fail(im, PITH_ERR_UNSUPPORTED, "%u of %u nodes unsupported:%s", im->n_refusals,
                          im->n_file_nodes, list);
}

enum pith_status pith_onnx_to_nodes(struct onnx_import *im, const void *bytes, size_t n)
{
    enum pith_status status = pith_onnx_open(im, bytes, n);
    if (!status && im->n_refusals)
        status = fail_refused(im);
    if (!status && im->n_inputs == 0)
        status = pith_onnx_fail(im, PITH_ERR_UNSUPPORTED,
                                "nothing is left to compute: no output depends on an input");
    return status ? status : pith_onnx_match_patterns(im);
}

/* Without the name of the file. */
static const char *reason_of(const struct onnx_import *like, const struct pith_error *why)
{
    const size_t head = strlen(like->file);
    const char *text = why->text;
    return strncmp(text, like->file, head) == 0 && strncmp(text + head, ": ", 2) == 0
               ? text + head + 2
               : text;
}

/* " (it cannot stay open: why)" behind the message that there is. */
static void add_reason(const struct onnx_import *like, const struct pith_error *why)
{
    if (!like->err)
        return;
    const size_t at = strlen(like->err->text);
    snprintf(like->err->text + at, sizeof like->err->text - at, " (it cannot stay open: %s)",
             reason_of(like, why));
}

enum pith_status pith_onnx_open_sizes(const struct onnx_import *like, const void *bytes, size_t n,
                                      enum pith_status closed, struct pith_model **m)
{
    struct pith_error why = {0}, second = {0};
    struct onnx_import quiet = *like;
    struct pith_model *made = NULL, *other = NULL;
    quiet.err = &why;
    enum pith_status status = pith_onnx_read_open(&quiet, bytes, n, true, &made);
    quiet.err = &second;
    if (status != PITH_ERR_MEMORY && status != PITH_ERR_LIMIT && (status || !made->batch_open)) {
        enum pith_status again = pith_onnx_read_open(&quiet, bytes, n, false, &other);
        /* with a size for the batch there is one more, unless some became the same */
        const bool fewer = !status && !again && other->n_sizes <= made->n_sizes;
        if (fewer)
            pith_model_free(other);
        if ((!again && !fewer) || again == PITH_ERR_MEMORY) {
            pith_model_free(made);
            made = other;
            status = again;
            why = second;
        }
    }
    const bool final = status == PITH_ERR_MEMORY || status == PITH_ERR_LIMIT;
    if (!status)
        *m = made;
    else if (final && like->err)
        *like->err = why;
    else
        add_reason(like, &why);
    return status && !final ? closed : status;
}

/* A first dimension that the network does not follow as a batch may be open all the same: a number
 * of steps in time. Where it cannot stay open it is 1. */
static enum pith_status free_first(const struct onnx_import *like, const void *bytes, size_t n,
                                   struct pith_model **m)
{
    struct onnx_import quiet = *like;
    struct pith_error why = {0};
    struct pith_model *made = NULL;
    quiet.err = &why;
    enum pith_status status = pith_onnx_read_open(&quiet, bytes, n, false, &made);
    if (status == PITH_ERR_MEMORY && like->err)
        *like->err = why;
    if (status && status != PITH_ERR_MEMORY) {
        pith_onnx_warn(like,
                       "the first dimension of its inputs is 1 here (it cannot stay open: %s)",
                       reason_of(like, &why));
        return PITH_OK;
    }
    pith_model_free(*m);
    *m = made;
    return status;
}

/* Open dimensions beside the batch stay open where the network can be had for any size. */
static enum pith_status read_graph(struct onnx_import *im, const void *bytes, size_t n,
                                   struct pith_model **m)
{
    struct pith_model *made = NULL;
    const struct onnx_import as_given = *im;
    enum pith_status status = pith_onnx_to_nodes(im, bytes, n);
    const bool open = status && im->n_open > 0, is_first = im->first_open;
    if (!status)
        status = pith_onnx_emit(im, &made);
    pith_onnx_close(im);
    if (open)
        status = pith_onnx_open_sizes(&as_given, bytes, n, status, &made);
    else if (!status && is_first && !made->batch_open)
        status = free_first(&as_given, bytes, n, &made);
    if (!status)
        *m = made;
    return status;
}

enum pith_status pith_onnx_read(const void *bytes, size_t n, const char *name,
                                const struct pith_import_opts *opts, struct pith_model **m,
                                struct pith_error *err)
{
    struct onnx_import im = {.file = name ? name : "-", .opts = opts, .err = err};
    return read_graph(&im, bytes, n, m);
}

enum pith_status pith_onnx_read_mapped(const void *bytes, size_t n, const char *name,
                                       const struct pith_import_opts *opts, struct pith_model **m,
                                       struct pith_error *err)
{
    struct onnx_import im = {.file = name ? name : "-", .opts = opts, .err = err, .mapped = true};
    return read_graph(&im, bytes, n, m);
}
