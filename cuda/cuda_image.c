/* SPDX-License-Identifier: MIT */
/* cuda_image.c - the kernels of all devices, as nvcc made them (PITH_CUDA_FATBIN: the file), or, in
 * a build without nvcc, eight zeros that no driver takes. */
#include <stdbool.h>
#include "driver.h"

#ifdef PITH_CUDA_FATBIN
__asm__(".section .rodata\n.balign 64\npith_cuda_fatbin:\n.incbin \"" PITH_CUDA_FATBIN
        "\"\n.byte 0\n.previous\n");
extern const unsigned char image[] __asm__("pith_cuda_fatbin");
#else
static const unsigned char image[8] __attribute__((aligned(8))) = {0};
#endif

/* *empty serves the error message alone: an image of zeros, or none for the device. */
const void *pith_cuda_image(bool *empty)
{
#ifdef PITH_CUDA_FATBIN
    *empty = false;
#else
    *empty = true;
#endif
    return image;
}
