/* SPDX-License-Identifier: MIT */
/* make_networks.c - writes small networks into a folder, such that every support, grid and code of
 * the format occurs, each element type, both headers, and every chunk.
 *
 *     make_networks FOLDER
 *
 * A tensor is described by a `struct recipe`; a network adds tensors to its input, since Add takes
 * any shape and has no attributes. Random numbers have a fixed seed. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "pith_model.h"
#include "pith_pack.h"
#include "pith_value_stats.h"
#include "op_interface/op_attr.h"

enum { OP_ADD = 4, OP_MUL = 6, OP_RELU = 8, OP_SPLIT = 25, OP_CAST = 33, OP_IDENTITY = 36 };
enum { OP_LOOP = 58, OP_LOOP_END, OP_BRANCH, OP_BRANCH_ELSE, OP_BRANCH_END };
enum { ATTR_ROOM = 64 };
enum { RARE = 10007 }; /* a seed that also stands for: one element of so many is kept */
enum {
    STEPS = 20000
}; /* seeds from here to + 9 mean, too: codebooks are k times a step of so many bits */
enum { ALIKE = 40000 };  /* the same, and with + 0 none, most signs being those before */
enum { LEVELS = 30000 }; /* seeds from here + 8, + 16: levels of a trellis of so many states */

enum { BY_ROW = 60000 };

static const char *folder;
static struct pith_model *model;
static uint64_t random_state;

static void need(int holds, const char *what)
{
    if (!holds) {
        fprintf(stderr, "make_networks: %s\n", what);
        exit(1);
    }
}

static uint32_t random_below(uint32_t n)
{
    random_state = random_state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)(random_state >> 33) % n;
}

static void *room(uint64_t count, size_t each)
{
    void *p = pith_model_alloc(model, count, each);
    need(p != NULL, "no memory");
    return p;
}

static void start(uint64_t seed, uint32_t max_values, uint32_t max_nodes)
{
    random_state = seed;
    need(pith_model_new(NULL, &model) == PITH_OK, "no model");
    model->values = room(max_values, sizeof *model->values);
    model->nodes = room(max_nodes, sizeof *model->nodes);
    model->inputs = room(4, sizeof *model->inputs);
    model->outputs = room(max_nodes + max_values, sizeof *model->outputs);
}

static uint32_t new_value(const char *name, enum pith_type type, uint32_t rank, const uint32_t *dim)
{
    struct pith_value *v = &model->values[model->n_values];
    v->name = pith_model_strdup(model, name);
    v->type = type;
    v->rank = rank;
    if (rank > 0) {
        memcpy(v->dim, dim, rank * sizeof *dim);
    }
    v->min = 1; /* nothing observed */
    return model->n_values++;
}

static uint32_t new_input(const char *name, enum pith_type type, uint32_t rank, const uint32_t *dim)
{
    uint32_t v = new_value(name, type, rank, dim);
    model->inputs[model->n_inputs++] = v;
    return v;
}

static struct pith_node *new_node(uint32_t op, const char *name, uint32_t n_in, uint32_t n_out)
{
    struct pith_node *node = &model->nodes[model->n_nodes++];
    node->name = pith_model_strdup(model, name);
    node->op = op;
    node->attr = room(ATTR_ROOM, sizeof *node->attr);
    node->n_in = n_in;
    node->n_out = n_out;
    node->in = room(n_in, sizeof *node->in);
    node->out = room(n_out, sizeof *node->out);
    return node;
}

/* One node with one output, whose type and shape are inferred at the end. */
static uint32_t apply(uint32_t op, const char *name, uint32_t a, uint32_t b)
{
    struct pith_node *node = new_node(op, name, b == PITH_VALUE_NONE ? 1 : 2, 1);
    node->in[0] = a;
    if (b != PITH_VALUE_NONE) {
        node->in[1] = b;
    }
    return node->out[0] = new_value("", PITH_F32, 0, NULL);
}

static void finish(const char *file_name, const struct pith_pack_opts *opts)
{
    struct pith_error err;
    struct pith_buffer file;
    char path[4096];
    if (pith_model_infer_shapes(model, &err) != PITH_OK ||
        pith_model_pack(model, opts, &file, &err) != PITH_OK) {
        fprintf(stderr, "%s: ", file_name);
        need(0, err.text);
    }
    snprintf(path, sizeof path, "%s/%s.pith", folder, file_name);
    need(pith_file_write(path, file.data, file.bytes, &err) == PITH_OK, err.text);
    pith_buffer_free(&file);
    pith_model_free(model);
}

/* ---- tensors --------------------------------------------------------------------------------- */

