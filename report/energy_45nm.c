/* SPDX-License-Identifier: MIT */
/* energy_45nm.c - an estimate of the energy of one inference in 45 nm CMOS at 0.9 V, by the table
 * of Horowitz (ISSCC 2014) that Deep Compression and EIE use. Each weight comes once from DRAM in
 * the bytes that the file has for it; each activation passes SRAM once when it is read and once
 * when it is written; each product is one multiplication and one addition. Control, clocks and
 * leakage are left out, so the figures compare networks and predict no battery. */
#include "facts.h"

#define PICO 1e-12
enum { WORD_BYTES = 4 };
static const double int_add_32 = 0.1, float_add_32 = 0.9, int_mult_8 = 0.2, float_mult_32 = 3.7,
                    sram_word = 5, dram_word = 640; /* pJ */

struct report_energy pith_energy_45nm(double macs, double weight_bytes, double active_bytes,
                                      bool integers)
{
    const double product = integers ? int_mult_8 + int_add_32 : float_mult_32 + float_add_32;
    return (struct report_energy){.arithmetic = PICO * macs * product,
                                  .weights = PICO * weight_bytes / WORD_BYTES * dram_word,
                                  .activations = PICO * active_bytes / WORD_BYTES * sram_word};
}

double pith_energy_sum(const struct report_energy *e)
{
    return e->arithmetic + e->weights + e->activations;
}
