/* SPDX-License-Identifier: MIT */
/* onnx_wire.c - a walk over the protobuf wire form before protobuf-c sees it.
 *
 * protobuf-c recurses once per nested message and allocates a struct for each, so a few kilobytes
 * can exhaust the stack and a megabyte of two-byte messages a hundred megabytes. This walk keeps
 * its own stack of ONNX_MAX_DEPTH frames, follows the generated descriptors (so there is no second
 * copy of the schema), reads every byte once and accepts only what unpacks in proportion:
 *
 *   - nesting <= ONNX_MAX_DEPTH, messages <= ONNX_MAX_MESSAGES, fields <= ONNX_MAX_FIELDS
 *   - every length inside its enclosing message; varints of at most 10 bytes
 *   - wire types as the schema says (packed or not), no groups
 *   - a message that occurs once by the schema occurs once in the file: merging is what no ONNX
 *     writer needs and where parsers have had their bugs
 *   - strings are UTF-8, as protobuf demands and a .pith does; a doc_string, which nothing reads,
 *     may be anything but hold a NUL, at which protobuf-c would silently cut
 *
 * Unknown fields are stepped over, as protobuf demands.
 *
 * protobuf-c would also copy the elements of every tensor. So the walk can write the file once more
 * without them: raw_data of ONNX_RAW_REF_BYTES and more becomes exactly so many bytes that hold
 * its place in the file (none other has that length then), and the lengths around it are
 * written anew, in LENGTH_BYTES each. */
#include <stdio.h>
#include "onnx.h"
#include "base/escape_text.h"
#include "validate/format.h"

enum wire { WIRE_VARINT = 0, WIRE_64 = 1, WIRE_BYTES = 2, WIRE_32 = 5 };

/* FunctionProto.attribute_proto, unpacked later (onnx_function.c) where the schema lacks it. */
enum { FUNCTION_DEFAULTS = 11 };

enum { NODE_NAME = 3, NODE_GRAPH_DEPTH = 2 };

enum { RAW_DATA = 9, LENGTH_BYTES = 5 /* what protobuf-c reads at most */ };

struct frame {
    const ProtobufCMessageDescriptor *type;
    size_t begin, end;
    uint64_t present; /* bit i: field number i (< 64) was met, for messages that occur once */
    size_t length_at; /* of its length in what is written */
};

struct scan {
    const uint8_t *p;
    size_t at;
    struct frame stack[ONNX_MAX_DEPTH];
    uint32_t depth; /* frames in use */
    uint32_t n_messages, n_fields, n_nodes;
    char text[ONNX_WIRE_TEXT];
    uint8_t *out; /* the file without elements; NULL: only counted */
    size_t n_out;
    size_t length_from; /* where the length of the field at hand begins */
    size_t copied;      /* the file up to here is written */
    uint64_t n_refs;
};

/* ---- the file without elements --------------------------------------------------------------- */

static void put(struct scan *s, const void *bytes, size_t n)
{
    if (s->out && n > 0)
        memcpy(s->out + s->n_out, bytes, n);
    s->n_out += n;
}

static void copy_up_to(struct scan *s, size_t end)
{
    if (end == s->copied) /* also of an empty file, which lies nowhere */
        return;
    put(s, s->p + s->copied, end - s->copied);
    s->copied = end;
}

static void put_length(uint8_t to[LENGTH_BYTES], uint64_t n)
{
    for (uint32_t i = 0; i < LENGTH_BYTES; i++)
        to[i] = (uint8_t)((n >> 7 * i & 0x7f) | (i + 1 < LENGTH_BYTES ? 0x80 : 0));
}

/* A message begins at s->at. */
static void begin_message(struct scan *s, struct frame *f)
{
    static const uint8_t room[LENGTH_BYTES];
    copy_up_to(s, s->length_from);
    f->length_at = s->n_out;
    put(s, room, sizeof room);
    s->copied = s->at;
}

static void end_message(struct scan *s, const struct frame *f)
{
    copy_up_to(s, f->end);
    if (s->out)
        put_length(s->out + f->length_at, s->n_out - f->length_at - LENGTH_BYTES);
}

/* n bytes at s->at, which are skipped next. */
static void refer_to_raw(struct scan *s, size_t n)
{
    uint8_t ref[1 + ONNX_RAW_REF_BYTES] = {ONNX_RAW_REF_BYTES};
    store_le64(ref + 1, s->at);
    store_le64(ref + 9, n);
    copy_up_to(s, s->length_from);
    put(s, ref, sizeof ref);
    s->copied = s->at + n;
    s->n_refs++;
}

