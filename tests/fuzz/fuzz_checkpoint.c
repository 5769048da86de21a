/* SPDX-License-Identifier: MIT */
/* fuzz_checkpoint.c - any bytes as the checkpoint of a training. What is taken fills all that the
 * run registered, what is not leaves it as it was; the checksum is mended in every second input. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "train/state/checkpoint.h"
#include "core/bytes.h"
#include "validate/container.h"

static char folder[] = "/dev/shm/pith-fuzz-XXXXXX";

static void must(int holds)
{
    if (!holds)
        abort();
}

static void remove_folder(void)
{
    char path[64];
    snprintf(path, sizeof path, "%s/checkpoint", folder);
    (void)unlink(path);
    (void)rmdir(folder);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    static bool made;
    static uint8_t file[1u << 16];
    char path[64];
    uint32_t step = 7;
    float weights[4] = {1, 2, 3, 4};
    uint8_t alive = 1;
    struct pith_buffer buffer = {0};
    struct checkpoint *c = NULL;
    bool found = false;
    if (!made) {
        must(mkdtemp(folder) != NULL);
        atexit(remove_folder);
        made = true;
    }
    if (n > sizeof file)
        return 0;
    if (n)
        memcpy(file, data, n);
    if (n >= 4 && data[n - 1] % 2)
        store_le32(file + n - 4, pith_crc32c(0, file, n - 4));
    snprintf(path, sizeof path, "%s/checkpoint", folder);
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    must(fd >= 0 && write(fd, file, n) == (ssize_t)n && close(fd) == 0);
    must(pith_checkpoint_open(folder, "run", NULL, &c, NULL) == PITH_OK);
    pith_checkpoint_add_u32(c, "step", 0, &step);
    pith_checkpoint_add_f32(c, "weights", 1, CHECKPOINT_POSITIVE, weights, 4);
    pith_checkpoint_add_flags(c, "alive", 0, &alive, 1);
    pith_checkpoint_add_buffer(c, "model", &buffer);
    struct pith_error err = {0};
    enum pith_status st = pith_checkpoint_read(c, &found, &err);
    must(!st || (err.text[0] && step == 7 && weights[3] == 4 && !buffer.data));
    must(weights[0] > 0 && alive <= 1);
    pith_checkpoint_free(c);
    free(buffer.data);
    return 0;
}
