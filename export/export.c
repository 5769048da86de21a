/* SPDX-License-Identifier: MIT */
/* export.c - see export.h. */
#include <string.h>
#include "network.h"
#include "base/error_fill.h"
#include "quantize/transform/expand_recurrent.h"

void pith_export_opts_init(struct pith_export_opts *opts, uint32_t size_bytes)
{
    if (!opts || size_bytes < sizeof(uint32_t))
        return;
    const struct pith_export_opts all = {
        .size_bytes = size_bytes, .name = "net", .target = PITH_TARGET_GENERIC, .selftest = 4};
    memset(opts, 0, size_bytes);
    memcpy(opts, &all, size_bytes < sizeof all ? size_bytes : sizeof all);
}

/* Letters, digits and _, no digit first; short enough for every buffer; no word of C. */
static bool is_identifier(const char *name)
{
    static const char *const words[] = {
        "auto",    "break",  "case",     "char",   "const",    "continue", "default",
        "do",      "double", "else",     "enum",   "extern",   "float",    "for",
        "goto",    "if",     "inline",   "int",    "long",     "register", "restrict",
        "return",  "short",  "signed",   "sizeof", "static",   "struct",   "switch",
        "typedef", "union",  "unsigned", "void",   "volatile", "while"};
    const size_t n = strlen(name);
    if (n == 0 || n > 40 || (name[0] >= '0' && name[0] <= '9') || name[0] == '_')
        return false;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strcmp(name, words[i]) == 0)
            return false;
    return strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_") == n;
}

/* Weights as they are: the codes of the file say nothing to the code. */
static void make_plain(struct pith_model *m)
{
    for (uint32_t i = 0; i < m->n_values; i++)
        if (m->values[i].constant) {
            struct pith_const *c = m->values[i].constant;
            c->mask = NULL;
            c->codebook = NULL;
            c->code = PITH_CODE_PLAIN;
            c->stored = (enum pith_type)0;
            c->integers = NULL;
            c->trellis = 0;
        }
}

/* Where it takes no more memory. */
static enum pith_status join_channels(struct network *net, struct pith_error *err)
{
    struct step *apart = pith_model_alloc(net->m, net->n_steps + 1u, sizeof *apart);
    if (!apart || pith_export_place(net))
        return pith_error_no_memory(err);
    const uint64_t bytes = net->arena_bytes;
    memcpy(apart, net->step, net->n_steps * sizeof *apart);
    pith_export_join_channels(net);
    if (pith_export_place(net))
        return pith_error_no_memory(err);
    if (net->arena_bytes > bytes)
        net->step = apart;
    return PITH_OK;
}

/* Codes the weights of layers until the flash limit is kept. */
static enum pith_status fit(struct network *net, struct pith_export *made, struct pith_error *err)
{
    enum pith_status st = PITH_OK;
    net->counts = true;
    for (bool more = true; !st; more = pith_export_code_next(net, &st)) {
        if (!more)
            return pith_error_fill(err, PITH_ERR_ARGUMENT,
                                   "flash limit of %llu bytes: with all weights of integers coded "
                                   "the network takes about %llu",
                                   (unsigned long long)net->opts->flash_limit,
                                   (unsigned long long)(made->model_bytes + made->code_bytes));
        if (pith_export_place(net))
            break;
        st = pith_export_emit(net, made, err);
        if (!st && made->model_bytes + made->code_bytes <= net->opts->flash_limit)
            return PITH_OK;
    }
    return st ? st : pith_error_no_memory(err);
}

enum pith_status pith_export_c(const struct pith_model *m, const struct pith_export_opts *opts,
                               struct pith_export **e, struct pith_error *err)
{
    struct pith_export_opts o;
    struct network net = {0};
    if (!m || !e)
        return PITH_ERR_ARGUMENT;
    pith_export_opts_init(&o, sizeof o);
    if (opts) {
        if (opts->size_bytes < sizeof(uint32_t) || opts->size_bytes > 4096)
            return PITH_ERR_ARGUMENT;
        memcpy(&o, opts, opts->size_bytes < sizeof o ? opts->size_bytes : sizeof o);
    }
    o.name = o.name ? o.name : "net";
    if (!is_identifier(o.name))
        return pith_error_fill(err, PITH_ERR_ARGUMENT,
                               "name '%s': give an identifier of C of at most 40 characters",
                               o.name);
    if (o.selftest < 1 || o.selftest > 64)
        return pith_error_fill(err, PITH_ERR_ARGUMENT, "%u stored pairs: give 1 to 64", o.selftest);
    net.cpu = pith_export_processor(o.target);
    enum pith_status st = pith_model_copy(m, &net.m, err);
    if (st)
        return st;
    net.opts = &o;
    net.given = m;
    make_plain(net.m);
    struct pith_export *made = pith_model_alloc(net.m, 1, sizeof *made);
    if (!made)
        st = pith_error_no_memory(err);
    if (!st)
        st = pith_expand_recurrent(net.m, NULL, err);
    if (!st)
        st = pith_export_network(&net, err);
    if (!st)
        st = join_channels(&net, err);
    if (!st && o.flash_limit > 0)
        st = fit(&net, made, err);
    if (!st && pith_export_place(&net))
        st = pith_error_no_memory(err);
    net.counts = o.no_files;
    if (!st)
        st = pith_export_emit(&net, made, err);
    if (st) {
        pith_model_free(net.m);
        return st;
    }
    made->memory = net.m;
    *e = made;
    return PITH_OK;
}

void pith_export_free(struct pith_export *e)
{
    if (e)
        pith_model_free(e->memory);
}
