/* SPDX-License-Identifier: MIT */
/* count_text.h - numbers as people read them. */
#ifndef PITH_COUNT_TEXT_H
#define PITH_COUNT_TEXT_H

#include <stdint.h>

/* 10000 as "10,000"; out: at least 27 bytes. Returns out. */
const char *pith_count_text(uint64_t n, char *out);

#endif
