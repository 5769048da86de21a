/* SPDX-License-Identifier: MIT */
/* sound_read.c - FLAC, OGG, AIFF, MP3 and other recordings by libsndfile, which is loaded when one
 * is read: Debian has no static one for the static program, and WAV needs none (wav_read.c). The
 * recording becomes 64-bit floats in memory, interleaved, little-endian; integers are scaled to
 * [-1, 1), as those of a WAV are. */
#include <dlfcn.h>
#include <sndfile.h>
#include <stdlib.h>
#include <string.h>

#include "core/bytes.h"
#include "data_source.h"

#define LIBRARY "libsndfile.so.1"
enum { PIECE_FRAMES = 4096, VALUE_BYTES = 8 };

#define SOUND_FUNCTIONS(F) F(open_virtual) F(readf_double) F(error) F(strerror) F(close)

struct sound {
    void *library;
#define POINTER(name) __typeof__(sf_##name) *name;
    SOUND_FUNCTIONS(POINTER)
#undef POINTER
    SNDFILE *file;
    SF_INFO info;
    const struct file_source *source;
    uint64_t at; /* place in source */
    struct pith_buffer out;
    uint64_t room;
};

/* ---- the bytes of the source ----------------------------------------------------------------- */

static sf_count_t source_bytes(void *sound)
{
    return (sf_count_t)((struct sound *)sound)->source->bytes;
}

static sf_count_t source_at(void *sound)
{
    return (sf_count_t)((struct sound *)sound)->at;
}

static sf_count_t seek_source(sf_count_t offset, int whence, void *sound)
{
    struct sound *d = sound;
    const sf_count_t bytes = source_bytes(d);
    sf_count_t from = 0;
    if (whence != SEEK_SET)
        from = whence == SEEK_CUR ? source_at(d) : bytes;
    if (offset < -from || offset > bytes - from)
        return -1;
    d->at = (uint64_t)(from + offset);
    return from + offset;
}

static sf_count_t read_source(void *to, sf_count_t n, void *sound)
{
    struct sound *d = sound;
    const sf_count_t left = source_bytes(d) - source_at(d), piece = n < left ? n : left;
    if (piece <= 0)
        return 0;
    memcpy(to, d->source->mem + d->at, (size_t)piece);
    d->at += (uint64_t)piece;
    return piece;
}

static sf_count_t write_nothing(const void *from, sf_count_t n, void *sound)
{
    (void)from;
    (void)n;
    (void)sound;
    return 0;
}

/* ---- decoding -------------------------------------------------------------------------------- */

/* The address is copied as bytes, since ISO C does not convert an object pointer into a function
 * pointer. */
static bool find(void *library, const char *name, void *to)
{
    void *found = dlsym(library, name);
    memcpy(to, &found, sizeof found);
    return found != NULL;
}

static enum pith_status open_sound(struct sound *d, struct pith_error *err)
{
    static SF_VIRTUAL_IO io = {source_bytes, seek_source, read_source, write_nothing, source_at};
    bool found = true;
    d->library = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);
#define FIND(name) found = found && find(d->library, "sf_" #name, &d->name);
    if (d->library) {
        SOUND_FUNCTIONS(FIND)
    }
#undef FIND
    if (!d->library || !found)
        return pith_error_fill(err, PITH_ERR_UNSUPPORTED,
                               "%s: not a WAV file; FLAC, OGG, AIFF and MP3 need " LIBRARY
                               ", which is not installed (Debian, Ubuntu: libsndfile1)",
                               d->source->name);
    d->file = d->open_virtual(&io, SFM_READ, &d->info, d);
    if (!d->file)
        return pith_error_fill(err, PITH_ERR_CORRUPT,
                               "%s: neither WAV nor FLAC, OGG, AIFF, ...: %s", d->source->name,
                               d->strerror(NULL));
    return PITH_OK;
}

static enum pith_status make_room(struct sound *d, uint64_t wanted, uint64_t max_bytes,
                                  struct pith_error *err)
{
    enum pith_status st =
        pith_within_bound(wanted, max_bytes, d->source->bytes, d->source->name, err);
    if (st != PITH_OK || wanted <= d->room)
        return st;
    const uint64_t room = wanted < 2 * d->room ? 2 * d->room : wanted;
    uint8_t *data = realloc(d->out.data, (size_t)room);
    if (!data)
        return pith_error_no_memory(err);
    d->out.data = data;
    d->room = room;
    return PITH_OK;
}

/* All of it; what is declared and is not there is an error. */
static enum pith_status read_sound(struct sound *d, uint64_t max_bytes, struct pith_error *err)
{
    const uint64_t frame = VALUE_BYTES * (uint64_t)d->info.channels;
    const bool known = d->info.frames >= 0 && d->info.frames < SF_COUNT_MAX;
    double *piece = malloc((size_t)(PIECE_FRAMES * frame));
    enum pith_status st = piece ? PITH_OK : pith_error_no_memory(err);
    if (st == PITH_OK && known)
        st = pith_within_bound((uint64_t)d->info.frames > UINT64_MAX / frame
                                   ? UINT64_MAX
                                   : (uint64_t)d->info.frames * frame,
                               max_bytes, d->source->bytes, d->source->name, err);
    while (st == PITH_OK) {
        const sf_count_t n = d->readf_double(d->file, piece, PIECE_FRAMES);
        if (n <= 0)
            break;
        const size_t values = (size_t)n * (size_t)d->info.channels;
        st = make_room(d, d->out.bytes + values * VALUE_BYTES, max_bytes, err);
        for (size_t i = 0; st == PITH_OK && i < values; i++) {
            uint64_t bits;
            memcpy(&bits, &piece[i], sizeof bits);
            store_le64(d->out.data + d->out.bytes, bits);
            d->out.bytes += VALUE_BYTES;
        }
    }
    free(piece);
    if (st == PITH_OK && d->error(d->file))
        st = pith_error_fill(err, PITH_ERR_CORRUPT, "%s: broken sound: %s", d->source->name,
                             d->strerror(d->file));
    if (st == PITH_OK && known && d->out.bytes != (uint64_t)d->info.frames * frame)
        st = pith_error_fill(
            err, PITH_ERR_CORRUPT, "%s: declares %lld samples a channel, %llu can be read",
            d->source->name, (long long)d->info.frames, (unsigned long long)(d->out.bytes / frame));
    return st;
}

enum pith_status pith_sound_decode(struct data_source *s, struct pith_error *err)
{
    struct sound d = {.source = &s->file};
    enum pith_status st = open_sound(&d, err);
    if (st == PITH_OK)
        st = read_sound(&d, s->max_bytes, err);
    if (d.file)
        d.close(d.file);
    if (d.library)
        dlclose(d.library);
    if (st != PITH_OK) {
        free(d.out.data);
        return st;
    }
    s->sound.bytes = VALUE_BYTES;
    s->sound.channels = (uint32_t)d.info.channels;
    s->sound.real = true;
    pith_source_replace(&s->file, &d.out);
    return PITH_OK;
}
