/* SPDX-License-Identifier: MIT */
#include "goal_checkpoint.h"

#include <errno.h>
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/byte_out.h"
#include "core/bytes.h"
#include "validate/container.h"
#include "base/error_fill.h"
#include "core/f64_bits.h"
#include "base/file_write.h"
#include "validate/format.h"
#include "pith_goal_compress.h"

enum { VERSION = 2, HEAD_BYTES = 28, NAME_BYTES = 16, CRC_BYTES = 4 };
#define MOST_SECONDS 1e10 /* three centuries */
static const char magic[8] = {'P', 'I', 'T', 'H', 'G', 'O', 'A', 'L'};

struct record {
    char name[NAME_BYTES];
    double quality;
    struct pith_goal_cost costly[PITH_GOAL_COSTLY];
    struct pith_buffer file; /* owns, until it was recalled */
    bool recalled;
    struct pith_buffer state; /* owns */
};

struct goal_checkpoint {
    const char *path;
    struct goal_mark mark;
    double seconds;
    bool done; /* the search is: it ended in a file of result_bytes with this checksum */
    uint64_t result_bytes;
    uint32_t result_crc;
    struct record record[PITH_GOAL_POINTS];
    uint32_t n;
};

static const struct record *find(const struct goal_checkpoint *c, const char *encoder,
                                 double quality)
{
    for (uint32_t i = 0; i < c->n; i++)
        if (strcmp(c->record[i].name, encoder) == 0 &&
            f64_bits(c->record[i].quality) == f64_bits(quality))
            return &c->record[i];
    return NULL;
}

/* ---- reading --------------------------------------------------------------------------------- */

static uint64_t read_u64(struct reader *r)
{
    const uint8_t *p = rd_bytes(r, 8);
    return p ? load_le64(p) : 0;
}

/* A text of at most room - 1 bytes. NULL, or what is wrong with it. */
static const char *read_text(struct reader *r, char *text, size_t room)
{
    const size_t n = rd_u8(r);
    const uint8_t *p = rd_bytes(r, n);
    if (!p)
        return "ends early";
    if (n >= room || memchr(p, 0, n) || !pith_utf8_ok(p, n))
        return "has an invalid text";
    memcpy(text, p, n);
    text[n] = '\0';
    return NULL;
}

static const char *read_number(struct reader *r, double most, double *x)
{
    *x = f64_from_bits(read_u64(r));
    return r->bad ? "ends early" : *x >= 0 && *x <= most ? NULL : "has a number out of range";
}

static const char *read_costly(struct reader *r, struct pith_goal_cost *costly)
{
    const uint32_t n = rd_u8(r);
    const char *wrong = r->bad                 ? "ends early"
                        : n > PITH_GOAL_COSTLY ? "names too many layers"
                                               : NULL;
    for (uint32_t i = 0; i < n && !wrong; i++) {
        wrong = read_text(r, costly[i].layer, sizeof costly[i].layer);
        if (!wrong)
            wrong = read_number(r, DBL_MAX, &costly[i].share);
    }
    return wrong;
}

/* A network: a copy of its bytes, when they are valid. optional: there may be none. */
static enum pith_status read_network(struct reader *r, uint64_t bytes, bool optional,
                                     struct pith_buffer *b, const char **wrong)
{
    const uint8_t *p = bytes <= r->left ? rd_bytes(r, (size_t)bytes) : NULL;
    if (!p)
        *wrong = "ends early";
    else if (!(optional && bytes == 0) && pith_blob_check(p, (size_t)bytes, 0, NULL))
        *wrong = "holds a network that is not valid";
    if (*wrong || bytes == 0)
        return PITH_OK;
    b->data = malloc((size_t)bytes);
    if (!b->data)
        return PITH_ERR_MEMORY;
    memcpy(b->data, p, (size_t)bytes);
    b->bytes = (size_t)bytes;
    return PITH_OK;
}

