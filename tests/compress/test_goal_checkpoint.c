/* SPDX-License-Identifier: MIT */
/* The checkpoint of a search: what was added comes back, in another process as in this one; damage,
 * other searches and a full disk are reported, and leave the file as it was. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "test_run.h"
#include "sample_models.h"
#include "compress/goal/goal_checkpoint.h"
#include "compress/goal/sample_split.h"
#include "compress/goal/sweep_encoder.h"
#include "core/bytes.h"
#include "kernels/crc32c.h"
#include "core/f64_bits.h"
#include "base/file_write.h"
#include "pith_goal_compress.h"
#include "pith_pack.h"

static char path[64];
static const struct goal_mark mark = {.network = 1, .data = 2, .options = 3};

FIXTURE(set_up)
{
    snprintf(path, sizeof path, "/tmp/pith-checkpoint-%d", (int)getpid());
    unlink(path);
    return 0;
}

FIXTURE(tear_down)
{
    return unlink(path);
}

static struct goal_checkpoint *opened(bool resume)
{
    struct goal_checkpoint *c = NULL;
    struct pith_error err = {0};
    SUCCEEDS(pith_goal_checkpoint_open(path, &mark, resume, &c, &err));
    return c;
}

/* The same of the same seed. */
static struct pith_buffer network(uint64_t seed)
{
    struct pith_error err = {0};
    struct pith_buffer file = {NULL, 0};
    struct pith_model *m = sample_random_model(seed);
    SUCCEEDS(pith_model_pack(m, NULL, &file, &err));
    pith_model_free(m);
    return file;
}

/* Returns the file, which the checkpoint borrows. */
static struct pith_buffer add(struct goal_checkpoint *c, const char *encoder, double quality,
                              uint64_t seed, bool with_state)
{
    struct pith_error err = {0};
    struct pith_goal_point p = {.encoder = encoder, .quality = quality, .file = network(seed)};
    struct pith_buffer kept = with_state ? network(seed + 1) : (struct pith_buffer){NULL, 0};
    strcpy(p.costly[0].layer, "fc1");
    p.costly[0].share = 0.5;
    SUCCEEDS(pith_goal_checkpoint_add(c, &p, with_state ? &kept : NULL, 10 * quality, &err));
    return p.file;
}

static void make_two(void)
{
    struct goal_checkpoint *c = opened(false);
    struct pith_buffer one = add(c, "sweep", 1.2, 7, false), two = add(c, "retrained", 8, 9, true);
    pith_goal_checkpoint_free(c);
    pith_buffer_free(&one);
    pith_buffer_free(&two);
}

/* Whether it is there and has the network of that seed. */
static bool recalls(struct goal_checkpoint *c, const char *encoder, double quality, uint64_t seed)
{
    struct pith_goal_point p = {.encoder = encoder, .quality = quality};
    struct pith_buffer wanted = network(seed);
    const bool there = pith_goal_checkpoint_recall(c, &p);
    if (there) {
        assert_int_equal(p.file.bytes, wanted.bytes);
        assert_memory_equal(p.file.data, wanted.data, wanted.bytes);
        assert_string_equal(p.costly[0].layer, "fc1");
        assert_true(p.costly[0].share == 0.5);
        pith_buffer_free(&p.file);
    }
    pith_buffer_free(&wanted);
    return there;
}

TEST(comes_back)
{
    const struct pith_buffer *kept;
    struct pith_error err = {0};
    make_two();
    struct goal_checkpoint *c = opened(true);
    assert_true(pith_goal_checkpoint_seconds(c) == 80);
    assert_false(recalls(c, "sweep", 1.21, 7));
    assert_false(recalls(c, "integers", 1.2, 7));
    assert_true(recalls(c, "sweep", 1.2, 7));
    assert_false(recalls(c, "sweep", 1.2, 7)); /* a second time */
    assert_true(pith_goal_checkpoint_has(c, "sweep", 1.2));
    assert_int_equal(pith_goal_checkpoint_state(c, "sweep", 1.2, &kept, &err), PITH_ERR_CORRUPT);
    assert_non_null(strstr(err.text, path));
    assert_int_equal(pith_goal_checkpoint_state(c, "retrained", 8, &kept, &err), PITH_OK);
    struct pith_buffer wanted = network(10);
    assert_int_equal(kept->bytes, wanted.bytes);
    assert_memory_equal(kept->data, wanted.data, wanted.bytes);
    pith_buffer_free(&wanted);
    pith_goal_checkpoint_free(c);

    c = opened(true);
    struct pith_buffer third = add(c, "sweep", 1.5, 11, false); /* behind those that are there */
    pith_goal_checkpoint_free(c);
    pith_buffer_free(&third);
    c = opened(true);
    assert_true(recalls(c, "sweep", 1.2, 7));
    assert_true(recalls(c, "sweep", 1.5, 11));
    pith_goal_checkpoint_free(c);
    c = opened(false);
    assert_false(pith_goal_checkpoint_has(c, "sweep", 1.2));
    pith_goal_checkpoint_free(c);
}

