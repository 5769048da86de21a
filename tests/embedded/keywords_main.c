/* SPDX-License-Identifier: MIT */
/* keywords_main.c - how many samples of keywords an exported network classifies correctly on a
 * board. SAMPLES: a file of N inputs, then N class numbers of a byte. */
#include "board.h"
#include "keywords.h"

enum { N = 1000 };
extern const int8_t samples[];
__asm__(".section .rodata\nsamples: .incbin \"" SAMPLES "\"\n.balign 4\n.text");

int main(void)
{
    uint32_t right = 0;
    for (uint32_t i = 0; i < N; i++) {
        float score[KEYWORDS_OUT0_COUNT];
        int best = 0;
        keywords_run(samples + i * KEYWORDS_IN0_COUNT, score);
        for (int c = 1; c < KEYWORDS_OUT0_COUNT; c++)
            best = score[c] > score[best] ? c : best;
        right += samples[N * KEYWORDS_IN0_COUNT + i] == best;
    }
    say_number("right", right);
    return 0;
}
