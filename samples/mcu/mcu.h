/* SPDX-License-Identifier: MIT */
#ifndef MCU_H
#define MCU_H
#include <stdint.h>

void board_print(const char *text);
int main(void);

/* pixels: 28 x 28 bytes, row by row. The scores of the 10 classes, valid until the next call; NULL:
 * the network cannot run (linked.c alone). */
const float *classify(const uint8_t *pixels);

#endif
