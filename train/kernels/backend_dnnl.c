/* SPDX-License-Identifier: MIT */
/* backend_dnnl.c - the primitives through oneDNN (2.6 or 3).
 *
 * Activations are channels last, which its convolutions take without repacking; weights stay as the
 * model has them and are reordered to what a primitive wants on each call, for they have changed
 * since. oneDNN splits its work by OpenMP: each call here tells OpenMP to work alone, and puts its
 * setting back. */
#include "dnnl_desc.h"
#include "dnnl_load.h"
#include "prim_backend.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_DIMS = DNNL_MAX_NDIMS }; /* the length of the library's lists */

struct library {
    struct prim head;
    dnnl_engine_t engine;
    dnnl_stream_t stream;
    bool no_memory; /* a buffer for it could not be had; all else that fails is not supported */
};

/* ---- one call -------------------------------------------------------------------------------- */

/* OpenMP works alone; the setting as it was. */
static int enter(void)
{
    const int threads = pith_dnnl.max_threads();
    pith_dnnl.set_threads(1);
    return threads;
}

static void leave(int threads)
{
    pith_dnnl.set_threads(threads);
}

static struct library *library_of(struct prim *p)
{
    return (struct library *)(void *)p;
}

static void gemm(struct prim *prim, const struct prim_product *g)
{
    (void)prim;
    const int threads = enter();
    pith_dnnl.sgemm(g->trans_a ? 'T' : 'N', g->trans_b ? 'T' : 'N', g->m, g->n, g->k, g->alpha,
                    g->a, g->lda, g->b, g->ldb, g->add ? 1.0f : 0.0f, g->c, g->ldc);
    leave(threads);
}

/* ---- memories -------------------------------------------------------------------------------- */

/* Dense f32 with the axes in the order `outermost first`. Here and below, false: refused. */
static bool dense(struct dnnl_tensor *t, int rank, const dnnl_dim_t *dims, const int *order)
{
    dnnl_dims_t strides;
    dnnl_dim_t step = 1;
    for (int i = rank - 1; i >= 0; i--) {
        strides[order[i]] = step;
        step *= dims[order[i]];
    }
    return pith_dnnl_tensor_strided(t, rank, dims, strides);
}

static bool channels_last(struct dnnl_tensor *t, int axes, int64_t n, int64_t c,
                          const int64_t *spatial)
{
    dnnl_dim_t dims[MAX_DIMS] = {n, c};
    int order[MAX_DIMS] = {0};
    for (int i = 0; i < axes; i++) {
        dims[2 + i] = spatial[i];
        order[1 + i] = 2 + i;
    }
    order[1 + axes] = 1;
    return dense(t, 2 + axes, dims, order);
}

static bool row_major(struct dnnl_tensor *t, int rank, const dnnl_dim_t *dims)
{
    static const int order[] = {0, 1, 2, 3, 4, 5};
    return dense(t, rank, dims, order);
}

/* A primitive and what it is called with: at most 5 tensors and its working memory. One thread at a
 * time executes it, whichever made it. */
struct operation {
    dnnl_primitive_t primitive;
    dnnl_exec_arg_t arg[6];
    int n_args;
    void *scratch; /* owns */
};

/* form: what oneDNN takes for a tensor's descriptor (pith_dnnl_tensor), as below. */
static bool add_memory(struct library *p, struct operation *o, int arg, const void *form,
                       void *data)
{
    o->arg[o->n_args].arg = arg;
    if (pith_dnnl.memory_create(&o->arg[o->n_args].memory, form, p->engine, data) != dnnl_success)
        return false;
    o->n_args++;
    return true;
}

static bool add_tensor(struct library *p, struct operation *o, int arg, const struct dnnl_tensor *t)
{
    return add_memory(p, o, arg, pith_dnnl_tensor(t), NULL);
}

static void set_data(struct operation *o, int i, const void *data)
{
    pith_dnnl.memory_set_data_handle(o->arg[i].memory, (void *)(uintptr_t)data);
}

static void execute(struct library *p, const struct operation *o)
{
    pith_dnnl.primitive_execute(o->primitive, p->stream, o->n_args, o->arg);
    pith_dnnl.stream_wait(p->stream);
}

