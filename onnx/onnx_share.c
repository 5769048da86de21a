/* SPDX-License-Identifier: MIT */
/* onnx_share.c - a weight that several layers read is one constant, however the file came to have
 * it several times: the body of a function that is called again, a Transpose that was folded at
 * each place, the same numbers under two names.
 *
 * Constants of one type and shape are hashed, those that agree compared byte by byte. What says
 * nothing is left alone: small constants, where naming the one costs a file as much as another one
 * of its own, and those whose elements are all equal (biases of 0, scales of 1), which training
 * would tie together though they only began alike. The same tensor of the file is one all the same.
 *
 * Then matrices that are there both ways round. A product can read [O, C] and [C, O], a Gather or
 * anything else cannot; so products turn to what the others read. Integers are [C, O] where nothing
 * reads them as [O, C], too. */
#include "onnx/graph/onnx.h"

#include <stdlib.h>

enum { SHARE_MIN_BYTES = 256 };

struct candidate {
    uint32_t value;
    const struct onnx_value *v; /* none is added while they are compared */
    uint32_t order;             /* of the first read */
    bool uniform;               /* all elements are the same */
    uint64_t hash;
};

struct sharer {
    struct onnx_import *im;
    struct candidate *list; /* constants that nodes read */
    uint32_t n;
    uint32_t *same; /* [n_values] the value that is read in place of this one */
    uint32_t
        *turned_to;  /* [n_values] what products read in place of this one, the other way round */
    uint32_t *reads; /* [n_values] by nodes */
    uint32_t *turned_reads; /* [n_values] of those, by products as transposed right side */
};

static uint64_t bytes_of(const struct onnx_value *v)
{
    return shape_elems(&v->shape) * pith_type_bytes(v->type);
}

static void add_candidate(struct sharer *s, uint32_t value)
{
    const struct onnx_value *v = &s->im->values[value];
    if (!v->constant || v->empty || bytes_of(v) < SHARE_MIN_BYTES)
        return;
    s->list[s->n] = (struct candidate){.value = value, .v = v, .order = s->n};
    s->n++;
}

/* What nodes read, then what has only been read through its transpose: the link from one to the
 * other is found by its content. */
static void collect(struct sharer *s)
{
    struct onnx_import *im = s->im;
    for (uint32_t i = 0; i < im->n_nodes; i++)
        for (uint32_t k = 0; k < im->nodes[i].n_in; k++)
            if (im->nodes[i].in[k] != ONNX_VALUE_NONE && !s->reads[im->nodes[i].in[k]]++)
                add_candidate(s, im->nodes[i].in[k]);
    for (uint32_t v = 0; v < im->n_values; v++)
        if (im->values[v].turned && s->reads[im->values[v].turned - 1] && !s->reads[v])
            add_candidate(s, v);
}

/* ---- the same content ----------------------------------------------------------------------- */

static int compare_kind(const struct onnx_value *v, const struct onnx_value *w)
{
    if (v->type != w->type)
        return v->type < w->type ? -1 : 1;
    if (v->shape.rank != w->shape.rank)
        return v->shape.rank < w->shape.rank ? -1 : 1;
    return memcmp(v->shape.dim, w->shape.dim, v->shape.rank * sizeof *v->shape.dim);
}

static int by_kind(const void *a, const void *b)
{
    const struct candidate *x = a, *y = b;
    int order = compare_kind(x->v, y->v);
    return order ? order : x->order < y->order ? -1 : x->order > y->order;
}

static int by_hash(const void *a, const void *b)
{
    const struct candidate *x = a, *y = b;
    if (x->hash != y->hash)
        return x->hash < y->hash ? -1 : 1;
    return x->order < y->order ? -1 : x->order > y->order;
}

/* FNV-1a over words of 8 bytes. Who finds two contents of one hash gains that they are compared. */
static uint64_t hash_of(const uint8_t *p, uint64_t bytes)
{
    uint64_t hash = UINT64_C(14695981039346656037), word;
    for (uint64_t i = 0; i < bytes; i += sizeof word) {
        word = 0;
        memcpy(&word, p + i, bytes - i < sizeof word ? bytes - i : sizeof word);
        hash = (hash ^ word) * UINT64_C(1099511628211);
        hash ^= hash >> 29;
    }
    return hash;
}

/* Elements of a value, loaded for a look; let go of by release. */
static enum pith_status borrow(struct onnx_import *im, uint32_t value, const void **data,
                               bool *loaded)
{
    *loaded = !im->values[value].data;
    enum pith_status status = pith_onnx_load(im, value);
    *data = im->values[value].data;
    return status;
}

static void release(struct onnx_import *im, uint32_t value, bool loaded)
{
    if (!loaded)
        return;
    pith_onnx_free(&im->budget, im->values[value].data);
    im->values[value].data = NULL;
}

