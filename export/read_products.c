/* SPDX-License-Identifier: MIT */
/* read_products.c - convolutions and products of integers. */
#include "reading.h"
#include "core/op_number.h"
#include "op_interface/op_attr.h"

#include <string.h>

/* ---- products of integers ---------------------------------------------------------------------
 */

bool pith_export_window_of(const struct pith_model *m, const struct pith_node *n,
                           struct window_slots slots, const uint32_t kernel[2],
                           struct window_shape *g)
{
    const struct pith_value *x = &m->values[n->in[0]], *y = &m->values[n->out[0]];
    const uint32_t rows = x->rank == 4;
    if ((x->rank != 3 && x->rank != 4) || x->dim[0] != 1)
        return false;
    *g = (struct window_shape){.c = x->dim[1],
                               .h = rows ? x->dim[2] : 1,
                               .w = x->dim[x->rank - 1],
                               .oc = y->dim[1],
                               .oh = rows ? y->dim[2] : 1,
                               .ow = y->dim[x->rank - 1],
                               .kh = rows ? kernel[0] : 1,
                               .kw = kernel[rows],
                               .stride_h = 1,
                               .dil_h = 1,
                               .groups = 1};
    g->stride_w = (uint32_t)attr_item(n->attr, slots.strides, rows, 1);
    g->dil_w = (uint32_t)attr_item(n->attr, slots.dilations, rows, 1);
    g->pad_left = (uint32_t)attr_item(n->attr, slots.pads, rows, 0);
    if (rows) {
        g->stride_h = (uint32_t)attr_item(n->attr, slots.strides, 0, 1);
        g->dil_h = (uint32_t)attr_item(n->attr, slots.dilations, 0, 1);
        g->pad_top = (uint32_t)attr_item(n->attr, slots.pads, 0, 0);
    }
    for (uint32_t i = 0; i <= rows; i++)
        g->pads_end |= attr_item(n->attr, slots.pads, rows + 1u + i, 0) != 0;
    /* What the last windows reach beyond the image, which is not what the file pads there. */
    const int64_t across = (int64_t)(g->ow - 1) * g->stride_w + (int64_t)(g->kw - 1) * g->dil_w + 1;
    const int64_t right = across - g->pad_left - g->w;
    g->pad_right = right > 0 ? (uint32_t)right : 0;
    return true;
}

bool pith_export_conv_window(const struct pith_model *m, const struct pith_node *n,
                             struct window_shape *g)
{
    const struct pith_value *w = &m->values[n->in[1]];
    const uint32_t kernel[2] = {w->dim[2], w->dim[w->rank - 1]};
    const struct window_slots slots = {ATTR_CONV_STRIDES, ATTR_CONV_DILATIONS, ATTR_CONV_PADS};
    if (!pith_export_window_of(m, n, slots, kernel, g))
        return false;
    g->groups = (uint32_t)n->attr[ATTR_CONV_GROUP];
    return true;
}

bool pith_export_is_small(const struct window_shape *g)
{
    const uint32_t most = UINT16_MAX;
    return g->c < most && g->h < most && g->w < most && g->oc < most && g->oh < most &&
           g->ow < most && g->kh < most && g->kw < most && g->stride_h < most &&
           g->stride_w < most && g->dil_h < most && g->dil_w < most && g->pad_top < most &&
           g->pad_left < most && g->pad_right < most;
}

/* Filters as [outputs][taps][channels], zeros behind each row of `row` up to `padded`. */
static int8_t *filters(struct reading *r, const struct pith_node *n, uint32_t outputs,
                       uint32_t channels, uint32_t taps, bool turned)
{
    const int8_t *from = constant_of(r->m, n->in[1])->data;
    int8_t *w = pith_model_alloc(r->m, (uint64_t)outputs * channels * taps, 1);
    if (!w) {
        r->no_memory = true;
        return NULL;
    }
    for (uint32_t o = 0; o < outputs; o++)
        for (uint32_t t = 0; t < taps; t++)
            for (uint32_t c = 0; c < channels; c++)
                w[((size_t)o * taps + t) * channels + c] =
                    turned ? from[(size_t)c * outputs + o]
                           : from[((size_t)o * channels + c) * taps + t];
    return w;
}