/* *wrong: NULL, or what is wrong with the record. */
static enum pith_status read_record(struct reader *r, struct record *to, const char **wrong)
{
    *wrong = read_text(r, to->name, sizeof to->name);
    if (!*wrong && !to->name[0])
        *wrong = "has an invalid text";
    if (!*wrong)
        *wrong = read_number(r, DBL_MAX, &to->quality);
    if (!*wrong && !(to->quality > 0))
        *wrong = "has a number out of range";
    if (!*wrong)
        *wrong = read_costly(r, to->costly);
    const uint64_t file_bytes = read_u64(r), state_bytes = read_u64(r);
    enum pith_status status = PITH_OK;
    if (!*wrong)
        status = read_network(r, file_bytes, false, &to->file, wrong);
    if (!*wrong && !status)
        status = read_network(r, state_bytes, true, &to->state, wrong);
    return status;
}

static struct goal_mark mark_of(const uint8_t *head)
{
    return (struct goal_mark){load_le32(head + 16), load_le32(head + 20), load_le32(head + 24)};
}

/* What another search would differ in. */
static const char *differs(const struct goal_mark *a, const struct goal_mark *b)
{
    return a->network != b->network   ? "network"
           : a->data != b->data       ? "data"
           : a->options != b->options ? "goal or the options"
                                      : NULL;
}

static enum pith_status check_head(const struct goal_checkpoint *c, const struct pith_buffer *file,
                                   struct pith_error *err)
{
    const uint8_t *head = file->data;
    if (file->bytes < HEAD_BYTES + CRC_BYTES || memcmp(head, magic, sizeof magic) != 0)
        return pith_error_fill(err, PITH_ERR_CORRUPT, "%s: not a checkpoint of compress", c->path);
    if (load_le32(head + 8) != VERSION || load_le32(head + 12) != pith_version())
        return pith_error_fill(err, PITH_ERR_VERSION, "%s: written by another version of pith",
                               c->path);
    const size_t bytes = file->bytes - CRC_BYTES;
    if (load_le32(head + bytes) != pith_crc32c(0, head, bytes))
        return pith_error_fill(err, PITH_ERR_CORRUPT, "%s: damaged: wrong checksum", c->path);
    const struct goal_mark mark = mark_of(head);
    const char *what = differs(&c->mark, &mark);
    return what ? pith_error_fill(err, PITH_ERR_ARGUMENT,
                                  "%s belongs to another search: the %s differ%s", c->path, what,
                                  strcmp(what, "network") == 0 ? "s" : "")
                : PITH_OK;
}

/* What stands before the records. *n: how many there are. */
static const char *read_progress(struct goal_checkpoint *c, struct reader *r, uint32_t *n)
{
    const char *wrong = read_number(r, MOST_SECONDS, &c->seconds);
    const uint32_t done = rd_u8(r);
    c->done = done == 1;
    c->result_bytes = read_u64(r);
    c->result_crc = rd_le32(r);
    *n = rd_le32(r);
    return wrong                   ? wrong
           : r->bad                ? "ends early"
           : done > 1              ? "has a number out of range"
           : *n > PITH_GOAL_POINTS ? "has too many files"
                                   : NULL;
}

static enum pith_status read_records(struct goal_checkpoint *c, const struct pith_buffer *file,
                                     struct pith_error *err)
{
    enum pith_status status = check_head(c, file, err);
    if (status)
        return status;
    struct reader r = reader_of(file->data + HEAD_BYTES, file->bytes - HEAD_BYTES - CRC_BYTES);
    uint32_t n = 0;
    const char *wrong = read_progress(c, &r, &n);
    if (wrong)
        return pith_error_fill(err, PITH_ERR_CORRUPT, "%s: damaged: its head %s", c->path, wrong);
    while (c->n < n && !status && !wrong) {
        struct record *to = &c->record[c->n];
        status = read_record(&r, to, &wrong);
        if (!status && !wrong && find(c, to->name, to->quality))
            wrong = "is there twice";
        c->n++;
    }
    if (status)
        return pith_error_no_memory(err);
    if (wrong)
        return pith_error_fill(err, PITH_ERR_CORRUPT, "%s: damaged: file %u %s", c->path,
                               (unsigned)c->n, wrong);
    return r.left == 0
               ? PITH_OK
               : pith_error_fill(err, PITH_ERR_CORRUPT,
                                 "%s: damaged: %zu bytes behind the last file", c->path, r.left);
}

static enum pith_status read_file(struct goal_checkpoint *c, struct pith_error *err)
{
    struct pith_buffer file = {NULL, 0};
    if (access(c->path, F_OK) != 0 && errno == ENOENT)
        return PITH_OK;
    enum pith_status status = pith_file_load(c->path, UINT64_MAX, &file, err);
    if (!status)
        status = read_records(c, &file, err);
    pith_buffer_free(&file);
    return status;
}

