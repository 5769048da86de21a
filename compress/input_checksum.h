/* SPDX-License-Identifier: MIT */
/* input_checksum.h - checksums that identify a network and a data set. */
#ifndef INPUT_CHECKSUM_H
#define INPUT_CHECKSUM_H

#include "pith_data.h"
#include "pith_model.h"

/* Of the file that m would be. PITH_ERR_MEMORY, what pith_model_pack answers. */
enum pith_status pith_checksum_model(const struct pith_model *m, uint32_t *crc,
                                     struct pith_error *err);
/* The number and the size of samples, every label, and of pictures their names, else the values of
 * the first sample. Pixels are left out: JPEG libraries differ in the last bit, and a piece of work
 * may go on on another machine. PITH_ERR_MEMORY, what reading data returns. */
enum pith_status pith_checksum_data(struct pith_data *data, uint32_t *crc, struct pith_error *err);
uint32_t pith_checksum_number(uint32_t crc, uint64_t number);

#endif