struct recipe {
    uint32_t rank, dim[PITH_MAX_RANK];
    uint32_t density;     /* of 100; 100: no mask */
    uint32_t n_centroids; /* 0: plain grid */
    uint32_t group_elems; /* 0: all */
    enum pith_code code;
    uint32_t skewed;  /* 0: all indices are alike common; 1: low ones more; n > 1: odd ones n times
                         rarer; BY_ROW: below a number that is each row's */
    uint32_t pattern; /* half of each four are kept */
    uint64_t seed;    /* 0: go on; tensors of one seed are equal, and so are their best tables */
};

static float random_value(void)
{
    return ((float)random_below(20001) - 10000) / 4096;
}

static int ascending(const void *a, const void *b)
{
    float x = *(const float *)a, y = *(const float *)b;
    return (x > y) - (x < y);
}

static void make_steps(float *centroid, uint32_t n, uint32_t bits)
{
    float step =
        ldexpf(1 + (float)random_below(1u << bits) / (float)(1u << bits), (int)random_below(4) - 6);
    for (uint32_t k = 0; k < n; k++) {
        centroid[k] = step * (float)((int)k - (int)(n / 2));
    }
}

static void make_codebook(struct pith_const *c, const struct recipe *r)
{
    struct pith_codebook *book = room(1, sizeof *book);
    book->n_centroids = r->n_centroids;
    book->group_elems = r->group_elems != 0 ? r->group_elems : c->count;
    book->n_groups = c->count / book->group_elems;
    book->centroid = room(book->n_groups * book->n_centroids, sizeof(float));
    book->index = room(c->count, 1);
    for (uint64_t g = 0; g < book->n_groups; g++) {
        float *centroid = book->centroid + g * book->n_centroids;
        for (uint32_t k = 0; k < book->n_centroids; k++) {
            bool has_code = r->density == 100 || r->code != PITH_CODE_ADAPTIVE; /* a stored 0 */
            centroid[k] = g % 3 == 1 && k == 0 && has_code ? 0 : random_value();
        }
        qsort(centroid, book->n_centroids, sizeof *centroid, ascending);
        if (r->seed >= STEPS && r->seed < STEPS + 10) {
            make_steps(centroid, book->n_centroids, (uint32_t)(r->seed - STEPS));
        }
    }
    for (uint64_t i = 0; i < c->count; i++) {
        uint32_t k = random_below(book->n_centroids);
        if (r->skewed == BY_ROW) {
            k = random_below(1 + (uint32_t)(i / (c->count / r->dim[0])) % book->n_centroids);
        } else if (r->skewed == 1) {
            k = random_below(10) != 0 ? k / 8 : k;
        } else if (r->skewed > 1 && random_below(r->skewed) != 0) {
            k -= k % 2;
        }
        book->index[i] = (uint8_t)k;
        ((float *)c->data)[i] = book->centroid[i / book->group_elems * book->n_centroids + k];
    }
    c->codebook = book;
}

static void make_mask(struct pith_const *c, const struct recipe *r)
{
    float *data = c->data;
    c->mask = room(c->count, 1);
    uint32_t phase = 0;
    for (uint64_t i = 0; i < c->count; i++) {
        phase = i % 4 == 0 ? random_below(2) : phase;
        c->mask[i] = r->pattern ? (i + phase) % 2 == 0 : random_below(100) < r->density;
        if (r->density == 0 && r->seed == RARE) {
            c->mask[i] = random_below(RARE) == 0;
        }
        if (!c->mask[i]) {
            data[i] = 0;
        }
    }
}

/* Instead of the codebooks: grids whose indices are levels of a trellis (states 0: any), row by
 * row; what a mask leaves out is a level, 0. A sign is another one than that before every `turn`th
 * time. */
static void make_levels(struct pith_const *c, uint32_t states, uint64_t rows, uint32_t turn)
{
    struct pith_codebook *b = c->codebook;
    const int32_t most = (int32_t)b->n_centroids / 2;
    uint32_t state = 0, negative = 0;
    for (uint64_t i = 0; i < b->n_groups * b->n_centroids; i++) {
        b->centroid[i] =
            (float)((int32_t)(i % b->n_centroids) - most) * (0.25f + (float)(i / b->n_centroids));
        if (c->mask && b->centroid[i] < 0) {
            b->centroid[i] *= 1.5f; /* else the file's grid is without its 0 */
        }
    }
    for (uint64_t i = 0; i < c->count; i++) {
        state = i % (c->count / rows) == 0 ? 0 : state;
        uint32_t k = c->mask && !c->mask[i] ? 0 : random_below((uint32_t)(most + 1) / 2);
        int32_t q = k == 0 ? 0 : (int32_t)(2 * k - state % 2);
        q = k != 0 && states == 0 ? (int32_t)(2 * k - random_below(2)) : q;
        if (c->mask && q == 0) {
            c->mask[i] = 0; /* a stored 0 has no code */
        }
        negative ^= random_below(turn) == 0;
        b->index[i] = (uint8_t)(most + (negative ? -q : q));
        ((float *)c->data)[i] =
            c->mask && !c->mask[i] ? 0
                                   : b->centroid[i / b->group_elems * b->n_centroids + b->index[i]];
        state = states == 0 ? 0 : state / 2 ^ (state % 2 * (states == 8 ? 5 : 9)) ^ (k % 2 * 2);
    }
}