/* bias - zero point of x * sum of the weights. false: a sum may not fit 32 bits, or no memory. */
static bool offsets(struct reading *r, struct step *s, const int32_t *bias)
{
    int32_t *b = pith_model_alloc(r->m, s->outputs + 1u, sizeof *b);
    if (!b) {
        r->no_memory = true;
        return false;
    }
    for (uint32_t o = 0; o < s->outputs; o++) {
        int64_t sum = 0, size = 0;
        for (uint32_t i = 0; i < s->product.k; i++) {
            const int8_t w = s->product.w[(size_t)o * s->product.k + i];
            sum += w;
            size += w < 0 ? -w : w;
        }
        const int64_t offset = (bias ? bias[o] : 0) - (int64_t)s->zero_x * sum;
        const int64_t most = (offset < 0 ? -offset : offset) + 255 * size;
        if (most > INT32_MAX)
            return false;
        b[o] = (int32_t)offset;
    }
    s->product.bias = b;
    return true;
}

static const float *factors(struct reading *r, const struct pith_const *c, uint32_t outputs)
{
    float *f = pith_model_alloc(r->m, outputs + 1u, sizeof *f);
    if (!f) {
        r->no_memory = true;
        return NULL;
    }
    for (uint32_t o = 0; o < outputs; o++)
        f[o] = ((const float *)c->data)[c->count == 1 ? 0 : o];
    return f;
}

static enum step_kind product_kind(const struct window_shape *g, bool is_conv)
{
    if (!is_conv)
        return STEP_PRODUCT;
    if (g->groups == 1 && g->kh == 1 && g->kw == 1 && g->stride_h == 1 && g->stride_w == 1 &&
        g->pad_top == 0 && g->pad_left == 0 && g->oh == g->h && g->ow == g->w)
        return STEP_POINTWISE;
    if (g->groups == g->c && g->c == g->oc && g->c % 4 == 0)
        return STEP_DEPTHWISE;
    return g->groups == 1 ? STEP_CONV : STEP_GROUPED;
}

