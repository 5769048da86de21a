/* SPDX-License-Identifier: MIT */
/* depthwise_i8_vnni.c - see depthwise_i8_bytes.h. */
#define ISA(name) name##_vnni
#include "kernels/x86/integer/depthwise_i8_bytes.h"
