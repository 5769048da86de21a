/* SPDX-License-Identifier: MIT */
/* export_main.c - an exported network on one of QEMU's boards: its stored pairs, and the
 * instructions and the stack of a run, counted with -icount. Prints "instructions N", "stack N",
 * "differ N". Compiled with -DNET_H="kws.h", -DNET=kws, -DNET_INPUT=float or uint8_t, -DNET_INPUTS,
 * -DNET_OUTPUTS. */
#include "board.h"
#include NET_H

#define JOIN_(a, b) a##b
#define JOIN(a, b) JOIN_(a, b)

static NET_INPUT x[NET_INPUTS];
static float y[NET_OUTPUTS];

int main(void)
{
    const int differ = JOIN(NET, _selftest)();
    uint32_t begin;
    begin_count();
    begin = TIMER_VALUE;
    JOIN(NET, _run)(x, y);
    say_count("instructions", begin);
    say_number("stack", painted_used());
    say_number("differ", (uint32_t)differ);
    return differ;
}