static uint32_t make_tensor(const char *name, const struct recipe *r)
{
    uint32_t v = new_value(name, PITH_F32, r->rank, r->dim);
    random_state = r->seed != 0 ? r->seed : random_state;
    struct pith_const *c = room(1, sizeof *c);
    c->count = 1;
    for (uint32_t i = 0; i < r->rank; i++) {
        c->count *= r->dim[i];
    }
    c->data = room(c->count, sizeof(float));
    for (uint64_t i = 0; i < c->count; i++) {
        ((float *)c->data)[i] = random_value();
    }
    if (r->n_centroids != 0) {
        make_codebook(c, r);
    }
    if (r->density < 100 || r->pattern) {
        make_mask(c, r);
    }
    if (r->seed == LEVELS + 8 || r->seed == LEVELS + 16) {
        make_levels(c, (uint32_t)(r->seed - LEVELS), r->dim[0], 2);
    }
    if (r->seed >= ALIKE && r->seed <= ALIKE + 16) {
        make_levels(c, (uint32_t)(r->seed - ALIKE), r->dim[0], 8);
    }
    c->code = r->code;
    model->values[v].constant = c;
    return v;
}

/* ---- networks -------------------------------------------------------------------------------- */

/* Chained: x + t0 + t1 + ..., x being a number. Else x + t0, x + t1 ..., each of them an output,
 * for tensors whose shapes do not fit one another. */
static void add_tensors(int chained, const struct recipe *r, uint32_t n, uint64_t seed)
{
    const uint32_t one = 1;
    start(seed, 2 * n + 2, n + 1);
    uint32_t x = new_input("x", PITH_F32, 1, &one), v = x;
    for (uint32_t i = 0; i < n; i++) {
        char name[32], sum[32];
        snprintf(name, sizeof name, "t%u", i);
        snprintf(sum, sizeof sum, "x+t%u", i);
        v = apply(OP_ADD, sum, chained ? v : x, make_tensor(name, &r[i]));
        if (!chained || i + 1 == n) {
            model->outputs[model->n_outputs++] = v;
        }
    }
}

static const struct pith_pack_opts full = {sizeof full, false, false, true, false};
static const struct pith_pack_opts compact = {sizeof compact, true, false, false, false};

/* One file for each support, grid and code that a tensor may have, under either header. */
static void every_coding(void)
{
    static const uint32_t density[] = {100, 60, 30, 5, 0};
    static const uint32_t centroids[] = {0, 1, 2, 13, 256};
    static const char *const code_name[] = {"plain", "huffman", "adaptive"}; /* rANS: rans() */
    for (uint32_t d = 0; d < 5; d++) {
        for (uint32_t k = 0; k < 5; k++) {
            for (uint32_t form = 0; form < 6; form++) {
                if (k == 0 && form >= 3) {
                    continue; /* groups are of codebooks */
                }
                char name[64];
                uint32_t group = form >= 3 ? 375 : 0;
                enum pith_code code = (enum pith_code)(form % 3);
                const struct recipe r[] = {
                    {2, {100, 75}, density[d], centroids[k], group, code, 0, 0, 0},
                    {2, {100, 75}, density[d], centroids[k], group, code, 1, 0, 0},
                    {1, {75}, density[d], centroids[k], group / 25, code, 1, d % 2 != 0, 0},
                };
                add_tensors(1, r, 3, d * 100 + k * 10 + form);
                snprintf(name, sizeof name, "density%u_centroids%u_%s%s", density[d], centroids[k],
                         group ? "groups_" : "", code_name[form % 3]);
                finish(name, (d + k + form) % 2 == 0 ? &full : &compact);
            }
        }
    }
}

/* Streams of one, of four and of more sub-streams, tables that tensors share, lengths of codes that
 * are all alike or far apart, gaps that need many extra bits. */
