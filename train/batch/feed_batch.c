/* SPDX-License-Identifier: MIT */
/* feed_batch.c - samples are read once and kept, where memory permits: the second epoch costs no
 * decoding. */
#include "feed_batch.h"
#include "pith_host.h"
#include "pith_train.h"
#include "train/state/shuffle.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define KEEP_BYTES (UINT64_C(2) << 30)

struct feed_batch {
    struct pith_data *data;
    struct batch_kind kind;
    uint64_t n, target_elems, n_labels; /* of a sample */
    size_t bytes;                       /* of a sample */
    uint32_t *order;
    uint8_t *kept;    /* [n][bytes]; NULL: too much */
    bool *have;       /* [n] */
    int64_t *label;   /* [slices * per_slice][n_labels] */
    uint32_t *number; /* [slices * per_slice], of the samples in the data set */
    float *target;    /* [slices * per_slice][target_elems] */
};

void pith_batch_free(struct feed_batch *b)
{
    if (!b)
        return;
    free(b->order);
    free(b->kept);
    free(b->have);
    free(b->label);
    free(b->number);
    free(b->target);
    free(b);
}

enum pith_status pith_batch_new(struct pith_data *data, struct batch_kind kind,
                                struct feed_batch **b, struct pith_error *err)
{
    struct feed_batch *made = calloc(1, sizeof *made);
    if (!made)
        return pith_tape_no_memory(err);
    size_t samples = (size_t)PITH_TRAIN_SLICES * kind.per_slice;
    made->data = data;
    made->kind = kind;
    made->n = pith_data_count(data);
    made->bytes = (size_t)pith_data_elems(data) * pith_type_bytes(kind.type);
    made->n_labels = pith_data_labelled(data) ? pith_data_label_count(data) : 1;
    made->target_elems = kind.with_targets ? pith_data_target_elems(data) : 0;
    enum pith_status status = PITH_OK;
    if (made->n > UINT32_MAX || made->n < samples)
        status =
            pith_error_set(err, PITH_ERR_ARGUMENT,
                           "%" PRIu64 " samples are less than one batch of %zu", made->n, samples);
    if (!status && kind.n_classes && !pith_data_labelled(data))
        status = pith_error_set(err, PITH_ERR_ARGUMENT, "the training data has no labels");
    if (!status && kind.with_targets && made->target_elems == 0)
        status = pith_error_set(err, PITH_ERR_ARGUMENT, "the training data has no targets");
    if (!status) {
        made->order = calloc((size_t)made->n, sizeof *made->order);
        made->label = calloc(samples * (size_t)made->n_labels, sizeof *made->label);
        made->number = calloc(samples, sizeof *made->number);
        made->target = calloc(samples * (size_t)(made->target_elems + 1), sizeof *made->target);
        if (made->n * made->bytes <= KEEP_BYTES) {
            made->kept = malloc((size_t)made->n * made->bytes);
            made->have = calloc((size_t)made->n, sizeof *made->have);
        }
        if (!made->order || !made->label || !made->number || !made->target ||
            (made->kept && !made->have))
            status = pith_tape_no_memory(err);
    }
    if (status)
        pith_batch_free(made);
    else
        *b = made;
    return status;
}

uint64_t pith_batch_count(const struct feed_batch *b)
{
    return b->n / ((uint64_t)PITH_TRAIN_SLICES * b->kind.per_slice);
}

void pith_batch_shuffle(struct feed_batch *b, uint64_t seed, uint32_t epoch)
{
    const uint64_t odd = UINT64_C(0x2545f4914f6cdd1d); /* another stream than augmentation */
    uint64_t state = seed * odd + epoch;
    for (uint32_t i = 0; i < b->n; i++)
        b->order[i] = i;
    shuffle(b->order, (uint32_t)b->n, &state);
}

void pith_batch_in_order(struct feed_batch *b)
{
    for (uint32_t i = 0; i < b->n; i++)
        b->order[i] = i;
}