enum pith_status pith_goal_checkpoint_open(const char *path, const struct goal_mark *mark,
                                           bool resume, struct goal_checkpoint **c,
                                           struct pith_error *err)
{
    struct goal_checkpoint *made = calloc(1, sizeof *made);
    enum pith_status status = PITH_OK;
    if (!made)
        return pith_error_no_memory(err);
    made->path = path;
    made->mark = *mark;
    if (resume)
        status = read_file(made, err);
    if (status)
        pith_goal_checkpoint_free(made);
    else
        *c = made;
    return status;
}

static void free_records(struct goal_checkpoint *c)
{
    for (uint32_t i = 0; i < c->n; i++) {
        if (!c->record[i].recalled)
            pith_buffer_free(&c->record[i].file);
        pith_buffer_free(&c->record[i].state);
    }
    c->n = 0;
}

void pith_goal_checkpoint_free(struct goal_checkpoint *c)
{
    if (c)
        free_records(c);
    free(c);
}

/* ---- queries --------------------------------------------------------------------------------- */

double pith_goal_checkpoint_seconds(const struct goal_checkpoint *c)
{
    return c->seconds;
}

bool pith_goal_checkpoint_has(const struct goal_checkpoint *c, const char *encoder, double quality)
{
    return find(c, encoder, quality) != NULL;
}

bool pith_goal_checkpoint_recall(struct goal_checkpoint *c, struct pith_goal_point *point)
{
    const struct record *known = find(c, point->encoder, point->quality);
    if (!known || known->recalled)
        return false;
    c->record[known - c->record].recalled = true;
    memcpy(point->costly, known->costly, sizeof point->costly);
    point->file = known->file;
    return true;
}

enum pith_status pith_goal_checkpoint_state(const struct goal_checkpoint *c, const char *encoder,
                                            double quality, const struct pith_buffer **state,
                                            struct pith_error *err)
{
    const struct record *known = find(c, encoder, quality);
    if (!known || known->state.bytes == 0)
        return pith_error_fill(err, PITH_ERR_CORRUPT, "%s: no network to train on from '%s'",
                               c->path, encoder);
    *state = &known->state;
    return PITH_OK;
}

/* ---- writing --------------------------------------------------------------------------------- */

/* A name that was cut to fit can end within a character, which is left out. */
static void write_text(struct byte_out *o, const char *text)
{
    size_t n = strlen(text);
    while (!pith_utf8_ok((const uint8_t *)text, n))
        n--;
    pith_out_u8(o, (uint32_t)n);
    pith_out_bytes(o, text, n);
}

static void write_head(const struct goal_checkpoint *c, struct byte_out *o)
{
    pith_out_bytes(o, magic, sizeof magic);
    pith_out_le32(o, VERSION);
    pith_out_le32(o, pith_version());
    pith_out_le32(o, c->mark.network);
    pith_out_le32(o, c->mark.data);
    pith_out_le32(o, c->mark.options);
    pith_out_le64(o, f64_bits(c->seconds));
    pith_out_u8(o, c->done);
    pith_out_le64(o, c->result_bytes);
    pith_out_le32(o, c->result_crc);
    pith_out_le32(o, c->n);
}

/* All but its two networks. */
static void write_record(const struct record *r, struct byte_out *o)
{
    uint32_t n = 0;
    while (n < PITH_GOAL_COSTLY && r->costly[n].layer[0])
        n++;
    write_text(o, r->name);
    pith_out_le64(o, f64_bits(r->quality));
    pith_out_u8(o, n);
    for (uint32_t i = 0; i < n; i++) {
        write_text(o, r->costly[i].layer);
        pith_out_le64(o, f64_bits(isfinite(r->costly[i].share) ? r->costly[i].share : 0));
    }
    pith_out_le64(o, r->file.bytes);
    pith_out_le64(o, r->state.bytes);
}

/* Networks are written from where they lie: copies of 24 of them could need more memory than there
 * is. `fields` holds all else; those of record i, or of the head, end at end[i]. */
