/* SPDX-License-Identifier: MIT */
/* validate.c - what must hold beyond the syntax of the graph: every shape follows from the shape
 * rules, names are unique, texts are UTF-8, keys are in order. Together with the parser, which
 * only lets numbers in range through, this is the gate: kernels behind it check nothing.
 *
 * Each rule has one place: the parser bounds numbers, this file relates them to each other,
 * region.c matches brackets, decoders check streams while they expand them. */
#include "validate/format.h"
#include "op_interface/op_exec.h"
#include "validate/stats_read.h"

/* The error's offset is where the reader stopped. */
static enum pith_status corrupt_at(const struct image *im, enum chunk_kind kind,
                                   const struct reader *r, struct pith_error *err)
{
    return pith_fail(err, PITH_ERR_CORRUPT, pith_chunk_tag(kind), (uint64_t)(r->p - im->blob));
}

static struct reader chunk_reader(const struct image *im, enum chunk_kind kind)
{
    return reader_of(im->chunk[kind].bytes, im->chunk[kind].n_bytes);
}

/* ---- text ----------------------------------------------------------------------------------- */

/* Bytes of the UTF-8 sequence at p, 0 when it is not one: overlong forms, surrogates, numbers
 * past U+10FFFF and NUL are none. By the table of RFC 3629, section 4: leads of 2, 3, 4 bytes,
 * and the second byte's range where the lead alone would let an overlong form or a surrogate
 * through. */
static size_t utf8_length(const uint8_t *p, size_t left)
{
    uint32_t lead = p[0];
    if (lead < 0x80)
        return lead != 0;
    size_t n = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
    if (lead < 0xc2 || lead > 0xf4 || n > left)
        return 0;
    for (size_t i = 1; i < n; i++)
        if ((p[i] & 0xc0) != 0x80)
            return 0;
    if ((lead == 0xe0 && p[1] < 0xa0) || (lead == 0xed && p[1] > 0x9f) ||
        (lead == 0xf0 && p[1] < 0x90) || (lead == 0xf4 && p[1] > 0x8f))
        return 0;
    return n;
}

/* One pass, no table. */
bool pith_utf8_ok(const uint8_t *p, size_t bytes)
{
    size_t i = 0;
    while (i < bytes) {
        size_t n = utf8_length(p + i, bytes - i);
        if (n == 0)
            return false;
        i += n;
    }
    return true;
}

/* A length in min..max, then that much UTF-8. The length is bounded before it is compared with
 * what is left. */
static bool read_bytes(struct reader *r, uint64_t min, uint64_t max, struct stream *text)
{
    uint64_t n = rd_varint(r, max);
    if (r->bad || n < min || n > r->left)
        return false;
    text->n_bytes = (size_t)n;
    text->bytes = rd_bytes(r, text->n_bytes);
    return true;
}

static bool read_text(struct reader *r, uint64_t min, uint64_t max, struct stream *text)
{
    return read_bytes(r, min, max, text) && pith_utf8_ok(text->bytes, text->n_bytes);
}

/* As unsigned bytes, so UTF-8 sorts by code point. */
static int compare_text(const uint8_t *a, size_t a_bytes, const uint8_t *b, size_t b_bytes)
{
    size_t n = a_bytes < b_bytes ? a_bytes : b_bytes;
    int order = n > 0 ? memcmp(a, b, n) : 0;
    return order ? order : a_bytes < b_bytes ? -1 : a_bytes > b_bytes;
}

/* ---- meta and history ----------------------------------------------------------------------- */

/* Without strlen() (blob.c). */
static size_t text_length(const char *s)
{
    size_t n = 0;
    while (s[n] != 0)
        n++;
    return n;
}

/* The number of a key that has one; 0: it is written out. A key with a number must be written as
 * it. */
static uint32_t known_key(const struct stream *key)
{
    for (uint32_t i = 1; pith_meta_key(i); i++)
        if (compare_text(key->bytes, key->n_bytes, (const uint8_t *)pith_meta_key(i),
                         text_length(pith_meta_key(i))) == 0)
            return i;
    return 0;
}

/* Numbers below META_FIRST_LENGTH are known keys, those from it on lengths; 0 is none of them. */
static bool read_key(struct reader *r, struct stream *key)
{
    uint64_t v = rd_varint(r, META_FIRST_LENGTH - 1 + MAX_NAME_BYTES);
    if (v < META_FIRST_LENGTH) {
        const char *known = pith_meta_key((uint32_t)v);
        if (!known)
            return false;
        *key = (struct stream){(const uint8_t *)known, text_length(known)};
        return true;
    }
    key->n_bytes = (size_t)v - (META_FIRST_LENGTH - 1);
    key->bytes = rd_bytes(r, key->n_bytes);
    return key->bytes && pith_utf8_ok(key->bytes, key->n_bytes) && known_key(key) == 0;
}

/* Rising keys: sorted, and none twice. */
static enum pith_status validate_meta(const struct image *im, struct pith_error *err)
{
    struct reader r = chunk_reader(im, CHUNK_META);
    struct stream last = {NULL, 0};
    for (uint32_t n = 0; r.left > 0; n++) {
        struct stream key, text;
        if (n == MAX_META || !read_key(&r, &key) || !read_text(&r, 0, MAX_TEXT_BYTES, &text))
            return corrupt_at(im, CHUNK_META, &r, err);
        if (n > 0 && compare_text(last.bytes, last.n_bytes, key.bytes, key.n_bytes) >= 0)
            return corrupt_at(im, CHUNK_META, &r, err);
        last = key;
    }
    return PITH_OK;
}

/* History is in the order of what was done, so nothing is compared; what an entry says is a
 * matter of the toolchain. */
