/* SPDX-License-Identifier: MIT */
/* integer_bitmap.c - packs nonzeros of bytes as a bitmap (pith_kernel_integer.h): the structs of
 * the panels, their bits, then the values, all in the order in which a kernel reads them. */
#include "integer_bitmap.h"
#include "integer_nonzeros.h"
#include "integer_element.h"

static uint64_t panels_of(const struct integer_layout *l)
{
    return l->rounded / BITMAP_NR;
}

static uint64_t bits_bytes(const struct integer_layout *l)
{
    return (uint64_t)l->segments * l->steps * BITMAP_WORDS * sizeof(uint64_t);
}

/* Word r of a step: four columns of each output. */
static uint64_t word_of(const uint64_t left[BITMAP_NR], uint32_t r)
{
    uint64_t word = 0;
    for (uint32_t j = 0; j < BITMAP_NR; j++)
        word |= (left[j] >> 4 * r & 15) << 4 * j;
    return word;
}

/* A panel's output: its words, its values, and the sums of its weights. */
struct packed_panel {
    uint64_t *bits;
    uint8_t *value;
    uint32_t *sum;
};

static void put_step(const struct integer_layout *l, const struct integer_weights *weights,
                     uint32_t o, uint32_t begin, uint32_t n, struct packed_panel *to)
{
    uint64_t left[BITMAP_NR] = {0};
    pith_integer_nonzeros(l, weights,
                          (struct nonzeros_at){o, least(l->og - o, BITMAP_NR), begin, n}, left);
    for (uint32_t r = 0; r < BITMAP_WORDS; r++) {
        uint64_t word = word_of(left, r);
        *to->bits++ = word;
        for (; word; word &= word - 1) {
            const uint32_t bit = lowest_bit(word), j = bit / 4;
            const int32_t w = integer_weight_at(l, weights, (size_t)o + j, begin + 4 * r + bit % 4);
            *to->value++ = (uint8_t)w;
            to->sum[j] += (uint32_t)w;
        }
    }
}

void pith_pack_bitmap(const struct integer_layout *l, const struct integer_weights *weights,
                      uint32_t *sum, uint8_t *packed)
{
    struct bitmap_panel *panel = (void *)packed;
    uint64_t *bits = (void *)(packed + aligned_bytes(panels_of(l) * sizeof *panel));
    struct packed_panel to = {bits, (uint8_t *)bits + panels_of(l) * bits_bytes(l), sum};
    for (uint32_t o = 0; o < l->rounded; o += BITMAP_NR, panel++, to.sum += BITMAP_NR) {
        panel->at = (uint32_t)((uint8_t *)to.bits - (uint8_t *)panel);
        panel->values = (uint32_t)(to.value - (uint8_t *)panel);
        for (uint32_t s = 0; s < l->segments; s++)
            for (uint32_t begin = 0; begin < l->run; begin += BITMAP_STEP)
                put_step(l, weights, o, s * l->run + begin, least(l->run - begin, BITMAP_STEP),
                         &to);
    }
    memset(to.value, 0, BITMAP_BEHIND);
}
