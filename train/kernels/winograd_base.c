/* SPDX-License-Identifier: MIT */
/* winograd_base.c - winograd_impl.h for every CPU. */
#include "simd_base.h"
#define MR 4
#define TABLE pith_winograd_base
#include "winograd_impl.h"
