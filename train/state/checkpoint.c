/* SPDX-License-Identifier: MIT */
#include "checkpoint.h"
#include "core/bytes.h"
#include "validate/container.h"
#include "core/f32_bits.h"
#include "base/file_write.h"
#include "pith_host.h"
#include "ranks.h"

#include <dirent.h>
#include <errno.h>
#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { NAME_BYTES = 16, BYTES_AT = 24, BLOCK_HEAD = 32, FILE_HEAD = 16, CRC_BYTES = 4 };
enum { VERSION = 2 };
static const char magic[8] = "PITHRUN";
static const char file_name[] = "checkpoint";

enum element { FLAG, U32, U64, F64, F32 };

struct block {
    const char *name;
    uint32_t number;
    enum element element;
    enum checkpoint_range range; /* of F32 */
    void *data;
    uint64_t n;
    struct pith_buffer *buffer; /* instead of data and n; NULL */
};

struct checkpoint {
    char *path, *identity;
    const struct pith_ranks *ranks;
    struct block *block;
    uint32_t n, room;
    bool no_memory;
};

static enum pith_status no_memory(struct pith_error *err)
{
    return pith_error_set(err, PITH_ERR_MEMORY, "not enough memory for a checkpoint");
}

/* ---- made and freed -------------------------------------------------------------------------- */

/* The temporary files of pith_file_write. */
static void remove_half_written(const char *folder)
{
    DIR *dir = opendir(folder);
    const struct dirent *e;
    while (dir && (e = readdir(dir)) != NULL)
        if (strncmp(e->d_name, file_name, sizeof file_name - 1) == 0 &&
            strncmp(e->d_name + sizeof file_name - 1, ".pith-", 6) == 0)
            (void)unlinkat(dirfd(dir), e->d_name, 0);
    if (dir)
        closedir(dir);
}

static bool is_first(const struct pith_ranks *ranks)
{
    return !ranks || ranks->rank == 0;
}

static enum pith_status make_folder(const char *folder, struct pith_error *err)
{
    struct stat st;
    if (mkdir(folder, 0777) != 0 &&
        (errno != EEXIST || stat(folder, &st) != 0 || !S_ISDIR(st.st_mode)))
        return pith_error_set(err, PITH_ERR_IO, "cannot make the folder '%.200s': %s", folder,
                              strerror(errno));
    remove_half_written(folder);
    return PITH_OK;
}

enum pith_status pith_checkpoint_open(const char *folder, const char *identity,
                                      const struct pith_ranks *ranks, struct checkpoint **c,
                                      struct pith_error *err)
{
    enum pith_status status = is_first(ranks) ? make_folder(folder, err) : PITH_OK;
    status = pith_ranks_agree(ranks, status, err);
    if (status)
        return status;
    struct checkpoint *made = calloc(1, sizeof *made);
    size_t room = strlen(folder) + sizeof file_name + 1;
    if (made) {
        made->path = malloc(room);
        made->identity = strdup(identity);
    }
    if (!made || !made->path || !made->identity) {
        pith_checkpoint_free(made);
        return no_memory(err);
    }
    snprintf(made->path, room, "%s/%s", folder, file_name);
    made->ranks = ranks;
    *c = made;
    return PITH_OK;
}

void pith_checkpoint_free(struct checkpoint *c)
{
    if (!c)
        return;
    free(c->path);
    free(c->identity);
    free(c->block);
    free(c);
}

static void add_block(struct checkpoint *c, struct block block)
{
    if (c->n == c->room) {
        uint32_t room = c->room ? 2 * c->room : 32;
        struct block *grown = realloc(c->block, room * sizeof *grown);
        if (!grown) {
            c->no_memory = true;
            return;
        }
        c->block = grown;
        c->room = room;
    }
    c->block[c->n++] = block;
}

static void add(struct checkpoint *c, struct block block)
{
    if (block.data)
        add_block(c, block);
}

void pith_checkpoint_add_flags(struct checkpoint *c, const char *name, uint32_t number,
                               uint8_t *flag, uint64_t n)
{
    add(c, (struct block){name, number, FLAG, 0, flag, n, NULL});
}

void pith_checkpoint_add_u32(struct checkpoint *c, const char *name, uint32_t number, uint32_t *x)
{
    add(c, (struct block){name, number, U32, 0, x, 1, NULL});
}