/* A layer's name that was cut within a character, and a share that is no number, are stored so that
 * the file is valid. */
TEST(what_is_written_can_be_read)
{
    struct goal_checkpoint *c = opened(false);
    struct pith_error err = {0};
    struct pith_goal_point p = {.encoder = "sweep", .quality = 1, .file = network(3)};
    memset(p.costly[0].layer, 'a', sizeof p.costly[0].layer - 1);
    p.costly[0].layer[sizeof p.costly[0].layer - 2] = '\xc3';
    p.costly[0].share = NAN;
    assert_int_equal(pith_goal_checkpoint_add(c, &p, NULL, 1, &err), PITH_OK);
    pith_goal_checkpoint_free(c);
    pith_buffer_free(&p.file);
    c = opened(true);
    struct pith_goal_point again = {.encoder = "sweep", .quality = 1};
    assert_true(pith_goal_checkpoint_recall(c, &again));
    assert_true(strlen(again.costly[0].layer) < sizeof p.costly[0].layer - 1);
    assert_true(again.costly[0].share == 0);
    pith_buffer_free(&again.file);
    pith_goal_checkpoint_free(c);
}

TEST(a_search_that_is_done)
{
    struct pith_error err = {0};
    struct pith_buffer result = network(7);
    char output[80];
    snprintf(output, sizeof output, "%s.pith", path);
    make_two();
    assert_int_equal(pith_file_write(output, result.data, result.bytes, &err), PITH_OK);
    assert_false(pith_goal_compress_is_done(path, output));
    assert_int_equal(pith_goal_compress_finish(path, &result, &err), PITH_OK);
    assert_true(pith_goal_compress_is_done(path, output));
    struct goal_checkpoint *c = opened(true); /* of the same search, without its files */
    assert_true(pith_goal_checkpoint_seconds(c) == 80);
    assert_false(pith_goal_checkpoint_has(c, "sweep", 1.2));
    pith_goal_checkpoint_free(c);
    result.data[result.bytes - 1] ^= 1;
    assert_int_equal(pith_file_write(output, result.data, result.bytes, &err), PITH_OK);
    assert_false(pith_goal_compress_is_done(path, output));
    unlink(output);
    assert_false(pith_goal_compress_is_done(path, output));
    pith_buffer_free(&result);
}

static enum pith_status open_with(const struct goal_mark *other, struct pith_error *err)
{
    struct goal_checkpoint *c = NULL;
    enum pith_status status = pith_goal_checkpoint_open(path, other, true, &c, err);
    pith_goal_checkpoint_free(c);
    return status;
}

TEST(is_of_another_search)
{
    const struct goal_mark other[] = {{9, 2, 3}, {1, 9, 3}, {1, 2, 9}};
    const char *said[] = {"network differs", "data differ", "goal or the options differ"};
    make_two();
    for (int i = 0; i < 3; i++) {
        struct pith_error err = {0};
        assert_int_equal(open_with(&other[i], &err), PITH_ERR_ARGUMENT);
        assert_non_null(strstr(err.text, said[i]));
    }
}

static void put(const struct pith_buffer *file, size_t bytes)
{
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(file->data, 1, bytes, f), bytes);
    assert_int_equal(fclose(f), 0);
}