static void shared_tables(void)
{
    const struct recipe r[] = {
        {1, {4095}, 100, 16, 0, PITH_CODE_HUFFMAN, 1, 0, 0},
        {1, {4096}, 100, 16, 0, PITH_CODE_HUFFMAN, 1, 0, 0},
        {2, {300, 300}, 40, 16, 0, PITH_CODE_HUFFMAN, 1, 0, 0},
        {2, {300, 300}, 8, 16, 0, PITH_CODE_HUFFMAN, 1, 0, 0},
        {2, {300, 300}, 8, 16, 300, PITH_CODE_HUFFMAN, 1, 0, 0},
        {2, {300, 300}, 50, 32, 0, PITH_CODE_HUFFMAN, 1, 1, 0},
        {2, {300, 300}, 1, 32, 0, PITH_CODE_HUFFMAN, 0, 0, 0},
        {3, {4, 300, 300}, 50, 32, 0, PITH_CODE_HUFFMAN, 1, 1, 0},
        {1, {30000}, 100, 64, 0, PITH_CODE_HUFFMAN, 5, 0, 0},
        {1, {30000}, 100, 64, 0, PITH_CODE_HUFFMAN, 300, 0, 0},
        {1, {1000000}, 0, 4, 0, PITH_CODE_HUFFMAN, 0, 0, RARE},
    };
    add_tensors(0, r, 11, 77);
    finish("shared_tables", &full);
}

/* Indices by rANS: streams of one block and of more, each support, codebooks for groups, one symbol
 * alone, rare symbols that are escaped, tables that tensors share. */
static void rans(void)
{
    const struct recipe r[] = {
        {1, {70000}, 100, 16, 0, PITH_CODE_RANS, 1, 0, 0},
        {2, {300, 300}, 100, 256, 0, PITH_CODE_RANS, 1, 0, 0},
        {2, {300, 300}, 50, 16, 300, PITH_CODE_RANS, 1, 0, 0},
        {2, {300, 300}, 50, 32, 0, PITH_CODE_RANS, 1, 1, 0},
        {2, {300, 300}, 51, 32, 0, PITH_CODE_RANS, 1, 0, 0},
        {2, {300, 300}, 8, 16, 0, PITH_CODE_RANS, 1, 0, 0},
        {1, {9000}, 100, 64, 0, PITH_CODE_RANS, 300, 0, 0},
        {1, {9000}, 100, 2, 0, PITH_CODE_RANS, 1, 0, 0},
        {1, {30000}, 100, 200, 0, PITH_CODE_RANS, 5000, 0, 0},
        {2, {150, 200}, 100, 16, 0, PITH_CODE_RANS, 1, 0, 4},
        {2, {200, 150}, 100, 16, 0, PITH_CODE_RANS, 1, 0, 4},
    };
    add_tensors(0, r, 11, 78);
    finish("rans", &full);
    add_tensors(0, r + 6, 3, 79);
    finish("rans_compact", &compact);
}

/* Floats as byte planes: streams of four and of more sub-streams, planes of one symbol; between
 * them and behind them tensors that are too small. */
static void planes(void)
{
    const struct recipe r[] = {{1, {4096}, 100, 0, 0, PITH_CODE_HUFFMAN, 0, 0, 0},
                               {1, {4095}, 100, 0, 0, PITH_CODE_HUFFMAN, 0, 0, 0},
                               {2, {4, 1030}, 100, 0, 0, PITH_CODE_HUFFMAN, 0, 0, 0}};
    const struct recipe large = {2, {183, 181}, 100, 0, 0, PITH_CODE_HUFFMAN, 0, 0, 0};
    add_tensors(0, r, 3, 8);
    finish("planes", &compact);
    add_tensors(0, &large, 1, 9);
    finish("large_planes", &full);
}

/* Rows on grids of their own, with steps from coarse to too fine to be written short. */
static void steps_of_rows(void)
{
    struct recipe r[10];
    for (uint32_t i = 0; i < 10; i++) {
        r[i] = (struct recipe){2, {40 + i, 30}, i % 2 ? 30 : 100, 2 + i, 30, PITH_CODE_ADAPTIVE, 1,
                               0, STEPS + i};
    }
    add_tensors(0, r, 10, 6);
    finish("steps", &compact);
}

/* Levels of both trellises: dense, sparse, with a grid for each row, few and many. */
static void levels(void)
{
    const enum pith_code code = PITH_CODE_ADAPTIVE;
    const struct recipe r[] = {{2, {30, 40}, 100, 15, 0, code, 0, 0, LEVELS + 8},
                               {4, {10, 6, 3, 3}, 100, 31, 0, code, 0, 0, LEVELS + 16},
                               {2, {20, 50}, 40, 21, 0, code, 0, 0, LEVELS + 8},
                               {2, {20, 60}, 100, 9, 60, code, 0, 0, LEVELS + 16},
                               {2, {17, 33}, 100, 255, 0, code, 0, 0, LEVELS + 16},
                               {2, {20, 60}, 60, 9, 60, code, 0, 0, LEVELS + 8}};
    add_tensors(0, r, 6, 12);
    finish("trellis", &compact);
}

/* Elements like those around: of filters and matrices, dense, sparse, with a grid for each row, few
 * and many centroids, with both trellises and with none. */
