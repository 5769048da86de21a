/* SPDX-License-Identifier: MIT */
/* Start-up for QEMU's MPS2 boards: vector table, FPU on, .data copied, .bss cleared, output and
 * exit code by semihosting. */
#include <stdint.h>

extern uint32_t stack_top, data_load, data_start, data_end, bss_start, bss_end;
int output_hash_main(void);
void say(const char *text);
void reset(void);

#define SYS_WRITE0 0x04u
#define SYS_EXIT_EXTENDED 0x20u
#define CPACR (*(volatile uint32_t *)0xE000ED88u)

static uint32_t semihost(uint32_t operation, const void *argument)
{
    register uint32_t r0 __asm__("r0") = operation;
    register const void *r1 __asm__("r1") = argument;
    __asm__ volatile("bkpt 0xab" : "+r"(r0) : "r"(r1) : "memory");
    return r0;
}

void say(const char *text)
{
    semihost(SYS_WRITE0, text);
}

static void quit(uint32_t code)
{
    uint32_t block[2] = {0x20026u /* ADP_Stopped_ApplicationExit */, code};
    semihost(SYS_EXIT_EXTENDED, block);
    for (;;)
        ;
}

void reset(void)
{
#ifdef __ARM_FP
    CPACR |= 0xfu << 20;
    __asm__ volatile("dsb\n isb");
#endif
    for (uint32_t *d = &data_start, *s = &data_load; d < &data_end;)
        *d++ = *s++;
    for (uint32_t *b = &bss_start; b < &bss_end;)
        *b++ = 0;
    quit((uint32_t)output_hash_main());
}

static void fault(void)
{
    say("fault\n");
    quit(99);
}

__attribute__((section(".vectors"), used)) static const void *const vectors[16] = {
    &stack_top,    (void *)reset, (void *)fault, (void *)fault,
    (void *)fault, (void *)fault, (void *)fault,
};
