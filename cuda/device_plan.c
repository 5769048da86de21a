/* SPDX-License-Identifier: MIT */
/* device_plan.c - a finished plan gets its memory on the device, its weights there, and becomes one
 * graph where nothing has to wait for the CPU. */
#include <stdlib.h>
#include "device_plan.h"
#include "device_huffman.h"
#include "pith_host.h"

#define GRAPH_STEPS 65536u /* more of them, in long loops, are put on the stream one by one */
#define PINNED_ALIGN 64u

static enum pith_status no_memory(struct pith_error *err)
{
    return pith_error_set(err, PITH_ERR_MEMORY, "cuda: out of memory");
}

/* Of the driver: success leaves the context current until leave(). */
static enum pith_status enter(const struct pith_cuda *cuda, struct pith_error *err)
{
    return pith_driver_status(cuda, cuda->cuCtxPushCurrent_v2(cuda->context), "the device was lost",
                              err);
}

static void leave(const struct pith_cuda *cuda)
{
    void *context;
    cuda->cuCtxPopCurrent_v2(&context);
}

/* ---- lowering ------------------------------------------------------------------------------- */

/* Of a value in the arena; constants count when they are lowered. */
static uint64_t arena_bytes(const struct pith_cuda_plan *p, const struct tview *t)
{
    return t && t->data && !pith_device_is_constant(&p->lowering, t)
               ? shape_elems(&t->shape) * pith_device_each(&p->lowering, t)
               : 0;
}

/* A lowering function may have appended actions before it finds that it has no kernel for the step;
 * they are dropped again. Arguments and constants of such a step stay: they only take room. */
static void lower_one(struct pith_cuda_plan *p, uint32_t i)
{
    struct lowering *l = &p->lowering;
    const struct step *s = &p->plan->step[i];
    struct device_step *d = &p->step[i];
    d->first = l->n_actions;
    d->on_cpu = false;
    l->step_bytes = 0;
    l->n_converted = 0;
    l->converted_bytes = 0;
    if (l->joined) { /* by the step before */
        l->joined--;
        d->n = 0;
        d->bytes = 0;
        return;
    }
    l->behind = pith_device_behind(p->plan, i);
    if (l->values && i == 0)
        pith_device_convert_ends(l, false);
    if (s->args.info->flags & OP_CONTROL) {
        pith_device_lower_control(l, s);
    } else if (!pith_device_step(l, s)) {
        d->on_cpu = true;
        l->joined = 0;
        l->n_actions = d->first;
    }
    l->n_converted = 0;
    if (l->values && i + 1 == p->plan->n_steps)
        pith_device_convert_ends(l, true);
    d->n = l->n_actions - d->first;
    d->bytes = l->step_bytes;
    for (uint32_t k = 0; k < s->args.n_in; k++)
        d->bytes += arena_bytes(p, s->args.in[k]);
    s = l->joined ? l->behind.last : s; /* whose outputs are written */
    for (uint32_t k = 0; k < s->args.n_out; k++)
        d->bytes += arena_bytes(p, s->args.out[k]);
}

/* The list of constants is kept from the first pass to the second, which finds every one of them
 * again and so hands out the offsets that were counted. */
static enum pith_status lower_all(struct pith_cuda_plan *p, struct pith_error *err)
{
    p->lowering.n_actions = p->lowering.n_args = 0;
    p->lowering.joined = 0;
    for (uint32_t i = 0; i < p->plan->n_steps; i++)
        lower_one(p, i);
    return p->lowering.no_memory ? no_memory(err) : PITH_OK;
}

/* A step on the CPU reads values in the host's arena, where none is moved or of 16 bits. */
static enum pith_status count(struct pith_cuda_plan *p, struct pith_error *err)
{
    struct lowering *l = &p->lowering;
    bool on_cpu = false;
    const bool found = pith_device_find_places(l) && pith_device_find_values(l);
    enum pith_status st = found ? lower_all(p, err) : no_memory(err);
    for (uint32_t i = 0; i < p->plan->n_steps && !st; i++)
        on_cpu = on_cpu || p->step[i].on_cpu;
    if (!on_cpu || st)
        return st;
    pith_device_places_free(&l->places);
    l->values = VALUE_F32;
    return lower_all(p, err);
}

/* ---- memory --------------------------------------------------------------------------------- */

