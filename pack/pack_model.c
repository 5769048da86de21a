/* SPDX-License-Identifier: MIT */
/* pack_model.c - a model numbered as a file numbers it (inputs, constants in order of first use,
 * outputs of nodes), its weights encoded, its texts written, and the result read once by the gate:
 * what is handed out is what a runtime accepts. */
#include <stdlib.h>
#include <sys/stat.h>
#include "base/error_fill.h"
#include "pith_pack.h"
#include "graph_open.h"
#include "pack.h"
#include "host/size_expression.h"
#include "pith_runtime.h"

#define SMALL_BYTES 16384u /* of streams */
#define MOST_PADDING 512u  /* bytes of streams for one of padding, at least */

struct packing {
    const struct pith_model *m;
    struct pith_model *copy; /* owns: m at sizes that a file can have; NULL: it has such ones */
    struct pith_error *err;
    bool plain;
    struct pack_numbers numbers;
    struct pack_const *consts;
    uint32_t n_consts;
    struct pack_tables tables;
    struct graph g;
    uint32_t *refs; /* inputs of all nodes, in file numbers */
    struct pack_file file;
};

/* ---- numbers --------------------------------------------------------------------------------- */

static bool known_value(const struct packing *p, uint32_t v)
{
    return v < p->m->n_values;
}

static enum pith_status number_value(struct packing *p, uint32_t v, const char *what)
{
    if (!known_value(p, v) || p->numbers.number[v] != PITH_VALUE_NONE)
        return pith_error_fill(p->err, PITH_ERR_ARGUMENT,
                               "cannot pack: value %u is %s and something else", v, what);
    p->numbers.order[p->numbers.n] = v;
    p->numbers.number[v] = p->numbers.n++;
    return PITH_OK;
}

static enum pith_status introduce(struct packing *p, uint32_t v)
{
    if (v == PITH_VALUE_NONE || !known_value(p, v) || !p->m->values[v].constant ||
        p->numbers.number[v] != PITH_VALUE_NONE)
        return PITH_OK;
    struct pack_const *c = &p->consts[p->n_consts++];
    c->value = &p->m->values[v];
    c->code = p->plain ? PITH_CODE_PLAIN : c->value->constant->code;
    return number_value(p, v, "a constant");
}

/* Constants come before all outputs of nodes, in the order in which nodes name them. */
static enum pith_status number_constants(struct packing *p)
{
    const struct pith_model *m = p->m;
    enum pith_status st = PITH_OK;
    for (uint32_t i = 0; i < m->n_nodes; i++)
        for (uint32_t k = 0; k < m->nodes[i].n_in && !st; k++)
            st = introduce(p, m->nodes[i].in[k]);
    for (uint32_t i = 0; i < m->n_outputs && !st; i++)
        st = introduce(p, m->outputs[i]);
    return st;
}

static enum pith_status number_all(struct packing *p)
{
    const struct pith_model *m = p->m;
    enum pith_status st = PITH_OK;
    if (m->n_inputs == 0 || m->n_outputs == 0)
        return pith_error_fill(p->err, PITH_ERR_UNSUPPORTED,
                               "cannot pack: the model has %u inputs and %u outputs", m->n_inputs,
                               m->n_outputs);
    for (uint32_t i = 0; i < m->n_inputs && !st; i++)
        st = number_value(p, m->inputs[i], "an input");
    if (!st)
        st = number_constants(p);
    for (uint32_t i = 0; i < m->n_nodes; i++)
        for (uint32_t k = 0; k < m->nodes[i].n_out && !st; k++)
            st = number_value(p, m->nodes[i].out[k], "an output of a node");
    if (!st && (p->n_consts > MAX_WEIGHTS || m->n_nodes > MAX_NODES || p->numbers.n > MAX_VALUES))
        st = pith_error_fill(p->err, PITH_ERR_UNSUPPORTED,
                             "cannot pack: %u constants, %u nodes, %u values; %u, %u, %u fit",
                             p->n_consts, m->n_nodes, p->numbers.n, MAX_WEIGHTS, MAX_NODES,
                             MAX_VALUES);
    return st;
}