/* Each byte changed, each length: reported, never taken for whole. */
TEST(damage_is_reported)
{
    struct pith_buffer file = {NULL, 0};
    struct pith_error err = {0};
    make_two();
    assert_int_equal(pith_file_load(path, UINT64_MAX, &file, &err), PITH_OK);
    for (size_t i = 0; i < file.bytes; i += i < 200 ? 1 : 61) {
        file.data[i] ^= 0x40;
        put(&file, file.bytes);
        file.data[i] ^= 0x40;
        enum pith_status status = open_with(&mark, &err);
        assert_true(status == PITH_ERR_CORRUPT || status == PITH_ERR_VERSION);
        put(&file, i);
        assert_true(open_with(&mark, &err) != PITH_OK);
    }
    pith_buffer_free(&file);
}

/* ---- each field with each bad value ---------------------------------------------------------- */

enum { MOST_FIELDS = 64 };

struct field {
    const char *name;
    size_t at, bytes;
};

struct layout {
    const struct pith_buffer *file;
    struct field field[MOST_FIELDS];
    uint32_t n;
    size_t end; /* of the last */
};

static uint64_t next_field(struct layout *l, const char *name, size_t bytes)
{
    assert_true(l->n < MOST_FIELDS);
    l->field[l->n++] = (struct field){name, l->end, bytes};
    const uint8_t *p = l->file->data + l->end;
    l->end += bytes;
    return bytes == 1 ? *p : bytes == 4 ? load_le32(p) : bytes == 8 ? load_le64(p) : 0;
}

static void next_text(struct layout *l, const char *length, const char *text)
{
    const uint64_t n = next_field(l, length, 1);
    next_field(l, text, (size_t)n);
}

/* As goal_checkpoint.h draws it. */
static void find_fields(struct layout *l)
{
    const char *head[] = {"magic", "version", "pith", "network", "data", "options"};
    for (int i = 0; i < 6; i++)
        next_field(l, head[i], i ? 4 : 8);
    next_field(l, "seconds", 8);
    next_field(l, "done", 1);
    next_field(l, "result bytes", 8);
    next_field(l, "result CRC", 4);
    const uint64_t files = next_field(l, "files", 4);
    for (uint64_t i = 0; i < files; i++) {
        next_text(l, "name length", "name");
        next_field(l, "quality", 8);
        const uint64_t costly = next_field(l, "costly layers", 1);
        for (uint64_t k = 0; k < costly; k++) {
            next_text(l, "layer length", "layer");
            next_field(l, "share", 8);
        }
        const uint64_t file = next_field(l, "file bytes", 8), of = next_field(l, "state bytes", 8);
        next_field(l, "file", (size_t)file);
        next_field(l, "state", (size_t)of);
    }
    assert_int_equal(l->end + 4, l->file->bytes);
}

static void mend(uint8_t *file, size_t bytes)
{
    store_le32(file + bytes - 4, pith_crc32c(0, file, bytes - 4));
}

/* Whether a value may stand there: the search is the same, and nothing that is used is wrong. */
static bool is_allowed(const struct field *f, uint64_t x)
{
    const double d = f64_from_bits(x);
    if (strcmp(f->name, "result bytes") == 0 || strcmp(f->name, "result CRC") == 0)
        return true;
    if (strcmp(f->name, "seconds") == 0)
        return d >= 0 && d < 1e10;
    if (strcmp(f->name, "quality") == 0)
        return d > 0 && isfinite(d);
    if (strcmp(f->name, "share") == 0)
        return d >= 0 && isfinite(d);
    if (strcmp(f->name, "done") == 0)
        return x <= 1;
    return false;
}

static void expect_refused(const struct layout *l, const struct field *f, size_t bytes,
                           const char *how, uint64_t x)
{
    struct pith_buffer copy = {malloc(bytes), bytes};
    struct pith_error err = {0};
    memcpy(copy.data, l->file->data, bytes);
    for (size_t i = 0; i < f->bytes && f->at + i < bytes; i++)
        if (strcmp(how, "cut") != 0)
            copy.data[f->at + i] = (uint8_t)(x >> 8 * (i % 8));
    if (bytes >= 8)
        mend(copy.data, bytes);
    put(&copy, bytes);
    pith_buffer_free(&copy);
    const enum pith_status status = open_with(&mark, &err), wanted = status;
    if (status != PITH_ERR_CORRUPT && status != PITH_ERR_VERSION && status != PITH_ERR_ARGUMENT)
        fail_msg("%s: %s %llx is status %d", f->name, how, (unsigned long long)x, (int)wanted);
    if (!strstr(err.text, path) || strlen(err.text) < strlen(path) + 4)
        fail_msg("%s: %s %llx: the message is '%s'", f->name, how, (unsigned long long)x, err.text);
}

