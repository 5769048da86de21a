/* SPDX-License-Identifier: MIT */
/* onnx_open.c - a network whose dimensions stay open.
 *
 * All of import works with numbers: shapes decide what is folded, which patterns match, what
 * attributes are. So a network with open sizes is imported several times, with different numbers,
 * and what differs is found:
 *
 *     two imports        constants that differ follow the sizes: from then on they are computed
 *                        when the network runs (onnx_twin.c)
 *     1 + 2 n + 5 more   n sizes, each alone at three values, then all at once. The same nodes must
 *                        come out; an attribute that differs is given its formula, which is fitted
 *                        to the first and must hold for all
 *
 * Which numbers a network takes is tried: primes first, then multiples of 2, 4 ... 32 (those that
 * halve a picture several times), which sizes then count. Where it takes none, the node that
 * refuses them shows more (onnx_fixed_sizes.c); then sizes without a name are the same number, then
 * all. */
#include "onnx/onnx_open.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/error_fill.h"
#include "op_interface/op_attr.h"

#define PASSES ONNX_FIT_PASSES
#define MOST_LENGTHENED 1024 /* times: how far indices of a table are followed */

/* ---- the open dimensions --------------------------------------------------------------------- */

static const Onnx__TensorShapeProto *shape_of(const struct onnx_import *im, const char *name)
{
    for (size_t i = 0; i < im->graph->n_input; i++) {
        const Onnx__ValueInfoProto *info = im->graph->input[i];
        if (strcmp(info->name, name) == 0)
            return info->type && info->type->tensor_type ? info->type->tensor_type->shape : NULL;
    }
    return NULL;
}

/* "batch size" -> batch_size; what has no name is called after its input. */
static void clean_name(const char *text, const char *input, uint32_t dim,
                       char name[SIZE_NAME_BYTES])
{
    if (*text == 0 || strcmp(text, "?") == 0)
        snprintf(name, SIZE_NAME_BYTES, "%.40s_%u", input, dim);
    else
        snprintf(name, SIZE_NAME_BYTES, "%.60s", text);
    for (char *p = name; *p; p++) {
        bool letter = (*p >= 'a' && *p <= 'z') || (*p >= 'A' && *p <= 'Z') || *p == '_';
        bool digit = (*p >= '0' && *p <= '9') || *p == '.';
        if (!letter && (!digit || p == name))
            *p = '_';
    }
    if (strcmp(name, "N") == 0) /* which stands for the batch */
        strcpy(name, "n");
}

/* What is known of the size that a dimension is; NULL: nothing. */
static const struct size_range *known_size(const struct open_import *o, const char *text,
                                           const char *clean)
{
    for (uint32_t i = 0; i < o->n_ranges; i++)
        if (strcmp(o->range[i].name, text) == 0 || strcmp(o->range[i].name, clean) == 0)
            return &o->range[i];
    return NULL;
}

const struct size_range *pith_onnx_range_of(const struct open_import *o, uint32_t i)
{
    for (uint32_t k = 0; k < o->n_ranges; k++)
        if (strcmp(o->range[k].name, o->names.name[i]) == 0)
            return &o->range[k];
    return NULL;
}

static enum pith_status note_dim(struct open_import *o, uint32_t input, uint32_t dim, uint32_t rank,
                                 const char *text)
{
    struct open_dim *d = &o->dims[o->n_dims];
    char name[SIZE_NAME_BYTES];
    *d = (struct open_dim){.input = input, .dim = dim, .named = *text && strcmp(text, "?") != 0};
    d->batch = o->batch && dim == 0;
    if (d->batch) {
        o->n_dims++;
        return PITH_OK;
    }
    clean_name(text, o->shape[input].name, dim, name);
    const struct size_range *known = known_size(o, text, name);
    for (; known && *known->same_as; known = known_size(o, name, name))
        text = strcpy(name, known->same_as);
    o->shape[input].dim[dim] = known && known->low == known->high ? known->low : 0;
    if (o->shape[input].dim[dim])
        return PITH_OK;
    const uint32_t n_names = o->names.n;
    if (!d->named || strcmp(text, "N") == 0 ||
        !pith_size_parse(text, strlen(text), &o->names, true, &d->e) || d->e.n_quotients) {
        o->names.n = n_names;
        if (!pith_size_parse(name, strlen(name), &o->names, true, &d->e))
            return pith_error_fill(&o->err, PITH_ERR_UNSUPPORTED, "it has more than %u open sizes",
                                   (unsigned)SIZE_NAMES);
    }
    for (uint32_t i = 0; i < d->e.n_terms && rank == 4 && dim >= 2; i++)
        for (uint32_t k = 0; k < d->e.term[i].n_factors; k++)
            o->picture[d->e.term[i].factor[k]] = true;
    if (dim == 0 && d->e.n_terms == 1 && d->e.term[0].n_factors == 1)
        o->outermost[d->e.term[0].factor[0]] = true;
    o->n_dims++;
    return PITH_OK;
}