enum pith_status pith_export_product(struct reading *r, const struct value *sums,
                                     const struct pith_node *end)
{
    struct pith_model *m = r->m;
    const struct pith_node *n = &m->nodes[sums->node];
    const bool is_conv = n->op == PITH_OP_CONV_INTEGER, to_f32 = end->op == PITH_OP_DEQUANTIZE;
    const struct pith_value *x = &m->values[n->in[0]], *w = &m->values[n->in[1]];
    const uint32_t zx = input_of(n, 2), zw = input_of(n, 3), y = end->out[0];
    const uint32_t bias_at = sums->bias;
    const struct pith_const *factor = constant_of(m, input_of(end, 1));
    const struct pith_const *zero = constant_of(m, input_of(end, 2));
    struct window_shape g = {0};
    uint32_t outputs, k, rows = 1;
    bool turned = false;
    if (!constant_of(m, n->in[1]) || w->type != PITH_I8 || zw != PITH_VALUE_NONE)
        return pith_export_refuse(r, n,
                                  "has weights that are no constant integers of 8 bits around 0");
    if (!is_byte_type(x->type) ||
        (zx != PITH_VALUE_NONE && (!constant_of(m, zx) || elems(m, zx) != 1)))
        return pith_export_refuse(r, n, "reads no bytes with one zero point");
    if (!factor || m->values[input_of(end, 1)].type != PITH_F32 ||
        (bias_at != PITH_VALUE_NONE && !constant_of(m, bias_at)))
        return pith_export_refuse(r, n, "has a bias or scale that is computed");
    if (r->value[n->in[0]].form != FORM_STORED)
        return pith_export_refuse(r, n, "reads a value that no exported layer gives");
    if (is_conv) {
        if (!pith_export_conv_window(m, n, &g) || !pith_export_is_small(&g))
            return pith_export_refuse(
                r, n, "is no convolution over one or two axes of a few thousand places");
        outputs = g.oc;
        k = g.c / g.groups * g.kh * g.kw;
    } else {
        turned = n->attr[ATTR_MATMUL_TRANS_B] == 0;
        if (w->rank != 2)
            return pith_export_refuse(r, n, "has a weight that is no matrix");
        k = w->dim[turned ? 0 : 1];
        outputs = w->dim[turned ? 1 : 0];
        rows = (uint32_t)(elems(m, n->in[0]) / k);
    }
    if (bias_at != PITH_VALUE_NONE &&
        (constant_of(m, bias_at)->count != outputs || m->values[bias_at].type != PITH_I32))
        return pith_export_refuse(r, n, "has a bias that is none of its outputs");
    if (to_f32 && zero && integer_at(PITH_I32, zero->data, 0) != 0)
        return pith_export_refuse(r, n, "has sums with a zero point");
    if (factor->count != 1 &&
        (factor->count != outputs ||
         (uint32_t)end->attr[ATTR_QUANTIZE_AXIS] != (is_conv ? 1 : m->values[y].rank - 1)))
        return pith_export_refuse(r, n, "has scales along an axis that is not its outputs'");
    if (outputs >= UINT16_MAX)
        return pith_export_refuse(r, n, "has too many outputs");
    struct step *s;
    uint32_t from = r->value[n->in[0]].store, to;
    const enum step_kind kind = !to_f32   ? product_kind(&g, is_conv)
                                : is_conv ? STEP_GROUPED_F32
                                          : STEP_PRODUCT_F32;
    const int8_t *filter;
    const struct store *image = &r->net->store[from];
    bool by_pixel = false;
    if (is_conv) {
        from = pith_export_by_pixels(r, n, from, g.c);
        filter = filters(r, n, outputs, g.c / g.groups, g.kh * g.kw, false);
    } else if (rows == 1 && image->channels > 1) {
        /* A vector that lies pixel by pixel: the filters' elements are put in that order. */
        by_pixel = true;
        filter = NULL;
    } else {
        from = pith_export_in_file_order(r, n, from);
        filter = filters(r, n, outputs, k, 1, turned);
    }
    /* Kernels read words: behind the caller's array they may not. */
    if (r->net->store[from].input != STORE_NONE && k % 4 && kind != STEP_CONV &&
        kind != STEP_GROUPED && kind != STEP_GROUPED_F32 && kind != STEP_DEPTHWISE)
        from = pith_export_copied(r, n, from);
    to = is_conv ? pith_export_store_for(r, y, to_f32 ? ELEMENT_F32 : ELEMENT_U8)
                 : pith_export_new_store(r, to_f32 ? ELEMENT_F32 : ELEMENT_U8, 1,
                                         (uint32_t)elems(m, y)); /* rows are in no other order */
    if (r->no_memory)
        return PITH_ERR_MEMORY;
    if (by_pixel) {
        const uint32_t channels = r->net->store[from].channels, pixels = k / channels;
        int8_t *plain = filters(r, n, outputs, k, 1, turned);
        int8_t *f = pith_model_alloc(m, (uint64_t)outputs * k, 1);
        if (!plain || !f)
            return PITH_ERR_MEMORY;
        for (uint32_t o = 0; o < outputs; o++)
            for (uint32_t c = 0; c < channels; c++)
                for (uint32_t p = 0; p < pixels; p++)
                    f[(size_t)o * k + p * channels + c] = plain[(size_t)o * k + c * pixels + p];
        filter = f;
    }
    s = pith_export_new_step(r, kind, n, from, to);
    s->g = g;
    s->product.w = filter;
    s->outputs = outputs;
    s->product.k = k;
    s->rows = rows;
    s->zero_x =
        (uint8_t)((zx == PITH_VALUE_NONE ? 0 : integer_at(x->type, constant_of(m, zx)->data, 0)) +
                  (x->type == PITH_I8 ? 128 : 0));
    if (zero && !to_f32)
        s->zero_y = (uint8_t)(integer_at(m->values[y].type, zero->data, 0) +
                              (m->values[y].type == PITH_I8 ? 128 : 0));
    s->product.factor = factors(r, factor, outputs);
    s->macs = (uint64_t)k * outputs * (is_conv ? (uint64_t)g.oh * g.ow : rows);
    const struct pith_const *bias = constant_of(m, bias_at);
    if (!offsets(r, s, bias ? bias->data : NULL))
        return r->no_memory ? PITH_ERR_MEMORY
                            : pith_export_refuse(r, n, "has sums that 32 bits may not hold");
    pith_export_set_stored(r, y, to);
    return r->no_memory ? PITH_ERR_MEMORY : PITH_OK;
}
