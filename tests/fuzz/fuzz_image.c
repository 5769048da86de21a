/* SPDX-License-Identifier: MIT */
/* PNG, JPEG, tar and zip, recognized by content as the readers do; pictures are also resized,
 * cropped and turned grey. */
#include <stdlib.h>
#include <string.h>
#include "data/data_source.h"
#include "data/npy_header.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n);

enum { SMALL_PIXELS = 1 << 16 };

static void use_picture(const uint8_t *bytes, size_t n)
{
    struct pith_image image;
    struct pith_error err;
    if (pith_image_decode(bytes, n, "fuzz", 1 << 26, &image, &err))
        return;
    if ((uint64_t)image.width * image.height <= SMALL_PIXELS &&
        pith_image_resize_shorter(&image, 1 + (uint32_t)(n % 40), "fuzz", &err) == PITH_OK &&
        pith_image_crop(&image, 1 + (uint32_t)(n % 9), 1 + (uint32_t)(n % 11), "fuzz", &err) ==
            PITH_OK)
        (void)pith_image_set_channels(&image, image.channels == 1 ? 3 : 1, "fuzz", &err);
    pith_image_free(&image);
}

static void read_archive(const uint8_t *bytes, size_t n)
{
    struct file_source f = {.fd = -1, .mem = malloc(n + 1), .bytes = n, .name = strdup("fuzz")};
    struct file_list list = {0};
    struct pith_buffer all = {0};
    struct pith_error err;
    if (!f.mem || !f.name)
        abort();
    memcpy(f.mem, bytes, n);
    bool listed = pith_archive_list(&f, &list, &err) == PITH_OK;
    if (listed && pith_is_zip(bytes, n)) {
        uint64_t end = 0;
        if (pith_zip_decode(&f, list.entry, list.n, 1 << 22, &all, &err) == PITH_OK)
            for (size_t i = 0; i < list.n; i++) {
                if (list.entry[i].offset != end)
                    abort();
                end += list.entry[i].bytes;
            }
        if (end != all.bytes)
            abort();
    } else if (listed && pith_is_tar(bytes, n)) {
        for (size_t i = 0; i < list.n; i++)
            if (list.entry[i].offset > n || list.entry[i].bytes > n - list.entry[i].offset)
                abort();
    }
    pith_list_sort(&list);
    pith_list_free(&list);
    pith_buffer_free(&all);
    pith_source_close(&f);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    if (pith_is_png(bytes, n) || pith_is_jpeg(bytes, n))
        use_picture(bytes, n);
    else
        read_archive(bytes, n);
    return 0;
}