static const struct pith_input_shape *given_shape(const struct open_import *o, const char *name)
{
    const struct pith_import_opts *opts = o->like->opts;
    for (uint32_t i = 0; opts && i < opts->n_shapes; i++)
        if (!opts->shapes[i].name || strcmp(opts->shapes[i].name, name) == 0)
            return &opts->shapes[i];
    return NULL;
}

static enum pith_status note_input(struct open_import *o, uint32_t i)
{
    const struct onnx_import *im = &o->survey;
    const char *name = im->values[im->inputs[i]].name;
    const struct pith_input_shape *given = given_shape(o, name);
    const Onnx__TensorShapeProto *s = shape_of(im, name);
    struct pith_input_shape *to = &o->shape[i];
    to->name = name;
    to->rank = s ? (uint32_t)s->n_dim : given ? given->rank : 0;
    for (uint32_t k = 0; k < to->rank && k < PITH_MAX_RANK; k++) {
        const Onnx__TensorShapeProto__Dimension *d = s ? s->dim[k] : NULL;
        bool number = d && d->value_case == ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_VALUE;
        bool text = d && d->value_case == ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_PARAM;
        int64_t dim = number && d->dim_value > 0 ? d->dim_value : 0;
        dim = given && given->dim[k] ? given->dim[k] : dim;
        to->dim[k] = (uint32_t)dim;
        if (dim)
            continue;
        enum pith_status status =
            note_dim(o, i, k, to->rank, text && d->dim_param ? d->dim_param : "?");
        if (status)
            return status;
    }
    return PITH_OK;
}

/* The batch, where only some inputs have one, is no batch. */
static void check_batch(struct open_import *o)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < o->n_dims; i++)
        n += o->dims[i].batch;
    o->batch = o->batch && n == o->n_inputs;
}

static enum pith_status note_dims(struct open_import *o)
{
    for (uint32_t twice = 0; twice < 2; twice++) {
        const bool batch = o->batch;
        enum pith_status status = PITH_OK;
        o->n_dims = o->names.n = 0;
        memset(o->picture, 0, sizeof o->picture);
        memset(o->outermost, 0, sizeof o->outermost);
        for (uint32_t i = 0; i < o->n_inputs && !status; i++)
            status = note_input(o, i);
        check_batch(o);
        if (status || batch == o->batch) {
            pith_onnx_apply_relations(o);
            return status;
        }
    }
    return PITH_OK;
}

static enum pith_status note_inputs(struct open_import *o)
{
    o->survey = *o->like;
    o->survey.err = &o->err;
    o->survey.survey = true;
    enum pith_status status = pith_onnx_open(&o->survey, o->bytes, o->n);
    if (status)
        return status;
    o->n_inputs = o->survey.n_inputs;
    o->shape = calloc(o->n_inputs + 1u, sizeof *o->shape);
    o->dims = calloc((size_t)o->n_inputs * PITH_MAX_RANK + 1, sizeof *o->dims);
    return o->shape && o->dims ? note_dims(o) : pith_error_no_memory(&o->err);
}

/* ---- one import ------------------------------------------------------------------------------ */

enum pith_status pith_onnx_begin_pass(struct open_import *o, const uint32_t *value,
                                      struct pith_input_shape *shape, struct pith_import_opts *opts,
                                      struct onnx_import *im)
{
    memcpy(shape, o->shape, o->n_inputs * sizeof *shape);
    for (uint32_t i = 0; i < o->n_dims; i++) {
        const struct open_dim *d = &o->dims[i];
        int32_t dim = 0;
        if (!d->batch && (!pith_size_value(&d->scaled, value, &dim) || dim <= 0))
            return pith_error_fill(&o->err, PITH_ERR_UNSUPPORTED, "a dimension is not positive");
        shape[d->input].dim[d->dim] = (uint32_t)dim;
    }
    *opts = o->like->opts ? *o->like->opts : (struct pith_import_opts){.size_bytes = sizeof *opts};
    opts->shapes = shape;
    opts->n_shapes = o->n_inputs;
    *im = *o->like;
    im->model = o->survey.model;
    im->opts = opts;
    im->err = &o->err;
    return PITH_OK;
}

