/* SPDX-License-Identifier: MIT */
/* fuzz_goal_checkpoint.c - any bytes as the checkpoint of a search, behind the head of this search
 * and before a right checksum. What is read holds: each file is a network, and each number is in
 * its range. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "compress/goal/goal_checkpoint.h"
#include "compress/goal/sample_split.h"
#include "compress/goal/sweep_encoder.h"
#include "core/bytes.h"
#include "validate/container.h"
#include "pith_goal_compress.h"

enum { HEAD_BYTES = 28, CRC_BYTES = 4, MOST_BYTES = 1 << 16 };

static char path[] = "/dev/shm/pith-fuzz-XXXXXX";

static void must(int holds)
{
    if (!holds)
        abort();
}

static void remove_file(void)
{
    (void)unlink(path);
}

static void put_file(const uint8_t *data, size_t n)
{
    int fd = open(path, O_WRONLY | O_TRUNC);
    must(fd >= 0 && write(fd, data, n) == (ssize_t)n && close(fd) == 0);
}

/* The head that such a search writes, and no file. */
static void make_head(const struct goal_mark *mark, uint8_t head[HEAD_BYTES])
{
    struct goal_checkpoint *c = NULL;
    struct pith_goal_point point = {.encoder = "none", .quality = 1};
    must(pith_goal_checkpoint_open(path, mark, false, &c, NULL) == PITH_OK);
    must(pith_goal_checkpoint_add(c, &point, NULL, 1, NULL) == PITH_OK);
    pith_goal_checkpoint_free(c);
    FILE *f = fopen(path, "rb");
    must(f && fread(head, 1, HEAD_BYTES, f) == HEAD_BYTES && fclose(f) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    static const struct goal_mark mark = {.network = 1, .data = 2, .options = 3};
    static uint8_t file[HEAD_BYTES + MOST_BYTES + CRC_BYTES];
    static bool made;
    if (!made) {
        int fd = mkstemp(path);
        must(fd >= 0 && close(fd) == 0);
        atexit(remove_file);
        make_head(&mark, file);
        made = true;
    }
    if (n > MOST_BYTES)
        return 0;
    if (n)
        memcpy(file + HEAD_BYTES, data, n);
    store_le32(file + HEAD_BYTES + n, pith_crc32c(0, file, HEAD_BYTES + n));
    put_file(file, HEAD_BYTES + n + CRC_BYTES);
    struct goal_checkpoint *c = NULL;
    struct pith_error err = {0};
    const enum pith_status st = pith_goal_checkpoint_open(path, &mark, true, &c, &err);
    must(st ? st == PITH_ERR_CORRUPT && err.text[0] && !c : pith_goal_checkpoint_seconds(c) >= 0);
    pith_goal_checkpoint_free(c);
    (void)pith_goal_compress_is_done(path, path);
    return 0;
}