static enum pith_status read_sample(struct feed_batch *b, uint32_t i, void *x,
                                    struct pith_error *err)
{
    if (b->have && b->have[i]) {
        memcpy(x, b->kept + i * b->bytes, b->bytes);
        return PITH_OK;
    }
    enum pith_status status = pith_data_read_as(b->data, i, b->kind.type, x, NULL, err);
    if (!status && b->kept) {
        memcpy(b->kept + i * b->bytes, x, b->bytes);
        b->have[i] = true;
    }
    return status;
}

enum pith_status pith_labels_check(struct pith_data *data, uint64_t i, uint64_t n_classes,
                                   struct pith_error *err)
{
    const int64_t *label = pith_data_labels(data, i);
    const uint64_t n = pith_data_label_count(data);
    for (uint64_t k = 0; k < n; k++)
        if (label[k] >= (int64_t)n_classes || (n == 1 && label[k] < 0))
            return pith_error_set(err, PITH_ERR_CORRUPT,
                                  "%.200s has label %" PRId64
                                  ", the network has classes 0..%" PRIu64,
                                  pith_data_sample_name(data, i), label[k], n_classes - 1);
    return PITH_OK;
}

uint64_t pith_labels_counted(const struct pith_data *data, uint64_t i)
{
    const int64_t *label = pith_data_labels(data, i);
    const uint64_t n = pith_data_label_count(data);
    uint64_t counted = n <= 1;
    for (uint64_t k = 0; k < n && n > 1; k++)
        counted += label[k] >= 0;
    return counted;
}

static uint32_t sample_at(const struct feed_batch *b, uint64_t batch, size_t at)
{
    return b->order[(batch * PITH_TRAIN_SLICES * b->kind.per_slice + at) % b->n];
}

uint64_t pith_batch_counted(const struct feed_batch *b, uint64_t i)
{
    const size_t samples = (size_t)PITH_TRAIN_SLICES * b->kind.per_slice;
    uint64_t n = 0;
    for (size_t at = 0; at < samples; at++)
        n += b->kind.n_classes ? pith_labels_counted(b->data, sample_at(b, i, at)) : 1;
    return n;
}

static enum pith_status read_answer(struct feed_batch *b, uint32_t i, size_t at,
                                    struct pith_error *err)
{
    if (b->target_elems)
        return pith_data_read_target(b->data, i, b->target + at * b->target_elems);
    if (b->kind.n_classes == 0)
        return PITH_OK;
    memcpy(b->label + at * b->n_labels, pith_data_labels(b->data, i),
           (size_t)b->n_labels * sizeof *b->label);
    return pith_labels_check(b->data, i, b->kind.n_classes, err);
}

enum pith_status pith_batch_load(struct feed_batch *b, struct tape *t, uint64_t i,
                                 struct pith_error *err)
{
    enum pith_status status = PITH_OK;
    uint32_t first, n = pith_tape_own_slices(t, &first);
    size_t at = (size_t)first * b->kind.per_slice,
           samples = (size_t)PITH_TRAIN_SLICES * b->kind.per_slice;
    for (uint32_t s = first; s < first + n; s++)
        for (uint32_t k = 0; k < b->kind.per_slice && !status; k++, at++) {
            uint8_t *x = pith_tape_input(t, s, 0)->data;
            uint32_t sample = sample_at(b, i, at);
            b->number[at] = sample;
            status = read_sample(b, sample, x + k * b->bytes, err);
            if (!status)
                status = read_answer(b, sample, at, err);
        }
    if (status) /* code that goes on nevertheless meets no label out of range */
        memset(b->label, 0, samples * (size_t)b->n_labels * sizeof *b->label);
    return status;
}

const uint32_t *pith_batch_numbers(const struct feed_batch *b, uint32_t slice)
{
    return b->number + (size_t)slice * b->kind.per_slice;
}

const int64_t *pith_batch_labels(const struct feed_batch *b, uint32_t slice)
{
    return b->label + (size_t)slice * b->kind.per_slice * b->n_labels;
}

float *pith_batch_targets(struct feed_batch *b, uint32_t slice)
{
    return b->target + (size_t)slice * b->kind.per_slice * b->target_elems;
}
