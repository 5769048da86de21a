/* SPDX-License-Identifier: MIT */
/* onnx_export_weight.c - constants of the model as initializers. One that came from integers of a
 * file is written as these; a weight whose numbers all are integers of 8 bits times a scale, of the
 * tensor or of a row, as such integers; both with a DequantizeLinear behind them. One whose numbers
 * all are f16 or bf16 as such, with a Cast. These nodes go in front of all others. No number
 * changes. */
#include <string.h>
#include <stdlib.h>

#include "onnx_export.h"
#include "model/exact_grid.h"
#include "model/integers.h"
#include "base/narrow_float.h"
#include "core/bytes.h"
#include "core/op_number.h"
#include "op_interface/op_attr.h"
#include "core/tensor.h"

#define FEWEST 128u     /* elements: fewer do not pay for a node */
#define NODE_BYTES 160u /* of a DequantizeLinear and of what its initializers have beside data */
#define NAMES 3u        /* times that those have the weight's name */
#define ROW_BYTES 5u    /* scale and zero point */

struct weight {
    const char *name;
    const struct pith_value *v;
    enum export_form form;
    uint32_t rank, dims[PITH_MAX_RANK + 1]; /* as written */
};

/* Where the element is in the model that is written as number i. */
static uint64_t source_of(const struct weight *w, uint64_t i)
{
    return w->form == EXPORT_TRANSPOSED ? i % w->dims[1] * w->dims[0] + i / w->dims[1] : i;
}

static const float *transposed(struct onnx_export *x, const struct weight *w)
{
    const float *from = w->v->constant->data;
    float *data = pith_export_alloc(x, w->v->constant->count, sizeof *data);
    for (uint64_t i = 0; data && i < w->v->constant->count; i++)
        data[i] = from[source_of(w, i)];
    return data;
}

/* name: of what the last node gives, which goes in front of all others; NULL: out of memory. */
static const char *widened(struct onnx_export *x, const char *name)
{
    if (x->failed)
        return NULL;
    x->casts[x->n_casts++] = x->graph.node[--x->graph.n_node];
    return name;
}

/* ---- integers of 8 bits --------------------------------------------------------------------- */

static bool find_rows(const struct weight *w, uint64_t rows, struct pith_row_grid *grid, int16_t *k)
{
    uint64_t cols = w->v->constant->count / rows;
    uint32_t hint = 0;
    for (uint64_t r = 0; r < rows; r++)
        if (!pith_find_row_grid((const float *)w->v->constant->data + r * cols, cols, &hint,
                                &grid[r], k + r * cols))
            return false;
    return true;
}

/* Import makes layers of integers where weights of i8 meet dequantized inputs. Here the layer is
 * one of floats: then the weights are u8. */
static bool has_integer_layers(const struct pith_model *m)
{
    for (uint32_t i = 0; i < m->n_nodes; i++)
        if (m->nodes[i].op == PITH_OP_DEQUANTIZE)
            return true;
    return false;
}

static bool may_be_signed(const struct pith_model *m, const struct pith_row_grid *grid,
                          uint64_t rows)
{
    if (has_integer_layers(m))
        return false;
    for (uint64_t r = 0; r < rows; r++)
        if (grid[r].low < INT8_MIN || grid[r].high > INT8_MAX)
            return false;
    return true;
}

/* The scale of a row of zeros may be any: it is that of the row before. */
static const char *scale_tensor(struct onnx_export *x, const struct pith_row_grid *grid,
                                uint32_t rows)
{
    float *scale = pith_export_alloc(x, rows, sizeof *scale), last = 1.0f;
    for (uint32_t r = 0; scale && r < rows; r++)
        scale[r] = last = grid[r].scale > 0 ? grid[r].scale : last;
    return scale ? pith_export_float_tensor(x, scale, rows, rows == 1) : NULL;
}

static const char *zero_tensor(struct onnx_export *x, const struct pith_row_grid *grid,
                               uint32_t rows)
{
    uint8_t *zero = pith_export_alloc(x, rows, 1);
    for (uint32_t r = 0; zero && r < rows; r++)
        zero[r] = (uint8_t)-grid[r].low;
    return zero ? pith_export_tensor(x, pith_export_name(x, "zero"),
                                     (struct export_array){ONNX__TENSOR_PROTO__DATA_TYPE__UINT8,
                                                           rows > 1, &rows, zero, rows})
                : NULL;
}