static enum pith_status look(struct onnx_import *im, struct candidate *c)
{
    const void *data;
    bool loaded;
    enum pith_status status = borrow(im, c->value, &data, &loaded);
    if (status)
        return status;
    const struct onnx_value *v = &im->values[c->value];
    uint64_t bytes = bytes_of(v);
    size_t each = pith_type_bytes(v->type);
    c->hash = hash_of(data, bytes);
    c->uniform = memcmp(data, (const uint8_t *)data + each, bytes - each) == 0;
    release(im, c->value, loaded);
    return PITH_OK;
}

static enum pith_status are_equal(struct onnx_import *im, uint32_t a, uint32_t b, bool *equal)
{
    const void *x, *y;
    bool loaded_x, loaded_y;
    enum pith_status status = borrow(im, a, &x, &loaded_x);
    if (status)
        return status;
    status = borrow(im, b, &y, &loaded_y);
    *equal = !status && memcmp(x, y, bytes_of(&im->values[a])) == 0;
    if (!status)
        release(im, b, loaded_y);
    release(im, a, loaded_x);
    return status;
}

static void replace(struct sharer *s, uint32_t value, uint32_t by)
{
    struct onnx_import *im = s->im;
    s->same[value] = by;
    pith_onnx_free(&im->budget, im->values[value].data);
    im->values[value].data = NULL;
    if (!im->values[by].turned)
        im->values[by].turned = im->values[value].turned;
}

/* Candidates of one type and shape. Of those with one hash only the first is compared with, so that
 * no choice of contents makes this slow. */
static enum pith_status merge_kind(struct sharer *s, struct candidate *list, uint32_t n)
{
    struct onnx_import *im = s->im;
    enum pith_status status = PITH_OK;
    for (uint32_t i = 0; i < n && !status; i++)
        status = look(im, &list[i]);
    qsort(list, n, sizeof *list, by_hash);
    for (uint32_t i = 1, first = 0; i < n && !status; i++) {
        uint32_t a = list[first].value, b = list[i].value;
        if (list[i].hash != list[first].hash) {
            first = i;
            continue;
        }
        bool equal = false,
             one = im->values[a].tensor && im->values[a].tensor == im->values[b].tensor;
        if (one || !list[i].uniform)
            status = are_equal(im, a, b, &equal);
        if (equal)
            replace(s, b, a);
    }
    return status;
}

static enum pith_status merge_equal(struct sharer *s)
{
    enum pith_status status = PITH_OK;
    qsort(s->list, s->n, sizeof *s->list, by_kind);
    for (uint32_t i = 0, end; i < s->n && !status; i = end) {
        for (end = i + 1; end < s->n; end++)
            if (compare_kind(s->list[i].v, s->list[end].v))
                break;
        if (end - i > 1)
            status = merge_kind(s, s->list + i, end - i);
    }
    return status;
}

static void rewire(struct sharer *s)
{
    for (uint32_t i = 0; i < s->im->n_nodes; i++) {
        struct onnx_node *node = &s->im->nodes[i];
        for (uint32_t k = 0; k < node->n_in; k++)
            if (node->in[k] != ONNX_VALUE_NONE)
                node->in[k] = s->same[node->in[k]];
    }
}

/* ---- both ways round ------------------------------------------------------------------------ */

/* The attribute that says how a product's right side lies, or NULL: it is none. */
static int32_t *trans_b(const struct onnx_node *node)
{
    uint32_t slot = pith_op_trans_slot(node->info->op);
    return slot == OP_NO_SLOT ? NULL : &node->attr[slot];
}

static void count_reads(struct sharer *s)
{
    memset(s->reads, 0, s->im->n_values * sizeof *s->reads);
    for (uint32_t i = 0; i < s->im->n_nodes; i++) {
        const struct onnx_node *node = &s->im->nodes[i];
        for (uint32_t k = 0; k < node->n_in; k++) {
            if (node->in[k] == ONNX_VALUE_NONE)
                continue;
            const int32_t *turned = k == 1 ? trans_b(node) : NULL;
            s->reads[node->in[k]]++;
            s->turned_reads[node->in[k]] += turned && *turned;
        }
    }
}

/* All products that read `from` transposed will read `to` as it lies. */
static void turn(struct sharer *s, uint32_t from, uint32_t to)
{
    s->turned_to[from] = to;
    s->reads[to] += s->reads[from];
    s->reads[from] = s->turned_reads[from] = 0;
}

static bool only_turned(const struct sharer *s, uint32_t value)
{
    return s->reads[value] == s->turned_reads[value];
}

/* Where both a matrix and its transpose are read, what others than products read stays, else what
 * more products read. (A matrix that a product turned to is from then on read as it lies, too, and
 * stays.)
 */