/* ---- the walk -------------------------------------------------------------------------------- */

static bool fail(struct scan *s, const char *text)
{
    snprintf(s->text, sizeof s->text, "%s", text);
    return false;
}

static bool read_varint(struct scan *s, size_t end, uint64_t *v)
{
    *v = 0;
    for (unsigned shift = 0; shift < 70; shift += 7) {
        if (s->at >= end)
            return fail(s, "truncated: a number runs past its message");
        uint8_t b = s->p[s->at++];
        if (shift < 64)
            *v |= (uint64_t)(b & 0x7f) << shift;
        if (!(b & 0x80))
            return true;
    }
    return fail(s, "a number has more than 10 bytes");
}

static bool skip_bytes(struct scan *s, size_t end, uint64_t n)
{
    if (n > end - s->at)
        return fail(s, "truncated: a field runs past its message");
    s->at += (size_t)n;
    return true;
}

/* The wire type of one element of a field. */
static uint32_t wire_of(ProtobufCType type)
{
    switch (type) {
    case PROTOBUF_C_TYPE_SFIXED32:
    case PROTOBUF_C_TYPE_FIXED32:
    case PROTOBUF_C_TYPE_FLOAT:
        return WIRE_32;
    case PROTOBUF_C_TYPE_SFIXED64:
    case PROTOBUF_C_TYPE_FIXED64:
    case PROTOBUF_C_TYPE_DOUBLE:
        return WIRE_64;
    case PROTOBUF_C_TYPE_STRING:
    case PROTOBUF_C_TYPE_BYTES:
    case PROTOBUF_C_TYPE_MESSAGE:
        return WIRE_BYTES;
    default:
        return WIRE_VARINT;
    }
}

static bool skip_value(struct scan *s, size_t end, uint32_t wire)
{
    uint64_t v;
    switch (wire) {
    case WIRE_VARINT:
        return read_varint(s, end, &v);
    case WIRE_64:
        return skip_bytes(s, end, 8);
    case WIRE_32:
        return skip_bytes(s, end, 4);
    case WIRE_BYTES:
        return read_varint(s, end, &v) && skip_bytes(s, end, v);
    default:
        return fail(s, "a field has a wire type that ONNX does not use");
    }
}

static bool enter(struct scan *s, const ProtobufCMessageDescriptor *type, size_t end)
{
    if (s->depth == ONNX_MAX_DEPTH)
        return fail(s, "messages are nested more than 32 deep");
    if (++s->n_messages > ONNX_MAX_MESSAGES)
        return fail(s, "more than 524288 messages");
    if (type == &pith_onnx__node_proto__descriptor && s->depth == NODE_GRAPH_DEPTH &&
        ++s->n_nodes > ONNX_MAX_NODES)
        return fail(s, "more than 65536 nodes");
    if (type == &pith_onnx__node_proto__descriptor && s->at == end)
        return fail(s, "a node is empty");
    s->stack[s->depth] = (struct frame){.type = type, .begin = s->at, .end = end};
    if (s->depth > 0)
        begin_message(s, &s->stack[s->depth]);
    s->depth++;
    return true;
}

/* ---- strings --------------------------------------------------------------------------------- */

static void escape(const uint8_t *p, size_t n, char *to, size_t size)
{
    char text[64];
    n = n < sizeof text ? n : sizeof text - 1;
    memcpy(text, p, n);
    text[n] = '\0';
    pith_escape_text(text, to, size);
}

/* " of node 3 'fc'": the innermost node at hand, whose name may stand behind what is wrong; where
 * there is none, " of a TensorProto": the message. */
static void describe_node(const struct scan *s, char *text, size_t size)
{
    uint64_t key, n;
    uint32_t d = s->depth;
    char name[64] = "";
    while (d > 0 && s->stack[d - 1].type != &pith_onnx__node_proto__descriptor)
        d--;
    if (d == 0) {
        snprintf(text, size, " of a %s", s->stack[s->depth - 1].type->short_name);
        return;
    }
    struct scan node = {.p = s->p, .at = s->stack[d - 1].begin};
    size_t end = s->stack[d - 1].end;
    while (node.at < end && read_varint(&node, end, &key)) {
        if (key == (NODE_NAME << 3 | WIRE_BYTES) && read_varint(&node, end, &n) &&
            n <= end - node.at) {
            escape(s->p + node.at, (size_t)n, name, sizeof name);
            break;
        }
        if (!skip_value(&node, end, key & 7))
            break;
    }
    snprintf(text, size, " of node %u '%s'", s->n_nodes ? s->n_nodes - 1 : 0, name);
}