/* ---- graph ----------------------------------------------------------------------------------- */

static void fill_inputs(struct packing *p)
{
    for (uint32_t i = 0; i < p->m->n_inputs; i++) {
        const struct pith_value *v = &p->m->values[p->m->inputs[i]];
        struct graph_input *in = &p->g.inputs[i];
        in->type = v->type;
        in->batch_open = p->m->batch_open;
        in->shape.rank = v->rank;
        for (uint32_t k = 0; k < v->rank && k < PITH_MAX_RANK; k++)
            in->shape.dim[k] = v->dim[k];
    }
}

static enum pith_status fill_node(struct packing *p, uint32_t i, uint32_t *next_ref,
                                  uint32_t *next_out)
{
    const struct pith_node *from = &p->m->nodes[i];
    struct graph_node *to = &p->g.nodes[i];
    *to = (struct graph_node){.info = pith_op_get(from->op),
                              .attr = from->attr,
                              .n_in = from->n_in,
                              .n_out = from->n_out,
                              .in = p->refs + *next_ref,
                              .first_out = *next_out};
    if (!to->info || pith_op_check(to->info, from->attr, from->n_in, from->n_out))
        return pith_error_fill(p->err, PITH_ERR_ARGUMENT,
                               "cannot pack node %u '%s': operator %u with these attributes", i,
                               from->name ? from->name : "", from->op);
    for (uint32_t k = 0; k < from->n_in; k++) {
        uint32_t v = from->in[k];
        uint32_t number = v == PITH_VALUE_NONE ? PITH_NO_VALUE
                          : known_value(p, v)  ? p->numbers.number[v]
                                               : PITH_VALUE_NONE;
        if (v != PITH_VALUE_NONE && (number == PITH_VALUE_NONE || number >= *next_out))
            return pith_error_fill(p->err, PITH_ERR_ARGUMENT,
                                   "cannot pack node %u '%s': input %u is not computed before it",
                                   i, from->name ? from->name : "", k);
        p->refs[(*next_ref)++] = number;
    }
    *next_out += from->n_out;
    return PITH_OK;
}

static enum pith_status fill_graph(struct packing *p)
{
    const struct pith_model *m = p->m;
    uint32_t next_ref = 0, next_out = m->n_inputs + p->n_consts;
    enum pith_status st = PITH_OK;
    p->g.n_inputs = m->n_inputs;
    p->g.n_weights = p->n_consts;
    p->g.n_nodes = m->n_nodes;
    p->g.n_outputs = m->n_outputs;
    p->g.n_values = p->numbers.n;
    p->g.compact = p->file.compact;
    fill_inputs(p);
    for (uint32_t i = 0; i < p->n_consts; i++)
        p->g.weights[i] = p->consts[i].w;
    for (uint32_t i = 0; i < m->n_nodes && !st; i++)
        st = fill_node(p, i, &next_ref, &next_out);
    for (uint32_t i = 0; i < m->n_outputs && !st; i++) {
        uint32_t v = m->outputs[i];
        p->g.outputs[i] = known_value(p, v) ? p->numbers.number[v] : PITH_VALUE_NONE;
        if (p->g.outputs[i] == PITH_VALUE_NONE)
            st = pith_error_fill(p->err, PITH_ERR_ARGUMENT,
                                 "cannot pack: output %u is computed by no node", i);
    }
    return st;
}

/* ---- memory ---------------------------------------------------------------------------------- */

static bool packing_new(struct packing *p)
{
    const struct pith_model *m = p->m;
    uint64_t n_refs = 0;
    for (uint32_t i = 0; i < m->n_nodes; i++)
        n_refs += m->nodes[i].n_in;
    size_t n_values = (size_t)m->n_values + 1;
    p->numbers.number = malloc(n_values * sizeof(uint32_t));
    p->numbers.order = calloc(n_values, sizeof(uint32_t));
    p->consts = calloc(n_values, sizeof *p->consts);
    p->refs = calloc((size_t)n_refs + 1, sizeof(uint32_t));
    p->g.inputs = calloc(m->n_inputs + 1u, sizeof *p->g.inputs);
    p->g.weights = calloc(n_values, sizeof *p->g.weights);
    p->g.nodes = calloc(m->n_nodes + 1u, sizeof *p->g.nodes);
    p->g.outputs = calloc(m->n_outputs + 1u, sizeof *p->g.outputs);
    if (!p->numbers.number || !p->numbers.order || !p->consts || !p->refs || !p->g.inputs ||
        !p->g.weights || !p->g.nodes || !p->g.outputs)
        return false;
    memset(p->numbers.number, 0xff, n_values * sizeof(uint32_t)); /* PITH_VALUE_NONE */
    return true;
}

