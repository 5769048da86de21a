/* SPDX-License-Identifier: MIT */
/* test_wav_read.c - recordings cut into frames, and what is refused. The bytes end at an unmapped
 * page, so that an overread is noticed. */
#include <stdint.h>
#include <stdio.h>
#include "test_run.h"
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "core/bytes.h"
#include "data/data_source.h"
#include "data/npy_header.h"
#include "guard_page.h"

enum { MAX_WAV = 256 };

struct wav_bytes {
    uint8_t b[MAX_WAV];
    size_t n;
};

static void put_chunk(struct wav_bytes *w, const char *letters, uint32_t says, const void *bytes,
                      size_t n)
{
    memcpy(w->b + w->n, letters, 4);
    store_le32(w->b + w->n + 4, says);
    if (n)
        memcpy(w->b + w->n + 8, bytes, n);
    w->n += 8 + n;
}

static void put_format(struct wav_bytes *w, uint16_t format, uint16_t channels, uint16_t bits)
{
    uint8_t f[16] = {0};
    store_le16(f, format);
    store_le16(f + 2, channels);
    store_le32(f + 4, 16000);
    store_le16(f + 14, bits);
    put_chunk(w, "fmt ", sizeof f, f, sizeof f);
}

static struct wav_bytes riff(void)
{
    struct wav_bytes w = {.n = 12};
    memcpy(w.b, "RIFF\0\0\0\0WAVE", 12);
    return w;
}

/* Samples 1, 2, ... n. */
static void put_samples(struct wav_bytes *w, uint32_t n)
{
    uint8_t s[2 * 64];
    assert_true(n <= 64);
    for (uint32_t i = 0; i < n; i++)
        store_le16(s + 2 * i, (uint16_t)(i + 1));
    put_chunk(w, "data", 2 * n, s, 2 * (size_t)n);
}

static struct wav_bytes plain(uint32_t n)
{
    struct wav_bytes w = riff();
    put_format(&w, 1, 1, 16);
    put_samples(&w, n);
    return w;
}

/* Opens a copy that ends at an unmapped page. */
static enum pith_status open_wav(const struct wav_bytes *w, uint64_t frame, uint64_t hop,
                                 struct data_source *s, struct guarded *g, struct pith_error *err)
{
    static char name[] = "a.wav";
    *g = guard_new(w->n ? w->n : 1, 1);
    memcpy(g->data, w->b, w->n);
    *s = (struct data_source){.file = {-1, (uint8_t *)g->data, w->n, name}};
    return pith_wav_open(s, frame, hop, err);
}

static void expect_frames(const struct wav_bytes *w, uint64_t frame, uint64_t hop, uint64_t n,
                          const float *want)
{
    struct data_source s;
    struct guarded g;
    struct pith_error err = {0};
    float x[64];
    SUCCEEDS(open_wav(w, frame, hop, &s, &g, &err));
    assert_int_equal(s.n_samples, n);
    assert_int_equal(s.elems, frame);
    for (uint64_t i = 0; i < n; i++) {
        assert_int_equal(s.numbers(&s, i, x, NULL), PITH_OK);
        for (uint64_t k = 0; k < frame; k++)
            if (x[k] != want[i * frame + k] / 32768)
                fail_msg("frame %d, value %d: %g, expected %g / 32768", (int)i, (int)k,
                         (double)x[k] * 32768, (double)want[i * frame + k]);
    }
    guard_free(&g);
}

static void expect_refusal(const struct wav_bytes *w, enum pith_status status, const char *text)
{
    struct data_source s;
    struct guarded g;
    struct pith_error err = {0};
    enum pith_status st = open_wav(w, 4, 2, &s, &g, &err);
    if (st != status || strcmp(err.text, text) != 0)
        fail_msg("status %d '%s', expected %d '%s'", st, err.text, status, text);
    guard_free(&g);
}

TEST(frames_carry_what_came_before)
{
    struct wav_bytes w = plain(5);
    expect_frames(&w, 3, 2, 3, (float[]){0, 1, 2, 2, 3, 4, 4, 5, 0});
    expect_frames(&w, 2, 2, 3, (float[]){1, 2, 3, 4, 5, 0});
    expect_frames(&w, 1, 2, 3, (float[]){2, 4, 0}); /* the second of each two */
    expect_frames(&w, 8, 5, 1, (float[]){0, 0, 0, 1, 2, 3, 4, 5});
    expect_frames(&w, 2, 9, 1, (float[]){0, 0});
    expect_frames(&w, 5, 1, 5, (float[]){0, 0, 0, 0, 1, 0, 0, 0, 1, 2, 0, 0, 1,
                                         2, 3, 0, 1, 2, 3, 4, 1, 2, 3, 4, 5});
}

TEST(values_are_signed_and_below_one)
{
    struct wav_bytes w = riff();
    put_format(&w, 1, 1, 16);
    put_chunk(&w, "data", 4, "\x00\x80\xff\x7f", 4);
    expect_frames(&w, 2, 2, 1, (float[]){-32768, 32767});
}