static void alike(void)
{
    const enum pith_code code = PITH_CODE_ADAPTIVE;
    const struct recipe r[] = {{4, {20, 16, 3, 3}, 100, 15, 0, code, 0, 0, ALIKE + 8},
                               {2, {60, 40}, 100, 31, 0, code, 0, 0, ALIKE + 16},
                               {4, {60, 30, 3, 3}, 97, 9, 0, code, 0, 0, ALIKE + 8},
                               {2, {40, 60}, 100, 9, 60, code, 0, 0, ALIKE + 16},
                               {4, {30, 12, 3, 3}, 100, 15, 0, code, 0, 0, ALIKE},
                               {4, {30, 12, 3, 3}, 100, 11, 108, code, 0, 0, ALIKE},
                               {4, {40, 3, 5, 5}, 85, 7, 0, code, 0, 0, ALIKE},
                               {1, {3000}, 100, 13, 0, code, 0, 0, ALIKE}};
    add_tensors(0, r, 8, 13);
    finish("alike", &compact);
}

/* Streams by classes: each support and grid, with both trellises and with none; one model for many
 * tensors, and others; an adaptive vector between. */
static void classes(void)
{
    const enum pith_code code = PITH_CODE_ADAPTIVE;
    const struct recipe r[] = {{2, {1400, 1000}, 60, 16, 0, code, BY_ROW, 0, 0},
                               {1, {700}, 100, 3, 0, code, 0, 0, 0},
                               {2, {400, 700}, 50, 9, 0, code, BY_ROW, 0, 0},
                               {4, {256, 64, 3, 3}, 100, 16, 0, code, BY_ROW, 0, 0},
                               {2, {1024, 1500}, 100, 8, 1500, code, BY_ROW, 0, 0},
                               {3, {50, 20, 9}, 100, 7, 0, code, 0, 0, 0},
                               {2, {500, 300}, 100, 100, 0, code, 0, 0, 0}};
    const struct recipe more[] = {{2, {500, 400}, 100, 15, 0, code, 0, 0, LEVELS + 8},
                                  {2, {500, 400}, 60, 31, 0, code, 0, 0, LEVELS + 16},
                                  {4, {256, 64, 3, 3}, 100, 15, 0, code, 0, 0, ALIKE + 8},
                                  {4, {256, 64, 3, 3}, 100, 15, 0, code, 0, 0, ALIKE},
                                  {2, {512, 640}, 85, 7, 0, code, 0, 0, ALIKE},
                                  {2, {512, 640}, 85, 7, 0, code, 0, 0, ALIKE + 16}};
    const struct recipe small[] = {{4, {80, 60, 3, 3}, 60, 12, 0, code, BY_ROW, 0, 0},
                                   {2, {400, 500}, 100, 16, 0, code, 0, 0, 0},
                                   {2, {200, 120}, 100, 15, 0, code, 0, 0, LEVELS + 8}};
    const struct recipe floats = {2, {256, 512}, 60, 0, 0, code, BY_ROW, 0, 0};
    add_tensors(0, r, 7, 91);
    finish("classes_many", &full);
    add_tensors(0, more, 6, 92);
    finish("classes_alike", &compact);
    add_tensors(0, small, 3, 94);
    finish("classes", &compact);
    add_tensors(0, &floats, 1, 93);
    finish("adaptive_floats", &compact);
}

static void far_tables(void)
{
    struct recipe r[44];
    for (uint32_t i = 0; i < 44; i++) {
        uint32_t kind = i % 22; /* so equal tables are 22 tensors apart */
        r[i] = (struct recipe){
            1, {2500 + kind}, kind % 2 ? 100 : 3 + kind, 2 + kind * 5, 0, PITH_CODE_HUFFMAN, 1,
            0, 1 + kind};
    }
    add_tensors(0, r, 44, 5);
    finish("many_tables", &full);
}

/* The first line of the shape codes that fits: each of them, and what is nearly one. */
static void shapes(void)
{
    static const uint32_t dim[][1 + PITH_MAX_RANK] = {
        {0},
        {1, 7},
        {1, 7},
        {2, 7, 1},
        {2, 7, 1},
        {1, 7},
        {3, 2, 1, 7},
        {4, 3, 2, 1, 7},
        {4, 3, 2, 7, 7},
        {4, 3, 2, 7, 7},
        {1, 1},
        {5, 1, 2, 3, 2, 7},
        {5, 1, 2, 3, 2, 7},
        {0},
        {0},
        {8, 1, 2, 1, 1, 1, 3, 1, 7},
        {4, 1, 1, 1, 1},
    };
    struct recipe r[sizeof dim / sizeof dim[0]] = {{0}};
    uint32_t n = sizeof dim / sizeof dim[0];
    for (uint32_t i = 0; i < n; i++) {
        r[i].rank = dim[i][0];
        memcpy(r[i].dim, &dim[i][1], sizeof r[i].dim);
        r[i].density = 100;
    }
    add_tensors(0, r, n, 3);
    finish("shapes", &full);
    add_tensors(0, r, n, 3);
    finish("shapes_compact", &compact);
}

