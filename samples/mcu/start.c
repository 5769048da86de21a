/* SPDX-License-Identifier: MIT */
/* start.c - start-up without libc: vector table, FPU, .data, .bss, then main. Output and the exit
 * code go through semihosting, which QEMU and debug probes answer. */
#include <stdint.h>
#include "mcu.h"

extern uint32_t stack_top, data_load, data_start, data_end, bss_start, bss_end;

static uint32_t semihost(uint32_t operation, const void *argument)
{
    register uint32_t r0 __asm__("r0") = operation;
    register const void *r1 __asm__("r1") = argument;
    __asm__ volatile("bkpt 0xab" : "+r"(r0) : "r"(r1) : "memory");
    return r0;
}

void board_print(const char *text)
{
    semihost(0x04 /* SYS_WRITE0 */, text);
}

static void finish(uint32_t code)
{
    const uint32_t block[2] = {0x20026 /* ADP_Stopped_ApplicationExit */, code};
    semihost(0x20 /* SYS_EXIT_EXTENDED */, block);
    for (;;)
        ;
}

static void fault(void)
{
    board_print("fault\n");
    finish(99);
}

static void reset(void)
{
#ifdef __ARM_FP
    *(volatile uint32_t *)0xE000ED88u |= 0xfu << 20; /* CPACR: the FPU is on */
    __asm__ volatile("dsb\n isb");
#endif
    for (uint32_t *to = &data_start, *from = &data_load; to < &data_end;)
        *to++ = *from++;
    for (uint32_t *to = &bss_start; to < &bss_end;)
        *to++ = 0;
    finish((uint32_t)main());
}

__attribute__((section(".vectors"), used)) static const void *const vectors[16] = {
    &stack_top,    (void *)reset, (void *)fault, (void *)fault,
    (void *)fault, (void *)fault, (void *)fault,
};