static void clear(struct operation *o)
{
    for (int i = 0; i < o->n_args; i++)
        pith_dnnl.memory_destroy(o->arg[i].memory);
    if (o->primitive)
        pith_dnnl.primitive_destroy(o->primitive);
    free(o->scratch);
    memset(o, 0, sizeof *o);
}

static const void *wanted(const_dnnl_primitive_desc_t desc, dnnl_query_t what)
{
    return pith_dnnl.primitive_desc_query_md(desc, what, 0);
}

static void *line_alloc(struct library *p, size_t bytes)
{
    void *lines = aligned_alloc(64, (bytes + 63) & ~(size_t)63);
    p->no_memory |= !lines;
    return lines;
}

static bool make_primitive(struct operation *o, const_dnnl_primitive_desc_t desc)
{
    return pith_dnnl.primitive_create(&o->primitive, desc) == dnnl_success;
}

/* Behind the tensors: set_data counts these. */
static bool add_scratch(struct library *p, struct operation *o, const_dnnl_primitive_desc_t desc)
{
    const void *form = wanted(desc, dnnl_query_scratchpad_md);
    size_t bytes = form ? pith_dnnl.memory_desc_get_size(form) : 0;
    if (bytes == 0)
        return true;
    o->scratch = line_alloc(p, bytes);
    return o->scratch && add_memory(p, o, DNNL_ARG_SCRATCHPAD, form, o->scratch);
}

/* Copies between two forms of one tensor. */
static bool make_reorder(struct library *p, struct operation *o, const void *from, const void *to,
                         void *from_data, void *to_data)
{
    dnnl_primitive_desc_t desc;
    if (pith_dnnl.reorder_primitive_desc_create(&desc, from, p->engine, to, p->engine, NULL) !=
        dnnl_success)
        return false;
    bool ok = make_primitive(o, desc);
    pith_dnnl.primitive_desc_destroy(desc);
    return ok && add_memory(p, o, DNNL_ARG_FROM, from, from_data) &&
           add_memory(p, o, DNNL_ARG_TO, to, to_data);
}

static struct dnnl_window window_of(const struct prim_conv_shape *s)
{
    struct dnnl_window w;
    for (uint32_t i = 0; i < s->axes; i++) {
        w.kernel[i] = s->kernel[i];
        w.stride[i] = s->stride[i];
        w.dilation[i] = s->dilation[i] - 1; /* oneDNN counts the gaps */
        w.begin[i] = s->pad_begin[i];
        w.end[i] = s->pad_end[i];
    }
    return w;
}

/* ---- convolution ----------------------------------------------------------------------------- */

struct conv {
    struct prim_conv head;
    struct library *p;
    /* Weights as each direction wants them; data and weight gradients only where asked for. */
    float *w_forward, *w_data, *w_grad;
    float *bias; /* zeros, where the caller has none; his gradient of it goes there too */
    int64_t o;
    struct operation forward, data, weights;
    struct operation to_forward, to_data, from_grad;
};

/* What the three directions share. */
struct conv_descs {
    struct dnnl_tensor x, y, w, w_any, bias;
    struct dnnl_window window;
};

static void clear_descs(struct conv_descs *d)
{
    struct dnnl_tensor *all[] = {&d->x, &d->y, &d->w, &d->w_any, &d->bias};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        pith_dnnl_tensor_clear(all[i]);
}

/* d: zeros. */
static bool describe(const struct prim_conv_shape *s, struct conv_descs *d)
{
    int axes = (int)s->axes, grouped = s->group > 1;
    dnnl_dims_t dims;
    int rank = 0;
    if (grouped)
        dims[rank++] = s->group;
    dims[rank++] = s->o / s->group;
    dims[rank++] = s->c / s->group;
    for (int i = 0; i < axes; i++)
        dims[rank++] = s->kernel[i];
    d->window = window_of(s);
    const dnnl_dims_t o = {s->o};
    return channels_last(&d->x, axes, s->n, s->c, s->in) &&
           channels_last(&d->y, axes, s->n, s->o, s->out) && row_major(&d->w, rank, dims) &&
           pith_dnnl_tensor_any(&d->w_any, rank, dims) && row_major(&d->bias, 1, o);
}