static const char *add_integers(struct onnx_export *x, const struct weight *w,
                                const struct pith_row_grid *grid, uint32_t rows, const int16_t *k)
{
    uint64_t n = w->v->constant->count, cols = n / rows;
    bool is_signed = may_be_signed(x->m, grid, rows);
    uint8_t *q = pith_export_alloc(x, n, 1);
    for (uint64_t i = 0; q && i < n; i++) {
        uint64_t from = source_of(w, i);
        q[i] = (uint8_t)(k[from] - (is_signed ? 0 : grid[from / cols].low));
    }
    const char *stored =
        pith_export_tensor(x, pith_export_name(x, w->name),
                           (struct export_array){is_signed ? ONNX__TENSOR_PROTO__DATA_TYPE__INT8
                                                           : ONNX__TENSOR_PROTO__DATA_TYPE__UINT8,
                                                 w->rank, w->dims, q, n});
    const char *scale = scale_tensor(x, grid, rows);
    const char *zero = is_signed ? NULL : zero_tensor(x, grid, rows);
    int64_t axis = rows > 1 && w->form == EXPORT_AS_IT_IS ? 0 : 1;
    pith_export_dequantized(x, stored, scale, zero, axis, w->name);
    return widened(x, w->name);
}

/* Whether the weight lies on a grid of integers, and they take fewer bytes than elements of
 * `each`; *written: its name, or NULL when memory is out. */
static bool write_integers(struct onnx_export *x, const struct weight *w, uint64_t each,
                           const char **written)
{
    uint64_t n = w->v->constant->count, fixed = NODE_BYTES + NAMES * (uint64_t)strlen(w->name);
    uint32_t rows = w->v->dim[0];
    if (n + ROW_BYTES + fixed >= n * each)
        return false;
    struct pith_row_grid *grid = malloc(rows * sizeof *grid);
    int16_t *k = malloc((size_t)n * sizeof *k);
    x->failed = x->failed || !grid || !k;
    bool found = !x->failed && find_rows(w, 1, grid, k);
    rows = found ? 1 : rows;
    if (!x->failed && !found)
        found = n + rows * (uint64_t)ROW_BYTES + fixed < n * each && find_rows(w, rows, grid, k);
    if (found)
        *written = add_integers(x, w, grid, rows, k);
    free(grid);
    free(k);
    return found;
}

/* ---- integers of the file that the network came from ----------------------------------------- */

/* Integers of 16 bits, and scales of blocks. */
static bool is_new(const struct pith_integers *g)
{
    return pith_type_bytes(g->type) == 2 || (g->n > 1 && g->block > 0);
}

/* A weight of i8 with a scale or one a row could become part of a layer of integers, which it was
 * not. */
static bool are_written(const struct pith_model *m, const struct pith_value *v, void *q)
{
    const struct pith_integers *g = v->constant->integers;
    return g && (g->type != PITH_I8 || is_new(g) || !has_integer_layers(m)) &&
           pith_integers_hold(v, v->constant, q);
}

/* Nodes of them; a Requantize of 16 bits is refused. */
static bool is_new_node(const struct pith_model *m, const struct pith_node *n)
{
    const bool quantizes = n->op == PITH_OP_QUANTIZE;
    if (!quantizes && n->op != PITH_OP_DEQUANTIZE)
        return false;
    const enum pith_type type = m->values[quantizes ? n->out[0] : n->in[0]].type;
    return n->attr[ATTR_QUANTIZE_BLOCK] || type == PITH_I16 || type == PITH_U16;
}

bool pith_export_has_new_integers(const struct pith_model *m)
{
    for (uint32_t i = 0; i < m->n_nodes; i++)
        if (is_new_node(m, &m->nodes[i]))
            return true;
    for (uint32_t v = 0; v < m->n_values; v++)
        if (m->values[v].constant && m->values[v].constant->integers &&
            is_new(m->values[v].constant->integers) && are_written(m, &m->values[v], NULL))
            return true;
    return false;
}

/* The scales' shape, for a constant of the shape dims. */
static uint32_t scale_shape(const struct pith_integers *g, uint32_t axis, const struct weight *w,
                            uint32_t *dims)
{
    if (g->n == 1)
        return 0;
    memcpy(dims, w->dims, w->rank * sizeof *dims);
    if (g->block)
        dims[axis] = (uint32_t)((dims[axis] + g->block - 1) / g->block);
    else
        dims[0] = (uint32_t)g->n;
    return g->block ? w->rank : 1;
}