static uint32_t crc_of(struct onnx_import *im, uint32_t value)
{
    const struct onnx_value *v = &im->values[value];
    uint32_t crc = pith_crc32c(0, &v->shape, sizeof v->shape);
    if (v->tensor) /* of the file: the same in each pass */
        return pith_crc32c(crc, v->name, strlen(v->name));
    return v->data && !v->empty
               ? pith_crc32c(crc, v->data, shape_elems(&v->shape) * pith_type_bytes(v->type))
               : crc;
}

static void note_values(struct onnx_import *im, struct value_note *note)
{
    for (uint32_t i = 0; i < im->n_file_values; i++) {
        uint32_t at = pith_onnx_alias(im, i);
        const struct onnx_value *v = &im->values[at];
        note[i] = (struct value_note){.constant = v->constant && v->known, .empty = v->empty};
        if (note[i].constant) {
            note[i].type = v->type;
            note[i].shape = v->shape;
            note[i].crc = crc_of(im, at);
        }
    }
}

/* Folds as always; *note: all values of the file, n of them. bytes: the most memory that it may
 * take, 0 as always; then what it took. */
static enum pith_status plain_pass(struct open_import *o, const uint32_t *value, uint64_t *bytes,
                                   struct value_note **note, uint32_t *n)
{
    struct pith_import_opts opts;
    struct onnx_import im;
    struct pith_input_shape *shape = calloc(o->n_inputs + 1u, sizeof *shape);
    if (!shape)
        return pith_error_no_memory(&o->err);
    enum pith_status status = pith_onnx_begin_pass(o, value, shape, &opts, &im);
    if (!status) {
        if (*bytes && (opts.max_bytes == 0 || *bytes < opts.max_bytes))
            opts.max_bytes = *bytes;
        status = pith_onnx_to_nodes(&im, o->bytes, o->n);
        *n = im.n_file_values;
        *note = status ? NULL : calloc(im.n_file_values + 1u, sizeof **note);
        if (!status && !*note)
            status = pith_error_no_memory(&o->err);
        if (!status)
            note_values(&im, *note);
        *bytes = im.budget.peak;
        pith_onnx_close(&im);
    }
    free(shape);
    return status;
}

/* What node i is and reads, but for attributes. number: of values. */
static bool note_wiring(struct onnx_import *im, const struct onnx_node *node,
                        const uint32_t *number, struct node_note *to)
{
    to->op = (uint32_t)node->info->op;
    to->n_slots = node->info->n_slots;
    to->n_in = node->n_in;
    to->n_out = node->n_out;
    to->in = calloc(node->n_in + 1u, sizeof *to->in);
    for (uint32_t i = 0; to->in && i < node->n_in; i++) {
        const uint32_t v = node->in[i];
        const bool constant = v != ONNX_VALUE_NONE && im->values[v].constant;
        const uint32_t is = v == ONNX_VALUE_NONE ? 0 : constant ? crc_of(im, v) : number[v];
        to->in[i] = (struct input_note){constant, is};
    }
    return to->in != NULL;
}

