/* SPDX-License-Identifier: MIT */
/* wav_read.c - recordings cut into overlapping frames: RIFF WAVE files read here, so that the
 * static program and the wheel have them, others by sound_read.c.
 *
 *     'RIFF' size 'WAVE' | chunk | chunk | ...        chunk: 4 letters, size LE32, bytes, pad to
 * even 'fmt ': format 2 | channels 2 | rate 4 | bytes a second 4 | block 2 | bits 2 | extension
 *     'data': samples
 *
 * Integers of 8, 16, 24 and 32 bits become values in [-1, 1), floats stay what they are; of several
 * channels the mean is taken. A WAV of compressed sound is refused. The rate stands in the file but
 * not in a network, so it is not tested. Programs that write to a pipe leave 0xffffffff for sizes
 * they did not know: such data reaches to the end of the file. */
#include <string.h>

#include "core/bytes.h"
#include "data_source.h"

enum {
    RIFF_HEAD = 12,
    CHUNK_HEAD = 8,
    FORMAT_BYTES = 16,
    FORMAT_PCM = 1,
    FORMAT_REAL = 3,
    FORMAT_EXTENSIBLE = 0xfffe, /* the format proper stands in the extension */
    EXTENSION_FORMAT_AT = 24,
    EXTENSION_END = 26,
    MOST_CHANNELS = 64
};
#define SIZE_UNKNOWN UINT32_MAX

struct wav {
    const uint8_t *format; /* NULL: not met yet */
    uint64_t format_bytes;
    const uint8_t *data;
    uint64_t data_bytes;
};

static bool is_chunk(const uint8_t *p, const char *letters)
{
    return memcmp(p, letters, 4) == 0;
}

static bool is_wav(const struct file_source *f)
{
    return f->bytes >= RIFF_HEAD && is_chunk(f->mem, "RIFF") && is_chunk(f->mem + 8, "WAVE");
}

/* The format and the data behind it; other chunks (LIST, fact, ...) are stepped over. */
static enum pith_status find_chunks(const struct file_source *f, struct wav *w,
                                    struct pith_error *err)
{
    const uint8_t *b = f->mem;
    for (uint64_t at = RIFF_HEAD; f->bytes - at >= CHUNK_HEAD;) {
        const uint8_t *chunk = b + at;
        uint64_t size = load_le32(chunk + 4), have = f->bytes - at - CHUNK_HEAD;
        bool data = is_chunk(chunk, "data");
        if (data && size == SIZE_UNKNOWN)
            size = have;
        if (size > have)
            return pith_error_fill(
                err, PITH_ERR_CORRUPT, "%s: %s declares %llu bytes, the file has %llu", f->name,
                data ? "its data" : "a chunk", (unsigned long long)size, (unsigned long long)have);
        if (data) {
            w->data = chunk + CHUNK_HEAD;
            w->data_bytes = size;
            return PITH_OK;
        }
        if (is_chunk(chunk, "fmt ") && !w->format) {
            w->format = chunk + CHUNK_HEAD;
            w->format_bytes = size;
        }
        uint64_t padded = size + (size & 1);
        at += CHUNK_HEAD + (padded > have ? have : padded);
    }
    return pith_error_fill(err, PITH_ERR_CORRUPT, "%s: WAV without a data chunk", f->name);
}

static enum pith_status read_format(struct data_source *s, const struct wav *w,
                                    struct pith_error *err)
{
    const char *name = s->file.name;
    if (!w->format || w->format_bytes < FORMAT_BYTES)
        return pith_error_fill(err, PITH_ERR_CORRUPT, "%s: WAV without a format before its data",
                               name);
    uint32_t format = load_le16(w->format), channels = load_le16(w->format + 2);
    uint32_t bits = load_le16(w->format + 14);
    if (format == FORMAT_EXTENSIBLE && w->format_bytes >= EXTENSION_END)
        format = load_le16(w->format + EXTENSION_FORMAT_AT);
    const bool integers =
        format == FORMAT_PCM && (bits == 8 || bits == 16 || bits == 24 || bits == 32);
    if (!integers && (format != FORMAT_REAL || (bits != 32 && bits != 64)))
        return pith_error_fill(err, PITH_ERR_UNSUPPORTED,
                               "%s: WAV of format %u with %u bits a sample; integers (format 1) of "
                               "8, 16, 24 or 32 bits and floats (format 3) are supported",
                               name, format, bits);
    s->sound.bytes = bits / 8;
    s->sound.channels = channels;
    s->sound.real = format == FORMAT_REAL;
    return PITH_OK;
}