/* field: a string of n bytes at s->at. */
static bool check_string(struct scan *s, const ProtobufCFieldDescriptor *field, size_t n)
{
    char text[100], node[100];
    if (n > 0 && memchr(s->p + s->at, 0, n))
        return fail(s, "a string holds a zero byte");
    if (pith_utf8_ok(s->p + s->at, n) || strcmp(field->name, "doc_string") == 0)
        return true;
    escape(s->p + s->at, n, text, sizeof text);
    describe_node(s, node, sizeof node);
    snprintf(s->text, sizeof s->text, "%s '%s'%s is not UTF-8", field->name, text, node);
    return false;
}

/* A field of length n at s->at whose meaning is known. */
static bool scan_bytes_field(struct scan *s, const ProtobufCFieldDescriptor *field, size_t n)
{
    struct frame *top = &s->stack[s->depth - 1];
    size_t end = s->at + n;
    if (field->type == PROTOBUF_C_TYPE_MESSAGE) {
        if (field->label != PROTOBUF_C_LABEL_REPEATED && field->id < 64) {
            if (top->present >> field->id & 1)
                return fail(s, "a field that occurs once occurs twice");
            top->present |= UINT64_C(1) << field->id;
        }
        return enter(s, field->descriptor, end);
    }
    if (field->type == PROTOBUF_C_TYPE_STRING && !check_string(s, field, n))
        return false;
    if (top->type == &pith_onnx__tensor_proto__descriptor && field->id == RAW_DATA &&
        n >= ONNX_RAW_REF_BYTES)
        refer_to_raw(s, n);
    if (wire_of(field->type) == WIRE_BYTES)
        return skip_bytes(s, end, n);
    if (field->label != PROTOBUF_C_LABEL_REPEATED)
        return fail(s, "a number is written as a list");
    while (s->at < end) /* packed */
        if (!skip_value(s, end, wire_of(field->type)))
            return false;
    return true;
}

static bool scan_field(struct scan *s)
{
    const struct frame *top = &s->stack[s->depth - 1];
    size_t end = top->end;
    uint64_t key, n;
    if (++s->n_fields > ONNX_MAX_FIELDS)
        return fail(s, "more than 2097152 fields");
    if (!read_varint(s, end, &key))
        return false;
    uint32_t wire = key & 7;
    if (key >> 3 == 0 || key >> 3 > (1u << 29) - 1)
        return fail(s, "a field number is out of range");
    const ProtobufCFieldDescriptor *field =
        protobuf_c_message_descriptor_get_field(top->type, (unsigned)(key >> 3));
    bool late = !field && top->type == &pith_onnx__function_proto__descriptor &&
                key >> 3 == FUNCTION_DEFAULTS && wire == WIRE_BYTES;
    if (!field && !late)
        return skip_value(s, end, wire);
    if (wire != WIRE_BYTES) {
        if (wire != wire_of(field->type))
            return fail(s, "a field has the wrong type");
        return skip_value(s, end, wire);
    }
    s->length_from = s->at;
    if (!read_varint(s, end, &n))
        return false;
    if (n > end - s->at)
        return fail(s, "truncated: a field runs past its message");
    if (late)
        return enter(s, &pith_onnx__attribute_proto__descriptor, s->at + (size_t)n);
    return scan_bytes_field(s, field, (size_t)n);
}

static bool walk(struct scan *s, size_t n)
{
    bool ok = enter(s, &pith_onnx__model_proto__descriptor, n);
    while (ok && s->depth > 0) {
        const struct frame *top = &s->stack[s->depth - 1];
        if (s->at < top->end) {
            ok = scan_field(s);
            continue;
        }
        if (s->depth > 1)
            end_message(s, top);
        else
            copy_up_to(s, n);
        s->depth--;
    }
    return ok;
}

enum pith_status pith_onnx_scan(const void *bytes, size_t n, struct onnx_wire_facts *facts)
{
    struct scan s = {.p = bytes};
    if (!walk(&s, n)) {
        facts->offset = s.at;
        memcpy(facts->text, s.text, sizeof s.text);
        return PITH_ERR_CORRUPT;
    }
    facts->bytes = s.n_out;
    facts->n_refs = s.n_refs;
    return PITH_OK;
}

void pith_onnx_write_without_raw(const void *bytes, size_t n, uint8_t *out)
{
    struct scan s = {.p = bytes, .out = out};
    (void)walk(&s, n);
}
