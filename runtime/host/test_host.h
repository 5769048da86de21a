/* SPDX-License-Identifier: MIT */
/* test_host.h - what tests look at inside of runtime/host/, beside its interface, and why:
 *
 *     decimal.h: every number comes back from its text
 *     processors.h: each form of a limit on processors, which no test can set */
#ifndef TEST_HOST_H
#define TEST_HOST_H

#include "host/decimal.h"
#include "host/processors.h"

#endif