static const char *write_as_they_came(struct onnx_export *x, const struct weight *w,
                                      const uint8_t *q)
{
    const struct pith_integers *g = w->v->constant->integers;
    const size_t each = pith_type_bytes(g->type);
    const uint64_t n = w->v->constant->count;
    const bool turned = w->form == EXPORT_TRANSPOSED;
    const uint32_t axis = g->n == 1 ? 1
                          : turned  ? 1 - g->axis
                                    : g->axis + (w->form == EXPORT_STACKED);
    uint32_t dims[PITH_MAX_RANK + 1], rank = scale_shape(g, axis, w, dims);
    uint8_t *data = pith_export_alloc(x, n, each), *zero = pith_export_alloc(x, g->n, each);
    float *scale = pith_export_alloc(x, g->n, sizeof *scale);
    bool any_zero = false;
    for (uint64_t i = 0; data && i < n; i++)
        memcpy(data + i * each, q + source_of(w, i) * each, each);
    for (uint64_t i = 0; zero && scale && i < g->n; i++) {
        const bool blocks = turned && rank == 2;
        const uint64_t from = blocks ? i % dims[1] * dims[0] + i / dims[1] : i;
        uint8_t le[4];
        store_le32(le, (uint32_t)g->zero[from]);
        memcpy(zero + i * each, le, each);
        scale[i] = g->scale[from];
        any_zero = any_zero || g->zero[from] != 0;
    }
    const char *stored = pith_export_tensor(
        x, pith_export_name(x, w->name),
        (struct export_array){pith_export_type(g->type), w->rank, w->dims, data, n * each});
    const char *scales =
        pith_export_tensor(x, pith_export_name(x, "scale"),
                           (struct export_array){ONNX__TENSOR_PROTO__DATA_TYPE__FLOAT, rank, dims,
                                                 scale, g->n * sizeof *scale});
    const char *zeros =
        any_zero ? pith_export_tensor(x, pith_export_name(x, "zero"),
                                      (struct export_array){pith_export_type(g->type), rank, dims,
                                                            zero, g->n * each})
                 : NULL;
    pith_export_dequantized(x, stored, scales, zeros, axis, w->name);
    if (rank > 1)
        pith_export_int(x, x->graph.node[x->graph.n_node - 1], "block_size", (int64_t)g->block);
    return widened(x, w->name);
}

/* Whether the constant is written so; *written: its name, or NULL when memory is out. */
static bool write_integers_of_file(struct onnx_export *x, const struct weight *w,
                                   const char **written)
{
    const struct pith_const *k = w->v->constant;
    if (!k->integers)
        return false;
    uint8_t *q = malloc((size_t)k->count * pith_type_bytes(k->integers->type));
    x->failed = x->failed || !q;
    bool found = q && are_written(x->m, w->v, q);
    if (found)
        *written = write_as_they_came(x, w, q);
    free(q);
    return found;
}

/* ---- floats of 16 bits ---------------------------------------------------------------------- */

static const char *add_narrow(struct onnx_export *x, const struct weight *w, enum pith_type type)
{
    uint64_t n = w->v->constant->count;
    uint16_t *half = pith_export_alloc(x, n, sizeof *half);
    for (uint64_t i = 0; half && i < n; i++)
        half[i] = pith_narrow_bits(type, ((const float *)w->v->constant->data)[source_of(w, i)]);
    const char *stored = pith_export_tensor(
        x, pith_export_name(x, w->name),
        (struct export_array){pith_export_type(type), w->rank, w->dims, half, n * sizeof *half});
    Onnx__NodeProto *cast = pith_export_node(x, "Cast", "");
    pith_export_input(cast, stored);
    pith_export_output(cast, w->name);
    pith_export_int(x, cast, "to", ONNX__TENSOR_PROTO__DATA_TYPE__FLOAT);
    return widened(x, w->name);
}

/* The type of 16 bits that has all of the numbers, or f32. */
static enum pith_type narrowest_type(const struct pith_const *k)
{
    return pith_narrow_holds(PITH_BF16, k->data, k->count)  ? PITH_BF16
           : pith_narrow_holds(PITH_F16, k->data, k->count) ? PITH_F16
                                                            : PITH_F32;
}

/* Vectors stay f32: readers of ONNX look for those of a normalization. */
const char *pith_export_weight(struct onnx_export *x, const char *name, uint32_t value,
                               enum export_form form)
{
    const struct pith_value *v = &x->m->values[value];
    struct weight w = {name, v, form, v->rank + (form == EXPORT_STACKED), {1}};
    uint64_t each = pith_type_bytes(v->type);
    const char *written = NULL;
    if (x->failed)
        return NULL;
    for (uint32_t i = 0; i < v->rank; i++)
        w.dims[i + (form == EXPORT_STACKED)] =
            v->dim[form == EXPORT_TRANSPOSED ? v->rank - 1 - i : i];
    if (write_integers_of_file(x, &w, &written) || x->failed)
        return written;
    if (v->type == PITH_F32 && v->rank >= 2 && v->constant->count >= FEWEST) {
        enum pith_type type = narrowest_type(v->constant);
        if (write_integers(x, &w, pith_type_bytes(type), &written) || x->failed)
            return written;
        if (type != PITH_F32)
            return add_narrow(x, &w, type);
    }
    return pith_export_tensor(
        x, name,
        (struct export_array){pith_export_type(v->type), w.rank, w.dims,
                              form == EXPORT_TRANSPOSED ? transposed(x, &w) : v->constant->data,
                              v->constant->count * each});
}