TEST(other_chunks_are_stepped_over)
{
    struct wav_bytes w = riff();
    put_chunk(&w, "LIST", 3, "abc\0", 4); /* padded to even */
    put_format(&w, 1, 1, 16);
    put_chunk(&w, "fact", 4, "abcd", 4);
    put_samples(&w, 2);
    expect_frames(&w, 2, 2, 1, (float[]){1, 2});
}

/* Written to a pipe: the length was not known. An odd byte at the end is no sample. */
TEST(data_of_unknown_length_reaches_to_the_end)
{
    struct wav_bytes w = riff();
    put_format(&w, 1, 1, 16);
    put_chunk(&w, "data", UINT32_MAX, "\1\0\2\0\3", 5);
    expect_frames(&w, 2, 2, 1, (float[]){1, 2});
}

TEST(the_extended_format_is_read)
{
    struct wav_bytes w = riff();
    uint8_t f[40] = {0};
    store_le16(f, 0xfffe);
    store_le16(f + 2, 1);
    store_le16(f + 14, 16);
    store_le16(f + 24, 1);
    put_chunk(&w, "fmt ", sizeof f, f, sizeof f);
    put_samples(&w, 1);
    expect_frames(&w, 1, 1, 1, (float[]){1});
}

/* The extension's format counts from the byte on that ends it. */
TEST(a_cut_extension_says_nothing)
{
    uint8_t f[26] = {0};
    store_le16(f, 0xfffe);
    store_le16(f + 2, 1);
    store_le16(f + 14, 16);
    store_le16(f + 24, 1);
    struct wav_bytes w = riff();
    put_chunk(&w, "fmt ", 26, f, 26);
    put_samples(&w, 1);
    expect_frames(&w, 1, 1, 1, (float[]){1});
    w = riff();
    put_chunk(&w, "fmt ", 24, f, 24);
    put_samples(&w, 1);
    expect_refusal(
        &w, PITH_ERR_UNSUPPORTED,
        "a.wav: WAV of format 65534 with 16 bits a sample; integers (format 1) of 8, 16, "
        "24 or 32 bits and floats (format 3) are supported");
}

TEST(the_first_format_counts)
{
    struct wav_bytes w = riff();
    put_format(&w, 1, 1, 16);
    put_format(&w, 3, 1, 32);
    put_samples(&w, 2);
    expect_frames(&w, 2, 2, 1, (float[]){1, 2});
}

/* 14 bytes end before the bits of a sample. */
TEST(a_short_format_is_none)
{
    uint8_t f[16] = {1, 0, 1};
    f[14] = 16;
    for (uint32_t n = 14; n <= 16; n += 2) {
        struct wav_bytes w = riff();
        put_chunk(&w, "fmt ", n, f, n);
        put_samples(&w, 2);
        if (n == 16)
            expect_frames(&w, 2, 2, 1, (float[]){1, 2});
        else
            expect_refusal(&w, PITH_ERR_CORRUPT, "a.wav: WAV without a format before its data");
    }
}

