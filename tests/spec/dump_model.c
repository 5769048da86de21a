/* SPDX-License-Identifier: MIT */
/* dump_model.c - the lines of spec_decode, printed from what pith_model_read makes of the same
 * file.
 *
 * Values are numbered anew, as the format numbers them: inputs, constants, outputs of the nodes in
 * order. So the two programs agree without either knowing the other's numbers. Exit code 4:
 * refused. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/narrow_float.h"
#include "pith_model.h"
#include "pith_load.h"
#include "pith_value_stats.h"

static uint32_t *number; /* [n_values]: as the format numbers it */
static uint32_t *value;  /* the inverse */

static const char *const type_name[] = {"",   "f32", "f16", "bf16", "f64", "i8",
                                        "u8", "i16", "u16", "i32",  "i64", "bool"};
static const uint8_t type_bytes[] = {0, 4, 2, 2, 8, 1, 1, 2, 2, 4, 8, 1};

static void fail(const char *what, const char *text)
{
    fprintf(stderr, "%s: %s\n", what, text);
    exit(4);
}

static void number_values(const struct pith_model *m)
{
    uint32_t n = 0;
    number = calloc(m->n_values, sizeof *number);
    value = calloc((size_t)m->n_values + 1, sizeof *value);
    if (number == NULL || value == NULL) {
        fail("memory", "none");
    }
    for (uint32_t i = 0; i < m->n_inputs; i++) {
        value[n++] = m->inputs[i];
    }
    for (uint32_t v = 0; v < m->n_values; v++) {
        if (m->values[v].constant != NULL) {
            value[n++] = v;
        }
    }
    for (uint32_t i = 0; i < m->n_nodes; i++) {
        for (uint32_t k = 0; k < m->nodes[i].n_out; k++) {
            value[n++] = m->nodes[i].out[k];
        }
    }
    if (n != m->n_values) {
        fail("model", "values that are neither input, constant nor output of a node");
    }
    for (uint32_t i = 0; i < n; i++) {
        number[value[i]] = i;
    }
}

static void print_text(const char *text)
{
    putchar('"');
    for (const unsigned char *c = (const unsigned char *)text; *c != 0; c++) {
        if (*c < 0x20 || *c == 0x7F || *c == '"' || *c == '\\') {
            printf("\\x%02x", *c);
        } else {
            putchar(*c);
        }
    }
    putchar('"');
}

/* Adaptive streams and byte planes are of f32, whatever their numbers could be. */
static enum pith_type stored_type(const struct pith_value *v)
{
    const struct pith_const *c = v->constant;
    bool narrow = c != NULL && c->stored != 0 && c->code == PITH_CODE_PLAIN;
    return narrow ? c->stored : v->type;
}

static void print_shape(const struct pith_value *v)
{
    printf(" %s [", type_name[stored_type(v)]);
    for (uint32_t i = 0; i < v->rank; i++) {
        printf("%s%" PRIu32, i == 0 ? "" : ",", v->dim[i]);
    }
    printf("]");
}

/* FNV-1a over the values. Where there is a codebook they are looked up in it, and so show whether
 * data, mask, index and centroids agree with one another too. */
static uint64_t hash_of(const struct pith_value *v)
{
    const struct pith_const *c = v->constant;
    const struct pith_codebook *book = c->codebook;
    size_t each = type_bytes[v->type];
    uint64_t h = UINT64_C(0xCBF29CE484222325);
    for (uint64_t i = 0; i < c->count; i++) {
        uint8_t element[8];
        memcpy(element, (const uint8_t *)c->data + i * each, each);
        if (stored_type(v) != v->type) { /* f16 or bf16, held as f32 */
            float x;
            memcpy(&x, element, 4);
            uint16_t bits = pith_narrow_bits(stored_type(v), x);
            memcpy(element, &bits, 2);
        }
        if (book != NULL && (c->mask == NULL || c->mask[i] != 0)) {
            float *centroid = book->centroid + i / book->group_elems * book->n_centroids;
            if (memcmp(&centroid[book->index[i]], element, 4) != 0) {
                fail("model", "data differs from codebook and index");
            }
        }
        /* the tests' machines are little-endian */
        for (size_t b = 0; b < type_bytes[stored_type(v)]; b++) {
            h = (h ^ element[b]) * UINT64_C(0x100000001B3);
        }
    }
    return h;
}

static void print_constant(const struct pith_value *v, uint32_t as)
{
    const struct pith_const *c = v->constant;
    uint64_t nnz = c->count;
    for (uint64_t i = 0; c->mask != NULL && i < c->count; i++) {
        nnz -= c->mask[i] == 0;
    }
    printf("tensor %" PRIu32, as);
    print_shape(v);
    printf(" nnz %" PRIu64 " centroids %" PRIu32 " groups %" PRIu64 " hash %016" PRIx64 "\n", nnz,
           c->codebook != NULL ? c->codebook->n_centroids : 0,
           c->codebook != NULL ? c->codebook->n_groups : 1, hash_of(v));
}

static void print_refs(const char *what, const uint32_t *ref, uint32_t n)
{
    printf(" %s", what);
    for (uint32_t i = 0; i < n; i++) {
        if (ref[i] == PITH_VALUE_NONE) {
            printf(" -");
        } else {
            printf(" %" PRIu32, number[ref[i]]);
        }
    }
}

