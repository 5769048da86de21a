/* SPDX-License-Identifier: MIT */
/* test_plan.h - what tests look at inside of runtime/plan/, beside its interface, and why:
 *
 *     plan.h: steps, places and what became of nodes: of a plan its user sees the results alone */
#ifndef TEST_PLAN_H
#define TEST_PLAN_H

#include "plan/plan.h"

#endif
