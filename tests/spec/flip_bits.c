/* SPDX-License-Identifier: MIT */
/* flip_bits.c - damages a .pith file: one or two bits, chosen by a seed.
 *
 *     flip_bits IN SEED OUT        checksums stay as they are, so every reader must refuse OUT
 *     flip_bits IN SEED OUT mend   and makes the checksums right again, so that readers run
 *                                  about the rules behind them; bits near the start are preferred,
 *                                  where the header and the graph lie */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NEAR = 320, MAX_BYTES = 1 << 20 };

static uint8_t file[MAX_BYTES];
static size_t file_bytes;

static uint32_t load32(size_t at)
{
    return (uint32_t)file[at] | (uint32_t)file[at + 1] << 8 | (uint32_t)file[at + 2] << 16 |
           (uint32_t)file[at + 3] << 24;
}

/* CRC32C of n bytes at `from`, written at `to`. */
static void sign(size_t from, size_t n, size_t to)
{
    uint32_t crc = 0xFFFFFFFF;
    for (size_t i = from; i < from + n; i++) {
        crc ^= file[i];
        for (int bit = 0; bit < 8; bit++) {
            crc = crc >> 1 ^ ((crc & 1) != 0 ? 0x82F63B78 : 0);
        }
    }
    for (int i = 0; i < 4; i++) {
        file[to + (size_t)i] = (uint8_t)(~crc >> (8 * i));
    }
}

static void mend(void)
{
    if (file[0] == 0xB9) {
        sign(0, file_bytes - 4, file_bytes - 4);
        return;
    }
    size_t n = load32(12);
    if (n > 64 || 28 + 24 * n > file_bytes) {
        return;
    }
    for (size_t entry = 24; entry < 24 + 24 * n; entry += 24) {
        size_t offset = load32(entry + 8), length = load32(entry + 16);
        if (offset <= file_bytes && length <= file_bytes - offset) {
            sign(offset, length, entry + 4);
        }
    }
    sign(0, 24 + 24 * n, 24 + 24 * n);
}

static uint64_t random_state;

static size_t random_below(size_t n)
{
    random_state = random_state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (size_t)(random_state >> 33) % n;
}

static size_t pick_bit(int near)
{
    size_t bytes = near && file_bytes > NEAR && random_below(3) > 0 ? NEAR : file_bytes;
    return random_below(8 * bytes);
}

static void flip(size_t bit)
{
    file[bit / 8] ^= (uint8_t)(1 << (bit % 8));
}

int main(int argc, char **argv)
{
    if (argc < 4) {
        fprintf(stderr, "usage: flip_bits IN SEED OUT [mend]\n");
        return 2;
    }
    FILE *f = fopen(argv[1], "rb");
    file_bytes = f != NULL ? fread(file, 1, MAX_BYTES, f) : 0;
    if (file_bytes < 32 || fclose(f) != 0) {
        fprintf(stderr, "flip_bits: cannot read %s\n", argv[1]);
        return 1;
    }
    random_state = strtoull(argv[2], NULL, 10) * 2654435761u;
    size_t first = pick_bit(argc > 4), second = pick_bit(argc > 4);
    flip(first);
    if (second != first && random_below(2) == 1) {
        flip(second);
    }
    if (argc > 4) {
        mend();
    }
    f = fopen(argv[3], "wb");
    if (f == NULL || fwrite(file, 1, file_bytes, f) != file_bytes || fclose(f) != 0) {
        fprintf(stderr, "flip_bits: cannot write %s\n", argv[3]);
        return 1;
    }
    return 0;
}