static void packing_free(struct packing *p)
{
    pith_model_free(p->copy);
    if (p->consts)
        pith_pack_weights_clear(p->consts, p->n_consts, &p->tables);
    pith_pack_clear(&p->file);
    free(p->numbers.number);
    free(p->numbers.order);
    free(p->consts);
    free(p->refs);
    free(p->g.inputs);
    free(p->g.weights);
    free(p->g.nodes);
    free(p->g.outputs);
}

/* ---- the whole ------------------------------------------------------------------------------- */

static enum pith_status write_texts(struct packing *p, const struct pith_pack_opts *opts)
{
    bool compact = opts && opts->compact;
    bool history = compact ? opts->keep_history : !(opts && opts->no_history);
    enum pith_status st = pith_pack_meta(p->m, &p->file.chunk[CHUNK_META], p->err);
    if (!st && !compact)
        st = pith_pack_names(p->m, &p->numbers, &p->file.chunk[CHUNK_NAMES], p->err);
    if (!st && history)
        st = pith_pack_history(p->m, &p->file.chunk[CHUNK_HISTORY], p->err);
    if (!st && history)
        st = pith_pack_stats(p->m, &p->numbers, &p->file.chunk[CHUNK_STATS], p->err);
    return st;
}

/* The validation is the last check; its offset shows a developer what is wrong. */
static enum pith_status read_back(const void *bytes, size_t n, uint32_t flags,
                                  struct pith_error *err)
{
    struct pith_error why = {0};
    struct open_graph o;
    enum pith_status st = pith_graph_open(bytes, n, flags, &o, &why);
    pith_graph_close(&o);
    if (st == PITH_OK)
        return PITH_OK;
    if (st == PITH_ERR_MEMORY)
        return pith_error_no_memory(err);
    return pith_error_fill(err, PITH_ERR_ARGUMENT,
                           "cannot pack: shapes or attributes do not fit together (byte %llu)",
                           (unsigned long long)why.offset);
}

/* Of a mapped file: its checksums would read every page of it, and were made a moment ago. */
static enum pith_status check_mapped(const void *bytes, size_t n, struct pith_error *err)
{
    return read_back(bytes, n, PITH_FLAG_NO_CHECKSUM, err);
}

/* Where a full header, or its alignment of many short streams, weighs more than that a plan has to
 * copy what is not aligned. */
static bool suits_compact(const struct packing *p)
{
    uint64_t bytes = 0, padding = 0;
    for (uint32_t i = 0; i < p->n_consts; i++) {
        const struct weight *w = &p->consts[i].w;
        bytes +=
            (uint64_t)w->codebook.n_bytes + w->support_stream.n_bytes + w->index_stream.n_bytes;
        if (w->grid == GRID_PLAIN && w->code == CODE_PLAIN && w->index_stream.n_bytes >= FULL_ALIGN)
            padding += (0 - w->index_stream.n_bytes) % FULL_ALIGN;
    }
    return bytes < SMALL_BYTES || padding > bytes / MOST_PADDING;
}

/* A copy that borrows the constants. */
static enum pith_status copy_graph(const struct pith_model *m, struct pith_model **copy,
                                   struct pith_error *err)
{
    struct pith_model view = *m;
    view.values = malloc((m->n_values + (size_t)1) * sizeof *view.values);
    if (!view.values)
        return pith_error_no_memory(err);
    for (uint32_t v = 0; v < m->n_values; v++) {
        view.values[v] = m->values[v];
        view.values[v].constant = NULL;
    }
    enum pith_status st = pith_model_copy(&view, copy, err);
    for (uint32_t v = 0; v < m->n_values && !st; v++)
        (*copy)->values[v].constant = m->values[v].constant;
    free(view.values);
    return st;
}