static enum pith_status note_nodes(struct open_import *o, struct onnx_import *im, struct pass *p)
{
    uint32_t n = 0, *number = calloc(im->n_values + 1u, sizeof *number);
    bool noted = number != NULL;
    p->bound = calloc(im->n_bounds + 1u, sizeof *p->bound);
    p->n_bounds = p->bound ? im->n_bounds : 0;
    if (p->n_bounds)
        memcpy(p->bound, im->bounds, im->n_bounds * sizeof *p->bound);
    p->node = calloc(im->n_nodes + 1u, sizeof *p->node);
    p->n_nodes = 0;
    p->output = calloc(im->n_outputs + 1u, sizeof *p->output);
    p->n_outputs = p->output ? im->n_outputs : 0;
    for (uint32_t i = 0; i < p->n_outputs; i++)
        p->output[i] = im->values[pith_onnx_alias(im, im->outputs[i])].shape;
    for (uint32_t i = 0; number && i < im->n_inputs; i++)
        number[im->inputs[i]] = ++n;
    for (uint32_t i = 0; noted && p->node && i < im->n_nodes; i++) {
        const struct onnx_node *node = &im->nodes[i];
        struct node_note *to = &p->node[i];
        noted = note_wiring(im, node, number, to);
        to->first = n + 1;
        snprintf(to->name, sizeof to->name, "%.60s",
                 *node->name ? node->name : im->values[node->out[0]].name);
        to->attr = calloc(to->n_slots + 1u, sizeof *to->attr);
        noted = noted && to->attr;
        if (noted)
            memcpy(to->attr, node->attr, to->n_slots * sizeof *to->attr);
        p->n_nodes++;
        for (uint32_t k = 0; k < node->n_out; k++) {
            const struct shape *shape = &im->values[node->out[k]].shape;
            number[node->out[k]] = ++n;
            to->shapes = pith_onnx_add_shape(to->shapes, shape->rank, shape->dim);
        }
    }
    p->n_numbers = n;
    free(number);
    return p->node && p->bound && p->output && noted ? PITH_OK : pith_error_no_memory(&o->err);
}

enum pith_status pith_onnx_sized_pass(struct open_import *o, uint32_t k, struct pith_model **m)
{
    struct pith_import_opts opts;
    struct onnx_import im;
    struct pith_input_shape *shape = calloc(o->n_inputs + 1u, sizeof *shape);
    if (!shape)
        return pith_error_no_memory(&o->err);
    enum pith_status status = pith_onnx_begin_pass(o, o->value[k], shape, &opts, &im);
    if (!status) {
        im.sized = o->sized;
        im.n_sized = o->n_sized;
        status = pith_onnx_to_nodes(&im, o->bytes, o->n);
        if (!status)
            status = pith_onnx_settle(&im);
        if (!status)
            status = note_nodes(o, &im, &o->pass[k]);
        if (!status && m)
            status = pith_onnx_emit(&im, m);
        pith_onnx_close(&im);
    }
    free(shape);
    return status;
}

/* ---- numbers to try -------------------------------------------------------------------------- */

struct family {
    uint32_t step, first; /* dimensions are step * (first, first + 1, ...) */
    bool narrow;          /* all stay small, as where there are few positions */
    bool far;             /* up to the farthest: for formulas with a large divisor */
};
static const struct family families[] = {
    {1, 11, false, false},   {1, 11, true, false},     {1, 67, false, false},
    {1, 4, true, false},     {1, 1009, false, true},   {1, 1009, false, false},
    {1, 16001, false, true}, {1, 16001, false, false}, {2, 11, false, false},
    {4, 5, false, false},    {8, 5, false, false},     {16, 3, true, false},
    {32, 3, true, false}};
#define LARGE 1000 /* of families: lengths of sound, not numbers of samples */

/* The largest size that is tried: the first at which constants that follow sizes, such as masks of
 * S by S, take no more than FAR_BYTES more than with the family's base. */
static const uint32_t farthest[] = {1000003, 250007};
#define FARTHEST_SIZES (sizeof farthest / sizeof *farthest)
#define FAR_BYTES (UINT64_C(16) << 20)

/* A network that takes multiples of 32 alone gets sizes that count 32 elements; samples are counted
 * one by one. */
static void choose_units(struct open_import *o, uint32_t step)
{
    for (uint32_t i = 0; i < o->names.n; i++) {
        const struct size_range *r = pith_onnx_range_of(o, o->same_as[i]);
        o->unit[i] = r ? r->step : o->outermost[o->same_as[i]] ? 1 : step;
    }
    for (uint32_t i = 0; i < o->n_dims; i++) {
        struct size_expression *e = &o->dims[i].scaled;
        *e = o->dims[i].e;
        for (uint32_t t = 0; t < e->n_terms; t++)
            for (uint32_t k = 0; k < e->term[t].n_factors; k++)
                e->term[t].times *= (int32_t)o->unit[e->term[t].factor[k]];
    }
}

/* Of size i, whose range is known: its ends, and what is between them; few multiples. joint:
 * number of a pass in which all sizes are others, or ONNX_FIT_JOINT; then `more` than the base. */
