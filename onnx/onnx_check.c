/* SPDX-License-Identifier: MIT */
/* onnx_check.c - the import walked to its end with every refusal collected, then grouped. The
 * report is a copy: the caller can import the file in the memory that the survey took. */
#include "onnx/graph/onnx.h"
#include "pith_onnx.h"

#include <math.h>
#include <stdlib.h>

struct pith_onnx_survey {
    struct pith_onnx_report report;
    struct onnx_import im;
    struct onnx_budget kept; /* what the report shows */
    struct pith_alloc alloc;
};

static int by_operator(const void *a, const void *b)
{
    const struct onnx_refusal *x = a, *y = b;
    int order = strcmp(x->op, y->op);
    if (order == 0)
        order = (*x->why != 0) - (*y->why != 0);
    return order ? order : x->place < y->place ? -1 : x->place > y->place;
}

static enum pith_status group(struct onnx_import *im, struct pith_onnx_report *r)
{
    r->n_unsupported = im->n_refusals;
    r->issues = pith_onnx_alloc(&im->budget, (uint64_t)im->n_refusals + 1, sizeof *r->issues);
    if (!r->issues)
        return pith_onnx_no_memory(im);
    if (im->n_refusals)
        qsort(im->refusals, im->n_refusals, sizeof *im->refusals, by_operator);
    for (uint32_t i = 0; i < im->n_refusals; i++) {
        const struct onnx_refusal *f = &im->refusals[i];
        struct pith_onnx_issue *issue = r->n_issues ? &r->issues[r->n_issues - 1] : NULL;
        bool known = *f->why != 0;
        if (!issue || strcmp(issue->op, f->op) != 0 || issue->known != known) {
            issue = &r->issues[r->n_issues++];
            *issue = (struct pith_onnx_issue){.op = f->op, .known = known};
            issue->hint = known ? pith_onnx_reason(im, f) : pith_onnx_hint(f->op);
        }
        issue->count++;
        if (issue->n_nodes < PITH_ONNX_SHOWN)
            issue->nodes[issue->n_nodes++] = f->label;
    }
    return PITH_OK;
}

static uint64_t count_nonfinite(const float *v, uint64_t n)
{
    uint64_t bad = 0;
    for (uint64_t i = 0; i < n; i++)
        bad += isfinite(v[i]) ? 0 : 1;
    return bad;
}

static enum pith_status scan_weights(struct onnx_import *im, struct pith_onnx_report *r)
{
    r->nonfinite = pith_onnx_alloc(&im->budget, (uint64_t)im->n_values + 1, sizeof *r->nonfinite);
    if (!r->nonfinite)
        return pith_onnx_no_memory(im);
    for (uint32_t i = 0; i < im->n_values; i++) {
        const struct onnx_value *v = &im->values[i];
        bool initializer = v->tensor && v->producer == ONNX_NONE;
        if (!initializer || !v->live || !v->known || v->empty || v->type != PITH_F32)
            continue;
        enum pith_status status = pith_onnx_load(im, i);
        if (status)
            return status;
        uint64_t bad = count_nonfinite(im->values[i].data, shape_elems(&im->values[i].shape));
        if (bad)
            r->nonfinite[r->n_nonfinite++] = (struct pith_onnx_nonfinite){im->values[i].name, bad};
        pith_onnx_free(&im->budget, im->values[i].data);
        im->values[i].data = NULL;
    }
    return PITH_OK;
}

/* *text, where there was memory; NULL stays NULL. */
static void keep_text(struct onnx_budget *kept, const char **text)
{
    size_t n = *text ? strlen(*text) + 1 : 0;
    char *copy = n ? pith_onnx_alloc(kept, n, 1) : NULL;
    if (copy)
        memcpy(copy, *text, n);
    *text = copy;
}

static void *keep_list(struct onnx_budget *kept, const void *list, uint32_t n, size_t each)
{
    void *copy = pith_onnx_alloc(kept, (uint64_t)n + 1, each);
    if (copy && n)
        memcpy(copy, list, n * each);
    return copy;
}

/* All that the report shows of the import, which is closed. Texts that found no memory show in
 * kept->failed. */
