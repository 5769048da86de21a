/* SPDX-License-Identifier: MIT */
/* test_sound_read.c - both readers of sound give the same bits: of WAV files, and of the same
 * values in FLAC and AIFF. What is cut, too large or no sound is refused. */
#include <stdint.h>
#include <stdio.h>
#include "test_run.h"
#include <math.h>
#include <sndfile.h>
#include <stdlib.h>
#include <string.h>
#include "core/bytes.h"
#include "data/data_source.h"
#include "open_data.h"

enum { FRAMES = 5000, MOST = 2 * FRAMES };

static double value[MOST];

/* Any values, so that every bit of a sample occurs; the first are the ends of the range. */
static void draw_values(bool smooth)
{
    uint32_t state = 1;
    for (int i = 0; i < MOST; i++) {
        state = state * 1664525u + 1013904223u;
        value[i] = smooth ? 0.5 * sin(i * 0.05) : (double)(int32_t)state * 0x1p-31;
    }
    value[0] = value[3] = -1;
    value[1] = value[2] = smooth ? 0 : 1 - 0x1p-31;
}

static void write_sound(const char *name, int format, int channels)
{
    SF_INFO info = {.samplerate = 16000, .channels = channels, .format = format};
    SNDFILE *f = sf_open(at(name), SFM_WRITE, &info);
    if (!f)
        fail_msg("%s: %s", name, sf_strerror(NULL));
    assert_int_equal(sf_writef_double(f, value, FRAMES), FRAMES);
    assert_int_equal(sf_close(f), 0);
}

static void load(const char *name, struct data_source *s)
{
    struct pith_error err;
    *s = (struct data_source){.file = {.fd = -1}};
    SUCCEEDS(pith_source_open(at(name), &s->file, &err) || pith_source_load(&s->file, 0, &err));
}

/* As commands read it: x [FRAMES]. */
static void read_frames(const char *name, float *x)
{
    struct data_source s;
    struct pith_error err = {0};
    load(name, &s);
    SUCCEEDS(pith_wav_open(&s, FRAMES, FRAMES, &err));
    assert_int_equal(s.sound.n, FRAMES);
    assert_int_equal(s.n_samples, 1);
    assert_int_equal(s.numbers(&s, 0, x, &err), PITH_OK);
    pith_source_close(&s.file);
}

/* The same by libsndfile, whatever the file is. */
static void decode_frames(const char *name, float *x)
{
    struct data_source s;
    struct pith_error err = {0};
    load(name, &s);
    SUCCEEDS(pith_sound_decode(&s, &err));
    assert_int_equal(s.file.bytes, 8 * (uint64_t)FRAMES * s.sound.channels);
    for (uint32_t i = 0; i < FRAMES; i++) {
        double sum = 0;
        for (uint32_t c = 0; c < s.sound.channels; c++)
            sum += pith_stored_f64(PITH_F64, false, s.file.mem + 8 * (i * s.sound.channels + c));
        x[i] = (float)(sum / s.sound.channels);
    }
    pith_source_close(&s.file);
}

static const int encodings[] = {SF_FORMAT_PCM_U8, SF_FORMAT_PCM_16, SF_FORMAT_PCM_24,
                                SF_FORMAT_PCM_32, SF_FORMAT_FLOAT,  SF_FORMAT_DOUBLE};

TEST(both_readers_give_the_same_bits)
{
    static float x[FRAMES], y[FRAMES];
    draw_values(false);
    for (size_t i = 0; i < 2 * 6; i++) {
        write_sound("a.wav", SF_FORMAT_WAV | encodings[i / 2], 1 + (int)(i % 2));
        read_frames("a.wav", x);
        decode_frames("a.wav", y);
        if (memcmp(x, y, sizeof x) != 0)
            fail_msg("encoding %zu of %zu channels: other bits", i / 2, 1 + i % 2);
        assert_true(fabsf(x[0] - (i % 2 ? 0.0f : -1.0f)) < 0.01f);
    }
}

