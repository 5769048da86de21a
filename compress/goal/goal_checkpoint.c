/* SPDX-License-Identifier: MIT */
#include "goal_checkpoint.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "pith_bytes.h"
#include "pith_container.h"
#include "pith_error_fill.h"
#include "pith_file_write.h"
#include "pith_ranks_agree.h"

enum { VERSION = 1, NAME_BYTES = 16, CRC_BYTES = 4 };
enum { VERSION_AT = 8, PITH_AT = 12, NETWORK_AT = 16, DATA_AT = 20, OPTIONS_AT = 24 };
enum { POINT_AT = 28, SECONDS_AT = 32, N_AT = 40, HEAD_BYTES = 44 };
enum { RECORD_BYTES = NAME_BYTES + sizeof(struct pith_goal_point) + 16 };
static const char magic[8] = {'P', 'I', 'T', 'H', 'G', 'O', 'A', 'L'};

struct record {
    char name[NAME_BYTES];
    struct pith_goal_point point; /* its file: owns, until it was recalled */
    bool recalled;
    struct pith_buffer state; /* owns */
};

struct goal_checkpoint {
    const char *path;
    const struct pith_ranks *ranks;
    struct goal_mark mark;
    double seconds;
    struct record record[PITH_GOAL_POINTS];
    uint32_t n;
};

/* ---- reading --------------------------------------------------------------------------------- */

struct source {
    const uint8_t *at, *end;
};

static bool read_bytes(struct source *r, void *to, uint64_t bytes)
{
    if ((uint64_t)(r->end - r->at) < bytes)
        return false;
    if (bytes) /* then there may be no buffer */
        memcpy(to, r->at, (size_t)bytes);
    r->at += bytes;
    return true;
}

static enum pith_status read_buffer(struct source *r, uint64_t bytes, struct pith_buffer *b)
{
    if ((uint64_t)(r->end - r->at) < bytes)
        return PITH_ERR_CORRUPT;
    b->data = bytes ? malloc((size_t)bytes) : NULL;
    if (bytes && !b->data)
        return PITH_ERR_MEMORY;
    b->bytes = (size_t)bytes;
    return read_bytes(r, b->data, bytes) ? PITH_OK : PITH_ERR_CORRUPT;
}

static enum pith_status read_record(struct source *r, struct record *to)
{
    uint8_t sizes[16];
    if (!read_bytes(r, to->name, sizeof to->name) || !read_bytes(r, &to->point, sizeof to->point) ||
        !read_bytes(r, sizes, sizeof sizes))
        return PITH_ERR_CORRUPT;
    to->name[NAME_BYTES - 1] = '\0';
    to->point.encoder = to->name;
    to->point.file = (struct pith_buffer){NULL, 0};
    enum pith_status status = read_buffer(r, load_le64(sizes), &to->point.file);
    return status ? status : read_buffer(r, load_le64(sizes + 8), &to->state);
}

/* What another search would differ in. */
static const char *differs(const struct goal_mark *mark, const uint8_t *head)
{
    return load_le32(head + NETWORK_AT) != mark->network   ? "network"
           : load_le32(head + DATA_AT) != mark->data       ? "data"
           : load_le32(head + OPTIONS_AT) != mark->options ? "goal or the options"
                                                           : NULL;
}

static enum pith_status check_head(const struct goal_checkpoint *c, const struct pith_buffer *file,
                                   struct pith_error *err)
{
    const uint8_t *head = file->data;
    if (file->bytes < HEAD_BYTES + CRC_BYTES || memcmp(head, magic, sizeof magic) != 0)
        return pith_error_fill(err, PITH_ERR_CORRUPT, "%s: not a checkpoint of compress", c->path);
    if (load_le32(head + VERSION_AT) != VERSION || load_le32(head + PITH_AT) != pith_version() ||
        load_le32(head + POINT_AT) != sizeof(struct pith_goal_point))
        return pith_error_fill(err, PITH_ERR_VERSION, "%s: written by another version of pith",
                               c->path);
    const size_t bytes = file->bytes - CRC_BYTES;
    if (load_le32(head + bytes) != pith_crc32c(0, head, bytes) ||
        load_le32(head + N_AT) > PITH_GOAL_POINTS)
        return pith_error_fill(err, PITH_ERR_CORRUPT, "%s: damaged", c->path);
    const char *what = differs(&c->mark, head);
    return what
               ? pith_error_fill(err, PITH_ERR_ARGUMENT, "%s is of another search: the %s differ%s",
                                 c->path, what, strcmp(what, "network") == 0 ? "s" : "")
               : PITH_OK;
}