/* Nothing is taken for 0 bytes, which the driver refuses; the address then stays 0. */
static enum pith_status take(struct pith_cuda_plan *p, uint64_t bytes, device_address *at,
                             struct pith_error *err)
{
    int result = bytes ? p->cuda->cuMemAlloc_v2(at, bytes) : 0;
    if (!result)
        p->device_bytes += bytes;
    return pith_driver_status(p->cuda, result, "cannot take memory for the model", err);
}

/* Input i, or output i - n_inputs, as the plan has it. */
static struct tview *end_of(const struct pith_cuda_plan *p, uint32_t i)
{
    const struct graph *g = &p->plan->graph;
    return &p->plan->value[i < p->n_inputs ? i : g->outputs[i - p->n_inputs]];
}

/* Inputs and outputs, and their pinned memory. An end outside the arena is a constant of the plan:
 * its data are on the host already, and its address stays 0. Copies go through pinned memory
 * because the driver copies from pageable memory only through a buffer of its own. Each end has its
 * own part of it, so the inputs of a run are still there when its outputs arrive. */
static enum pith_status find_ends(struct pith_cuda_plan *p, struct pith_error *err)
{
    uint32_t n = p->n_inputs + p->n_outputs;
    uint64_t bytes = 0;
    void *pinned = NULL;
    const uint8_t *arena = p->plan->arena;
    for (uint32_t i = 0; i < n; i++) {
        const struct tview *t = end_of(p, i);
        uintptr_t at = (uintptr_t)t->data - (uintptr_t)arena;
        if (!t->data || at >= p->plan->arena_bytes)
            continue;
        struct device_end *e = &p->end[i];
        *e = (struct device_end){.address = p->arena + at,
                                 .bytes = shape_elems(&t->shape) * pith_type_bytes(t->type),
                                 .pinned_at = bytes};
        bytes += (e->bytes + PINNED_ALIGN - 1) / PINNED_ALIGN * PINNED_ALIGN;
    }
    int result = bytes ? p->cuda->cuMemHostAlloc(&pinned, bytes, 0) : 0;
    p->pinned = pinned;
    return pith_driver_status(p->cuda, result, "cannot take pinned memory", err);
}

static enum pith_status cannot_unpack(struct pith_error *err, enum pith_status st)
{
    return pith_error_set(err, st, "cuda: cannot unpack a weight: %s", pith_status_text(st));
}

/* Waits for the copy, as `packed` is freed then: at most one constant is unpacked at a time. */
static enum pith_status upload(struct pith_cuda_plan *p, const struct constant *c,
                               struct pith_error *err)
{
    int result = 0;
    if (pith_device_decodes(p->cuda, c)) {
        enum pith_status st =
            pith_device_decode(p->cuda, p->stream, c, p->constants + c->offset, &result);
        p->decoded += !st && !result;
        return st ? cannot_unpack(err, st)
                  : pith_driver_status(p->cuda, result, "cannot decode a weight", err);
    }
    uint8_t *packed = aligned_alloc(64, (c->bytes + 63) & ~(uint64_t)63);
    if (!packed)
        return no_memory(err);
    enum pith_status st = pith_device_pack(c, packed);
    if (st)
        cannot_unpack(err, st);
    if (!st)
        result =
            p->cuda->cuMemcpyHtoDAsync_v2(p->constants + c->offset, packed, c->bytes, p->stream);
    if (!st && !result)
        result = p->cuda->cuStreamSynchronize(p->stream);
    free(packed);
    return st ? st : pith_driver_status(p->cuda, result, "cannot copy a weight", err);
}

/* ---- the graph ------------------------------------------------------------------------------ */

enum pith_status pith_device_capture(struct pith_cuda_plan *p,
                                     enum pith_status (*put)(struct pith_cuda_plan *p,
                                                             struct pith_error *err),
                                     void **graph, struct pith_error *err)
{
    const struct pith_cuda *c = p->cuda;
    void *captured = NULL;
    int result = c->cuStreamBeginCapture_v2(p->stream, DRIVER_CAPTURE_RELAXED);
    if (result)
        return pith_driver_status(c, result, "cannot capture the run", err);
    p->capturing = true;
    enum pith_status st = put(p, err);
    p->capturing = false;
    result = c->cuStreamEndCapture(p->stream, &captured);
    if (!result && !st)
        result = c->cuGraphInstantiateWithFlags(graph, captured, 0);
    if (captured)
        c->cuGraphDestroy(captured);
    return st ? st : pith_driver_status(c, result, "cannot capture the run", err);
}

