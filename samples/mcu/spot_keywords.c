/* SPDX-License-Identifier: MIT */
/* spot_keywords.c - which keyword each clip of sound in flash holds: features of one frame at a
 * time, as from a microphone, then the network. One clip of each class, in the order of classes. */
#include "mcu.h"

extern const int16_t clips[];
__asm__(".section .rodata\n.balign 4\nclips: .incbin \"" CLIPS "\"\n.text");

static const float *listen(const int16_t *clip)
{
    for (uint32_t t = 0; t < FRAMES; t++) {
        float mfcc[COEFFICIENTS];
        frame_features(clip + t * HOP, mfcc);
        if (!put_frame(t, mfcc))
            return 0;
    }
    return classify();
}

int main(void)
{
    uint32_t wrong = 0;
    for (uint32_t i = 0; i < CLASSES; i++) {
        const float *score = listen(clips + i * CLIP);
        uint32_t best = 0;
        if (!score)
            return 1;
        for (uint32_t c = 1; c < CLASSES; c++)
            best = score[c] > score[best] ? c : best;
        board_print("heard ");
        board_print(class_names[best]);
        board_print(best == i ? "\n" : ", was ");
        board_print(best == i ? "" : class_names[i]);
        board_print(best == i ? "" : "\n");
        wrong += best != i;
    }
    return wrong * 5 > CLASSES;
}
