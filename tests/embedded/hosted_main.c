/* SPDX-License-Identifier: MIT */
#include <stdint.h>
#include <stdio.h>

void say(const char *text);
int output_hash_main(void);

void say(const char *text)
{
    fputs(text, stdout);
}

int main(void)
{
    return output_hash_main();
}