static uint32_t value_in(const struct size_range *r, uint32_t i, uint32_t joint, uint32_t more)
{
    static const uint8_t times[ONNX_FIT_JOINT] = {2, 7, 5, 12, 17}, eighths[] = {0, 3, 5, 7, 8};
    if (r->step > 1)
        return 3 + (joint < ONNX_FIT_JOINT ? times[joint] + i * joint : more);
    const uint32_t far = 8 * r->low + 1000, span = (r->high < far ? r->high : far) - r->low;
    const uint32_t at = i % 2 ? ONNX_FIT_JOINT - 1 - joint : joint;
    return r->low + (joint < ONNX_FIT_JOINT ? span * eighths[at] / 8 : span / 2 + more);
}

/* Pass 0: all at their base; 1 + 2 i, 2 + 2 i: size i at another; the last ones: all at others,
 * whose rests by 8 and 16 differ. */
static void choose_values(struct open_import *o, const struct family *f, uint32_t largest)
{
    choose_units(o, f->step);
    static const uint32_t spread[SIZE_NAMES] = {0,  6,  12, 20, 26, 30, 32, 36,
                                                42, 48, 50, 56, 60, 62, 68, 72};
    static const uint32_t wide[ONNX_FIT_JOINT] = {2, 7, 29, 53, 86};
    static const uint32_t close[ONNX_FIT_JOINT] = {2, 7, 5, 12, 17};
    /* Where a quotient that is rounded steps up: multiples of the usual steps of sound, and one
     * less. */
    const uint32_t far[ONNX_FIT_JOINT] = {15360, 23039, 70560, 141119, largest};
    const uint32_t *joint = f->narrow ? close : wide;
    const uint32_t n = o->names.n;
    o->n_passes = 1 + 2 * n + ONNX_FIT_JOINT;
    for (uint32_t k = 0; k < o->n_passes; k++)
        for (uint32_t i = 0; i < n; i++) {
            uint32_t as = o->same_as[i], more = 0;
            const struct size_range *range = pith_onnx_range_of(o, as);
            if (k == 1 + 2 * as || k == 2 + 2 * as)
                more = k == 1 + 2 * as ? 1 : 4;
            if (range) {
                o->value[k][i] =
                    value_in(range, as, k > 2 * n ? k - 2 * n - 1 : ONNX_FIT_JOINT, more);
                continue;
            }
            if (k > 2 * n)
                more = joint[k - 2 * n - 1] + as * (k - 2 * n);
            if (k > 2 * n && f->step > 1)
                more = joint[k - 2 * n - 1] / 4 + 1 + as;
            const bool large = f->first > LARGE && !(o->outermost[as] && n > 1);
            const uint32_t first = f->first > LARGE && !large ? families[0].first : f->first;
            o->value[k][i] = first + (f->step > 1 ? as : spread[as]) + more;
            if (k > 2 * n && f->far && large)
                o->value[k][i] = far[k - 2 * n - 1] + (as ? 15360 * (as - o->outermost[0]) : 0);
        }
}

void pith_onnx_free_pass(struct pass *p)
{
    for (uint32_t i = 0; p->node && i < p->n_nodes; i++) {
        free(p->node[i].attr);
        free(p->node[i].in);
    }
    free(p->node);
    free(p->bound);
    free(p->output);
    *p = (struct pass){0};
}

static void free_passes(struct open_import *o)
{
    for (uint32_t k = 0; k <= PASSES; k++)
        pith_onnx_free_pass(&o->pass[k]);
    free(o->sized);
    o->sized = NULL;
}

static bool other_constant(const struct value_note *a, const struct value_note *b)
{
    return (a->constant || b->constant) &&
           (a->constant != b->constant || a->crc != b->crc || a->empty != b->empty);
}

/* The import with the values of the last pass, which are chosen here, too. */
static enum pith_status last_pass(struct open_import *o, const struct family *f, uint64_t bytes,
                                  struct value_note **note, uint32_t *n)
{
    enum pith_status status = PITH_ERR_LIMIT;
    for (uint32_t i = 0; i < FARTHEST_SIZES && status == PITH_ERR_LIMIT; i++) {
        uint64_t most = f->far && i + 1 < FARTHEST_SIZES ? bytes + FAR_BYTES : 0;
        choose_values(o, f, farthest[i]);
        status = plain_pass(o, o->value[o->n_passes - 1], &most, note, n);
        if (!f->far)
            break;
    }
    return status;
}

/* Which constants follow the sizes: what two imports fold to different elements, or an import with
 * other numbers did, be they too small or too large. */
