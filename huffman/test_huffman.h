/* SPDX-License-Identifier: MIT */
/* test_huffman.h - what tests look at inside of huffman/, beside its interface, and why:
 *
 *     gap_symbols.h: the mapping of gaps and patterns to symbols, and where a support ends
 *     huff_write.h: a stream without a weight around it
 *     package_merge.h: lengths against a search over all complete codes */
#ifndef TEST_HUFFMAN_H
#define TEST_HUFFMAN_H

#include "gap_symbols.h"
#include "huff_write.h"
#include "package_merge.h"

#endif
