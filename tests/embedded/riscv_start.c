/* SPDX-License-Identifier: MIT */
/* Start-up without a libc under QEMU's Linux for RISC-V: output and exit code by its calls. */
#include <stdint.h>

#define SYS_WRITE 64
#define SYS_EXIT 93

int main(void);
void board_print(const char *text);
void _start(void);

static void call(long number, long a0, const void *data, long n)
{
    register long r0 __asm__("a0") = a0;
    register const void *r1 __asm__("a1") = data;
    register long r2 __asm__("a2") = n;
    register long r7 __asm__("a7") = number;
    __asm__ volatile("ecall" : "+r"(r0) : "r"(r1), "r"(r2), "r"(r7) : "memory");
}

void board_print(const char *text)
{
    long n = 0;
    while (text[n])
        n++;
    call(SYS_WRITE, 1, text, n);
}

void _start(void)
{
    __asm__ volatile(".option push\n.option norelax\nla gp, __global_pointer$\n.option pop");
    call(SYS_EXIT, main(), "", 0);
    for (;;)
        ;
}