static enum pith_status find_sized(struct open_import *o, const struct family *f)
{
    struct value_note *a = NULL, *b = NULL;
    uint32_t n = 0, other = 0;
    uint64_t bytes = 0;
    enum pith_status status = plain_pass(o, o->value[0], &bytes, &a, &n);
    if (!status)
        status = last_pass(o, f, bytes, &b, &other);
    if (!status && n != other)
        status = pith_error_fill(&o->err, PITH_ERR_UNSUPPORTED, "its nodes depend on its sizes");
    o->sized = status ? NULL : calloc(n + 1u, sizeof *o->sized);
    if (!status && !o->sized)
        status = pith_error_no_memory(&o->err);
    o->n_sized = n;
    o->differs = false;
    for (uint32_t i = 0; i < n && !status; i++) {
        o->sized[i] = other_constant(&a[i], &b[i]);
        if (o->sized[i] || o->forgets || n != o->n_first || !other_constant(&a[i], &o->first[i]))
            continue;
        o->sized[i] = o->differs = true;
    }
    free(b);
    if (o->first)
        free(a);
    else if (a) {
        o->first = a;
        o->n_first = n;
    }
    return status;
}

/* Sizes without a name, or all, are one number. false: that changes nothing. */
static bool merge(struct open_import *o, bool unnamed, bool all)
{
    bool named[SIZE_NAMES] = {false};
    for (uint32_t i = 0; i < o->n_dims; i++)
        for (uint32_t t = 0; o->dims[i].named && t < o->dims[i].e.n_terms; t++)
            for (uint32_t k = 0; k < o->dims[i].e.term[t].n_factors; k++)
                named[o->dims[i].e.term[t].factor[k]] = true;
    uint32_t first = UINT32_MAX, merged = 0;
    for (uint32_t i = 0; i < o->names.n; i++) {
        o->same_as[i] = i;
        if (!all && !(unnamed && !named[i]))
            continue;
        first = first == UINT32_MAX ? i : first;
        o->same_as[i] = first;
        merged++;
    }
    return (!unnamed && !all) || merged > 1;
}

/* ---- formulas -------------------------------------------------------------------------------- */

enum pith_status pith_onnx_fail_sized(struct open_import *o, const struct node_note *node,
                                      const char *why)
{
    return pith_error_fill(&o->err, PITH_ERR_UNSUPPORTED, "node '%s' %s", node->name, why);
}

static bool add_sized(struct pith_model *m, struct pith_sized *list, uint32_t *n, uint32_t slot,
                      const struct size_expression *e, const struct size_names *names)
{
    char text[SIZE_TEXT_BYTES];
    pith_size_print(e, names, text, sizeof text);
    list[*n] = (struct pith_sized){slot, pith_model_strdup(m, text)};
    return list[(*n)++].formula != NULL;
}

/* Entry `slot` of a Reshape is what is left with some sizes, where others give it a number: it may
 * be what is left with all. */
static bool is_rest(const struct open_import *o, uint32_t i, uint32_t slot)
{
    bool rest = false, other = false;
    for (uint32_t k = 0; k < o->n_passes; k++) {
        const struct node_note *node = &o->pass[k].node[i];
        for (uint32_t n = ATTR_RESHAPE_DIMS + 1; n < node->n_slots; n++)
            *(n == slot ? &rest : &other) |= node->attr[n] == -1;
    }
    return o->pass[0].node[i].op == PITH_OP_RESHAPE && slot > ATTR_RESHAPE_DIMS && rest && !other;
}

static enum pith_status fit_node(struct open_import *o, struct pith_model *m, uint32_t i,
                                 struct onnx_fit *f)
{
    const struct node_note *node = &o->pass[0].node[i];
    struct pith_node *to = &m->nodes[i];
    for (uint32_t slot = 0; slot < node->n_slots; slot++) {
        struct size_expression e;
        bool differs = false;
        for (uint32_t k = 0; k < o->n_passes; k++) {
            f->number[k] = o->pass[k].node[i].attr[slot];
            differs = differs || f->number[k] != f->number[0];
        }
        if (!differs)
            continue;
        if (is_rest(o, i, slot))
            for (uint32_t k = 0; k < o->n_passes; k++)
                f->number[k] = -1;
        if (!pith_onnx_fit(f, &e))
            return pith_onnx_fail_sized(o, node,
                                        "has an attribute that follows no formula of the sizes");
        if (!to->sized)
            to->sized = pith_model_alloc(m, node->n_slots, sizeof *to->sized);
        if (!to->sized || !add_sized(m, to->sized, &to->n_sized, slot, &e, &o->names))
            return pith_error_no_memory(&o->err);
    }
    return PITH_OK;
}

