/* SPDX-License-Identifier: MIT */
#define ROW(name) name
#include "byte_rows_impl.h"