static double value_at(const uint8_t *p, uint32_t bytes, bool real)
{
    if (real)
        return pith_stored_f64(bytes == 4 ? PITH_F32 : PITH_F64, false, p);
    if (bytes == 1)
        return (p[0] - 128) / 128.0; /* the only one that is not signed */
    const int64_t v = (int64_t)(pith_load_stored(p, bytes, false) << (64 - 8 * bytes));
    return (double)v * 0x1p-63;
}

/* The mean of the channels. */
static float sound_at(const struct data_source *s, const uint8_t *p)
{
    double sum = 0;
    for (uint32_t c = 0; c < s->sound.channels; c++)
        sum += value_at(p + c * s->sound.bytes, s->sound.bytes, s->sound.real);
    return (float)(sum / s->sound.channels);
}

/* Frame i ends with sample (i + 1) * hop; zeros stand for what is not in the recording. */
static enum pith_status wav_frame(const struct data_source *s, uint64_t i, float *x,
                                  struct pith_error *err)
{
    (void)err;
    const uint8_t *sound = s->file.mem + s->first;
    int64_t from = (int64_t)((i + 1) * s->hop) - (int64_t)s->elems;
    for (uint64_t k = 0; k < s->elems; k++) {
        int64_t at = from + (int64_t)k;
        bool inside = at >= 0 && (uint64_t)at < s->sound.n;
        x[k] = inside ? sound_at(s, sound + (uint64_t)at * s->sound.bytes * s->sound.channels) : 0;
    }
    return PITH_OK;
}

enum pith_status pith_wav_open(struct data_source *s, uint64_t frame, uint64_t hop,
                               struct pith_error *err)
{
    struct wav w = {0};
    const bool wav = is_wav(&s->file);
    enum pith_status st = wav ? find_chunks(&s->file, &w, err) : pith_sound_decode(s, err);
    if (st == PITH_OK && wav)
        st = read_format(s, &w, err);
    if (st == PITH_OK && (s->sound.channels < 1 || s->sound.channels > MOST_CHANNELS))
        st = pith_error_fill(err, PITH_ERR_UNSUPPORTED,
                             "%s: sound with %u channels; 1 to %d are supported", s->file.name,
                             s->sound.channels, MOST_CHANNELS);
    if (st != PITH_OK)
        return st;
    s->sound.n = (wav ? w.data_bytes : s->file.bytes) / (s->sound.bytes * s->sound.channels);
    s->n_samples = s->sound.n / hop + (s->sound.n % hop != 0);
    if (s->sound.n == 0)
        return pith_error_fill(err, PITH_ERR_CORRUPT, "%s: sound without samples", s->file.name);
    if (s->n_samples > DATA_MAX_SAMPLES || frame > DATA_MAX_SAMPLE_ELEMS)
        return pith_error_fill(
            err, PITH_ERR_LIMIT, "%s: %llu frames of %llu values, at most 268,435,456 of each",
            s->file.name, (unsigned long long)s->n_samples, (unsigned long long)frame);
    s->type = PITH_I16;
    s->first = wav ? (uint64_t)(w.data - s->file.mem) : 0;
    s->hop = hop;
    s->rank = 1;
    s->dim[0] = (uint32_t)frame;
    s->elems = frame;
    s->numbers = wav_frame;
    return PITH_OK;
}
