/* SPDX-License-Identifier: MIT */
/* depthwise_i8_vnni.c - see depthwise_i8_bytes.h. */
#define ISA(name) name##_vnni
#include "depthwise_i8_bytes.h"
