/* SPDX-License-Identifier: MIT */
/* The checkpoint of a search: what was added comes back, in another process as in this one; damage,
 * other searches and a full disk are told, and leave the file as it was. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>
#include "test_compress_goal.h"
#include "pith_file_write.h"

static char path[64];
static const struct goal_mark mark = {.network = 1, .data = 2, .options = 3};

static int set_up(void **state)
{
    (void)state;
    snprintf(path, sizeof path, "/tmp/pith-checkpoint-%d", (int)getpid());
    unlink(path);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    return unlink(path);
}

static struct goal_checkpoint *opened(bool resume)
{
    struct goal_checkpoint *c = NULL;
    struct pith_error err = {0};
    if (pith_goal_checkpoint_open(path, &mark, resume, NULL, &c, &err))
        fail_msg("%s", err.text);
    return c;
}

static void add(struct goal_checkpoint *c, const char *encoder, double quality, const char *text,
                const char *state)
{
    struct pith_error err = {0};
    struct pith_goal_point p = {
        .encoder = encoder, .quality = quality, .bytes = strlen(text), .excess = -0.25};
    struct pith_buffer kept = {(uint8_t *)strdup(state), strlen(state)};
    p.loss.kl = quality / 100;
    strcpy(p.costly[0].layer, "fc1");
    p.file = (struct pith_buffer){(uint8_t *)(uintptr_t)text, strlen(text)};
    assert_int_equal(pith_goal_checkpoint_add(c, &p, *state ? &kept : NULL, 10 * quality, &err),
                     PITH_OK);
    if (!*state)
        free(kept.data);
}

static void make_two(void)
{
    struct goal_checkpoint *c = opened(false);
    add(c, "sweep", 1.2, "first file", "");
    add(c, "retrained", 8, "second", "a network");
    pith_goal_checkpoint_free(c);
}

static void comes_back(void **state)
{
    (void)state;
    struct pith_goal_point p;
    make_two();
    struct goal_checkpoint *c = opened(true);
    assert_true(pith_goal_checkpoint_seconds(c) == 80);
    assert_false(pith_goal_checkpoint_recall(c, "sweep", 1.21, &p));
    assert_false(pith_goal_checkpoint_recall(c, "integers", 1.2, &p));
    assert_true(pith_goal_checkpoint_recall(c, "sweep", 1.2, &p));
    assert_int_equal(p.file.bytes, strlen("first file"));
    assert_memory_equal(p.file.data, "first file", p.file.bytes);
    assert_true(p.loss.kl == 0.012 && p.excess == -0.25);
    assert_string_equal(p.costly[0].layer, "fc1");
    assert_null(pith_goal_checkpoint_state(c, "sweep", 1.2));
    const struct pith_buffer *kept = pith_goal_checkpoint_state(c, "retrained", 8);
    assert_non_null(kept);
    assert_memory_equal(kept->data, "a network", strlen("a network"));
    add(c, "sweep", 1.5, "third", ""); /* behind those that are there */
    pith_goal_checkpoint_free(c);
    pith_buffer_free(&p.file);
    c = opened(true);
    assert_true(pith_goal_checkpoint_recall(c, "sweep", 1.2, &p));
    pith_buffer_free(&p.file);
    assert_true(pith_goal_checkpoint_recall(c, "sweep", 1.5, &p));
    pith_buffer_free(&p.file);
    pith_goal_checkpoint_free(c);
    c = opened(false);
    assert_false(pith_goal_checkpoint_recall(c, "sweep", 1.2, &p));
    pith_goal_checkpoint_free(c);
}

static enum pith_status open_with(const struct goal_mark *other, struct pith_error *err)
{
    struct goal_checkpoint *c = NULL;
    enum pith_status status = pith_goal_checkpoint_open(path, other, true, NULL, &c, err);
    pith_goal_checkpoint_free(c);
    return status;
}

static void is_of_another_search(void **state)
{
    (void)state;
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

/* Each byte changed, each length: told, never taken for whole. */
static void damage_is_told(void **state)
{
    (void)state;
    struct pith_buffer file = {NULL, 0};
    struct pith_error err = {0};
    make_two();
    assert_int_equal(pith_file_load(path, UINT64_MAX, &file, &err), PITH_OK);
    for (size_t i = 0; i < file.bytes; i++) {
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

static void a_folder_that_is_not_there(void **state)
{
    (void)state;
    struct goal_checkpoint *c = NULL;
    struct pith_error err = {0};
    const struct pith_goal_point p = {.encoder = "sweep", .quality = 1};
    make_two();
    assert_int_equal(pith_goal_checkpoint_open("/nowhere/at/all", &mark, false, NULL, &c, &err),
                     PITH_OK);
    assert_int_equal(pith_goal_checkpoint_add(c, &p, NULL, 1, &err), PITH_ERR_IO);
    assert_non_null(strstr(err.text, "/nowhere/at/all"));
    pith_goal_checkpoint_free(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(comes_back, set_up, tear_down),
        cmocka_unit_test_setup_teardown(is_of_another_search, set_up, tear_down),
        cmocka_unit_test_setup_teardown(damage_is_told, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_folder_that_is_not_there, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
