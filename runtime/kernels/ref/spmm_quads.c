/* SPDX-License-Identifier: MIT */
/* spmm_quads.c - the definition of the product of kernel_quads.h. */
#include "kernels/ref/activate.h"
#include "kernels/kernel_sparse.h"

struct quad_reader {
    const struct quads_job *job;
    const uint16_t *place;
    const void *weight;
    const float *codebook;
};

static float weight_at(const struct quad_reader *r, size_t i)
{
    if (r->job->form->codebook_floats)
        return r->codebook[((const uint8_t *)r->weight)[i]];
    return ((const float *)r->weight)[i];
}

/* Column j of x from the block's first row on; *width: floats from one row to the next. */
static const float *column(const struct quads_job *job, uint32_t block, uint32_t j, uint32_t *width)
{
    const struct quad_form *f = job->form;
    const size_t row = (size_t)block * f->block_cols;
    const uint32_t rest = job->n % QUAD_WIDTH_STEP;
    if (job->tail && j >= job->n - rest) {
        *width = rest > 4 ? 8 : 4;
        return job->tail + row * *width + (j - (job->n - rest));
    }
    *width = f->width;
    return job->x + j / QUAD_WIDTH_STEP * job->x_step + row * f->width + j % QUAD_WIDTH_STEP;
}

/* One element's part of a slot, from entry i on; x: its column in the block, `width` apart. */
static float slot_sum(const struct quad_reader *r, size_t i, uint32_t quads, const float *x,
                      uint32_t width, float from)
{
    const uint32_t places = r->job->form->width / QUAD_PLACE_FLOATS; /* a row */
    float sum[4] = {from, 0, 0, 0};
    for (uint32_t q = 0; q < 4 * quads; q++)
        sum[q % 4] += weight_at(r, i + q) * x[(size_t)r->place[i + q] / places * width];
    return (sum[0] + sum[1]) + (sum[2] + sum[3]);
}

static float finish(const struct quads_job *job, size_t row, size_t at, float sum)
{
    if (job->bias)
        sum += job->bias[row];
    if (job->residual)
        sum += job->residual[at];
    return pith_activate(job->act.kind, job->act.a, job->act.b, sum);
}

static size_t block_run(const struct quad_reader *r, uint32_t unit, uint32_t block, size_t i)
{
    const struct quads_job *job = r->job;
    const struct quad_form *f = job->form;
    const struct quad_slot *slot = quad_slots(f, unit, block);
    for (uint32_t s = 0; s < quad_unit_rows(f, unit); i += (size_t)4 * slot[s].quads, s++)
        for (uint32_t j = 0; j < job->n; j++) {
            size_t row = (size_t)(unit - job->unit_begin) * QUAD_UNIT_ROWS + slot[s].row,
                   at = row * job->ldy + j;
            uint32_t width;
            const float *x = column(job, block, j, &width);
            float sum = slot_sum(r, i, slot[s].quads, x, width, block ? job->y[at] : 0.0f);
            job->y[at] = block + 1 == f->n_blocks ? finish(job, row, at, sum) : sum;
        }
    return i;
}

void pith_spmm_quads(const struct quads_job *job)
{
    const uint8_t *base = (const uint8_t *)job->form;
    const struct quad_form *f = job->form;
    const uint32_t *ptr = (const uint32_t *)(const void *)(base + f->ptr);
    const struct quad_reader r = {job, (const uint16_t *)(const void *)(base + f->place),
                                  base + f->weight,
                                  (const float *)(const void *)(base + f->codebook)};
    for (uint32_t u = job->unit_begin; u < job->unit_end; u++) {
        size_t i = (size_t)4 * ptr[u];
        for (uint32_t b = 0; b < f->n_blocks; b++)
            i = block_run(&r, u, b, i);
    }
}