void pith_checkpoint_add_u64(struct checkpoint *c, const char *name, uint32_t number, uint64_t *x)
{
    add(c, (struct block){name, number, U64, 0, x, 1, NULL});
}

void pith_checkpoint_add_f64(struct checkpoint *c, const char *name, uint32_t number, double *x)
{
    add(c, (struct block){name, number, F64, 0, x, 1, NULL});
}

void pith_checkpoint_add_f32(struct checkpoint *c, const char *name, uint32_t number,
                             enum checkpoint_range range, float *x, uint64_t n)
{
    add(c, (struct block){name, number, F32, range, x, n, NULL});
}

void pith_checkpoint_add_buffer(struct checkpoint *c, const char *name, struct pith_buffer *buffer)
{
    add_block(c, (struct block){name, 0, FLAG, 0, NULL, 0, buffer});
}

const char *pith_checkpoint_path(const struct checkpoint *c)
{
    return c->path;
}

enum pith_status pith_checkpoint_remove(const struct checkpoint *c, struct pith_error *err)
{
    enum pith_status status = PITH_OK;
    if (is_first(c->ranks) && unlink(c->path) != 0 && errno != ENOENT)
        status = pith_error_set(err, PITH_ERR_IO, "cannot remove '%.200s': %s", c->path,
                                strerror(errno));
    return pith_ranks_agree(c->ranks, status, err);
}

/* ---- writing --------------------------------------------------------------------------------- */

static size_t width_of(const struct block *b)
{
    return b->element == FLAG ? 1 : b->element == U32 || b->element == F32 ? 4 : 8;
}

static size_t bytes_of(const struct block *b)
{
    return b->buffer ? b->buffer->bytes : (size_t)b->n * width_of(b);
}

static void store_block(const struct block *b, uint8_t *to)
{
    const uint8_t *from = b->buffer ? b->buffer->data : b->data;
    const size_t width = b->buffer ? 1 : width_of(b), bytes = bytes_of(b);
    uint32_t four;
    uint64_t eight;
    if (width == 1 && bytes)
        memcpy(to, from, bytes);
    for (size_t at = 0; at < bytes && width > 1; at += width)
        if (width == 4) {
            memcpy(&four, from + at, sizeof four);
            store_le32(to + at, four);
        } else {
            memcpy(&eight, from + at, sizeof eight);
            store_le64(to + at, eight);
        }
}

static size_t file_bytes(const struct checkpoint *c)
{
    size_t bytes = FILE_HEAD + strlen(c->identity) + CRC_BYTES;
    for (uint32_t i = 0; i < c->n; i++)
        bytes += BLOCK_HEAD + bytes_of(&c->block[i]);
    return bytes;
}

static void block_head(const struct block *b, uint64_t bytes, uint8_t head[BLOCK_HEAD])
{
    memset(head, 0, BLOCK_HEAD);
    memcpy(head, b->name, strnlen(b->name, NAME_BYTES - 1));
    store_le32(head + NAME_BYTES, b->number);
    store_le64(head + BYTES_AT, bytes);
}

static enum pith_status write_file(const struct checkpoint *c, struct pith_error *err)
{
    size_t length = strlen(c->identity), n = file_bytes(c);
    uint8_t *file = c->no_memory ? NULL : malloc(n), *p = file;
    if (!file)
        return no_memory(err);
    memcpy(p, magic, sizeof magic);
    store_le32(p + 8, VERSION);
    store_le32(p + 12, (uint32_t)length);
    memcpy(p + FILE_HEAD, c->identity, length);
    p += FILE_HEAD + length;
    for (uint32_t i = 0; i < c->n; i++) {
        const size_t bytes = bytes_of(&c->block[i]);
        block_head(&c->block[i], bytes, p);
        store_block(&c->block[i], p + BLOCK_HEAD);
        p += BLOCK_HEAD + bytes;
    }
    store_le32(p, pith_crc32c(0, file, n - CRC_BYTES));
    enum pith_status status = pith_file_write(c->path, file, n, err);
    free(file);
    return status;
}

enum pith_status pith_checkpoint_write(const struct checkpoint *c, struct pith_error *err)
{
    enum pith_status status = is_first(c->ranks) ? write_file(c, err) : PITH_OK;
    return pith_ranks_agree(c->ranks, status, err);
}

/* ---- reading --------------------------------------------------------------------------------- */

