/* SPDX-License-Identifier: MIT */
/* WAV: frame and hop come from the fuzzer too. An accepted recording is readable to its last frame,
 * every value of integers in [-1, 1] (of 32 bits the largest is rounded to 1), and its length is
 * the same however it is cut. */
#include <stdlib.h>
#include <string.h>
#include "data/data_source.h"
#include "data/npy_header.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n);

static void read_frames(struct data_source *s)
{
    const uint64_t some[] = {0, s->n_samples / 2, s->n_samples - 1};
    float *x = malloc(s->elems * sizeof *x);
    if (!x)
        abort();
    for (int i = 0; i < 3; i++) {
        if (s->numbers(s, some[i], x, NULL))
            abort();
        for (uint64_t k = 0; k < s->elems; k++)
            if (!s->sound.real && !(x[k] >= -1.0f && x[k] <= 1.0f))
                abort();
    }
    free(x);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    struct data_source s = {.max_bytes = 1 << 24};
    struct pith_error err;
    if (n < 10 || memcmp(bytes + 2, "RIFF", 4) != 0) /* the rest is libsndfile's */
        return 0;
    uint64_t frame = 1 + (uint64_t)bytes[0] * 5, hop = 1 + (uint64_t)bytes[1];
    bytes += 2;
    n -= 2;
    s.file = (struct file_source){
        .fd = -1, .mem = malloc(n ? n : 1), .bytes = n, .name = strdup("fuzz")};
    if (!s.file.mem || !s.file.name)
        abort();
    memcpy(s.file.mem, bytes, n);
    if (pith_wav_open(&s, frame, hop, &err) == PITH_OK) {
        if (s.elems != frame || s.n_samples != (s.sound.n + hop - 1) / hop)
            abort();
        read_frames(&s);
    }
    pith_source_close(&s.file);
    return 0;
}