static void choose_sides(struct sharer *s)
{
    struct onnx_import *im = s->im;
    for (uint32_t v = 0; v < im->n_values; v++) {
        if (!im->values[v].turned || s->same[v] != v || bytes_of(&im->values[v]) < SHARE_MIN_BYTES)
            continue;
        uint32_t t = s->same[im->values[v].turned - 1];
        if (!s->reads[v] || !s->reads[t] || v == t)
            continue;
        if (only_turned(s, v) && (!only_turned(s, t) || s->reads[t] > s->reads[v]))
            turn(s, v, t);
        else if (only_turned(s, t))
            turn(s, t, v);
    }
}

static void turn_products(const struct sharer *s)
{
    for (uint32_t i = 0; i < s->im->n_nodes; i++) {
        struct onnx_node *node = &s->im->nodes[i];
        int32_t *turned = trans_b(node);
        if (!turned || s->turned_to[node->in[1]] == node->in[1])
            continue;
        node->in[1] = s->turned_to[node->in[1]];
        *turned = 0;
    }
}

static bool is_integer_product(const struct onnx_node *node)
{
    return node->info->op == PITH_OP_MATMUL_INTEGER;
}

/* The elements of `value`, a matrix of bytes or shorts, the other way round. */
static enum pith_status swap_axes(struct onnx_import *im, uint32_t value)
{
    enum pith_status status = pith_onnx_load(im, value);
    if (status)
        return status;
    struct onnx_value *v = &im->values[value];
    size_t rows = v->shape.dim[0], cols = v->shape.dim[1], each = pith_type_bytes(v->type);
    uint8_t *to = pith_onnx_alloc(&im->budget, (uint64_t)rows * cols, each);
    if (!to)
        return pith_onnx_no_memory(im);
    for (size_t i = 0; i < rows * cols; i++)
        memcpy(to + (i % cols * rows + i / cols) * each, (const uint8_t *)v->data + i * each, each);
    pith_onnx_free(&im->budget, v->data);
    v->data = to;
    v->tensor = NULL;
    v->shape.dim[0] = (uint32_t)cols;
    v->shape.dim[1] = (uint32_t)rows;
    return PITH_OK;
}

/* What products of integers alone read, and all of them transposed, is stored as they read it. */
static enum pith_status turn_integers(struct sharer *s)
{
    struct onnx_import *im = s->im;
    enum pith_status status = PITH_OK;
    for (uint32_t i = 0; i < im->n_nodes && !status; i++) {
        const struct onnx_node *node = &im->nodes[i];
        uint32_t v = is_integer_product(node) && *trans_b(node) ? node->in[1] : ONNX_VALUE_NONE;
        if (v == ONNX_VALUE_NONE || !im->values[v].constant || im->values[v].varies ||
            im->values[v].output || !s->turned_reads[v] || !only_turned(s, v))
            continue;
        status = swap_axes(im, v);
        s->turned_reads[v] = 0; /* the nodes follow */
        s->turned_to[v] = ONNX_VALUE_NONE;
    }
    for (uint32_t i = 0; i < im->n_nodes; i++)
        if (is_integer_product(&im->nodes[i]) &&
            s->turned_to[im->nodes[i].in[1]] == ONNX_VALUE_NONE)
            *trans_b(&im->nodes[i]) = 0;
    return status;
}

enum pith_status pith_onnx_share_constants(struct onnx_import *im)
{
    struct onnx_budget *b = &im->budget;
    uint64_t n = (uint64_t)im->n_values + 1;
    struct sharer s = {.im = im};
    s.list = pith_onnx_alloc(b, n, sizeof *s.list);
    s.same = pith_onnx_alloc(b, n, sizeof *s.same);
    s.turned_to = pith_onnx_alloc(b, n, sizeof *s.turned_to);
    s.reads = pith_onnx_alloc(b, n, sizeof *s.reads);
    s.turned_reads = pith_onnx_alloc(b, n, sizeof *s.turned_reads);
    enum pith_status status = PITH_OK;
    if (!s.list || !s.same || !s.turned_to || !s.reads || !s.turned_reads)
        status = pith_onnx_no_memory(im);
    for (uint32_t i = 0; i < im->n_values && !status; i++)
        s.same[i] = s.turned_to[i] = i;
    if (!status) {
        collect(&s);
        status = merge_equal(&s);
    }
    if (!status) {
        rewire(&s);
        count_reads(&s);
        choose_sides(&s);
        turn_products(&s);
        status = turn_integers(&s);
    }
    pith_onnx_free(b, s.list);
    pith_onnx_free(b, s.same);
    pith_onnx_free(b, s.turned_to);
    pith_onnx_free(b, s.reads);
    pith_onnx_free(b, s.turned_reads);
    return status;
}