/* Weights in the form of `wanted`: its buffer and the reorder between it and the model's. */
static bool own_form(struct conv *conv, const struct conv_descs *d, const void *form, bool back,
                     float **buffer, struct operation *reorder)
{
    *buffer = line_alloc(conv->p, pith_dnnl.memory_desc_get_size(form));
    if (!*buffer)
        return false;
    const void *models = pith_dnnl_tensor(&d->w);
    return back ? make_reorder(conv->p, reorder, form, models, *buffer, NULL)
                : make_reorder(conv->p, reorder, models, form, NULL, *buffer);
}

static bool make_forward(struct conv *conv, const struct conv_descs *d,
                         dnnl_primitive_desc_t *forward)
{
    if (!pith_dnnl_conv_forward(forward, conv->p->engine, &d->x, &d->w_any, &d->bias, &d->y,
                                &d->window))
        return false;
    const void *w = wanted(*forward, dnnl_query_weights_md);
    return make_primitive(&conv->forward, *forward) &&
           own_form(conv, d, w, false, &conv->w_forward, &conv->to_forward) &&
           add_tensor(conv->p, &conv->forward, DNNL_ARG_SRC, &d->x) &&
           add_tensor(conv->p, &conv->forward, DNNL_ARG_DST, &d->y) &&
           add_tensor(conv->p, &conv->forward, DNNL_ARG_BIAS, &d->bias) &&
           add_memory(conv->p, &conv->forward, DNNL_ARG_WEIGHTS, w, conv->w_forward) &&
           add_scratch(conv->p, &conv->forward, *forward);
}

static bool make_data(struct conv *conv, const struct conv_descs *d,
                      const_dnnl_primitive_desc_t forward)
{
    dnnl_primitive_desc_t desc;
    if (!pith_dnnl_conv_data(&desc, conv->p->engine, &d->x, &d->w_any, &d->y, &d->window, forward))
        return false;
    const void *w = wanted(desc, dnnl_query_weights_md);
    bool ok = make_primitive(&conv->data, desc) &&
              own_form(conv, d, w, false, &conv->w_data, &conv->to_data) &&
              add_tensor(conv->p, &conv->data, DNNL_ARG_DIFF_DST, &d->y) &&
              add_tensor(conv->p, &conv->data, DNNL_ARG_DIFF_SRC, &d->x) &&
              add_memory(conv->p, &conv->data, DNNL_ARG_WEIGHTS, w, conv->w_data) &&
              add_scratch(conv->p, &conv->data, desc);
    pith_dnnl.primitive_desc_destroy(desc);
    return ok;
}

static bool make_weights(struct conv *conv, const struct conv_descs *d,
                         const_dnnl_primitive_desc_t forward)
{
    dnnl_primitive_desc_t desc;
    if (!pith_dnnl_conv_weights(&desc, conv->p->engine, &d->x, &d->w_any, &d->bias, &d->y,
                                &d->window, forward))
        return false;
    const void *w = wanted(desc, dnnl_query_diff_weights_md);
    bool ok = make_primitive(&conv->weights, desc) &&
              own_form(conv, d, w, true, &conv->w_grad, &conv->from_grad) &&
              add_tensor(conv->p, &conv->weights, DNNL_ARG_SRC, &d->x) &&
              add_tensor(conv->p, &conv->weights, DNNL_ARG_DIFF_DST, &d->y) &&
              add_tensor(conv->p, &conv->weights, DNNL_ARG_DIFF_BIAS, &d->bias) &&
              add_memory(conv->p, &conv->weights, DNNL_ARG_DIFF_WEIGHTS, w, conv->w_grad) &&
              add_scratch(conv->p, &conv->weights, desc);
    pith_dnnl.primitive_desc_destroy(desc);
    return ok;
}

static struct conv *conv_of(struct prim_conv *head)
{
    return (struct conv *)(void *)head;
}

static void conv_free(struct prim_conv *head)
{
    struct conv *conv = conv_of(head);
    struct operation *all[] = {&conv->forward,    &conv->data,    &conv->weights,
                               &conv->to_forward, &conv->to_data, &conv->from_grad};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        clear(all[i]);
    free(conv->bias);
    free(conv->w_forward);
    free(conv->w_data);
    free(conv->w_grad);
    free(conv);
}

