/* SPDX-License-Identifier: MIT */
/* archive_bytes.h - archives for tests, as libarchive writes them. */
#ifndef ARCHIVE_BYTES_H
#define ARCHIVE_BYTES_H

#include <archive.h>
#include <archive_entry.h>
#include "data_folder.h"

struct archive_bytes {
    struct archive *a;
    uint8_t b[1 << 16];
    size_t n;
};

/* format: "zip", "pax", "gnutar", "raw"; filter: "gzip", "xz", "zstd", "bzip2", or NULL. */
static inline void archive_begin(struct archive_bytes *z, const char *format, const char *filter)
{
    z->a = archive_write_new();
    assert_int_equal(archive_write_set_format_by_name(z->a, format), ARCHIVE_OK);
    if (filter)
        assert_int_equal(archive_write_add_filter_by_name(z->a, filter), ARCHIVE_OK);
    archive_write_set_bytes_in_last_block(z->a, 1);
    assert_int_equal(archive_write_open_memory(z->a, z->b, sizeof z->b, &z->n), ARCHIVE_OK);
}

static inline void archive_add(struct archive_bytes *z, const char *name, const void *data,
                               size_t bytes)
{
    struct archive_entry *e = archive_entry_new();
    archive_entry_set_pathname(e, name);
    archive_entry_set_mode(e, AE_IFREG | 0644);
    archive_entry_set_size(e, (la_int64_t)bytes);
    assert_true(archive_write_header(z->a, e) >= ARCHIVE_WARN); /* a name beyond the locale's */
    assert_int_equal(archive_write_data(z->a, data, bytes), bytes);
    archive_entry_free(e);
}

static inline void archive_end(struct archive_bytes *z)
{
    if (archive_write_close(z->a))
        fail_msg("%s", archive_error_string(z->a));
    archive_write_free(z->a);
}

/* The same, into a file of the test's folder. */
static inline void put_archive(struct archive_bytes *z, const char *name)
{
    archive_end(z);
    put(name, z->b, z->n);
}

#endif