/* A constant of each element type, cast to f32 and added up. */
static void element_types(const char *name, const struct pith_pack_opts *opts)
{
    static const uint8_t bytes[] = {0, 4, 2, 2, 8, 1, 1, 2, 2, 4, 8, 1};
    const uint32_t dim[] = {5, 3};
    start(9, 64, 64);
    uint32_t sum = new_input("x", PITH_F32, 2, dim);
    for (uint32_t type = 1; type <= 11; type++) {
        uint32_t v = new_value("", (enum pith_type)type, 2, dim);
        struct pith_const *c = room(1, sizeof *c);
        c->count = 15;
        c->data = room(15, bytes[type]);
        for (uint32_t i = 0; i < 15u * bytes[type]; i++) {
            ((uint8_t *)c->data)[i] = (uint8_t)random_below(type == 11 ? 2 : 60);
        }
        if (type % 3 == 0) {
            c->mask = room(15, 1);
            memset(c->mask, 1, 15);
            c->mask[type] = 0;
            memset((uint8_t *)c->data + type * bytes[type], 0, bytes[type]);
        }
        model->values[v].constant = c;
        uint32_t f = apply(OP_CAST, "", v, PITH_VALUE_NONE);
        model->nodes[model->n_nodes - 1].attr[0] = PITH_F32;
        sum = apply(OP_ADD, "", sum, f);
    }
    model->outputs[model->n_outputs++] = sum;
    finish(name, opts);
}

static void observe(uint32_t v, float min, float max, uint64_t n)
{
    model->values[v].min = min;
    model->values[v].max = max;
    model->values[v].n_observed = n;
}

/* One exact sum of each length and sign; histograms with runs of zeros, with one bin, with none;
 * both kinds of grids. */
static void see_more(uint32_t v, int k)
{
    struct pith_value *value = &model->values[v];
    struct pith_value_stats *s = room(1, sizeof *s);
    struct pith_grid *g = room(1, sizeof *g);
    s->n = value->n_observed;
    s->n_samples = 1;
    s->n_zero = s->n - 3;
    pith_exact_sum_add(&s->sum, k == 0 ? -1.25 : k == 1 ? 3e38 : 0);
    pith_exact_sum_add(&s->sum_squares, k == 0 ? 255 : 65535.5);
    s->histogram = k == 0 ? (struct pith_histogram){-9, -513, 1282, NULL}
                          : (struct pith_histogram){-7, 1024, 1, NULL};
    s->histogram.count = room(s->histogram.n_bins, sizeof *s->histogram.count);
    s->histogram.count[0] = k == 0 ? 1 : 3;
    if (k == 0) {
        s->histogram.count[1281] = s->histogram.count[41] = 1;
    }
    if (value->rank > 1) {
        s->channel_axis = 1;
        s->n_channels = value->dim[1];
        s->channel = room(s->n_channels, sizeof *s->channel);
        for (uint32_t c = 0; c < s->n_channels; c++) {
            s->channel[c].max = (float)c;
            pith_exact_sum_add(&s->channel[c].sum, -1e-30 * (double)c);
        }
    }
    *g = (struct pith_grid){PITH_U8, 8, PITH_RANGE_MSE, 200, 1, 0, room(s->n_channels + 1, 4)};
    if (k == 0) {
        *g = (struct pith_grid){PITH_I16, 12, PITH_RANGE_KL, -2048, s->n_channels, 1, g->scale};
    }
    for (uint32_t i = 0; i < g->n; i++) {
        g->scale[i] = 0.125f * (float)(i + 1);
    }
    value->stats = s;
    value->grid = g;
}

static void texts(void)
{
    char key[256];
    need(pith_model_set_meta(model, "labels", "zero\none\n") == PITH_OK, "meta");
    need(pith_model_set_meta(model, "preprocess", "scale=1/255") == PITH_OK, "meta");
    need(pith_model_set_meta(model, "recipe", "{}") == PITH_OK, "meta");
    need(pith_model_set_meta(model, "a", "") == PITH_OK, "meta");
    need(pith_model_set_meta(model, "\xC3\xA9t\xC3\xA9", "\xE2\x82\xAC \xF0\x9F\x98\x80") ==
             PITH_OK,
         "meta");
    memset(key, 'k', 255);
    key[255] = 0;
    need(pith_model_set_meta(model, key, "the longest key") == PITH_OK, "meta");
    need(pith_model_add_history(model, "import", "{\"opset\":13}") == PITH_OK, "history");
    need(pith_model_add_history(model, "prune", "{\"sparsity\":0.5}") == PITH_OK, "history");
}

