/* SPDX-License-Identifier: MIT */
#include "layer_table.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "base/number_text.h"
#include "cli/common/json_out.h"
#include "pith_host.h"
#include "pith_huffman.h"
#include "pith_load.h"
#include "cli/common/table.h"
#include "core/tensor.h"
#include "pack/unpack.h"

static void fill_row(struct layer_row *row, const struct pith_model *m,
                     const struct pith_weight_ref *ref, const struct pith_tensor_bytes *b)
{
    const struct pith_value *v = &m->values[ref->value];
    const struct pith_const *c = v->constant;
    row->op = pith_op_text(ref->op);
    if (ref->layer && *ref->layer)
        snprintf(row->name, sizeof row->name, "%s", ref->layer);
    else
        snprintf(row->name, sizeof row->name, "%s %u", row->op, ref->node);
    pith_shape_text(v->dim, v->rank, row->shape);
    row->count = c->count;
    row->kept = b->kept;
    row->bits =
        b->n_centroids ? pith_index_bits(b->n_centroids) : 8 * (uint32_t)pith_type_bytes(b->stored);
    row->grid = b->n_centroids ? "codebook" : pith_type_text(b->stored);
    row->code = b->trellis                      ? "trellis"
                : b->code == PITH_CODE_ADAPTIVE ? "adaptive"
                : b->code == PITH_CODE_RANS     ? "rans"
                : b->code == PITH_CODE_HUFFMAN  ? "huffman"
                                                : "plain";
    row->bytes = b->support + b->codebook + b->index + b->values + b->table;
}

static enum cli_exit fill_rows(struct layer_rows *r)
{
    const struct pith_model *m = r->model;
    struct pith_weight_ref *refs = calloc(m->n_nodes + 1u, sizeof *refs);
    r->row = calloc(m->n_nodes + 1u, sizeof *r->row);
    if (!refs || !r->row) {
        free(refs);
        cli_error("out of memory");
        return EXIT_MEMORY;
    }
    r->n = pith_model_all_weights(m, refs);
    for (uint32_t i = 0; i < r->n; i++) {
        fill_row(&r->row[i], m, &refs[i], &r->account->tensor[refs[i].value - m->n_inputs]);
        r->weights += r->row[i].count;
        r->kept += r->row[i].kept;
        r->bytes += r->row[i].bytes;
    }
    free(refs);
    return EXIT_DONE;
}

enum cli_exit cli_layer_rows(const void *file, size_t bytes, const char *path,
                             const struct pith_model *outline, struct layer_rows *rows)
{
    struct pith_error err = {0};
    enum cli_exit rc;
    memset(rows, 0, sizeof *rows);
    if (!outline)
        (void)pith_unpack(file, bytes, path,
                          &(struct unpack_opts){.flags = PITH_FLAG_NO_CHECKSUM, .outline = true},
                          &rows->made, &err);
    rows->model = outline ? outline : rows->made;
    if (!rows->model || pith_byte_account_new(file, bytes, &rows->account, &err))
        rc = cli_fail(&err);
    else
        rc = fill_rows(rows);
    if (rc)
        cli_layer_rows_free(rows);
    return rc;
}

/* Of f32 and i8, whose zeros are 0; others: what was stored. */
static uint64_t nonzeros_of(const struct pith_value *v, uint64_t stored)
{
    const struct pith_const *c = v->constant;
    uint64_t n = 0;
    if (v->type != PITH_F32 && v->type != PITH_I8)
        return stored;
    for (uint64_t i = 0; i < c->count; i++)
        n += v->type == PITH_F32 ? ((const float *)c->data)[i] != 0
                                 : ((const int8_t *)c->data)[i] != 0;
    return n;
}

enum cli_exit cli_count_nonzeros(struct layer_rows *r, const void *file, size_t bytes,
                                 const char *path)
{
    const struct pith_import_opts opts = {.size_bytes = sizeof opts, .strict = true};
    struct pith_model *m = NULL;
    bool dense = false;
    for (uint32_t i = 0; i < r->n; i++)
        dense = dense || r->row[i].kept == r->row[i].count;
    if (!dense || pith_model_read(file, bytes, path, &opts, &m, NULL))
        return EXIT_DONE;
    struct pith_weight_ref *refs = calloc(m->n_nodes + 1u, sizeof *refs);
    uint32_t n = refs ? pith_model_all_weights(m, refs) : 0;
    for (uint32_t i = 0; i < n && n == r->n; i++) {
        struct layer_row *row = &r->row[i];
        r->kept -= row->kept;
        row->kept = nonzeros_of(&m->values[refs[i].value], row->kept);
        r->kept += row->kept;
    }
    enum cli_exit rc = refs ? EXIT_DONE : cli_no_memory();
    free(refs);
    pith_model_free(m);
    return rc;
}

void cli_layer_rows_free(struct layer_rows *rows)
{
    free(rows->row);
    pith_byte_account_free(rows->account);
    pith_model_free(rows->made);
    memset(rows, 0, sizeof *rows);
}

static void add_row(struct cli_table *t, const struct layer_row *row)
{
    char a[32], b[32];
    cli_table_add(t, "%s", row->name);
    cli_table_add(t, "%s", row->shape);
    cli_table_add(t, "%.3f", row->count ? (double)row->kept / (double)row->count : 1.0);
    cli_table_add(t, "%.3g", row->bits);
    cli_table_add(t, "%s", row->code);
    cli_table_add(t, "%s", pith_count_text(row->bytes, a));
    cli_table_add(t, "%s", pith_count_text(row->count * sizeof(float), b));
}

void cli_print_layers(const struct layer_rows *r, FILE *out)
{
    static const char *const heads[] = {"layer", "shape", "kept",  "bits",
                                        "code",  "bytes", "as f32"};
    struct cli_table t;
    cli_table_start(&t, 7);
    for (size_t i = 0; i < sizeof heads / sizeof *heads; i++)
        cli_table_add(&t, "%s", heads[i]);
    for (uint32_t i = 0; i < r->n; i++)
        add_row(&t, &r->row[i]);
    add_row(&t,
            &(struct layer_row){.name = "total",
                                .kept = r->kept,
                                .count = r->weights,
                                .bits = r->weights ? 8 * (double)r->bytes / (double)r->weights : 0,
                                .code = "",
                                .bytes = r->bytes});
    cli_table_print(&t, out);
}

void cli_warn_nothing_kept(const struct layer_rows *r)
{
    if (r->weights && !r->kept)
        cli_warn("all weights are 0: on these samples the outputs vary so little that constants "
                 "meet the "
                 "goal. Try samples of every kind that the network will see");
}

void cli_json_layers(const struct layer_rows *r)
{
    cli_json_open("layers", '[');
    for (uint32_t i = 0; i < r->n; i++) {
        const struct layer_row *row = &r->row[i];
        cli_json_open(NULL, '{');
        cli_json_string("name", row->name);
        cli_json_string("op", row->op);
        cli_json_string("shape", row->shape);
        cli_json_number("density", (double)row->kept / (double)row->count);
        cli_json_number("bits", row->bits);
        cli_json_string("grid", row->grid);
        cli_json_string("code", row->code);
        cli_json_uint("bytes", row->bytes);
        cli_json_close('}');
    }
    cli_json_close(']');
}