static enum pith_status conv_new(struct prim *prim, const struct prim_conv_shape *s, bool need_dx,
                                 struct prim_conv **conv)
{
    struct library *p = library_of(prim);
    struct conv *made = calloc(1, sizeof *made);
    struct conv_descs d = {0};
    dnnl_primitive_desc_t forward = NULL;
    if (!made)
        return PITH_ERR_MEMORY;
    made->p = p;
    made->o = s->o;
    made->bias = calloc((size_t)s->o, sizeof *made->bias);
    const int threads = enter();
    bool ok = made->bias && describe(s, &d) && make_forward(made, &d, &forward) &&
              make_weights(made, &d, forward) && (!need_dx || make_data(made, &d, forward));
    leave(threads);
    clear_descs(&d);
    if (forward)
        pith_dnnl.primitive_desc_destroy(forward);
    if (!ok) {
        bool no_memory = !made->bias || p->no_memory;
        conv_free(&made->head);
        return no_memory ? PITH_ERR_MEMORY : PITH_ERR_UNSUPPORTED;
    }
    *conv = &made->head;
    return PITH_OK;
}

static void conv_forward(struct prim_conv *head, const float *x, const float *w, const float *bias,
                         float *y)
{
    struct conv *conv = conv_of(head);
    const int threads = enter();
    if (!bias)
        memset(conv->bias, 0, (size_t)conv->o * sizeof *bias);
    set_data(&conv->to_forward, 0, w);
    execute(conv->p, &conv->to_forward);
    set_data(&conv->forward, 0, x);
    set_data(&conv->forward, 1, y);
    set_data(&conv->forward, 2, bias ? bias : conv->bias);
    execute(conv->p, &conv->forward);
    leave(threads);
}

static void conv_backward(struct prim_conv *head, const float *x, const float *w, const float *dy,
                          float *dx, float *dw, float *db)
{
    struct conv *conv = conv_of(head);
    const int threads = enter();
    if (dx) {
        set_data(&conv->to_data, 0, w);
        execute(conv->p, &conv->to_data);
        set_data(&conv->data, 0, dy);
        set_data(&conv->data, 1, dx);
        execute(conv->p, &conv->data);
    }
    if (dw || db) {
        set_data(&conv->weights, 0, x);
        set_data(&conv->weights, 1, dy);
        set_data(&conv->weights, 2, db ? db : conv->bias);
        execute(conv->p, &conv->weights);
    }
    if (dw) {
        set_data(&conv->from_grad, 1, dw);
        execute(conv->p, &conv->from_grad);
    }
    leave(threads);
}

/* ---- pooling --------------------------------------------------------------------------------- */

struct pool {
    struct prim_pool head;
    struct library *p;
    struct operation forward, backward;
    void *workspace; /* max: where each value came from */
};

static bool make_pool_passes(struct pool *pool, const struct dnnl_tensor *x,
                             const struct dnnl_tensor *y, dnnl_primitive_desc_t forward,
                             dnnl_primitive_desc_t backward)
{
    bool ok = make_primitive(&pool->forward, forward) &&
              make_primitive(&pool->backward, backward) &&
              add_tensor(pool->p, &pool->forward, DNNL_ARG_SRC, x) &&
              add_tensor(pool->p, &pool->forward, DNNL_ARG_DST, y) &&
              add_tensor(pool->p, &pool->backward, DNNL_ARG_DIFF_DST, y) &&
              add_tensor(pool->p, &pool->backward, DNNL_ARG_DIFF_SRC, x);
    const void *w = wanted(forward, dnnl_query_workspace_md);
    size_t bytes = w ? pith_dnnl.memory_desc_get_size(w) : 0;
    if (ok && bytes > 0) {
        pool->workspace = line_alloc(pool->p, bytes);
        ok = pool->workspace &&
             add_memory(pool->p, &pool->forward, DNNL_ARG_WORKSPACE, w, pool->workspace) &&
             add_memory(pool->p, &pool->backward, DNNL_ARG_WORKSPACE, w, pool->workspace);
    }
    return ok && add_scratch(pool->p, &pool->forward, forward) &&
           add_scratch(pool->p, &pool->backward, backward);
}

