/* SPDX-License-Identifier: MIT */
/* processors.h - what processors.c and its test share. */
#ifndef PROCESSORS_H
#define PROCESSORS_H

#include <stdbool.h>
#include <stdint.h>

#define MOST_PROCESSORS 1024u

/* Whole processors that a cpu.max of control groups (version 2) allows, 1 at least; 0: any number,
 * or there is no such file. */
uint32_t pith_cpu_quota(const char *path);

#endif