/* Of the line at `at` in a text, without its end. */
static int line_length(const char *text, size_t at)
{
    return (int)strcspn(text + at, "\n");
}

static enum pith_status another_run(const struct checkpoint *c, const char *there,
                                    struct pith_error *err)
{
    const char *here = c->identity;
    size_t line = 0, at = 0;
    for (; here[at] && here[at] == there[at]; at++)
        if (here[at] == '\n')
            line = at + 1;
    return pith_error_set(
        err, PITH_ERR_ARGUMENT, "'%.100s' is of another run: there '%.*s', here '%.*s'", c->path,
        line_length(there, line), there + line, line_length(here, line), here + line);
}

static enum pith_status check_identity(const struct checkpoint *c, const uint8_t *file,
                                       struct pith_error *err)
{
    uint32_t length = load_le32(file + 12);
    if (length == strlen(c->identity) && memcmp(file + FILE_HEAD, c->identity, length) == 0)
        return PITH_OK;
    char *there = calloc(1, (size_t)length + 1);
    if (!there)
        return no_memory(err);
    memcpy(there, file + FILE_HEAD, length);
    enum pith_status status = another_run(c, there, err);
    free(there);
    return status;
}

/* Blocks of exactly these names and, but for buffers, lengths, up to the end. */
static bool blocks_agree(const struct checkpoint *c, const struct pith_buffer *file)
{
    uint8_t head[BLOCK_HEAD];
    size_t at = FILE_HEAD + strlen(c->identity), end = file->bytes - CRC_BYTES;
    for (uint32_t i = 0; i < c->n; i++) {
        const struct block *b = &c->block[i];
        if (end - at < BLOCK_HEAD)
            return false;
        uint64_t bytes = load_le64(file->data + at + BYTES_AT);
        block_head(b, b->buffer ? bytes : bytes_of(b), head);
        if (memcmp(file->data + at, head, BLOCK_HEAD) != 0 || bytes > end - at - BLOCK_HEAD)
            return false;
        at += BLOCK_HEAD + (size_t)bytes;
    }
    return at == end;
}

static bool element_holds(const struct block *b, const uint8_t *p)
{
    if (b->element == FLAG)
        return *p <= 1;
    const float x = f32_from_bits(load_le32(p));
    return b->range == CHECKPOINT_POSITIVE       ? x > 0 && x <= FLT_MAX
           : b->range == CHECKPOINT_NOT_NEGATIVE ? x >= 0
                                                 : !isnan(x);
}

/* The first block with an element out of its range; NULL: none. The blocks agree with the file. */
static const struct block *out_of_range(const struct checkpoint *c, const uint8_t *p)
{
    p += FILE_HEAD + strlen(c->identity);
    for (uint32_t i = 0; i < c->n; i++) {
        const struct block *b = &c->block[i];
        const size_t bytes = (size_t)load_le64(p + BYTES_AT), width = width_of(b);
        p += BLOCK_HEAD;
        if (!b->buffer && (b->element == FLAG || b->element == F32))
            for (size_t at = 0; at < bytes; at += width)
                if (!element_holds(b, p + at))
                    return b;
        p += bytes;
    }
    return NULL;
}

static enum pith_status check_run(const struct checkpoint *c, const struct pith_buffer *file,
                                  struct pith_error *err)
{
    const uint8_t *p = file->data;
    if (file->bytes < FILE_HEAD + CRC_BYTES || memcmp(p, magic, sizeof magic) != 0)
        return pith_error_set(err, PITH_ERR_CORRUPT, "'%.200s' is no checkpoint", c->path);
    if (load_le32(p + 8) != VERSION)
        return pith_error_set(err, PITH_ERR_VERSION,
                              "'%.200s' is a checkpoint of version %" PRIu32 ", not %u", c->path,
                              load_le32(p + 8), (unsigned)VERSION);
    if (load_le32(p + file->bytes - CRC_BYTES) != pith_crc32c(0, p, file->bytes - CRC_BYTES) ||
        load_le32(p + 12) > file->bytes - FILE_HEAD - CRC_BYTES)
        return pith_error_set(err, PITH_ERR_CORRUPT, "'%.200s' is damaged or cut short", c->path);
    return check_identity(c, p, err);
}

