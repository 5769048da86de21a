/* SPDX-License-Identifier: MIT */
/* depthwise_i8_avxvnni.c - see depthwise_i8_bytes.h. */
#define ISA(name) name##_avxvnni
#include "kernels/x86/integer/depthwise_i8_bytes.h"
