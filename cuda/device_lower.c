/* SPDX-License-Identifier: MIT */
/* device_lower.c - addresses on the device, and lists of actions. */
#include <stdlib.h>
#include "device_lower.h"
#include "pack_parts.h"
#include "pack_relative.h"

#define MAX_BLOCKS 8192u /* a launch over elements: more of them take turns */

static void *pointer(device_address address)
{
    return (void *)(uintptr_t)address;
}

/* The pointer is read and written as bytes, since a struct action * must not be accessed as a
 * void *. */
bool pith_device_grow(bool *no_memory, void *array, uint32_t n, uint32_t *room, uint32_t more,
                      size_t each)
{
    void *old;
    memcpy(&old, array, sizeof old);
    if (n + more <= *room)
        return true;
    uint32_t bigger = (n + more) * 2;
    void *p = realloc(old, bigger * each);
    *no_memory = *no_memory || !p;
    if (!p)
        return false;
    memcpy(array, &p, sizeof p);
    *room = bigger;
    return true;
}

void pith_device_lowering_free(struct lowering *l)
{
    pith_device_places_free(&l->places);
    free(l->action);
    free(l->args);
    free(l->constant);
    free(l->floats);
    free(l->converted);
    for (uint32_t i = 0; i < l->n_products; i++)
        pith_blas_product_free(l->product[i]);
    free(l->product);
}

/* ---- addresses ------------------------------------------------------------------------------ */

/* Weights that several steps read, or both passes of lowering, are stored once in each form. A
 * constant that was first requested with fewer bytes is stored again. */
static device_address constant_at(struct lowering *l, const struct constant *want)
{
    l->step_bytes += want->bytes;
    for (uint32_t i = 0; i < l->n_constants; i++) {
        const struct constant *c = &l->constant[i];
        if (c->key == want->key && c->form == want->form && c->bytes >= want->bytes)
            return l->constants + c->offset;
    }
    if (!pith_device_grow(&l->no_memory, &l->constant, l->n_constants, &l->room_constants, 1,
                          sizeof *l->constant))
        return 0;
    struct constant *c = &l->constant[l->n_constants++];
    *c = *want;
    c->offset = l->constant_bytes;
    l->constant_bytes += pith_pack_aligned(c->bytes);
    return l->constants + c->offset;
}

bool pith_device_is_constant(const struct lowering *l, const struct tview *t)
{
    uintptr_t at = (uintptr_t)t->data, arena = (uintptr_t)l->plan->arena;
    return at < arena || at - arena >= l->plan->arena_bytes;
}

/* Of an H100, without a device. */
uint32_t pith_device_processors(const struct lowering *l)
{
    return l->processors ? l->processors : l->cuda ? l->cuda->processors : 132u;
}

uint32_t pith_device_threads(const struct lowering *l)
{
    return 2048u * pith_device_processors(l);
}

void pith_device_places_free(struct device_places *p)
{
    free(p->place);
    free(p->moved);
    *p = (struct device_places){.n = 0};
}

const struct device_place *pith_device_place(const struct lowering *l, const struct tview *part)
{
    for (uint32_t i = 0; i < l->places.n; i++)
        if (l->places.place[i].part == part)
            return &l->places.place[i];
    return NULL;
}

bool pith_device_moved(const struct lowering *l, const struct tview *t, uint64_t *at)
{
    const struct device_places *p = &l->places;
    for (uint32_t i = 0; i < p->n_moved; i++)
        if (p->moved[i].whole == t) {
            *at = p->moved[i].area ? p->area_bytes[0] : 0;
            return true;
        }
    return false;
}

void *pith_device_in_arena(const struct lowering *l, const struct tview *t)
{
    return pointer(l->arena + ((uintptr_t)t->data - (uintptr_t)l->plan->arena));
}

void pith_device_add_converted(struct lowering *l, const struct device_converted *converted)
{
    if (pith_device_grow(&l->no_memory, &l->converted, l->n_converted, &l->room_converted, 1,
                         sizeof *converted))
        l->converted[l->n_converted++] = *converted;
}

const struct device_converted *pith_device_converted(const struct lowering *l,
                                                     const struct tview *t)
{
    for (uint32_t i = l->n_converted; i-- > 0;)
        if (l->converted[i].t == t)
            return &l->converted[i];
    return NULL;
}

/* The device's arena has the layout of the host's, so an offset is good for both. Values that share
 * memory on the host share it there, and views need no kernel. */
void *pith_device_data(struct lowering *l, const struct tview *t)
{
    uint64_t at;
    const struct device_converted *converted = pith_device_converted(l, t);
    if (converted)
        return converted->at;
    if (pith_device_moved(l, t, &at))
        return pointer(l->areas + at);
    if (pith_device_type(l, t) != VALUE_F32)
        return pointer(l->halves + ((uintptr_t)t->data - (uintptr_t)l->plan->arena) / 2);
    if (!pith_device_is_constant(l, t))
        return pith_device_in_arena(l, t);
    struct constant c = {.key = t->data,
                         .bytes = shape_elems(&t->shape) * pith_type_bytes(t->type)};
    return pointer(constant_at(l, &c));
}

void *pith_device_optional(struct lowering *l, const struct op_args *args, uint32_t i)
{
    return i < args->n_in && args->in[i] ? pith_device_data(l, args->in[i]) : NULL;
}