static enum pith_status validate_history(const struct image *im, struct pith_error *err)
{
    struct reader r = chunk_reader(im, CHUNK_HISTORY);
    for (uint32_t n = 0; r.left > 0; n++) {
        struct stream verb, json;
        if (n == MAX_HISTORY || !read_text(&r, 1, MAX_NAME_BYTES, &verb) ||
            !read_text(&r, 0, MAX_TEXT_BYTES, &json))
            return corrupt_at(im, CHUNK_HISTORY, &r, err);
    }
    return PITH_OK;
}

enum pith_status pith_validate_texts(const struct image *im, struct pith_error *err)
{
    enum pith_status st = validate_meta(im, err);
    return st ? st : validate_history(im, err);
}

/* ---- names ---------------------------------------------------------------------------------- */

static bool name_before(const struct graph_name *a, const struct graph_name *b)
{
    return compare_text((const uint8_t *)a->text, a->bytes, (const uint8_t *)b->text, b->bytes) < 0;
}

/* Heap sort: no bad case for a hostile file to find, no recursion, no memory. O(n log n) whatever
 * the names are. */
static void sift_down(uint32_t *heap, uint32_t n, uint32_t i, const struct graph_name *name)
{
    for (;;) {
        uint32_t child = 2 * i + 1;
        if (child >= n)
            return;
        if (child + 1 < n && name_before(&name[heap[child]], &name[heap[child + 1]]))
            child++;
        if (!name_before(&name[heap[i]], &name[heap[child]]))
            return;
        uint32_t swap = heap[i];
        heap[i] = heap[child];
        heap[child] = swap;
        i = child;
    }
}

/* Indices are sorted, not names: order is the caller's scratch. */
static void sort_names(uint32_t *order, uint32_t n, const struct graph_name *name)
{
    for (uint32_t i = n / 2; i-- > 0;)
        sift_down(order, n, i, name);
    for (uint32_t end = n; end > 1; end--) {
        uint32_t swap = order[0];
        order[0] = order[end - 1];
        order[end - 1] = swap;
        sift_down(order, end - 1, 0, name);
    }
}

/* Neighbours in order: one that is not smaller is equal. */
static bool unique(const struct graph_name *name, uint32_t n, uint32_t *order)
{
    uint32_t named = 0;
    for (uint32_t i = 0; i < n; i++)
        if (name[i].bytes > 0)
            order[named++] = i;
    sort_names(order, named, name);
    for (uint32_t i = 1; i < named; i++)
        if (!name_before(&name[order[i - 1]], &name[order[i]]))
            return false;
    return true;
}

/* An empty text is a value without a name. */
static bool read_name(struct reader *r, bool checked, struct graph_name *name)
{
    struct stream text;
    if (!read_bytes(r, 0, MAX_NAME_BYTES, &text) ||
        !(checked || pith_utf8_ok(text.bytes, text.n_bytes)))
        return false;
    *name = (struct graph_name){(const char *)text.bytes, (uint32_t)text.n_bytes};
    return true;
}

/* Values first, then nodes. Node names may repeat; ONNX requires uniqueness of values alone. */
enum pith_status pith_validate_names(const struct image *im, const struct names *names,
                                     uint32_t *order, struct pith_error *err)
{
    static const struct graph_name nameless = {"", 0};
    struct reader r = chunk_reader(im, CHUNK_NAMES);
    bool stored = r.p != NULL;
    uint64_t total = 0;
    for (uint32_t i = 0; i < names->n_values + names->n_nodes; i++) {
        struct graph_name *name =
            i < names->n_values ? &names->value[i] : &names->node[i - names->n_values];
        *name = nameless;
        if (stored && !read_name(&r, names->checked, name))
            return corrupt_at(im, CHUNK_NAMES, &r, err);
        total += name->bytes;
    }
    /* All empty would be a second way to write that there are no names. */
    const bool checked = names->checked || !stored;
    if (!checked && (r.left != 0 || total == 0 || !unique(names->value, names->n_values, order)))
        return corrupt_at(im, CHUNK_NAMES, &r, err);
    return PITH_OK;
}

/* ---- what was observed ----------------------------------------------------------------------- */

/* Entries in order of values, each checked while it is read. */
enum pith_status pith_validate_stats(const struct image *im, uint32_t n_values,
                                     struct pith_error *err)
{
    struct reader r = chunk_reader(im, CHUNK_STATS);
    struct stats_entry e;
    uint64_t next = 0;
    while (r.left > 0)
        if (!pith_stats_entry_read(&r, &next, n_values, &e))
            return corrupt_at(im, CHUNK_STATS, &r, err);
    return PITH_OK;
}

/* ---- shapes --------------------------------------------------------------------------------- */

/* The only call of shape rules on a file's numbers. Outputs are cleared first, so a rule that
 * fails leaves nothing behind; their sizes are tested again, because everything that allocates
 * relies on it. */
enum pith_status pith_validate_node(const struct graph_node *node, struct tview *values,
                                    const struct tview **in, struct tview **out)
{
    for (uint32_t i = 0; i < node->n_in; i++)
        in[i] = node->in[i] == PITH_NO_VALUE ? NULL : &values[node->in[i]];
    for (uint32_t i = 0; i < node->n_out; i++) {
        out[i] = &values[node->first_out + i];
        memset(out[i], 0, sizeof *out[i]);
    }
    struct op_args args = node_args(node, in, out);
    enum pith_status st = node->info->shape(&args);
    for (uint32_t i = 0; i < node->n_out && !st; i++) {
        uint64_t bytes;
        st = pith_shape_bytes(&out[i]->shape, out[i]->type, &bytes);
    }
    return st;
}
