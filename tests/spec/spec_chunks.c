/* SPDX-License-Identifier: MIT */
/* spec_chunks.c - headers and chunks (F1, F2, F3). */
#include "spec_chunks.h"
#include <stdio.h>
#include <string.h>

static const char full_tag[N_CHUNKS][5] = {"DATA", "GRPH", "HUFF", "hist", "meta", "name", "stat"};
static const uint8_t compact_tag[N_CHUNKS] = {0x7F, 0x01, 0x02, 0x41, 0x42, 0x44, 0x43};

bool compact;
struct span chunk[N_CHUNKS];
bool has_chunk[N_CHUNKS];

static uint32_t crc32c(uint64_t from, uint64_t to)
{
    uint32_t crc = 0xFFFFFFFF;
    for (uint64_t i = from; i < to; i++) {
        crc ^= file[i];
        for (int bit = 0; bit < 8; bit++) {
            crc = crc >> 1 ^ ((crc & 1) != 0 ? 0x82F63B78 : 0);
        }
    }
    return ~crc;
}

static void check_crc(uint64_t from, uint64_t to, uint64_t want, uint64_t at)
{
    must(crc32c(from, to) == want, at, "checksum differs");
}

static void found_chunk(int which, struct span s, bool ancillary, uint64_t at)
{
    if (which < N_CHUNKS) {
        must(which == DATA || left(&s) > 0, at, "a chunk other than DATA must not be empty");
        chunk[which] = s;
        has_chunk[which] = true;
    } else if (ancillary) {
        printf(" chunk passed over\n");
    } else {
        refuse("version", at, "an unknown critical chunk needs a newer reader");
    }
}

static bool is_letter(uint8_t c)
{
    return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
}

/* One entry of the full header's table; *next: where its chunk has to begin. */
static void read_entry(struct span *s, uint8_t *last_tag, uint64_t *next)
{
    uint64_t at = s->at;
    const uint8_t *tag = file + at;
    cut(s, 4);
    for (int i = 0; i < 4; i++) {
        must(is_letter(tag[i]), at, "a tag is four letters");
    }
    must(memcmp(last_tag, tag, 4) < 0, at, "tags must ascend");
    memcpy(last_tag, tag, 4);
    uint64_t crc = fixed(s, 4), offset = fixed(s, 8), length = fixed(s, 8);
    int which = 0;
    while (which < N_CHUNKS && memcmp(full_tag[which], tag, 4) != 0) {
        which++;
    }
    uint64_t begin = which == DATA ? (*next + 63) / 64 * 64 : *next;
    must(offset == begin, at + 8, "a chunk begins where the one before ends");
    must(begin <= file_bytes && length <= file_bytes - begin, at + 16, "a chunk is in the file");
    for (uint64_t i = *next; i < begin; i++) {
        must(file[i] == 0, i, "padding before DATA must be zero");
    }
    check_crc(begin, begin + length, crc, at + 4);
    *next = begin + length;
    found_chunk(which, (struct span){begin, *next}, tag[0] >= 'a', at);
}

static void read_full_header(void)
{
    struct span s = {8, file_bytes};
    if (fixed(&s, 4) != 3) {
        refuse("version", 8, "not version 3");
    }
    uint64_t n = fixed(&s, 4);
    must(n >= 1 && n <= 64, 12, "number of chunks is 1..64");
    must(fixed(&s, 8) == file_bytes, 16, "the file has another length than its header says");
    struct span entries = cut(&s, 24 * n);
    uint64_t crc_at = s.at, crc = fixed(&s, 4), next = s.at;
    check_crc(0, crc_at, crc, crc_at);
    uint8_t last_tag[4] = {0};
    for (uint64_t i = 0; i < n; i++) {
        read_entry(&entries, last_tag, &next);
    }
    must(next == file_bytes, next, "the last chunk ends where the file ends");
}

static void read_compact_header(void)
{
    uint8_t tags[256];
    uint64_t lengths[256], at[256];
    int n = 0;
    if (file[1] != 0x53) {
        refuse("version", 1, "not version 3");
    }
    must(file_bytes >= 6, 0, "a compact file has at least 6 bytes");
    struct span s = {file_bytes - 4, file_bytes};
    check_crc(0, file_bytes - 4, fixed(&s, 4), file_bytes - 4);
    s = (struct span){2, file_bytes - 4};
    do {
        at[n] = s.at;
        tags[n] = u8(&s);
        must(n == 0 || tags[n] > tags[n - 1], at[n], "tags must ascend");
        must(tags[n] <= 0x7F, at[n], "the table ends with the entry of DATA");
        lengths[n] = tags[n] != 0x7F ? varint(&s) : 0;
    } while (tags[n++] != 0x7F);
    for (int i = 0; i < n; i++) {
        int which = 0;
        while (which < N_CHUNKS && compact_tag[which] != tags[i]) {
            which++;
        }
        struct span part = cut(&s, which == DATA ? left(&s) : lengths[i]);
        found_chunk(which, part, (tags[i] & 0x40) != 0, at[i]);
    }
}

void read_header(void)
{
    static const uint8_t magic[8] = {0x89, 0x50, 0x54, 0x48, 0x0D, 0x0A, 0x1A, 0x0A};
    compact = file_bytes >= 2 && file[0] == 0xB9 && file[1] >> 4 == 5;
    must(compact || (file_bytes >= 8 && memcmp(file, magic, 8) == 0), 0, "not a .pith file");
    if (compact) {
        read_compact_header();
    } else {
        read_full_header();
    }
    must(has_chunk[DATA] && has_chunk[GRPH], 0, "DATA and GRPH are always there");
}
