/* SPDX-License-Identifier: MIT */
/* fake_rows_base.c - fake_rows_impl.h for every CPU. */
#define ROWS pith_fake_rows_base
#include "fake_rows_impl.h"
