/* SPDX-License-Identifier: MIT */
/* What a sweep is run on, as its lines name it: the model and the data, each by name and checksum,
 * so that results of different ones never meet in one front or pass for done.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "core/bytes.h"
#include "pith_pack.h"
#include "validate/container.h"
#include "pith_host.h"
#include "compress/recipe/stage_json.h"
#include "input_checksum.h"
#include "sweep_spec.h"

uint32_t pith_checksum_number(uint32_t crc, uint64_t v)
{
    uint8_t bytes[8];
    store_le64(bytes, v);
    return pith_crc32c(crc, bytes, sizeof bytes);
}

static uint32_t add_text(uint32_t crc, const char *text)
{
    return pith_crc32c(crc, text, strlen(text) + 1);
}

/* The last part of a path, also of "raw:TYPE:N:FILE": folders are a matter of the machine. */
static const char *last_part(const char *path)
{
    size_t n = strlen(path);
    const char *slash = strrchr(path, '/'), *colon = strrchr(path, ':');
    if (slash && slash + 1 < path + n)
        return slash + 1;
    return colon && !slash ? colon + 1 : path;
}

static enum pith_status add_values(struct pith_data *data, uint32_t *crc, struct pith_error *err)
{
    uint64_t n = pith_data_elems(data);
    float *x = malloc((size_t)n * sizeof *x + 1);
    if (!x)
        return pith_error_no_memory(err);
    enum pith_status st = pith_data_read(data, 0, x, NULL, err);
    for (uint64_t i = 0; i < n && !st; i++) {
        uint32_t bits;
        memcpy(&bits, &x[i], sizeof bits);
        *crc = pith_checksum_number(*crc, bits);
    }
    free(x);
    return st;
}

enum pith_status pith_checksum_data(struct pith_data *data, uint32_t *crc, struct pith_error *err)
{
    uint64_t n = pith_data_count(data);
    bool pictures = pith_data_pictures(data);
    *crc = pith_checksum_number(pith_checksum_number(0, n), pith_data_elems(data));
    for (uint64_t i = 0; i < n; i++) {
        const int64_t *label = pith_data_labels(data, i);
        const uint64_t n_labels = pith_data_label_count(data);
        for (uint64_t k = 0; k < n_labels; k++)
            *crc = pith_checksum_number(*crc, (uint64_t)label[k]);
        if (n_labels == 0)
            *crc = pith_checksum_number(*crc, (uint64_t)PITH_NO_LABEL);
        if (pictures)
            *crc = add_text(*crc, last_part(pith_data_sample_name(data, i)));
    }
    return pictures ? PITH_OK : add_values(data, crc, err);
}

enum pith_status pith_checksum_model(const struct pith_model *m, uint32_t *crc,
                                     struct pith_error *err)
{
    /* a compact file ends in its own checksum: that of the whole is the same for all */
    const struct pith_pack_opts pack = {.size_bytes = sizeof pack, .full = true};
    struct pith_buffer file;
    enum pith_status st = pith_model_pack(m, &pack, &file, err);
    if (st)
        return st;
    *crc = pith_crc32c(0, file.data, file.bytes);
    pith_buffer_free(&file);
    return PITH_OK;
}

/* {"name": "net.pith", "crc32c": "0123abcd"}; a new reference, NULL without memory. */
static json_t *named(const char *name, uint32_t crc)
{
    char text[16];
    snprintf(text, sizeof text, "%08" PRIx32, crc);
    return json_pack("{ss,ss}", "name", last_part(name), "crc32c", text);
}

static json_t *version_text(void)
{
    uint32_t v = pith_version();
    return json_sprintf("%u.%u.%u", v >> 16, v >> 8 & 255, v & 255);
}

/* "data": the samples that accuracy is measured on. */
static void put_data(json_t **about, const struct pith_sweep_inputs *on, uint32_t crc)
{
    json_t *data = named(on->data_name ? on->data_name : "data", crc);
    if (on->range)
        pith_json_put(&data, "range", json_string(on->range));
    pith_json_put(&data, "samples", json_integer((json_int_t)pith_data_count(on->data)));
    pith_json_put(about, "data", data);
}

enum pith_status pith_sweep_bind(struct pith_sweep *s, const struct pith_sweep_inputs *on,
                                 struct pith_error *err)
{
    if (!s || !on || on->size_bytes != sizeof *on)
        return PITH_ERR_ARGUMENT;
    uint32_t model, data = 0, train = 0;
    enum pith_status st = pith_checksum_model(on->model, &model, err);
    if (!st && on->data)
        st = pith_checksum_data(on->data, &data, err);
    if (!st && on->train)
        st = pith_checksum_data(on->train, &train, err);
    if (st)
        return st;
    json_t *about = json_object();
    pith_json_put(&about, "version", version_text());
    if (on->host)
        pith_json_put(&about, "host", json_string(on->host));
    pith_json_put(&about, "model", named(on->model_name ? on->model_name : "model", model));
    if (on->data)
        put_data(&about, on, data);
    if (!about)
        return pith_error_no_memory(err);
    json_decref(s->about);
    s->about = about;
    s->mark = pith_checksum_number(
        pith_checksum_number(pith_checksum_number(s->spec_mark, model), data), train);
    return PITH_OK;
}