static bool make_pool(struct pool *pool, const struct prim_conv_shape *s, dnnl_alg_kind_t kind,
                      dnnl_primitive_desc_t *forward, dnnl_primitive_desc_t *backward)
{
    struct dnnl_tensor x = {0}, y = {0};
    struct dnnl_window v = window_of(s);
    dnnl_engine_t engine = pool->p->engine;
    bool ok = channels_last(&x, (int)s->axes, s->n, s->c, s->in) &&
              channels_last(&y, (int)s->axes, s->n, s->c, s->out) &&
              pith_dnnl_pool_forward(forward, engine, kind, &x, &y, &v) &&
              pith_dnnl_pool_backward(backward, engine, kind, &x, &y, &v, *forward) &&
              make_pool_passes(pool, &x, &y, *forward, *backward);
    pith_dnnl_tensor_clear(&x);
    pith_dnnl_tensor_clear(&y);
    return ok;
}

static struct pool *pool_of(struct prim_pool *head)
{
    return (struct pool *)(void *)head;
}

static void pool_free(struct prim_pool *head)
{
    struct pool *pool = pool_of(head);
    clear(&pool->forward);
    clear(&pool->backward);
    free(pool->workspace);
    free(pool);
}

static enum pith_status pool_new(struct prim *prim, const struct prim_conv_shape *s,
                                 enum prim_pool_kind kind, struct prim_pool **pool)
{
    static const dnnl_alg_kind_t kinds[] = {[PRIM_POOL_MAX] = dnnl_pooling_max,
                                            [PRIM_POOL_AVERAGE] = dnnl_pooling_avg_exclude_padding,
                                            [PRIM_POOL_AVERAGE_WITH_PADS] =
                                                dnnl_pooling_avg_include_padding};
    struct library *p = library_of(prim);
    struct pool *made = calloc(1, sizeof *made);
    dnnl_primitive_desc_t forward = NULL, backward = NULL;
    if (!made)
        return PITH_ERR_MEMORY;
    made->p = p;
    const int threads = enter();
    bool ok = make_pool(made, s, kinds[kind], &forward, &backward);
    leave(threads);
    if (forward)
        pith_dnnl.primitive_desc_destroy(forward);
    if (backward)
        pith_dnnl.primitive_desc_destroy(backward);
    if (!ok) {
        pool_free(&made->head);
        return p->no_memory ? PITH_ERR_MEMORY : PITH_ERR_UNSUPPORTED;
    }
    *pool = &made->head;
    return PITH_OK;
}

static void pool_forward(struct prim_pool *head, const float *x, float *y)
{
    struct pool *pool = pool_of(head);
    const int threads = enter();
    set_data(&pool->forward, 0, x);
    set_data(&pool->forward, 1, y);
    execute(pool->p, &pool->forward);
    leave(threads);
}

static void pool_backward(struct prim_pool *head, const float *dy, float *dx)
{
    struct pool *pool = pool_of(head);
    const int threads = enter();
    set_data(&pool->backward, 0, dy);
    set_data(&pool->backward, 1, dx);
    execute(pool->p, &pool->backward);
    leave(threads);
}

/* ---- the backend ----------------------------------------------------------------------------- */

static void library_free(struct prim *head)
{
    struct library *p = library_of(head);
    if (p->stream)
        pith_dnnl.stream_destroy(p->stream);
    if (p->engine)
        pith_dnnl.engine_destroy(p->engine);
    free(p);
}

static const struct prim_backend backend = {
    .free = library_free,
    .gemm = gemm,
    .conv_new = conv_new,
    .conv_free = conv_free,
    .conv_forward = conv_forward,
    .conv_backward = conv_backward,
    .pool_new = pool_new,
    .pool_free = pool_free,
    .pool_forward = pool_forward,
    .pool_backward = pool_backward,
};

enum pith_status pith_prim_new(struct prim **p)
{
    if (!pith_dnnl_load())
        return PITH_ERR_UNSUPPORTED;
    struct library *made = calloc(1, sizeof *made);
    if (!made)
        return PITH_ERR_MEMORY;
    made->head.backend = &backend;
    if (pith_dnnl.engine_create(&made->engine, dnnl_cpu, 0) != dnnl_success ||
        pith_dnnl.stream_create(&made->stream, made->engine, dnnl_stream_default_flags) !=
            dnnl_success) {
        library_free(&made->head);
        return PITH_ERR_UNSUPPORTED;
    }
    *p = &made->head;
    return PITH_OK;
}