static enum pith_status keep_report(struct pith_onnx_survey *s)
{
    struct pith_onnx_report *r = &s->report;
    struct onnx_budget *kept = &s->kept;
    r->issues = keep_list(kept, r->issues, r->n_issues, sizeof *r->issues);
    r->open_dims = keep_list(kept, r->open_dims, r->n_open, sizeof *r->open_dims);
    r->nonfinite = keep_list(kept, r->nonfinite, r->n_nonfinite, sizeof *r->nonfinite);
    for (uint32_t i = 0; i < r->n_issues && !kept->failed; i++) {
        struct pith_onnx_issue *issue = &r->issues[i];
        keep_text(kept, &issue->op);
        keep_text(kept, &issue->hint);
        for (uint32_t k = 0; k < issue->n_nodes; k++)
            keep_text(kept, &issue->nodes[k]);
    }
    for (uint32_t i = 0; i < r->n_open && !kept->failed; i++) {
        keep_text(kept, &r->open_dims[i].input);
        keep_text(kept, &r->open_dims[i].symbol);
        keep_text(kept, &r->open_dims[i].example);
    }
    for (uint32_t i = 0; i < r->n_nonfinite && !kept->failed; i++)
        keep_text(kept, &r->nonfinite[i].tensor);
    if (kept->failed)
        return pith_onnx_no_memory(&s->im);
    pith_onnx_close(&s->im);
    return PITH_OK;
}

static void survey_free(struct pith_onnx_survey *s)
{
    struct pith_alloc alloc = s->alloc;
    pith_onnx_close(&s->im);
    pith_onnx_budget_clear(&s->kept);
    alloc.free(alloc.user, s);
}

/* What import leaves open need not be given. */
static enum pith_status drop_open_sizes(struct pith_onnx_survey *s, const void *bytes, size_t n)
{
    struct pith_error err = {0};
    struct pith_model *m = NULL;
    const struct onnx_import like = {.file = s->im.file, .opts = s->im.opts, .err = &err};
    enum pith_status status = pith_onnx_open_sizes(&like, bytes, n, PITH_ERR_ARGUMENT, &m);
    if (!status)
        s->im.n_open = 0;
    pith_model_free(m);
    return status == PITH_ERR_MEMORY ? pith_onnx_no_memory(&s->im) : PITH_OK;
}

enum pith_status pith_onnx_check(const void *bytes, size_t n, const char *name,
                                 const struct pith_import_opts *opts,
                                 struct pith_onnx_report **report, struct pith_error *err)
{
    if (!bytes || !report || (opts && opts->size_bytes != sizeof *opts))
        return PITH_ERR_ARGUMENT;
    struct onnx_budget b;
    pith_onnx_budget_init(&b, opts ? opts->alloc : NULL, 0, n);
    struct pith_onnx_survey *s = b.under.alloc(b.under.user, sizeof *s);
    if (!s) {
        if (err)
            *err = (struct pith_error){.status = PITH_ERR_MEMORY, .text = "not enough memory"};
        return PITH_ERR_MEMORY;
    }
    memset(s, 0, sizeof *s);
    s->alloc = b.under;
    s->kept = b;
    s->report.survey = s;
    s->im =
        (struct onnx_import){.file = name ? name : "-", .opts = opts, .err = err, .survey = true};
    enum pith_status status = pith_onnx_open(&s->im, bytes, n);
    if (!status && s->im.n_open && !s->im.n_refusals)
        status = drop_open_sizes(s, bytes, n);
    if (!status)
        status = group(&s->im, &s->report);
    if (!status)
        status = scan_weights(&s->im, &s->report);
    s->report.n_nodes = s->im.n_file_nodes;
    s->report.open_dims = s->im.open_dims;
    s->report.n_open = s->im.n_open;
    if (!status)
        status = keep_report(s);
    if (status) {
        survey_free(s);
        return status;
    }
    *report = &s->report;
    return PITH_OK;
}

void pith_onnx_report_free(struct pith_onnx_report *report)
{
    if (report)
        survey_free(report->survey);
}
