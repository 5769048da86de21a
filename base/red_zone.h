/* SPDX-License-Identifier: MIT */
/* red_zone.h - bytes behind an object of an arena whose accesses AddressSanitizer reports; without
 * it there are none. free() opens them again. */
#ifndef RED_ZONE_H
#define RED_ZONE_H

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#define RED_ZONE 32u
#define CLOSE_RED_ZONE(at, bytes) ASAN_POISON_MEMORY_REGION(at, bytes)
#else
#define RED_ZONE 0u
#define CLOSE_RED_ZONE(at, bytes) ((void)(at), (void)(bytes))
#endif

#endif
