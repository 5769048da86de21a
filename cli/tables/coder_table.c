/* SPDX-License-Identifier: MIT */
/* coder_table.c - see coder_table.h. The model is packed once with each coder: so tables that
 * tensors share, and what falls back to another code, are counted as they would be written. */
#include "coder_table.h"
#include <stdlib.h>
#include "cli/common/table.h"

static const struct {
    enum pith_code code;
    const char *name;
} coders[] = {{PITH_CODE_PLAIN, "none"},
              {PITH_CODE_HUFFMAN, "huffman"},
              {PITH_CODE_RANS, "rans"},
              {PITH_CODE_ADAPTIVE, "adaptive"}};
#define CODERS (sizeof coders / sizeof *coders)

static const char *name_of(enum pith_code code)
{
    uint32_t i = 0;
    while (i + 1 < CODERS && coders[i].code != code)
        i++;
    return coders[i].name;
}

static uint64_t bytes_of(const struct pith_tensor_bytes *b)
{
    return b->support + b->codebook + b->index + b->values + b->table;
}

static enum cli_exit pack_with(struct pith_model *m, enum pith_code code,
                               struct pith_byte_account **account)
{
    struct pith_error err = {0};
    struct pith_buffer file = {0};
    for (uint32_t i = 0; i < m->n_values; i++)
        if (m->values[i].constant)
            m->values[i].constant->code = code;
    enum cli_exit rc = EXIT_DONE;
    if (pith_model_pack(m, NULL, &file, &err) ||
        pith_byte_account_new(file.data, file.bytes, account, &err))
        rc = cli_fail(&err);
    pith_buffer_free(&file);
    return rc;
}

/* Constants are the values behind the inputs, in the order of the file. */
static void print(const struct pith_model *m, const enum pith_code *code,
                  const struct pith_byte_account *now, struct pith_byte_account *const *with,
                  FILE *out)
{
    struct cli_table t;
    cli_table_start(&t, 3 + CODERS);
    cli_table_left(&t, 1);
    cli_table_add(&t, "weight");
    cli_table_add(&t, "code");
    cli_table_add(&t, "bytes");
    for (uint32_t k = 0; k < CODERS; k++)
        cli_table_add(&t, "%s", coders[k].name);
    for (uint32_t i = 0; i < now->n_tensors; i++) {
        const struct pith_value *v = &m->values[m->n_inputs + i];
        if (v->rank < 2)
            continue;
        cli_table_add(&t, "%s", v->name && *v->name ? v->name : "-");
        cli_table_add(&t, "%s", name_of(code[m->n_inputs + i]));
        cli_table_add(&t, "%llu", (unsigned long long)bytes_of(&now->tensor[i]));
        for (uint32_t k = 0; k < CODERS; k++)
            cli_table_add(&t, "%llu", (unsigned long long)bytes_of(&with[k]->tensor[i]));
    }
    cli_table_print(&t, out);
}

enum cli_exit cli_print_coders(struct pith_model *m, const struct pith_byte_account *account,
                               FILE *out)
{
    struct pith_byte_account *with[CODERS] = {NULL};
    enum pith_code *code = calloc(m->n_values + 1u, sizeof *code);
    enum cli_exit rc = code ? EXIT_DONE : EXIT_MEMORY;
    if (!code)
        cli_error("out of memory");
    for (uint32_t i = 0; i < m->n_values && code; i++)
        code[i] = m->values[i].constant ? m->values[i].constant->code : PITH_CODE_PLAIN;
    for (uint32_t k = 0; k < CODERS && !rc; k++)
        rc = pack_with(m, coders[k].code, &with[k]);
    if (!rc)
        print(m, code, account, with, out);
    for (uint32_t i = 0; i < m->n_values && code; i++)
        if (m->values[i].constant)
            m->values[i].constant->code = code[i];
    for (uint32_t k = 0; k < CODERS; k++)
        pith_byte_account_free(with[k]);
    free(code);
    return rc;
}
