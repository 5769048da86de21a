/* SPDX-License-Identifier: MIT */
/* classify_pictures.c - classifies the pictures in flash; prints the class of each and its label.
 */
#include "mcu.h"

enum { PICTURE_BYTES = 28 * 28, CLASSES = 10 };

/* Files of the MNIST format, linked into flash: heads of 16 and 8 bytes, big-endian counts. */
extern const uint8_t images[], labels[];
__asm__(".section .rodata\nimages: .incbin \"" IMAGES "\"\nlabels: .incbin \"" LABELS
        "\"\n.balign 4\n.text");

static void print_digit(const char *before, uint32_t digit)
{
    const char text[2] = {(char)('0' + digit), '\0'};
    board_print(before);
    board_print(text);
}

int main(void)
{
    const uint32_t pictures = (uint32_t)images[6] << 8 | images[7];
    uint32_t wrong = 0;
    for (uint32_t i = 0; i < pictures; i++) {
        const float *score = classify(images + 16 + i * PICTURE_BYTES);
        uint32_t best = 0;
        if (!score)
            return 1;
        for (uint32_t c = 1; c < CLASSES; c++)
            best = score[c] > score[best] ? c : best;
        print_digit("class ", best);
        print_digit(", label ", labels[8 + i]);
        board_print(best == labels[8 + i] ? "\n" : ", wrong\n");
        wrong += best != labels[8 + i];
    }
    return wrong * 5 > pictures;
}
