/* SPDX-License-Identifier: MIT */
/* choose_coder.c - which coder is taken where none is named.
 *
 * For speed, rANS where there is much to decode: it is read by vectors and comes closer to the
 * entropy than Huffman codes, but needs some hundred bytes for its states.
 *
 * For size, whether adaptive streams are taken. They are some fifty times as slow to read as
 * Huffman codes, so they must pay: with a file that is loaded in no time all the same, or with
 * bytes. One answer for the whole file: where half of its tensors were coded so, half of the time
 * would be spent for half of the gain. */
#include "choose_coder.h"
#include "base/error_fill.h"
#include "pith_stage.h"

void pith_set_coder(struct pith_model *m, enum pith_code code)
{
    for (uint32_t i = 0; i < m->n_values; i++)
        if (m->values[i].constant)
            m->values[i].constant->code = code;
}

/* The bytes of m's file, and about how long it takes to load. */
static enum pith_status weigh(const struct pith_model *m, const struct pith_pack_opts *pack,
                              uint64_t *bytes, double *seconds, struct pith_error *err)
{
    struct pith_buffer file = {NULL, 0};
    enum pith_status st = pith_model_pack(m, pack, &file, err);
    if (!st && pith_load_seconds(&file, seconds))
        st = pith_error_no_memory(err);
    *bytes = file.bytes;
    pith_buffer_free(&file);
    return st;
}

static void choose_for_speed(struct pith_model *m)
{
    for (uint32_t i = 0; i < m->n_values; i++) {
        struct pith_const *c = m->values[i].constant;
        if (c)
            c->code = c->count >= PITH_RANS_ELEMENTS ? PITH_CODE_RANS : PITH_CODE_HUFFMAN;
    }
}

static enum pith_status weigh_with(struct pith_model *m, enum pith_code code,
                                   const struct pith_pack_opts *pack, uint64_t *bytes,
                                   double *seconds, struct pith_error *err)
{
    pith_set_coder(m, code);
    return weigh(m, pack, bytes, seconds, err);
}

static enum pith_status choose_for_size(struct pith_model *m, double saves,
                                        const struct pith_pack_opts *pack, struct pith_error *err)
{
    uint64_t adaptive = 0, rans = 0;
    double seconds = 0, unused;
    enum pith_status st = weigh_with(m, PITH_CODE_ADAPTIVE, pack, &adaptive, &seconds, err);
    if (st || seconds < PITH_ADAPTIVE_SECONDS)
        return st;
    st = weigh_with(m, PITH_CODE_RANS, pack, &rans, &unused, err);
    if (!st && (double)adaptive <= (1 - saves) * (double)rans)
        pith_set_coder(m, PITH_CODE_ADAPTIVE);
    return st;
}

enum pith_status pith_choose_coder(struct pith_model *m, enum pith_encode_goal goal, double saves,
                                   const struct pith_pack_opts *pack, struct pith_error *err)
{
    if (goal == PITH_FOR_SIZE)
        return choose_for_size(m, saves, pack, err);
    if (goal == PITH_FOR_SPEED)
        choose_for_speed(m);
    else
        pith_set_coder(m, PITH_CODE_HUFFMAN);
    return PITH_OK;
}
