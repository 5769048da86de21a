/* SPDX-License-Identifier: MIT */
/* The version of this library as the program that links it finds it. */
#include "pith_runtime.h"

uint32_t pith_version(void)
{
    return (uint32_t)PITH_VERSION_MAJOR << 16 | (uint32_t)PITH_VERSION_MINOR << 8 |
           (uint32_t)PITH_VERSION_PATCH;
}