static bool is_first(const struct pith_ranks *ranks)
{
    return !ranks || ranks->rank == 0;
}

/* What rank 0 finds, in all. file->data NULL: there is none. */
static enum pith_status load_file(const struct goal_checkpoint *c, struct pith_buffer *file,
                                  struct pith_error *err)
{
    enum pith_status status = PITH_OK;
    if (is_first(c->ranks) && (access(c->path, F_OK) == 0 || errno != ENOENT))
        status = pith_file_load(c->path, UINT64_MAX, file, err);
    uint64_t bytes = file->bytes;
    pith_ranks_share(c->ranks, 0, &bytes, sizeof bytes);
    if (!is_first(c->ranks) && bytes > 0) {
        file->data = malloc((size_t)bytes);
        file->bytes = (size_t)bytes;
        status = file->data ? PITH_OK : pith_error_no_memory(err);
    }
    status = pith_ranks_agree(c->ranks, status, err);
    if (!status)
        pith_ranks_share(c->ranks, 0, file->data, (size_t)bytes);
    return status;
}

static enum pith_status read_records(struct goal_checkpoint *c, const struct pith_buffer *file,
                                     struct pith_error *err)
{
    enum pith_status status = check_head(c, file, err);
    if (status)
        return status;
    struct source r = {file->data + HEAD_BYTES, file->data + file->bytes - CRC_BYTES};
    const uint32_t n = load_le32(file->data + N_AT);
    memcpy(&c->seconds, file->data + SECONDS_AT, sizeof c->seconds);
    while (c->n < n && !status)
        status = read_record(&r, &c->record[c->n++]);
    if (status == PITH_ERR_MEMORY)
        return pith_error_no_memory(err);
    return status ? pith_error_fill(err, status, "%s: damaged", c->path) : PITH_OK;
}

static enum pith_status read_file(struct goal_checkpoint *c, struct pith_error *err)
{
    struct pith_buffer file = {NULL, 0};
    enum pith_status status = load_file(c, &file, err);
    if (!status && file.data)
        status = pith_ranks_agree(c->ranks, read_records(c, &file, err), err);
    pith_buffer_free(&file);
    return status;
}

enum pith_status pith_goal_checkpoint_open(const char *path, const struct goal_mark *mark,
                                           bool resume, const struct pith_ranks *ranks,
                                           struct goal_checkpoint **c, struct pith_error *err)
{
    struct goal_checkpoint *made = calloc(1, sizeof *made);
    enum pith_status status =
        pith_ranks_agree(ranks, made ? PITH_OK : pith_error_no_memory(err), err);
    if (status) {
        free(made);
        return status;
    }
    made->path = path;
    made->mark = *mark;
    made->ranks = ranks;
    if (resume)
        status = read_file(made, err);
    if (status)
        pith_goal_checkpoint_free(made);
    else
        *c = made;
    return status;
}

void pith_goal_checkpoint_free(struct goal_checkpoint *c)
{
    if (!c)
        return;
    for (uint32_t i = 0; i < c->n; i++) {
        if (!c->record[i].recalled)
            pith_buffer_free(&c->record[i].point.file);
        pith_buffer_free(&c->record[i].state);
    }
    free(c);
}

/* ---- asking ---------------------------------------------------------------------------------- */

double pith_goal_checkpoint_seconds(const struct goal_checkpoint *c)
{
    return c->seconds;
}

static const struct record *find(const struct goal_checkpoint *c, const char *encoder,
                                 double quality)
{
    for (uint32_t i = 0; i < c->n; i++)
        if (strcmp(c->record[i].name, encoder) == 0 &&
            memcmp(&c->record[i].point.quality, &quality, sizeof quality) == 0)
            return &c->record[i];
    return NULL;
}