/* Whether indices really leave table i where e says so, or, where they follow no formula, at some
 * larger sizes: those of buckets grow, but end before. */
static enum pith_status leaves_table(struct open_import *o, uint32_t i,
                                     const struct size_expression *e, bool *leaves)
{
    uint32_t *value = o->value[PASSES];
    const uint32_t has = o->pass[0].bound[i].has;
    const uint32_t most = e ? MOST_LENGTHENED : 16;
    int32_t needs = 0;
    for (uint32_t times = 2; times <= most && needs <= (int64_t)has; times *= 2) {
        for (uint32_t k = 0; k < o->names.n; k++)
            value[k] = o->value[0][k] * times;
        if (e && !pith_size_value(e, value, &needs))
            break;
    }
    enum pith_status status = pith_onnx_sized_pass(o, PASSES, NULL);
    const struct pass *p = &o->pass[PASSES];
    *leaves = status || i >= p->n_bounds || p->bound[i].needs > has;
    pith_onnx_free_pass(&o->pass[PASSES]);
    return status == PITH_ERR_MEMORY ? status : PITH_OK;
}

/* Positions that a table has not, where they follow the sizes. */
static enum pith_status add_limits(struct open_import *o, struct pith_model *m, struct onnx_fit *f)
{
    const struct pass *base = &o->pass[0];
    m->limits = pith_model_alloc(m, base->n_bounds + 2u * SIZE_NAMES, sizeof *m->limits);
    if (!m->limits)
        return pith_error_no_memory(&o->err);
    for (uint32_t i = 0; i < base->n_bounds; i++) {
        struct size_expression e;
        char text[SIZE_TEXT_BYTES];
        bool differs = false;
        for (uint32_t k = 0; k < o->n_passes; k++) {
            f->number[k] = (int32_t)o->pass[k].bound[i].needs;
            differs = differs || f->number[k] != f->number[0];
            if (o->pass[k].bound[i].has != base->bound[i].has)
                return PITH_OK; /* a table that grows with them */
        }
        if (!differs)
            continue;
        const bool fits = pith_onnx_fit(f, &e);
        bool leaves = true;
        enum pith_status status =
            !fits || e.divisor > 1 ? leaves_table(o, i, fits ? &e : NULL, &leaves) : PITH_OK;
        if (status)
            return status;
        if (!leaves)
            continue;
        if (!fits)
            return pith_error_fill(&o->err, PITH_ERR_UNSUPPORTED,
                                   "indices of a table follow no formula of the sizes");
        pith_size_print(&e, &o->names, text, sizeof text);
        bool again = false;
        for (uint32_t k = 0; k < m->n_limits; k++)
            again = again || (m->limits[k].most == base->bound[i].has &&
                              strcmp(m->limits[k].formula, text) == 0);
        if (again)
            continue;
        m->limits[m->n_limits] =
            (struct pith_size_limit){base->bound[i].has, pith_model_strdup(m, text)};
        if (!m->limits[m->n_limits++].formula)
            return pith_error_no_memory(&o->err);
    }
    return PITH_OK;
}

static enum pith_status add_formulas(struct open_import *o, uint32_t step, struct pith_model *m)
{
    struct onnx_fit *f = calloc(1, sizeof *f);
    enum pith_status status = f ? pith_onnx_add_passes(o, step, f) : pith_error_no_memory(&o->err);
    if (!status)
        pith_onnx_fill_fit(o, f);
    m->sized = pith_model_alloc(m, o->n_dims + 1u, sizeof *m->sized);
    m->sizes = pith_model_alloc(m, SIZE_NAMES, sizeof *m->sizes);
    if (!m->sized || !m->sizes)
        status = pith_error_no_memory(&o->err);
    for (uint32_t i = 0; i < o->n_dims && !status; i++) {
        struct open_dim *d = &o->dims[i];
        for (uint32_t t = 0; t < d->scaled.n_terms; t++)
            for (uint32_t k = 0; k < d->scaled.term[t].n_factors; k++)
                d->scaled.term[t].factor[k] = (uint8_t)o->same_as[d->scaled.term[t].factor[k]];
        if (!d->batch && !add_sized(m, m->sized, &m->n_sized, d->input * PITH_MAX_RANK + d->dim,
                                    &d->scaled, &o->names))
            status = pith_error_no_memory(&o->err);
    }
    for (uint32_t i = 0; i < o->names.n && !status; i++) {
        if (o->same_as[i] != i)
            continue;
        m->sizes[m->n_sizes++] =
            (struct pith_size){pith_model_strdup(m, o->names.name[i]), o->value[0][i], INT32_MAX};
    }
    for (uint32_t i = 0; i < m->n_nodes && !status; i++)
        status = fit_node(o, m, i, f);
    if (!status)
        status = add_limits(o, m, f);
    free(f);
    return status;
}

