/* SPDX-License-Identifier: MIT */
/* wav_read.c - recordings in RIFF WAVE files, cut into overlapping frames.
 *
 *     'RIFF' size 'WAVE' | chunk | chunk | ...        chunk: 4 letters, size LE32, bytes, pad to
 * even 'fmt ': format 2 | channels 2 | rate 4 | bytes a second 4 | block 2 | bits 2 | extension
 *     'data': samples
 *
 * Only what speech networks take is read: PCM of 16 bits, one channel; value / 32768 lies in [-1,
 * 1). The rate stands in the file but not in a network, so it is not tested. Programs that write to
 * a pipe leave 0xffffffff for sizes they did not know: such data reaches to the end of the file. */
#include <string.h>

#include "core/bytes.h"
#include "data_source.h"

enum {
    RIFF_HEAD = 12,
    CHUNK_HEAD = 8,
    FORMAT_BYTES = 16,
    FORMAT_PCM = 1,
    FORMAT_EXTENSIBLE = 0xfffe, /* the format proper stands in the extension */
    EXTENSION_FORMAT_AT = 24,
    EXTENSION_END = 26,
    SAMPLE_BYTES = 2
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

/* The format and the data behind it; other chunks (LIST, fact, ...) are stepped over. */
static enum pith_status find_chunks(const struct file_source *f, struct wav *w,
                                    struct pith_error *err)
{
    const uint8_t *b = f->mem;
    if (f->bytes < RIFF_HEAD || !is_chunk(b, "RIFF") || !is_chunk(b + 8, "WAVE"))
        return pith_error_fill(err, PITH_ERR_CORRUPT, "%s: not a WAV file (RIFF WAVE)", f->name);
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

static enum pith_status check_format(const struct wav *w, const char *name, struct pith_error *err)
{
    if (!w->format || w->format_bytes < FORMAT_BYTES)
        return pith_error_fill(err, PITH_ERR_CORRUPT, "%s: WAV without a format before its data",
                               name);
    uint32_t format = load_le16(w->format), channels = load_le16(w->format + 2);
    uint32_t bits = load_le16(w->format + 14);
    if (format == FORMAT_EXTENSIBLE && w->format_bytes >= EXTENSION_END)
        format = load_le16(w->format + EXTENSION_FORMAT_AT);
    if (format != FORMAT_PCM || bits != 8 * SAMPLE_BYTES)
        return pith_error_fill(err, PITH_ERR_UNSUPPORTED,
                               "%s: WAV of format %u with %u bits a sample; only PCM (format 1) "
                               "with 16 bits is supported",
                               name, format, bits);
    if (channels != 1)
        return pith_error_fill(err, PITH_ERR_UNSUPPORTED,
                               "%s: WAV with %u channels; only one (mono) is supported", name,
                               channels);
    return PITH_OK;
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
        bool inside = at >= 0 && (uint64_t)at < s->n_sound;
        x[k] = inside ? (float)(int16_t)load_le16(sound + SAMPLE_BYTES * at) / 32768.0f : 0.0f;
    }
    return PITH_OK;
}

enum pith_status pith_wav_open(struct data_source *s, uint64_t frame, uint64_t hop,
                               struct pith_error *err)
{
    struct wav w = {0};
    enum pith_status st = find_chunks(&s->file, &w, err);
    if (st == PITH_OK)
        st = check_format(&w, s->file.name, err);
    if (st != PITH_OK)
        return st;
    s->n_sound = w.data_bytes / SAMPLE_BYTES;
    s->n_samples = s->n_sound / hop + (s->n_sound % hop != 0);
    if (s->n_sound == 0)
        return pith_error_fill(err, PITH_ERR_CORRUPT, "%s: WAV without samples", s->file.name);
    if (s->n_samples > DATA_MAX_SAMPLES || frame > DATA_MAX_SAMPLE_ELEMS)
        return pith_error_fill(
            err, PITH_ERR_LIMIT, "%s: %llu frames of %llu values, at most 268,435,456 of each",
            s->file.name, (unsigned long long)s->n_samples, (unsigned long long)frame);
    s->type = PITH_I16;
    s->first = (uint64_t)(w.data - s->file.mem);
    s->hop = hop;
    s->rank = 1;
    s->dim[0] = (uint32_t)frame;
    s->elems = frame;
    s->numbers = wav_frame;
    return PITH_OK;
}