TEST(other_encodings_are_refused)
{
    static const struct {
        uint16_t format, channels, bits;
        const char *text;
    } rows[] = {
        {3, 1, 16,
         "a.wav: WAV of format 3 with 16 bits a sample; integers (format 1) of 8, 16, 24 or 32 "
         "bits and floats (format 3) are supported"},
        {1, 1, 12,
         "a.wav: WAV of format 1 with 12 bits a sample; integers (format 1) of 8, 16, 24 or 32 "
         "bits and floats (format 3) are supported"},
        {1, 1, 40,
         "a.wav: WAV of format 1 with 40 bits a sample; integers (format 1) of 8, 16, 24 or 32 "
         "bits and floats (format 3) are supported"},
        {7, 1, 16,
         "a.wav: WAV of format 7 with 16 bits a sample; integers (format 1) of 8, 16, 24 or 32 "
         "bits and floats (format 3) are supported"},
        {1, 65, 16, "a.wav: sound with 65 channels; 1 to 64 are supported"},
        {1, 0, 16, "a.wav: sound with 0 channels; 1 to 64 are supported"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct wav_bytes w = riff();
        put_format(&w, rows[i].format, rows[i].channels, rows[i].bits);
        put_samples(&w, 4);
        expect_refusal(&w, PITH_ERR_UNSUPPORTED, rows[i].text);
    }
}

/* Two values of each encoding, exact in float; the last bytes are half a value. */
TEST(encodings)
{
    static const struct {
        uint16_t format, channels, bits;
        uint8_t bytes[17];
        size_t n;
        float first, second;
    } rows[] = {
        {1, 1, 8, {0, 192}, 2, -1, 0.5f},
        {1, 1, 16, {0, 0x80, 0, 0x40, 9}, 5, -1, 0.5f},
        {1, 1, 24, {0, 0, 0x80, 1, 0, 0, 9, 9}, 8, -1, 0x1p-23f},
        {1, 1, 32, {0, 0, 0, 0x80, 0, 0, 0, 0x20, 9, 9, 9}, 11, -1, 0.25f},
        {3, 1, 32, {0, 0, 0x20, 0x40, 0, 0, 0x80, 0xbf, 9}, 9, 2.5f, -1},
        {3, 1, 64, {0, 0, 0, 0, 0, 0, 0x04, 0x40, 0, 0, 0, 0, 0, 0, 0xf0, 0xbf}, 16, 2.5f, -1},
        {1, 2, 16, {0, 0x80, 0, 0x40, 0, 0x20, 0, 0x20, 9, 9, 9}, 11, -0.25f, 0.25f},
        {1, 3, 8, {128, 128, 224, 128, 32, 128}, 6, 0.25f, -0.25f},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct wav_bytes w = riff();
        put_format(&w, rows[i].format, rows[i].channels, rows[i].bits);
        put_chunk(&w, "data", (uint32_t)rows[i].n, rows[i].bytes, rows[i].n);
        struct data_source s;
        struct guarded g;
        struct pith_error err = {0};
        float x[2];
        if (open_wav(&w, 2, 2, &s, &g, &err))
            fail_msg("row %zu: %s", i, err.text);
        assert_int_equal(s.sound.n, 2);
        assert_int_equal(s.numbers(&s, 0, x, &err), PITH_OK);
        if (x[0] != rows[i].first || x[1] != rows[i].second)
            fail_msg("row %zu: %g %g", i, (double)x[0], (double)x[1]);
        guard_free(&g);
    }
}

TEST(broken_files_are_refused)
{
    struct wav_bytes w = riff();
    expect_refusal(&w, PITH_ERR_CORRUPT, "a.wav: WAV without a data chunk");
    put_samples(&w, 2);
    expect_refusal(&w, PITH_ERR_CORRUPT, "a.wav: WAV without a format before its data");
    w = plain(0);
    expect_refusal(&w, PITH_ERR_CORRUPT, "a.wav: sound without samples");
    w = plain(3);
    w.n--;
    expect_refusal(&w, PITH_ERR_CORRUPT, "a.wav: its data declares 6 bytes, the file has 5");
    w = riff();
    put_chunk(&w, "fmt ", UINT32_MAX, "ab", 2);
    expect_refusal(&w, PITH_ERR_CORRUPT,
                   "a.wav: a chunk declares 4294967295 bytes, the file has 2");
}

/* Whatever the file is cut to, it is read or refused within its bytes. */
TEST(every_cut_is_read_or_refused)
{
    struct wav_bytes w = plain(9), cut = w;
    for (cut.n = 0; cut.n < w.n; cut.n++) {
        struct data_source s;
        struct guarded g;
        struct pith_error err = {0};
        assert_int_equal(open_wav(&cut, 3, 2, &s, &g, &err), PITH_ERR_CORRUPT);
        guard_free(&g);
    }
}

static const char *written(const struct wav_bytes *w)
{
    static char path[64];
    strcpy(path, "/tmp/pith-wav-XXXXXX");
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, w->b, w->n), (ssize_t)w->n);
    close(fd);
    return path;
}

TEST(a_recording_is_a_data_set)
{
    struct wav_bytes w = plain(4);
    struct pith_data *d = NULL;
    struct pith_error err = {0};
    char path[96];
    const char *file = written(&w);
    float x[3];
    int64_t ids[3];
    snprintf(path, sizeof path, "wav:3:2:%s", file);
    struct pith_data_opts o = {.size_bytes = sizeof o,
                               .path = path,
                               .preprocess = "scale=32768",
                               .rank = 2,
                               .dim = {1, 3}};
    assert_int_equal(pith_data_open(&o, &d, &err), PITH_OK);
    assert_int_equal(pith_data_count(d), 2);
    assert_false(pith_data_labelled(d));
    assert_int_equal(pith_data_read(d, 1, x, NULL, &err), PITH_OK);
    assert_true(x[0] == 2 && x[1] == 3 && x[2] == 4);
    assert_int_equal(pith_data_read_as(d, 1, PITH_I64, ids, NULL, &err), PITH_ERR_UNSUPPORTED);
    pith_data_free(d);
    o.dim[1] = 5;
    assert_int_equal(pith_data_open(&o, &d, &err), PITH_ERR_ARGUMENT);
    assert_non_null(strstr(err.text, "2 samples of 3 do not fit the input 1x5"));
    static const char *const bad[] = {"wav:3:FILE", "wav:0:2:f",  "wav:3:0:f",          "wav:3:2",
                                      "wav:-3:2:f", "wav:3:2x:f", "wav:99999999999:1:f"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        o.path = bad[i];
        assert_int_equal(pith_data_open(&o, &d, &err), PITH_ERR_ARGUMENT);
        assert_non_null(strstr(err.text, "is not wav:FRAME:HOP:FILE"));
    }
    unlink(file);
}

RUN_TESTS