/* ---- the whole ------------------------------------------------------------------------------- */

static void sizes_free(struct open_import *o)
{
    free_passes(o);
    free(o->first);
    free(o->shape);
    free(o->dims);
    pith_onnx_close(&o->survey);
}

static enum pith_status try_family(struct open_import *o, const struct family *f,
                                   struct pith_model **m)
{
    struct pith_model *made = NULL;
    free_passes(o);
    choose_values(o, f, farthest[0]);
    enum pith_status status = find_sized(o, f);
    for (uint32_t k = o->n_passes; k-- > 0 && !status;)
        status = pith_onnx_sized_pass(o, k, k == 0 ? &made : NULL);
    for (uint32_t k = 1; k < o->n_passes && !status; k++)
        status = pith_onnx_same_nodes(o, &o->pass[k], NULL);
    if (!status)
        status = add_formulas(o, f->step, made);
    if (!status && o->names.n)
        status = pith_onnx_choose_sizes(o, made);
    if (!status && o->names.n)
        status = pith_onnx_test_sizes(o, made);
    if (status)
        pith_model_free(made);
    else
        *m = made;
    return status;
}

static bool is_final(enum pith_status status)
{
    return !status || status == PITH_ERR_MEMORY || status == PITH_ERR_LIMIT;
}

/* *first: why the first attempt failed. */
static enum pith_status try_families(struct open_import *o, struct pith_error *first,
                                     struct pith_model **m)
{
    enum pith_status status = PITH_ERR_UNSUPPORTED;
    for (uint32_t i = 0; i < sizeof families / sizeof *families && !is_final(status); i++) {
        o->forgets = false;
        status = try_family(o, &families[i], m);
        if (status == PITH_ERR_LIMIT && first->status)
            status = first->status; /* larger sizes than those that were refused */
        if (!first->status)
            *first = o->err;
        o->forgets = true;
        if (!is_final(status) && o->differs)
            status = try_family(o, &families[i], m);
    }
    return status;
}

/* Sizes that follow others lose their names. */
static enum pith_status relate_sizes(struct open_import *o)
{
    enum pith_status status = PITH_OK;
    for (bool found = true; found && !status;) {
        merge(o, false, false);
        choose_values(o, &families[0], farthest[0]);
        status = pith_onnx_relate_sizes(o, o->value[0], &found);
        if (!status && found)
            status = note_dims(o);
    }
    return status == PITH_ERR_LIMIT ? PITH_OK : status;
}

static enum pith_status read_open(struct open_import *o, struct pith_model **m)
{
    struct pith_error first = {0};
    bool found = false;
    enum pith_status status = note_inputs(o);
    if (!status)
        status = relate_sizes(o);
    if (status)
        return status;
    status = try_families(o, &first, m);
    if (is_final(status))
        return status;
    choose_values(o, &families[0], farthest[0]);
    enum pith_status fixed = pith_onnx_fix_sizes(o, o->value[0], &found);
    if (!fixed && found)
        fixed = note_dims(o);
    if (fixed)
        return fixed;
    for (uint32_t merging = !found; merging < 3 && !is_final(status); merging++)
        if (merge(o, merging == 1, merging == 2))
            status = try_families(o, &first, m);
    if (!is_final(status))
        o->err = first;
    return status;
}

enum pith_status pith_onnx_read_open(const struct onnx_import *like, const void *bytes, size_t n,
                                     bool batch, struct pith_model **m)
{
    struct open_import *o = calloc(1, sizeof *o);
    if (!o)
        return pith_error_no_memory(like->err);
    *o = (struct open_import){.like = like, .bytes = bytes, .n = n, .batch = batch};
    enum pith_status status = read_open(o, m);
    if (status && like->err)
        *like->err = o->err;
    sizes_free(o);
    free(o);
    return status;
}
