/* SPDX-License-Identifier: MIT */
/* board.h - the instructions and the stack of what a program does on one of QEMU's MPS2 boards,
 * counted with -icount shift=5. */
#ifndef BOARD_H
#define BOARD_H

#include <stdint.h>

void board_print(const char *text);

extern uint32_t stack_top;

#define STACK_TOP ((uint32_t)&stack_top)
#define PAINTED 16384u
#ifdef NO_TIMER /* boards with another one: 0 instructions */
static volatile uint32_t timer[3];
#else
static volatile uint32_t *const timer = (volatile uint32_t *)0x40000000u;
#endif
#define TIMER_CTRL timer[0]
#define TIMER_VALUE timer[1]
#define TIMER_RELOAD timer[2]

static void say_number(const char *name, uint32_t v)
{
    char text[12];
    int n = 11;
    text[n] = '\0';
    do {
        text[--n] = (char)('0' + v % 10);
        v /= 10;
    } while (v);
    board_print(name);
    board_print(" ");
    board_print(text + n);
    board_print("\n");
}

static void paint_stack(void)
{
    volatile uint32_t *p = (volatile uint32_t *)(STACK_TOP - PAINTED);
    uint32_t sp;
    __asm__ volatile("mov %0, sp" : "=r"(sp));
    while ((uint32_t)p < sp - 64)
        *p++ = 0xdeadbeefu;
}

/* From the depth of the stack at hand on. */
static void begin_count(void)
{
    TIMER_RELOAD = 0xffffffffu;
    TIMER_VALUE = 0xffffffffu;
    TIMER_CTRL = 1;
    paint_stack();
}

/* The timer counts down. -icount shift=5: an instruction is 32 ns, a tick 40. */
static void say_count(const char *name, uint32_t begin)
{
    const uint32_t end = TIMER_VALUE;
    say_number(name, (uint32_t)((begin - end) * 5ull / 4));
}

static uint32_t painted_used(void)
{
    const volatile uint32_t *p = (const volatile uint32_t *)(STACK_TOP - PAINTED);
    while (*p == 0xdeadbeefu)
        p++;
    return STACK_TOP - (uint32_t)p;
}

#endif