/* Two inputs, values used twice and out of order, Split, several outputs, all texts. */
static void wiring(const char *name, int batch_open, const struct pith_pack_opts *opts)
{
    const uint32_t dim[] = {1, 6, 4, 4}, row[] = {1, 4};
    const struct recipe t = {1, {4}, 100, 0, 0, PITH_CODE_PLAIN, 0, 0, 0};
    start(11, 64, 64);
    model->batch_open = batch_open != 0;
    uint32_t a = new_input("a", PITH_F32, 4, dim), b = new_input("b", PITH_F32, 2, row);
    uint32_t t0 = make_tensor("t0", &t), t1 = make_tensor("t1", &t);
    uint32_t x = apply(OP_RELU, "same name", a, PITH_VALUE_NONE);
    struct pith_node *split = new_node(OP_SPLIT, "split", 1, 3);
    split->in[0] = x;
    split->attr[0] = 1; /* the axis */
    for (uint32_t i = 0; i < 3; i++) {
        split->out[i] = new_value(i == 1 ? "middle" : "", PITH_F32, 0, NULL);
    }
    uint32_t y = apply(OP_ADD, "same name", split->out[1], t1);
    uint32_t z = apply(OP_MUL, "", t0, split->out[0]);
    uint32_t w = apply(OP_ADD, "", t0, b);
    uint32_t u = apply(OP_MUL, "", y, z);
    model->outputs[model->n_outputs++] = w;
    model->outputs[model->n_outputs++] = split->out[2];
    model->outputs[model->n_outputs++] = u;
    observe(a, -1, 1.5f, 100);
    observe(split->out[2], 0, 0, 1);
    observe(u, -3e38f, 3e38f, UINT64_C(1) << 40);
    observe(y, 8, 8, 3);
    see_more(a, 0);
    see_more(y, 1);
    model->values[w].grid = model->values[y].grid; /* nothing observed */
    texts();
    finish(name, opts);
}

static struct pith_node *wire(uint32_t op, const uint32_t *in, uint32_t n_in, uint32_t n_out)
{
    struct pith_node *node = new_node(op, "", n_in, n_out);
    for (uint32_t i = 0; i < n_in; i++) {
        node->in[i] = in[i];
    }
    for (uint32_t i = 0; i < n_out; i++) {
        node->out[i] = new_value("", PITH_F32, 0, NULL);
    }
    return node;
}

/* A loop that counts and collects, a branch in it, and in one side of that a loop with a condition
 * and a count. */
static void bodies(void)
{
    const uint32_t row[] = {4};
    start(12, 64, 32);
    uint32_t x = new_input("x", PITH_F32, 1, row), go = new_input("go", PITH_BOOL, 0, NULL);
    uint32_t n = new_input("n", PITH_I64, 0, NULL);
    struct pith_node *loop = wire(OP_LOOP, &x, 1, 2);
    uint32_t s = loop->out[1];
    loop->attr[0] = 5; /* trips */
    struct pith_node *branch = wire(OP_BRANCH, &go, 1, 1);
    struct pith_node *inner = wire(OP_LOOP, (uint32_t[]){n, go, s}, 3, 2);
    inner->attr[0] = 1000;
    inner->attr[1] = inner->attr[2] = 1; /* condition, count */
    uint32_t t = inner->out[1];
    uint32_t sum = apply(OP_ADD, "", t, x);
    struct pith_node *inner_end = wire(OP_LOOP_END, (uint32_t[]){go, t, sum}, 3, 1);
    inner_end->attr[0] = 1000;
    inner_end->attr[1] = inner_end->attr[2] = inner_end->attr[3] = 1;
    wire(OP_BRANCH_ELSE, branch->out, 1, 1);
    uint32_t other = apply(OP_RELU, "", s, PITH_VALUE_NONE);
    struct pith_node *join =
        wire(OP_BRANCH_END, (uint32_t[]){branch->out[0], inner_end->out[0], other}, 3, 1);
    struct pith_node *end =
        wire(OP_LOOP_END, (uint32_t[]){s, join->out[0], join->out[0], loop->out[0]}, 4, 3);
    end->attr[0] = 5;
    end->attr[3] = 1; /* states */
    for (uint32_t i = 0; i < 3; i++) {
        model->outputs[model->n_outputs++] = end->out[i];
    }
    finish("bodies", &full);
}

/* levels: an odd number of integers around 0, more often the small ones, in steps of `step`. */
static uint32_t integer_tensor(uint32_t rows, uint32_t levels, int step, int is_pruned,
                               enum pith_code code)
{
    const uint32_t dim[] = {rows, 50};
    uint32_t v = new_value("", PITH_I8, 2, dim);
    struct pith_const *c = room(1, sizeof *c);
    c->count = rows * UINT64_C(50);
    int8_t *q = c->data = room(c->count, 1);
    c->mask = is_pruned ? room(c->count, 1) : NULL;
    c->code = code;
    for (uint64_t i = 0; i < c->count; i++) {
        uint32_t k = random_below(levels), m = random_below(levels);
        q[i] = (int8_t)(((int)(k < m ? k : m) - (int)(k > m ? k : m) / 2) * step);
        if (is_pruned && !(c->mask[i] = random_below(4) == 0)) {
            q[i] = 0;
        }
    }
    model->values[v].constant = c;
    return v;
}

