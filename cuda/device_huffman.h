/* SPDX-License-Identifier: MIT */
/* device_huffman.h - weights of codes that the device makes of their Huffman codes. */
#ifndef DEVICE_HUFFMAN_H
#define DEVICE_HUFFMAN_H

#include "device_lower.h"
#include "pack_huffman.h"

/* Whether a constant's Huffman codes are decoded on the device. */
bool pith_device_decodes(const struct pith_cuda *cuda, const struct constant *c);
/* That, to `to`, where the constant lies there; the stream has ended when it returns.
 * PITH_ERR_CORRUPT, _MEMORY; *result: of the driver, 0 before. */
enum pith_status pith_device_decode(const struct pith_cuda *cuda, device_stream stream,
                                    const struct constant *c, device_address to, int *result);
/* What its two kernels are called with: `from` has what pith_device_huffman_pack made, and room,
 * `to` is the form's. turned: FORM_CODES_TURNED. */
void pith_device_huffman_args(const struct weight *w, bool turned, const struct huffman_layout *h,
                              device_address from, device_address to, struct huffman_args *decode,
                              struct symbols_args *make);

#endif