static uint32_t bad_values(const struct layout *l, const struct field *f)
{
    const double numbers[] = {NAN, -NAN, INFINITY, -INFINITY, -1, -1e300, 1e300};
    const uint8_t *p = l->file->data + f->at;
    const uint64_t is = f->bytes == 1   ? *p
                        : f->bytes == 4 ? load_le32(p)
                        : f->bytes == 8 ? load_le64(p)
                                        : 0;
    uint64_t x[40] = {0,          1,          2,          is + 1,      is - 1,
                      is ^ 0x80,  0x7f,       0xff,       0x8080,      0x7fffffff,
                      0x80000000, 0xffffffff, UINT64_MAX, 1ull << 63,  1ull << 32,
                      is << 8,    is + 7,     is | 0x40,  0x4141414141};
    uint32_t n = 19, made = 0;
    const uint64_t mask = f->bytes >= 8 ? UINT64_MAX : (1ull << 8 * f->bytes) - 1;
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers && f->bytes == 8; i++)
        x[n++] = f64_bits(numbers[i]);
    for (uint32_t i = 0; i < n; i++) {
        if ((x[i] & mask) == (is & mask) || is_allowed(f, x[i] & mask))
            continue;
        expect_refused(l, f, l->file->bytes, "set to", x[i] & mask);
        made++;
    }
    return made;
}

/* A text with bytes that are none, a network with one byte changed in 16 places. */
static uint32_t bad_bytes(const struct layout *l, const struct field *f)
{
    uint32_t made = 0;
    const bool text = f->bytes < 32;
    const uint8_t set[] = {0, 0xff, 0x80, 0xc3};
    for (size_t i = 0; i < f->bytes; i += text ? 1 : f->bytes / 16) {
        const struct field one = {f->name, f->at + i, 1};
        for (size_t k = 0; k < (text ? sizeof set : 1); k++, made++)
            expect_refused(l, &one, l->file->bytes, "byte set to",
                           text ? set[k] : (uint64_t)(l->file->data[f->at + i] ^ 0x55));
    }
    return made;
}

TEST(bad_fields_are_reported)
{
    struct pith_buffer file = {NULL, 0};
    struct pith_error err = {0};
    uint32_t made = 0;
    make_two();
    assert_int_equal(pith_file_load(path, UINT64_MAX, &file, &err), PITH_OK);
    struct layout l = {.file = &file};
    find_fields(&l);
    for (uint32_t i = 0; i < l.n; i++) {
        const struct field *f = &l.field[i], whole = {f->name, f->at, 0};
        const bool number = f->bytes == 1 || f->bytes == 4 || (f->bytes == 8 && i > 0);
        made += number ? bad_values(&l, f) : bad_bytes(&l, f);
        for (size_t cut = f->at; cut<f->at + f->bytes; cut += f->bytes> 32 ? f->bytes / 4 : 1) {
            expect_refused(&l, &whole, cut + 4, "cut", cut);
            made++;
        }
    }
    if (made < 300)
        fail_msg("%u bad files", made);
    pith_buffer_free(&file);
}

TEST(a_folder_that_is_not_there)
{
    struct goal_checkpoint *c = NULL;
    struct pith_error err = {0};
    const struct pith_goal_point p = {.encoder = "sweep", .quality = 1};
    make_two();
    assert_int_equal(pith_goal_checkpoint_open("/nowhere/at/all", &mark, false, &c, &err), PITH_OK);
    assert_int_equal(pith_goal_checkpoint_add(c, &p, NULL, 1, &err), PITH_ERR_IO);
    assert_non_null(strstr(err.text, "/nowhere/at/all"));
    pith_goal_checkpoint_free(c);
}

RUN_EACH_TEST_WITH(set_up, tear_down)
