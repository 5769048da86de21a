/* SPDX-License-Identifier: MIT */
/* PNG, JPEG and tar, recognized by content as the readers do; pictures are also resized, cropped
 * and turned grey. */
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

static void list_tar(const uint8_t *bytes, size_t n)
{
    struct file_source f = {-1, malloc(n + 1), n, strdup("fuzz")};
    struct archive_list list = {0};
    struct pith_error err;
    if (!f.mem || !f.name)
        abort();
    memcpy(f.mem, bytes, n);
    (void)pith_tar_list(&f, &list, &err);
    pith_archive_sort(&list);
    for (size_t i = 0; i < list.n; i++) {
        if (list.entry[i].offset > n || list.entry[i].bytes > n - list.entry[i].offset)
            abort();
    }
    pith_archive_free(&list);
    pith_source_close(&f);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    if (pith_is_png(bytes, n) || pith_is_jpeg(bytes, n))
        use_picture(bytes, n);
    else
        list_tar(bytes, n);
    return 0;
}