bool pith_goal_checkpoint_recall(struct goal_checkpoint *c, const char *encoder, double quality,
                                 struct pith_goal_point *point)
{
    const struct record *known = find(c, encoder, quality);
    if (!known || known->recalled)
        return false;
    c->record[known - c->record].recalled = true;
    *point = known->point;
    return true;
}

const struct pith_buffer *pith_goal_checkpoint_state(const struct goal_checkpoint *c,
                                                     const char *encoder, double quality)
{
    const struct record *known = find(c, encoder, quality);
    return known && known->state.bytes ? &known->state : NULL;
}

/* ---- writing --------------------------------------------------------------------------------- */

static void fill_head(const struct goal_checkpoint *c, uint8_t head[HEAD_BYTES])
{
    memcpy(head, magic, sizeof magic);
    store_le32(head + VERSION_AT, VERSION);
    store_le32(head + PITH_AT, pith_version());
    store_le32(head + NETWORK_AT, c->mark.network);
    store_le32(head + DATA_AT, c->mark.data);
    store_le32(head + OPTIONS_AT, c->mark.options);
    store_le32(head + POINT_AT, sizeof(struct pith_goal_point));
    memcpy(head + SECONDS_AT, &c->seconds, sizeof c->seconds);
    store_le32(head + N_AT, c->n);
}

/* Addresses are nothing that another process could read. */
static void fill_record(const struct record *r, uint8_t *to)
{
    struct pith_goal_point point;
    memcpy(&point, &r->point, sizeof point); /* with what is between its members */
    point.encoder = NULL;
    point.file = (struct pith_buffer){NULL, 0};
    memcpy(to, r->name, NAME_BYTES);
    memcpy(to + NAME_BYTES, &point, sizeof point);
    store_le64(to + NAME_BYTES + sizeof point, r->point.file.bytes);
    store_le64(to + NAME_BYTES + sizeof point + 8, r->state.bytes);
}

static enum pith_status write_file(const struct goal_checkpoint *c, struct pith_error *err)
{
    uint8_t head[HEAD_BYTES], tail[CRC_BYTES];
    struct file_piece piece[3 * PITH_GOAL_POINTS + 2] = {{head, sizeof head}};
    uint8_t *records = calloc(c->n + (size_t)1, RECORD_BYTES);
    uint32_t n = 1, crc = 0;
    if (!records)
        return pith_error_no_memory(err);
    fill_head(c, head);
    for (uint32_t i = 0; i < c->n; i++) {
        const struct record *r = &c->record[i];
        fill_record(r, records + (size_t)i * RECORD_BYTES);
        piece[n++] = (struct file_piece){records + (size_t)i * RECORD_BYTES, RECORD_BYTES};
        piece[n++] = (struct file_piece){r->point.file.data, r->point.file.bytes};
        piece[n++] = (struct file_piece){r->state.data, r->state.bytes};
    }
    for (uint32_t i = 0; i < n; i++)
        if (piece[i].n > 0)
            crc = pith_crc32c(crc, piece[i].bytes, piece[i].n);
    store_le32(tail, crc);
    piece[n++] = (struct file_piece){tail, sizeof tail};
    enum pith_status status = pith_file_write_pieces(c->path, true, piece, n, NULL, err);
    free(records);
    return status;
}

enum pith_status pith_goal_checkpoint_add(struct goal_checkpoint *c,
                                          const struct pith_goal_point *point,
                                          struct pith_buffer *state, double seconds,
                                          struct pith_error *err)
{
    c->seconds = seconds;
    if (!find(c, point->encoder, point->quality) && c->n < PITH_GOAL_POINTS) {
        struct record *r = &c->record[c->n++];
        strncpy(r->name, point->encoder, NAME_BYTES - 1);
        r->point = *point;
        r->recalled = true;
        if (state) {
            r->state = *state;
            *state = (struct pith_buffer){NULL, 0};
        }
    }
    return pith_ranks_agree(c->ranks, is_first(c->ranks) ? write_file(c, err) : PITH_OK, err);
}