TEST(other_files_hold_the_same_values)
{
    static const struct {
        int wav, other;
    } pairs[] = {{SF_FORMAT_PCM_16, SF_FORMAT_FLAC | SF_FORMAT_PCM_16},
                 {SF_FORMAT_PCM_24, SF_FORMAT_FLAC | SF_FORMAT_PCM_24},
                 {SF_FORMAT_PCM_16, SF_FORMAT_AIFF | SF_FORMAT_PCM_16},
                 {SF_FORMAT_PCM_32, SF_FORMAT_AIFF | SF_FORMAT_PCM_32},
                 {SF_FORMAT_FLOAT, SF_FORMAT_AIFF | SF_FORMAT_FLOAT},
                 {SF_FORMAT_PCM_16, SF_FORMAT_RF64 | SF_FORMAT_PCM_16}};
    static float x[FRAMES], y[FRAMES];
    draw_values(false);
    for (size_t i = 0; i < 2 * sizeof pairs / sizeof *pairs; i++) {
        write_sound("a.wav", SF_FORMAT_WAV | pairs[i / 2].wav, 1 + (int)(i % 2));
        write_sound("a.other", pairs[i / 2].other, 1 + (int)(i % 2));
        read_frames("a.wav", x);
        read_frames("a.other", y);
        if (memcmp(x, y, sizeof x) != 0)
            fail_msg("pair %zu of %zu channels: other bits", i / 2, 1 + i % 2);
    }
    /* not the same values, but near them */
    draw_values(true);
    write_sound("a.ogg", SF_FORMAT_OGG | SF_FORMAT_VORBIS, 1);
    read_frames("a.ogg", x);
    for (int i = 100; i < FRAMES; i++)
        if (fabs(x[i] - value[i]) > 0.05)
            fail_msg("OGG: value %d is %g, was %g", i, (double)x[i], value[i]);
}

/* The first n bytes of a file, or those with a byte changed. */
static enum pith_status decode_bytes(const uint8_t *bytes, size_t n, uint64_t max_bytes,
                                     struct pith_error *err)
{
    struct data_source s = {.max_bytes = max_bytes,
                            .file = {.fd = -1, .mem = malloc(n + 1), .bytes = n}};
    s.file.name = strdup("a");
    memcpy(s.file.mem, bytes, n);
    enum pith_status st = pith_wav_open(&s, 10, 10, err);
    assert_true(st || s.sound.n > 0);
    pith_source_close(&s.file);
    return st;
}

TEST(damaged_and_large_files_are_refused)
{
    struct data_source s;
    struct pith_error err = {0};
    draw_values(false);
    write_sound("a.flac", SF_FORMAT_FLAC | SF_FORMAT_PCM_16, 2);
    load("a.flac", &s);
    const uint8_t *b = s.file.mem;
    const size_t n = s.file.bytes;
    assert_int_equal(decode_bytes(b, n, 0, &err), PITH_OK);
    assert_int_equal(decode_bytes(b, n, 16 * FRAMES, &err), PITH_OK);
    assert_int_equal(decode_bytes(b, n, 16 * FRAMES - 1, &err), PITH_ERR_LIMIT);
    assert_non_null(strstr(err.text, "a: 80,000 bytes or more"));
    for (size_t cut = 0; cut < n; cut += 997) {
        assert_int_equal(decode_bytes(b, cut, 0, &err), PITH_ERR_CORRUPT);
        assert_memory_equal(err.text, "a: ", 3);
    }
    s.file.mem[n / 2] ^= 0x55; /* each frame has a checksum */
    assert_int_equal(decode_bytes(b, n, 0, &err), PITH_ERR_CORRUPT);
    s.file.mem[n / 2] ^= 0x55;
    memset(s.file.mem + 22, 0xff, 4); /* of 2^36 samples */
    s.file.mem[21] |= 0x0f;
    assert_int_equal(decode_bytes(b, n, 0, &err), PITH_ERR_LIMIT);
    pith_source_close(&s.file);
    assert_int_equal(decode_bytes((const uint8_t *)"no sound at all", 15, 0, &err),
                     PITH_ERR_CORRUPT);
    assert_non_null(strstr(err.text, "a: neither WAV nor FLAC, OGG, AIFF"));
}

RUN_TESTS_WITH(make_folder, remove_folder)
