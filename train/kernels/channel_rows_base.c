/* SPDX-License-Identifier: MIT */
/* channel_rows_base.c - channel_rows_impl.h for every CPU. */
#define ROWS pith_channel_rows_base
#include "channel_rows_impl.h"
