/* SPDX-License-Identifier: MIT */
/* dump.c - one value of a network as it was at every call, gathered by an observer. */
#include <stdlib.h>
#include <string.h>
#include "base/error_fill.h"
#include "pith_measure.h"

static bool same_shape(const struct pith_dump *d, const struct pith_tensor *t)
{
    return d->type == t->type && d->rank == t->rank &&
           memcmp(d->dim, t->dim, t->rank * sizeof *t->dim) == 0;
}

static void append(struct pith_dump *d, const struct pith_tensor *t)
{
    if (d->n_samples == 0) {
        d->type = t->type;
        d->rank = t->rank;
        memcpy(d->dim, t->dim, t->rank * sizeof *t->dim);
    }
    /* the times take an axis of their own */
    if (!same_shape(d, t) || t->rank == PITH_MAX_RANK || d->n_samples == UINT32_MAX) {
        d->status = PITH_ERR_UNSUPPORTED;
        return;
    }
    if (d->room - d->n_bytes < t->bytes) {
        uint64_t room = d->room * 2 > d->n_bytes + t->bytes ? d->room * 2 : d->n_bytes + t->bytes;
        uint8_t *more = realloc(d->data, (size_t)room);
        if (!more) {
            d->status = PITH_ERR_MEMORY;
            return;
        }
        d->data = more;
        d->room = room;
    }
    if (t->bytes) /* a selection may be of nothing */
        memcpy(d->data + d->n_bytes, t->data, (size_t)t->bytes);
    d->n_bytes += t->bytes;
    d->n_samples++;
}

void pith_dump_see(struct pith_dump *dump, uint32_t n, const struct pith_layer *layer,
                   const struct pith_tensor *out)
{
    if (!dump || !layer || !out)
        return;
    for (uint32_t i = 0; i < n; i++) {
        struct pith_dump *d = &dump[i];
        if (d->status == PITH_OK && d->step == layer->step && d->output == layer->output &&
            strlen(d->name) == out->name_bytes && memcmp(d->name, out->name, out->name_bytes) == 0)
            append(d, out);
    }
}

enum pith_status pith_dump_npy(const struct pith_dump *dump, struct pith_buffer *file,
                               struct pith_error *err)
{
    if (!dump || !file)
        return PITH_ERR_ARGUMENT;
    uint32_t dim[PITH_MAX_RANK];
    const char *label = dump->label ? dump->label : dump->name;
    if (dump->status == PITH_ERR_MEMORY)
        return pith_error_no_memory(err);
    if (dump->status)
        return pith_error_fill(
            err, dump->status,
            "cannot store '%s': it has 8 axes, or its shape changes between calls", label);
    if (dump->n_samples == 0)
        return pith_error_fill(err, PITH_ERR_ARGUMENT, "no layer gives '%s'", label);
    dim[0] = (uint32_t)dump->n_samples;
    memcpy(dim + 1, dump->dim, dump->rank * sizeof *dim);
    return pith_npy_write(dump->type, dump->rank + 1, dim, dump->data, file, err);
}

void pith_dump_free(struct pith_dump *dump)
{
    if (!dump)
        return;
    free(dump->data);
    *dump = (struct pith_dump){.name = dump->name, .label = dump->label};
}
