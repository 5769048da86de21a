/* SPDX-License-Identifier: MIT */
/* blob.c - questions about a model image that need no memory: is it sound, what does it say.
 *
 * The functions walk the image at each call instead of keeping what they found: who only wants a
 * label list needs no arena. */
#include "validate/format.h"
#include "pith_runtime.h"

static const char *const meta_keys[] = {NULL, "preprocess", "labels", "recipe"};

const char *pith_meta_key(uint32_t number)
{
    return number < sizeof meta_keys / sizeof *meta_keys ? meta_keys[number] : NULL;
}

/* Without strlen(): the runtime links to nothing of the C library beyond memcpy and its kin. */
static bool key_is(const char *key, const uint8_t *p, size_t bytes)
{
    size_t i = 0;
    while (i < bytes && key[i] != 0 && (uint8_t)key[i] == p[i])
        i++;
    return i == bytes && key[i] == 0;
}

/* One entry; *hit: its key is `key`. The key field is a known key's number, or a length and the
 * key. Bounds as in validate.c, because the image may not have been read before. */
static struct stream next_entry(struct reader *r, const char *key, bool *hit)
{
    uint64_t v = rd_varint(r, META_FIRST_LENGTH - 1 + MAX_NAME_BYTES);
    if (v < META_FIRST_LENGTH) {
        const char *known = pith_meta_key((uint32_t)v);
        size_t n = 0;
        while (known && known[n] != 0)
            n++;
        *hit = known && key_is(key, (const uint8_t *)known, n);
    } else {
        size_t n = (size_t)v - (META_FIRST_LENGTH - 1);
        const uint8_t *text = rd_bytes(r, n);
        *hit = text && key_is(key, text, n);
    }
    size_t n = (size_t)rd_varint(r, MAX_TEXT_BYTES);
    return (struct stream){rd_bytes(r, n), n};
}

/* A missing key and a missing chunk give the same result. */
enum pith_status pith_blob_meta(const void *blob, size_t bytes, const char *key, const char **value,
                                size_t *value_bytes)
{
    if (!blob || !key)
        return PITH_ERR_ARGUMENT;
    struct stream meta;
    if (pith_chunk_find(blob, bytes, TAG_META, &meta))
        return PITH_ERR_ARGUMENT;
    struct reader r = reader_of(meta.bytes, meta.n_bytes);
    while (r.left > 0 && !r.bad) {
        bool hit;
        struct stream text = next_entry(&r, key, &hit);
        if (hit && !r.bad) {
            *value = (const char *)text.bytes;
            *value_bytes = text.n_bytes;
            return PITH_OK;
        }
    }
    return PITH_ERR_ARGUMENT;
}