static enum pith_status put_walk(struct pith_cuda_plan *p, struct pith_error *err)
{
    const uint64_t most = p->plan->opts.max_steps;
    return pith_device_enqueue(p, most < GRAPH_STEPS ? most : GRAPH_STEPS, err);
}

/* Makes a graph of the plan where that is possible. The stream records the walk instead of
 * running it, and the recording becomes one graph that a single call launches. A run that waits for
 * the device cannot be recorded. A walk that meets the
 * limit of steps is given up without an error: the run meets the same limit again, or, where only
 * GRAPH_STEPS was too few, does without a graph. Relaxed mode lets other threads of the program go
 * on taking memory meanwhile. */
static enum pith_status capture(struct pith_cuda_plan *p, struct pith_error *err)
{
    if (!pith_device_is_fixed(p) || (p->plan->opts.clock_ns && !p->cuda->cuEventRecordWithFlags))
        return PITH_OK;
    enum pith_status st = pith_device_capture(p, put_walk, &p->graph, err);
    p->graph_steps = p->plan->steps_done;
    st = st ? st : pith_device_one_launch(p, err);
    free(p->program.action);
    p->program.action = NULL;
    return st == PITH_ERR_LIMIT ? PITH_OK : st;
}

/* ---- from plan to device -------------------------------------------------------------------- */

/* What is timed reads what nothing has been copied to yet. */
static enum pith_status clear(struct pith_cuda_plan *p, uint64_t arena, struct pith_error *err)
{
    const struct pith_cuda *c = p->cuda;
    const uint64_t constants = p->lowering.constant_bytes;
    const bool timed = c->blas || c->cooperative;
    int result = timed && arena ? c->cuMemsetD32Async(p->arena, 0, arena / 4, p->stream) : 0;
    if (!result && timed && constants)
        result = c->cuMemsetD32Async(p->constants, 0, constants / 4, p->stream);
    return pith_driver_status(c, result, "cannot clear memory", err);
}

/* The first pass of lowering counts what the second needs addresses for. The size of the arena is
 * rounded up so that the work behind it is as aligned as what cuMemAlloc returns, which is to 256
 * bytes or more. The stream does not wait for the legacy default stream, on which the program may
 * have work of its own. */
static enum pith_status ready(struct pith_cuda_plan *p, struct pith_error *err)
{
    struct lowering *l = &p->lowering;
    enum pith_status st = count(p, err);
    const uint64_t arena = (p->plan->arena_bytes + 255) & ~UINT64_C(255);
    const uint64_t areas = l->places.area_bytes[0] + l->places.area_bytes[1];
    const uint64_t halves = l->values ? (arena / 2 + 255) & ~UINT64_C(255) : 0;
    if (!st)
        st = pith_driver_status(p->cuda,
                                p->cuda->cuStreamCreate(&p->stream, DRIVER_STREAM_NON_BLOCKING),
                                "cannot make a stream", err);
    st = st ? st : take(p, arena + areas + halves + l->work_bytes, &p->arena, err);
    st = st ? st : take(p, l->constant_bytes, &p->constants, err);
    if (st)
        return st;
    l->arena = p->arena;
    l->areas = p->arena + arena;
    l->halves = l->areas + areas;
    l->work = l->halves + halves;
    l->constants = p->constants;
    l->stream = p->stream;
    st = clear(p, arena + areas + halves + l->work_bytes, err);
    st = st ? st : lower_all(p, err);
    if (!st)
        pith_device_chain(l, p->step);
    if (!st)
        st = l->no_memory ? no_memory(err) : find_ends(p, err);
    for (uint32_t i = 0; i < l->n_constants && !st; i++)
        st = upload(p, &l->constant[i], err);
    return st ? st : capture(p, err);
}

/* The plan counts as open from here on, as whatever fails later goes through
 * pith_cuda_plan_free. */
static enum pith_status make(struct pith_cuda *cuda, struct pith_plan *plan,
                             struct pith_cuda_plan *p, struct pith_error *err)
{
    *p = (struct pith_cuda_plan){
        .cuda = cuda,
        .plan = plan,
        .lowering = {.plan = plan, .cuda = cuda, .half = cuda->precision == PITH_CUDA_F16},
        .n_inputs = plan->graph.n_inputs,
        .n_outputs = plan->graph.n_outputs};
    cuda->plans++;
    p->step = calloc(plan->n_steps + 1u, sizeof *p->step);
    p->end = calloc(p->n_inputs + p->n_outputs + 1u, sizeof *p->end);
    if (!p->step || !p->end)
        return no_memory(err);
    enum pith_status st = enter(cuda, err);
    if (st)
        return st;
    st = ready(p, err);
    leave(cuda);
    return st;
}