static enum pith_status write_file(const struct goal_checkpoint *c, struct pith_error *err)
{
    uint8_t tail[CRC_BYTES];
    struct file_piece piece[3 * PITH_GOAL_POINTS + 2];
    size_t end[PITH_GOAL_POINTS + 1];
    struct byte_out fields = {0};
    uint32_t n = 0, crc = 0;
    write_head(c, &fields);
    end[0] = fields.bytes;
    for (uint32_t i = 0; i < c->n; i++) {
        write_record(&c->record[i], &fields);
        end[i + 1] = fields.bytes;
    }
    if (fields.failed) {
        pith_out_clear(&fields);
        return pith_error_no_memory(err);
    }
    piece[n++] = (struct file_piece){fields.data, end[0]};
    for (uint32_t i = 0; i < c->n; i++) {
        const struct record *r = &c->record[i];
        piece[n++] = (struct file_piece){fields.data + end[i], end[i + 1] - end[i]};
        piece[n++] = (struct file_piece){r->file.data, r->file.bytes};
        piece[n++] = (struct file_piece){r->state.data, r->state.bytes};
    }
    for (uint32_t i = 0; i < n; i++)
        if (piece[i].n > 0)
            crc = pith_crc32c(crc, piece[i].bytes, piece[i].n);
    store_le32(tail, crc);
    piece[n++] = (struct file_piece){tail, sizeof tail};
    enum pith_status status = pith_file_write_pieces(c->path, true, piece, n, NULL, err);
    pith_out_clear(&fields);
    return status;
}

enum pith_status pith_goal_checkpoint_add(struct goal_checkpoint *c,
                                          const struct pith_goal_point *point,
                                          struct pith_buffer *state, double seconds,
                                          struct pith_error *err)
{
    if (find(c, point->encoder, point->quality) || c->n == PITH_GOAL_POINTS)
        return PITH_OK; /* recalled */
    struct record *r = &c->record[c->n++];
    snprintf(r->name, sizeof r->name, "%s", point->encoder);
    r->quality = point->quality;
    memcpy(r->costly, point->costly, sizeof r->costly);
    r->file = point->file;
    r->recalled = true;
    if (state) {
        r->state = *state;
        *state = (struct pith_buffer){NULL, 0};
    }
    c->seconds = seconds;
    return write_file(c, err);
}

/* ---- a search that is done ------------------------------------------------------------------- */

/* The checkpoint at that path, whatever search it is of. */
static enum pith_status open_any(const char *path, struct goal_checkpoint *c,
                                 struct pith_error *err)
{
    struct pith_buffer file = {NULL, 0};
    *c = (struct goal_checkpoint){.path = path};
    enum pith_status status = pith_file_load(path, UINT64_MAX, &file, err);
    if (!status && file.bytes >= HEAD_BYTES)
        c->mark = mark_of(file.data);
    if (!status)
        status = read_records(c, &file, err);
    pith_buffer_free(&file);
    return status;
}

/* The last four bytes first: those of a compact file are the checksum of all before, and the sum of
 * a text with its sum behind it is the same for every text. */
static uint32_t result_sum(const uint8_t *data, size_t bytes)
{
    const size_t end = bytes > sizeof(uint32_t) ? sizeof(uint32_t) : 0;
    return pith_crc32c(pith_crc32c(0, data + bytes - end, end), data, bytes - end);
}

enum pith_status pith_goal_compress_finish(const char *path, const struct pith_buffer *result,
                                           struct pith_error *err)
{
    if (!path || !result)
        return PITH_ERR_ARGUMENT;
    struct goal_checkpoint c;
    enum pith_status status = open_any(path, &c, err);
    const struct goal_checkpoint done = {.path = path,
                                         .mark = c.mark,
                                         .seconds = c.seconds,
                                         .done = true,
                                         .result_bytes = result->bytes,
                                         .result_crc = result_sum(result->data, result->bytes)};
    free_records(&c);
    return status ? status : write_file(&done, err);
}

bool pith_goal_compress_is_done(const char *path, const char *result)
{
    if (!path || !result)
        return false;
    struct goal_checkpoint c;
    struct pith_buffer file = {NULL, 0};
    bool done =
        !open_any(path, &c, NULL) && c.done && !pith_file_load(result, UINT64_MAX, &file, NULL);
    done =
        done && file.bytes == c.result_bytes && result_sum(file.data, file.bytes) == c.result_crc;
    free_records(&c);
    pith_buffer_free(&file);
    return done;
}