static enum pith_status check_file(const struct checkpoint *c, const struct pith_buffer *file,
                                   struct pith_error *err)
{
    enum pith_status status = check_run(c, file, err);
    if (!status && !blocks_agree(c, file))
        status = pith_error_set(err, PITH_ERR_CORRUPT,
                                "'%.200s' does not hold what this run is made of", c->path);
    const struct block *bad = status ? NULL : out_of_range(c, file->data);
    return bad ? pith_error_set(err, PITH_ERR_CORRUPT,
                                "'%.200s' is damaged: '%s' %" PRIu32 " has a value out of range",
                                c->path, bad->name, bad->number)
               : status;
}

/* Room for what the file has for the buffers. */
static enum pith_status make_buffers(const struct checkpoint *c, const uint8_t *p,
                                     struct pith_error *err)
{
    for (uint32_t i = 0; i < c->n; i++) {
        size_t bytes = (size_t)load_le64(p + BYTES_AT);
        p += BLOCK_HEAD + bytes;
        if (!c->block[i].buffer)
            continue;
        pith_buffer_free(c->block[i].buffer);
        *c->block[i].buffer = (struct pith_buffer){bytes ? malloc(bytes) : NULL, 0};
        if (bytes && !c->block[i].buffer->data)
            return no_memory(err);
        c->block[i].buffer->bytes = bytes;
    }
    return PITH_OK;
}

static void load_block(const struct block *b, const uint8_t *from)
{
    uint8_t *to = b->buffer ? b->buffer->data : b->data;
    const size_t width = b->buffer ? 1 : width_of(b), bytes = bytes_of(b);
    if (width == 1 && bytes)
        memcpy(to, from, bytes);
    for (size_t at = 0; at < bytes && width > 1; at += width)
        if (width == 4) {
            const uint32_t four = load_le32(from + at);
            memcpy(to + at, &four, sizeof four);
        } else {
            const uint64_t eight = load_le64(from + at);
            memcpy(to + at, &eight, sizeof eight);
        }
}

static void take_blocks(const struct checkpoint *c, const uint8_t *p)
{
    for (uint32_t i = 0; i < c->n; i++) {
        load_block(&c->block[i], p + BLOCK_HEAD);
        p += BLOCK_HEAD + bytes_of(&c->block[i]);
    }
}

/* Of rank 0; of the others, and where there is no file, file->data is NULL. */
static enum pith_status load_own(const struct checkpoint *c, struct pith_buffer *file,
                                 struct pith_error *err)
{
    struct stat st;
    *file = (struct pith_buffer){NULL, 0};
    if (!is_first(c->ranks) || (stat(c->path, &st) != 0 && errno == ENOENT))
        return PITH_OK;
    return pith_file_load(c->path, SIZE_MAX / 2, file, err);
}

enum pith_status pith_checkpoint_check(const struct checkpoint *c, struct pith_error *err)
{
    struct pith_buffer file;
    enum pith_status status = load_own(c, &file, err);
    if (!status && file.data)
        status = check_run(c, &file, err);
    pith_buffer_free(&file);
    return pith_ranks_agree(c->ranks, status, err);
}

/* What rank 0 finds, in all. file->data NULL: there is none. */
static enum pith_status load_file(const struct checkpoint *c, struct pith_buffer *file,
                                  struct pith_error *err)
{
    bool first = is_first(c->ranks);
    *file = (struct pith_buffer){NULL, 0};
    enum pith_status status = c->no_memory ? no_memory(err) : load_own(c, file, err);
    uint64_t bytes = file->bytes;
    pith_ranks_share(c->ranks, 0, &bytes, sizeof bytes);
    if (!first && bytes) {
        file->data = malloc((size_t)bytes);
        file->bytes = (size_t)bytes;
        if (!file->data)
            status = no_memory(err);
    }
    status = pith_ranks_agree(c->ranks, status, err);
    if (!status && bytes)
        pith_ranks_share(c->ranks, 0, file->data, (size_t)bytes);
    return status;
}

enum pith_status pith_checkpoint_read(const struct checkpoint *c, bool *found,
                                      struct pith_error *err)
{
    struct pith_buffer file;
    enum pith_status status = load_file(c, &file, err);
    *found = file.data != NULL;
    if (!status && *found)
        status = check_file(c, &file, err);
    size_t at = FILE_HEAD + strlen(c->identity);
    if (!status && *found)
        status = make_buffers(c, file.data + at, err);
    status = pith_ranks_agree(c->ranks, status, err);
    if (!status && *found)
        take_blocks(c, file.data + at);
    pith_buffer_free(&file);
    return status;
}