static void print_graph(const struct pith_model *m)
{
    printf("batch %s\n", m->batch_open ? "open" : "fixed");
    for (uint32_t i = 0; i < m->n_inputs; i++) {
        printf("input %" PRIu32, i);
        print_shape(&m->values[m->inputs[i]]);
        printf("\n");
    }
    for (uint32_t i = 0; i < m->n_nodes; i++) {
        const struct pith_node *node = &m->nodes[i];
        printf("node %" PRIu32 " op %" PRIu32, i, node->op);
        print_refs("in", node->in, node->n_in);
        print_refs("out", node->out, node->n_out);
        printf("\n");
    }
    for (uint32_t i = 0; i < m->n_outputs; i++) {
        printf("output %" PRIu32 "\n", number[m->outputs[i]]);
    }
    for (uint32_t i = 0; i < m->n_values; i++) {
        if (m->values[value[i]].constant != NULL) {
            print_constant(&m->values[value[i]], i);
        }
    }
}

static void print_names(const struct pith_model *m)
{
    for (uint32_t i = 0; i < m->n_values; i++) {
        if (m->values[value[i]].name[0] != 0) {
            printf("name value %" PRIu32 " ", i);
            print_text(m->values[value[i]].name);
            printf("\n");
        }
    }
    for (uint32_t i = 0; i < m->n_nodes; i++) {
        if (m->nodes[i].name[0] != 0) {
            printf("name node %" PRIu32 " ", i);
            print_text(m->nodes[i].name);
            printf("\n");
        }
    }
}

static uint32_t bits_of(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, 4);
    return bits;
}

static void print_sum(const struct pith_exact_sum *s)
{
    printf(" ");
    for (uint32_t i = 0; i < PITH_SUM_DIGITS; i++) {
        for (int byte = 0; byte < 4; byte++) {
            printf("%02x", (unsigned)((uint64_t)s->digit[i] >> (8 * byte) & 255));
        }
    }
}

static void print_histogram(const struct pith_histogram *h)
{
    printf("histogram");
    if (h->n_bins > 0) {
        printf(" %" PRId32 " %" PRId32, h->exponent, h->first);
    }
    for (uint32_t i = 0; i < h->n_bins;) {
        uint32_t run = 0;
        while (i + run < h->n_bins && h->count[i + run] == 0) {
            run++;
        }
        printf(" %" PRIu64, h->count[i]);
        if (run > 0) {
            printf("x%" PRIu32, run);
        }
        i += run > 0 ? run : 1;
    }
    printf("\n");
}

static void print_statistics(const struct pith_value_stats *s)
{
    printf("statistics %" PRIu64 " %" PRIu64, s->n_samples, s->n_zero);
    print_sum(&s->sum);
    print_sum(&s->sum_squares);
    printf("\n");
    print_histogram(&s->histogram);
    for (uint32_t c = 0; c < s->n_channels; c++) {
        printf("channel %08" PRIx32 " %08" PRIx32, bits_of(s->channel[c].min),
               bits_of(s->channel[c].max));
        print_sum(&s->channel[c].sum);
        printf("\n");
    }
}

static void print_observed(uint32_t i, const struct pith_value *v)
{
    bool observed = v->min <= v->max;
    printf("range %" PRIu32 " %08" PRIx32 " %08" PRIx32 " %" PRIu64 "\n", i,
           observed ? bits_of(v->min) : 0, observed ? bits_of(v->max) : 0, v->n_observed);
    if (v->stats) {
        print_statistics(v->stats);
    }
    if (v->grid) {
        const struct pith_grid *g = v->grid;
        printf("grid %d %d %d %" PRId32 " %" PRIu32, (int)g->type, g->bits, (int)g->method,
               g->zero_point, g->axis);
        for (uint32_t k = 0; k < g->n; k++) {
            printf(" %08" PRIx32, bits_of(g->scale[k]));
        }
        printf("\n");
    }
}

static void print_texts(const struct pith_model *m)
{
    for (uint32_t i = 0; i < m->n_meta; i++) {
        printf("meta ");
        print_text(m->meta[i].key);
        printf(" ");
        print_text(m->meta[i].text);
        printf("\n");
    }
    for (uint32_t i = 0; i < m->n_history; i++) {
        printf("history ");
        print_text(m->history[i].key);
        printf(" ");
        print_text(m->history[i].text);
        printf("\n");
    }
    for (uint32_t i = 0; i < m->n_values; i++) {
        const struct pith_value *v = &m->values[value[i]];
        if (v->min <= v->max || v->grid) {
            print_observed(i, v);
        }
    }
}

static void *read_file(const char *path, size_t *n_bytes)
{
    FILE *f = fopen(path, "rb");
    if (f == NULL || fseek(f, 0, SEEK_END) != 0) {
        fail(path, "cannot open");
    }
    long n = ftell(f);
    rewind(f);
    void *bytes = n >= 0 ? malloc((size_t)n + 1) : NULL;
    if (bytes == NULL || fread(bytes, 1, (size_t)n, f) != (size_t)n) {
        fail(path, "cannot read");
    }
    fclose(f);
    *n_bytes = (size_t)n;
    return bytes;
}

int main(int argc, char **argv)
{
    if (argc != 2) {
        fprintf(stderr, "usage: dump_model file.pith\n");
        return 2;
    }
    size_t n;
    void *bytes = read_file(argv[1], &n);
    struct pith_model *m;
    struct pith_error err;
    if (pith_model_read(bytes, n, argv[1], NULL, &m, &err) != PITH_OK) {
        fail("refused", err.text);
    }
    number_values(m);
    print_graph(m);
    print_names(m);
    print_texts(m);
    free(number);
    free(value);
    pith_model_free(m);
    free(bytes);
    return 0;
}