/* What keeps a plan on the CPU; NULL: nothing. */
static const char *kept_back(const struct pith_plan *plan)
{
    bool parts = plan->n_segments > 0;
    for (uint32_t i = 0; i < plan->n_steps; i++)
        parts |= plan->step[i].pairs;
    return plan->opts.observe ? "whose values are observed"
           : plan->n_caches   ? "with values in opts.caches"
           : parts            ? "that runs groups of samples or bands of rows"
                              : NULL;
}

enum pith_status pith_cuda_plan_new(struct pith_cuda *cuda, struct pith_plan *plan,
                                    struct pith_cuda_plan **device_plan, struct pith_error *err)
{
    if (!cuda || !plan || !device_plan)
        return PITH_ERR_ARGUMENT;
    const char *what = kept_back(plan);
    if (what)
        return pith_error_set(err, PITH_ERR_UNSUPPORTED, "cuda: a plan %s runs on the CPU", what);
    struct pith_cuda_plan *p = calloc(1, sizeof *p);
    enum pith_status st = p ? make(cuda, plan, p, err) : no_memory(err);
    if (st)
        pith_cuda_plan_free(p);
    else
        *device_plan = p;
    return st;
}

/* The graph goes before the memory whose addresses it holds. */
static void give_back(struct pith_cuda_plan *p)
{
    const struct pith_cuda *c = p->cuda;
    if (p->graph)
        c->cuGraphExecDestroy(p->graph);
    const device_address own[] = {p->arena, p->constants, p->program.memory};
    for (size_t i = 0; i < sizeof own / sizeof *own; i++)
        if (own[i])
            c->cuMemFree_v2(own[i]);
    if (p->pinned)
        c->cuMemFreeHost(p->pinned);
    pith_device_times_free(p);
    if (p->stream)
        c->cuStreamDestroy_v2(p->stream);
}

/* Without its context nothing on the device can be freed; what the host has is freed all the
 * same. */
void pith_cuda_plan_free(struct pith_cuda_plan *p)
{
    if (!p)
        return;
    if (!enter(p->cuda, NULL)) {
        give_back(p);
        leave(p->cuda);
    }
    p->cuda->plans--;
    pith_device_lowering_free(&p->lowering);
    free(p->times.mark);
    free(p->step);
    free(p->end);
    free(p);
}

/* ---- runs ----------------------------------------------------------------------------------- */

/* Puts a run's steps on the plan's stream: the graph, or one by one. A graph cannot be interrupted,
 * so stop() is called once before it. What the walk would have counted is known from the capture.
 */
static enum pith_status put_steps(struct pith_cuda_plan *p, struct pith_error *err)
{
    const struct pith_opts *o = &p->plan->opts;
    if (!p->graph)
        return pith_device_enqueue(p, o->max_steps, err);
    if (o->stop && o->stop(o->stop_user))
        return PITH_ERR_STOPPED;
    p->plan->steps_done = p->graph_steps;
    p->plan->next_step = p->plan->n_steps;
    return pith_driver_status(p->cuda, p->cuda->cuGraphLaunch(p->graph, p->stream),
                              "cannot run the model", err);
}

/* The address and the bytes of the copies never change, so nothing here allocates. */
static int put_inputs(struct pith_cuda_plan *p)
{
    int result = 0;
    for (uint32_t i = 0; i < p->n_inputs && !result; i++) {
        const struct device_end *e = &p->end[i];
        if (!e->address)
            continue;
        memcpy(p->pinned + e->pinned_at, end_of(p, i)->data, e->bytes);
        result = p->cuda->cuMemcpyHtoDAsync_v2(e->address, p->pinned + e->pinned_at, e->bytes,
                                               p->stream);
    }
    return result;
}

/* As they were before the run, for the CPU to go on with. */
static void restore_inputs(struct pith_cuda_plan *p)
{
    for (uint32_t i = 0; i < p->n_inputs; i++)
        if (p->end[i].address)
            memcpy(end_of(p, i)->data, p->pinned + p->end[i].pinned_at, p->end[i].bytes);
}

