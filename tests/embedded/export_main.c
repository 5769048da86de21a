/* SPDX-License-Identifier: MIT */
/* export_main.c - an exported network on one of QEMU's boards: its stored pairs, and the
 * instructions and the stack of a run, counted with -icount. Prints "differ N", "instructions N",
 * "stack N". Compiled with -DNET_H="kws.h", -DNET=kws, -DNET_INPUT=float or uint8_t, -DNET_INPUTS,
 * -DNET_OUTPUTS. */
#include <stdint.h>
#include NET_H

void say(const char *text);
int output_hash_main(void);

#define JOIN_(a, b) a##b
#define JOIN(a, b) JOIN_(a, b)
#define STACK_TOP 0x20400000u
#define PAINTED 16384u
#define TIMER_CTRL (*(volatile uint32_t *)0x40000000u)
#define TIMER_VALUE (*(volatile uint32_t *)0x40000004u)
#define TIMER_RELOAD (*(volatile uint32_t *)0x40000008u)

static void say_number(const char *name, uint32_t v)
{
    char text[12];
    int n = 11;
    text[n] = '\0';
    do {
        text[--n] = (char)('0' + v % 10);
        v /= 10;
    } while (v);
    say(name);
    say(" ");
    say(text + n);
    say("\n");
}

static void paint_stack(void)
{
    volatile uint32_t *p = (volatile uint32_t *)(STACK_TOP - PAINTED);
    uint32_t sp;
    __asm__ volatile("mov %0, sp" : "=r"(sp));
    while ((uint32_t)p < sp - 64)
        *p++ = 0xdeadbeefu;
}

static uint32_t painted_used(void)
{
    const volatile uint32_t *p = (const volatile uint32_t *)(STACK_TOP - PAINTED);
    while (*p == 0xdeadbeefu)
        p++;
    return STACK_TOP - (uint32_t)p;
}

static NET_INPUT x[NET_INPUTS];
static float y[NET_OUTPUTS];

int output_hash_main(void)
{
    const int differ = JOIN(NET, _selftest)();
    uint32_t begin, end;
    TIMER_RELOAD = 0xffffffffu;
    TIMER_VALUE = 0xffffffffu;
    TIMER_CTRL = 1;
    paint_stack();
    begin = TIMER_VALUE;
    JOIN(NET, _run)(x, y);
    end = TIMER_VALUE;
    say_number("stack", painted_used());
    say_number("differ", (uint32_t)differ);
    say_number("instructions",
               (uint32_t)((begin - end) * 5ull / 4)); /* -icount shift=5: 32 ns, ticks of 40 ns */
    return differ;
}