/* A decoder's cache may be empty where samples are run, its length 0. Files have lengths of 1 and
 * more, of which a run may choose others. Where the network does not take 1, the packer says so. */
static enum pith_status fill_empty_sizes(struct packing *p)
{
    uint32_t value[SIZE_NAMES], n_empty = 0;
    for (uint32_t i = 0; i < p->m->n_sizes; i++) {
        n_empty += p->m->sizes[i].value == 0;
        value[i] = p->m->sizes[i].value + (p->m->sizes[i].value == 0);
    }
    enum pith_status st = n_empty ? copy_graph(p->m, &p->copy, p->err) : PITH_OK;
    if (!st && n_empty && !pith_model_set_sizes(p->copy, value, NULL))
        p->m = p->copy;
    return st;
}

/* p->file.whole: all pieces of the file. */
static enum pith_status pack_pieces(struct packing *p, const struct pith_pack_opts *opts)
{
    enum pith_status st = fill_empty_sizes(p);
    if (!st)
        st = packing_new(p) ? PITH_OK : pith_error_no_memory(p->err);
    p->plain = opts && opts->plain;
    if (!st)
        st = number_all(p);
    if (!st)
        st = pith_pack_weights(p->consts, p->n_consts, &p->tables, p->err);
    p->file.compact =
        opts && (opts->compact || opts->full) ? opts->compact : !st && suits_compact(p);
    if (!st)
        st = fill_graph(p);
    if (!st && pith_pack_graph(&p->g, &p->file))
        st = pith_error_no_memory(p->err);
    if (!st)
        st = write_texts(p, opts);
    if (!st && pith_pack_container_pieces(&p->file))
        st = pith_error_no_memory(p->err);
    return st;
}

enum pith_status pith_model_pack(const struct pith_model *m, const struct pith_pack_opts *opts,
                                 struct pith_buffer *file, struct pith_error *err)
{
    if (!m || !file || (opts && opts->size_bytes != sizeof *opts))
        return PITH_ERR_ARGUMENT;
    struct packing p = {.m = m, .err = err};
    struct pith_buffer made = {NULL, 0};
    enum pith_status st = pack_pieces(&p, opts);
    if (!st)
        made = (struct pith_buffer){pith_pieces_join(&p.file.whole), p.file.whole.bytes};
    packing_free(&p);
    if (!st && !made.data)
        st = pith_error_no_memory(err);
    if (!st)
        st = read_back(made.data, made.bytes, 0, err);
    if (st)
        pith_buffer_free(&made);
    else
        *file = made;
    return st;
}

static bool is_special(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && !S_ISREG(st.st_mode);
}

static enum pith_status pack_special(const struct pith_model *m, const struct pith_pack_opts *opts,
                                     const char *path, uint64_t *bytes, struct pith_error *err)
{
    struct pith_buffer file;
    enum pith_status st = pith_model_pack(m, opts, &file, err);
    if (st)
        return st;
    st = pith_file_write(path, file.data, file.bytes, err);
    if (!st && bytes)
        *bytes = file.bytes;
    pith_buffer_free(&file);
    return st;
}

enum pith_status pith_model_write(const struct pith_model *m, const struct pith_pack_opts *opts,
                                  const char *path, bool replace, uint64_t *bytes,
                                  struct pith_error *err)
{
    if (!m || !path || (opts && opts->size_bytes != sizeof *opts))
        return PITH_ERR_ARGUMENT;
    struct packing p = {.m = m, .err = err};
    if (is_special(path))
        return pack_special(m, opts, path, bytes, err);
    enum pith_status st = pack_pieces(&p, opts);
    const struct file_piece *pieces = st ? NULL : pith_pieces_all(&p.file.whole);
    if (!st)
        st = pith_file_write_pieces(path, replace, pieces, p.file.whole.n, check_mapped, err);
    if (!st && bytes)
        *bytes = p.file.whole.bytes;
    packing_free(&p);
    return st;
}
