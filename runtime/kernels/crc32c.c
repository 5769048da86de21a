/* SPDX-License-Identifier: MIT */
/* CRC32C (Castagnoli, reflected polynomial 0x82F63B78) as in RFC 3720.
 *
 * A CRC is linear, so the effect of a 32-bit word on the register is the exclusive or of the
 * effects of its eight nibbles. nibble[k][v] is the register after value v in nibble k (bits 4k to
 * 4k+3) was shifted out. That is 512 bytes of table, about 1 GB/s on a server core and small
 * enough for a microcontroller; the usual 8 to 16 KB of byte tables (2 to 3.5 GB/s) would not be.
 * Long runs of bytes go through the processor's instruction where there is one. */
#include "core/build_choice.h"
#include "core/bytes.h"
#include "kernels/crc32c.h"
#include "pith_runtime.h"

/* The sum is the same at every level, so this is no matter of a plan's features; but CPUID takes
 * microseconds under a hypervisor, which short runs are not worth. */
#define DISPATCH_BYTES (1u << 15)

static const uint32_t nibble[8][16] = {
    {0x00000000, 0xdd45aab8, 0xbf672381, 0x62228939, 0x7b2231f3, 0xa6679b4b, 0xc4451272, 0x1900b8ca,
     0xf64463e6, 0x2b01c95e, 0x49234067, 0x9466eadf, 0x8d665215, 0x5023f8ad, 0x32017194,
     0xef44db2c},
    {0x00000000, 0xe964b13d, 0xd725148b, 0x3e41a5b6, 0xaba65fe7, 0x42c2eeda, 0x7c834b6c, 0x95e7fa51,
     0x52a0c93f, 0xbbc47802, 0x8585ddb4, 0x6ce16c89, 0xf90696d8, 0x106227e5, 0x2e238253,
     0xc747336e},
    {0x00000000, 0xa541927e, 0x4f6f520d, 0xea2ec073, 0x9edea41a, 0x3b9f3664, 0xd1b1f617, 0x74f06469,
     0x38513ec5, 0x9d10acbb, 0x773e6cc8, 0xd27ffeb6, 0xa68f9adf, 0x03ce08a1, 0xe9e0c8d2,
     0x4ca15aac},
    {0x00000000, 0x70a27d8a, 0xe144fb14, 0x91e6869e, 0xc76580d9, 0xb7c7fd53, 0x26217bcd, 0x56830647,
     0x8b277743, 0xfb850ac9, 0x6a638c57, 0x1ac1f1dd, 0x4c42f79a, 0x3ce08a10, 0xad060c8e,
     0xdda47104},
    {0x00000000, 0x13a29877, 0x274530ee, 0x34e7a899, 0x4e8a61dc, 0x5d28f9ab, 0x69cf5132, 0x7a6dc945,
     0x9d14c3b8, 0x8eb65bcf, 0xba51f356, 0xa9f36b21, 0xd39ea264, 0xc03c3a13, 0xf4db928a,
     0xe7790afd},
    {0x00000000, 0x3fc5f181, 0x7f8be302, 0x404e1283, 0xff17c604, 0xc0d23785, 0x809c2506, 0xbf59d487,
     0xfbc3faf9, 0xc4060b78, 0x844819fb, 0xbb8de87a, 0x04d43cfd, 0x3b11cd7c, 0x7b5fdfff,
     0x449a2e7e},
    {0x00000000, 0xf26b8303, 0xe13b70f7, 0x1350f3f4, 0xc79a971f, 0x35f1141c, 0x26a1e7e8, 0xd4ca64eb,
     0x8ad958cf, 0x78b2dbcc, 0x6be22838, 0x9989ab3b, 0x4d43cfd0, 0xbf284cd3, 0xac78bf27,
     0x5e133c24},
    {0x00000000, 0x105ec76f, 0x20bd8ede, 0x30e349b1, 0x417b1dbc, 0x5125dad3, 0x61c69362, 0x7198540d,
     0x82f63b78, 0x92a8fc17, 0xa24bb5a6, 0xb21572c9, 0xc38d26c4, 0xd3d3e1ab, 0xe330a81a,
     0xf36e6f75},
};

static uint32_t shift_word(uint32_t w)
{
    return nibble[0][w & 15] ^ nibble[1][w >> 4 & 15] ^ nibble[2][w >> 8 & 15] ^
           nibble[3][w >> 12 & 15] ^ nibble[4][w >> 16 & 15] ^ nibble[5][w >> 20 & 15] ^
           nibble[6][w >> 24 & 15] ^ nibble[7][w >> 28];
}

void pith_checksum_kernels_fill(struct checksum_kernels *k, uint32_t features)
{
    features &= PITH_BUILD_CPU;
    CHECKSUM_KERNELS(KERNEL_TAKE)
}

uint32_t pith_crc32c(uint32_t crc, const void *p, size_t bytes)
{
    struct checksum_kernels k;
    pith_checksum_kernels_fill(&k, bytes >= DISPATCH_BYTES ? pith_cpu_features() : 0);
    return k.crc32c(crc, p, bytes);
}

uint32_t pith_crc32c_portable(uint32_t crc, const void *p, size_t bytes)
{
    const uint8_t *b = p;
    crc = ~crc;
    for (; bytes >= 4; b += 4, bytes -= 4)
        crc = shift_word(crc ^ load_le32(b));
    for (; bytes > 0; b++, bytes--) {
        /* One byte: the top two nibbles of a word whose other 24 bits are 0. */
        uint32_t v = (crc ^ *b) & 0xff;
        crc = crc >> 8 ^ nibble[6][v & 15] ^ nibble[7][v >> 4];
    }
    return ~crc;
}