/* Outputs are moved to the plan only when all of them have arrived. */
static int get_outputs(struct pith_cuda_plan *p)
{
    int result = 0;
    uint32_t n = p->n_inputs + p->n_outputs;
    for (uint32_t i = p->n_inputs; i < n && !result; i++)
        if (p->end[i].address)
            result = p->cuda->cuMemcpyDtoHAsync_v2(p->pinned + p->end[i].pinned_at,
                                                   p->end[i].address, p->end[i].bytes, p->stream);
    result = result ? result : p->cuda->cuStreamSynchronize(p->stream);
    for (uint32_t i = p->n_inputs; i < n && !result; i++)
        if (p->end[i].address)
            memcpy(end_of(p, i)->data, p->pinned + p->end[i].pinned_at, p->end[i].bytes);
    return result;
}

/* After a failure between, too, the stream is waited for: nothing may still write to pinned memory
 * or to the plan's when the caller goes on. Steps on the CPU use the plan's arena, in which an
 * input may have been overwritten by then; hence it is restored where the driver failed. */
static enum pith_status run(struct pith_cuda_plan *p, struct pith_error *err)
{
    enum pith_status st = pith_driver_status(p->cuda, put_inputs(p), "cannot copy inputs", err);
    st = st ? st : put_steps(p, err);
    int result = st ? p->cuda->cuStreamSynchronize(p->stream) : get_outputs(p);
    if (!st && !result && p->graph && p->plan->opts.clock_ns)
        result = pith_device_read_times(p);
    if (st == PITH_ERR_IO || result)
        restore_inputs(p);
    return st ? st : pith_driver_status(p->cuda, result, "the device failed", err);
}

/* PITH_ERR_LIMIT and PITH_ERR_STOPPED leave the device as sound as it was; after PITH_ERR_IO each
 * later run fails at once. */
enum pith_status pith_cuda_plan_run(struct pith_cuda_plan *p, struct pith_error *err)
{
    if (!p)
        return PITH_ERR_ARGUMENT;
    if (p->lost)
        return pith_error_set(err, p->lost, "cuda: the device failed in an earlier run");
    enum pith_status st = enter(p->cuda, err);
    if (!st) {
        st = run(p, err);
        leave(p->cuda);
    }
    if (st == PITH_ERR_IO)
        p->lost = st;
    return st;
}

/* The graph contains no copies from or to the host; the caller has put inputs to their
 * addresses. */
enum pith_status pith_cuda_plan_enqueue(struct pith_cuda_plan *p, void *stream,
                                        struct pith_error *err)
{
    if (!p)
        return PITH_ERR_ARGUMENT;
    if (!p->graph)
        return pith_error_set(err, PITH_ERR_UNSUPPORTED,
                              "cuda: steps of this plan need the CPU: it cannot be enqueued");
    enum pith_status st = enter(p->cuda, err);
    if (st)
        return st;
    int result = p->cuda->cuGraphLaunch(p->graph, stream);
    leave(p->cuda);
    return pith_driver_status(p->cuda, result, "cannot run the model", err);
}

/* ---- facts ---------------------------------------------------------------------------------- */

int pith_cuda_plan_on_cpu(const struct pith_cuda_plan *p, uint32_t step)
{
    return p && step < p->plan->n_steps && p->step[step].on_cpu;
}

/* Launches are those of the captured walk; without a graph a run's number depends on the data. */
struct pith_cuda_facts pith_cuda_plan_facts(const struct pith_cuda_plan *p)
{
    if (!p)
        return (struct pith_cuda_facts){0};
    struct pith_cuda_facts f = {.steps = p->plan->n_steps,
                                .launches = p->graph ? p->launches : 0,
                                .decoded_weights = p->decoded,
                                .device_bytes = p->device_bytes,
                                .graph_ns = p->program.graph_ns,
                                .one_launch_ns = p->program.program_ns};
    for (uint32_t i = 0; i < f.steps; i++)
        f.cpu_steps += p->step[i].on_cpu;
    for (uint32_t i = 0; i < p->lowering.n_actions; i++)
        f.blas_products += p->lowering.action[i].kind == ACTION_BLAS;
    return f;
}

uint64_t pith_cuda_plan_step_bytes(const struct pith_cuda_plan *p, uint32_t step)
{
    return p && step < p->plan->n_steps && !p->step[step].on_cpu ? p->step[step].bytes : 0;
}

uint64_t pith_cuda_plan_input_address(const struct pith_cuda_plan *p, uint32_t i)
{
    return p && i < p->n_inputs ? p->end[i].address : 0;
}

uint64_t pith_cuda_plan_output_address(const struct pith_cuda_plan *p, uint32_t i)
{
    return p && i < p->n_outputs ? p->end[p->n_inputs + i].address : 0;
}
