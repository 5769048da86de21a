/* SPDX-License-Identifier: MIT */
#ifndef MCU_H
#define MCU_H
#include "features.h"

void board_print(const char *text);
int main(void);

/* Frame t of FRAMES: its COEFFICIENTS features become a row of the network's input. 0: the network
 * cannot run (linked.c alone). */
int put_frame(uint32_t t, const float *mfcc);
/* The scores of the CLASSES, valid until the next call; NULL: the network cannot run. */
const float *classify(void);

#endif