void *pith_device_rounded(struct lowering *l, const struct tview *t, uint32_t type)
{
    struct constant c = {.key = t->data,
                         .form = type == VALUE_BF16 ? FORM_VALUES_BF16 : FORM_VALUES,
                         .bytes = shape_elems(&t->shape) * 2};
    return pointer(constant_at(l, &c));
}

void *pith_device_weight(struct lowering *l, const struct weight *w, enum weight_form form)
{
    const uint32_t each = form == FORM_F32 ? sizeof(float) : pith_type_bytes(w->type);
    return pith_device_form(l, w, form, w->count * each);
}

void *pith_device_form(struct lowering *l, const struct weight *w, enum weight_form form,
                       uint64_t bytes)
{
    struct constant c = {.key = w, .form = form, .is_weight = true, .bytes = bytes};
    return pointer(constant_at(l, &c));
}

/* Its size is known when it is decoded: once, while counting. */
const uint8_t *pith_device_relative(struct lowering *l, const struct weight *w)
{
    struct constant c = {.key = w, .form = FORM_RELATIVE, .is_weight = true};
    for (uint32_t i = 0; i < l->n_constants; i++)
        if (l->constant[i].key == w && l->constant[i].form == FORM_RELATIVE)
            return pointer(constant_at(l, &l->constant[i]));
    enum pith_status st = pith_relative_pack(w, NULL, &c.bytes);
    l->no_memory = l->no_memory || st == PITH_ERR_MEMORY;
    device_address at = st ? 0 : constant_at(l, &c);
    return st ? NULL : pointer(at + (l->constants ? 0 : 1)); /* not NULL while counting */
}

/* The offset is counted from the beginning of the work area, which all steps share: none of it
 * outlives the step, as the stream runs one action after the other. */
void *pith_device_work(struct lowering *l, uint64_t offset, uint64_t bytes)
{
    uint64_t at = l->converted_bytes + offset, end = at + pith_pack_aligned(bytes);
    l->work_bytes = l->work_bytes < end ? end : l->work_bytes;
    return pointer(l->work + at);
}

/* Below 2^31, so that kernels can count elements in 32 bits and add a grid's width to the count
 * without overflow. A shape has no dim of 0, so 0 has no other meaning. */
uint32_t pith_device_count(const struct tview *t)
{
    size_t n = shape_elems(&t->shape);
    return n < (size_t)1 << 31 ? (uint32_t)n : 0;
}

/* ---- actions -------------------------------------------------------------------------------- */

/* Where there is no memory, no_memory is set and lower_all fails: the list is not used. */
static void append(struct lowering *l, const struct action *a)
{
    if (pith_device_grow(&l->no_memory, &l->action, l->n_actions, &l->room_actions, 1, sizeof *a))
        l->action[l->n_actions++] = *a;
}

/* Structs begin at multiples of 16, as they hold pointers. The action has an offset and not a
 * pointer, because `args` moves when it grows. */
void pith_device_grid(struct lowering *l, enum launch_kernel kernel, const uint32_t grid[3],
                      const void *arg, uint32_t arg_bytes)
{
    struct action a = {.kind = ACTION_LAUNCH,
                       .kernel = kernel,
                       .grid = {grid[0], grid[1], grid[2]},
                       .arg = l->n_args};
    if (!pith_device_grow(&l->no_memory, &l->args, l->n_args, &l->room_args, arg_bytes, 1))
        return;
    memcpy(l->args + l->n_args, arg, arg_bytes);
    l->n_args += (arg_bytes + 15) & ~15u;
    append(l, &a);
}

/* With n 0 the grid would be empty, which the driver refuses: callers then return false, and the
 * action is dropped. */
bool pith_device_launch(struct lowering *l, enum launch_kernel kernel, uint32_t n, const void *arg,
                        uint32_t arg_bytes)
{
    uint32_t blocks = (n + LAUNCH_THREADS - 1) / LAUNCH_THREADS;
    const uint32_t grid[3] = {blocks < MAX_BLOCKS ? blocks : MAX_BLOCKS, 1, 1};
    pith_device_grid(l, kernel, grid, arg, arg_bytes);
    return n > 0;
}

bool pith_device_append_blas(struct lowering *l, struct blas_product *p)
{
    struct action a = {.kind = ACTION_BLAS, .arg = l->n_products};
    if (!pith_device_grow(&l->no_memory, &l->product, l->n_products, &l->room_products, 1,
                          sizeof p)) {
        pith_blas_product_free(p);
        return false;
    }
    l->product[l->n_products++] = p;
    append(l, &a);
    return true;
}

void pith_device_drop(struct lowering *l, uint32_t first, uint32_t end)
{
    memmove(l->action + first, l->action + end, (l->n_actions - end) * sizeof *l->action);
    l->n_actions -= end - first;
}

/* A view that the planner put into its input's memory needs no copy. */
void pith_device_copy(struct lowering *l, void *to, const void *from, uint64_t bytes)
{
    struct action a = {
        .kind = ACTION_COPY, .to = (uintptr_t)to, .from = (uintptr_t)from, .bytes = bytes};
    if (to != from)
        append(l, &a);
}

void pith_device_fill(struct lowering *l, void *to, uint32_t value, uint64_t bytes)
{
    struct action a = {.kind = ACTION_FILL, .to = (uintptr_t)to, .value = value, .bytes = bytes};
    append(l, &a);
}