/* Weights of quantized networks: i8 of two to eight bits, some pruned. */
static void integers(void)
{
    static const uint32_t levels[] = {3, 15, 85, 255, 5};
    start(12, 64, 1);
    uint32_t x = new_input("x", PITH_F32, 0, NULL);
    for (uint32_t i = 0; i < 30; i++) {
        enum pith_code code = (enum pith_code)(i % 3);
        model->outputs[model->n_outputs++] =
            integer_tensor(40 + i, levels[i / 3 % 5], i / 3 % 5 == 4 ? 20 : 1, i / 15, code);
    }
    model->outputs[model->n_outputs++] = x;
    finish("integers", &full);
}

/* Integers with scales, for each type: one scale, one for each place of an axis, one a block; with
 * zero points or without. */
static void scaled(const char *name, const struct pith_pack_opts *opts)
{
    static const struct pith_integers layout[] = {{.n = 1, .axis = 0},
                                                  {.n = 20, .axis = 1},
                                                  {.n = 6, .axis = 0},
                                                  {.n = 6 * 3 * 5, .axis = 1, .block = 8}};
    const uint32_t dim[] = {6, 20, 5};
    start(13, 64, 1);
    model->outputs[model->n_outputs++] = new_input("x", PITH_F32, 0, NULL);
    for (uint32_t i = 0; i < 16; i++) {
        struct pith_integers *g = room(1, sizeof *g);
        struct pith_const *c = room(1, sizeof *c);
        const uint32_t type = PITH_I8 + i % 4, bits = i % 4 < 2 ? 8 : 16;
        const int32_t lowest = i % 2 == 0 ? -(1 << (bits - 1)) : 0;
        char tensor[16];
        *g = layout[i / 4];
        g->type = (enum pith_type)type;
        g->scale = room(g->n, sizeof *g->scale);
        g->zero = room(g->n, sizeof *g->zero);
        for (uint64_t k = 0; k < g->n; k++) {
            g->scale[k] = 0.001f * (float)(1 + random_below(1000));
            g->zero[k] = i % 3 == 0 ? 0 : lowest + (int32_t)random_below(1u << bits);
        }
        c->count = (uint64_t)dim[0] * dim[1] * dim[2];
        float *data = c->data = room(c->count, sizeof *data);
        for (uint32_t e = 0; e < c->count; e++) {
            const uint32_t at[] = {e / 100, e / 5 % 20, e % 5};
            uint32_t k = g->n == 1       ? 0
                         : g->block == 0 ? at[g->axis]
                                         : (at[0] * 3 + at[1] / 8) * 5 + at[2];
            data[e] =
                (float)(lowest + (int32_t)random_below(1u << bits) - g->zero[k]) * g->scale[k];
        }
        c->integers = g;
        snprintf(tensor, sizeof tensor, "q%u", i);
        uint32_t v = new_value(tensor, PITH_F32, 3, dim);
        model->values[v].constant = c;
        model->outputs[model->n_outputs++] = v;
    }
    finish(name, opts);
}

/* No node at all: inputs and a tensor are the outputs. */
static void no_nodes(void)
{
    const struct recipe t = {2, {3, 3}, 100, 0, 0, PITH_CODE_PLAIN, 0, 0, 0};
    start(1, 8, 1);
    uint32_t x = new_input("x", PITH_I64, 0, NULL);
    uint32_t c = make_tensor("c", &t);
    model->outputs[model->n_outputs++] = c;
    model->outputs[model->n_outputs++] = x;
    finish("no_nodes", &full);
}

int main(int argc, char **argv)
{
    static const struct pith_pack_opts keep = {sizeof keep, true, true, false, false};
    static const struct pith_pack_opts bare = {sizeof bare, false, false, true, true};
    need(argc == 2, "usage: make_networks FOLDER");
    folder = argv[1];
    every_coding();
    shared_tables();
    steps_of_rows();
    levels();
    alike();
    classes();
    planes();
    rans();
    far_tables();
    shapes();
    element_types("types", &full);
    element_types("types_compact", &compact);
    wiring("wiring", 0, &full);
    wiring("wiring_batch", 1, &full);
    wiring("wiring_bare", 1, &bare);
    wiring("wiring_compact", 1, &compact);
    wiring("wiring_compact_keep", 0, &keep);
    bodies();
    no_nodes();
    integers();
    scaled("scaled", NULL);
    scaled("scaled_full", &full);
    return 0;
}
