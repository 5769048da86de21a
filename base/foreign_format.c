/* SPDX-License-Identifier: MIT */
/* foreign_format.c - what people have where pith wants ONNX: files of PyTorch, TensorFlow, Keras
 * and llama.cpp. They are known by their first bytes, never by their names, and none is read: the
 * text says which program makes ONNX of it.
 *
 * No ONNX file is taken for one of these. It begins with the field ir_version, 08 and a small
 * number, or with another field of ModelProto; the magics here are other fields or other wire
 * types, and the two that could stand inside an ONNX file (TFL3, safetensors) also need an offset
 * that lies in the file. */
#define _POSIX_C_SOURCE 200809L
#include "foreign_format.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

/* Of a zip archive the names of its entries stand at its front and, all of them, at its end. */
#define ZIP_SEARCHED ((size_t)1 << 16)

static const char pytorch[] =
    "a PyTorch file: build the model in Python, load this into it, then torch.onnx.export(model, "
    "(example,), 'net.onnx')";
static const char keras[] =
    "a Keras model: in Python keras.models.load_model(FILE).export('net.onnx', format='onnx'), or "
    "python -m tf2onnx.convert --keras FILE --output net.onnx";
static const char tflite[] =
    "a TensorFlow Lite model: python -m tf2onnx.convert --tflite FILE --output net.onnx";
static const char saved_model[] =
    "a TensorFlow SavedModel: python -m tf2onnx.convert --saved-model "
    "FOLDER --output net.onnx";
static const char graph_def[] =
    "a TensorFlow graph: python -m tf2onnx.convert --graphdef FILE --inputs X:0 --outputs Y:0 "
    "--output net.onnx";
static const char safetensors[] =
    "a safetensors file, weights without a network: load them into the model in Python, then "
    "torch.onnx.export(model, (example,), 'net.onnx'), or optimum-cli export onnx --model FOLDER "
    "OUT";
static const char gguf[] = "a GGUF file, weights for llama.cpp: take the checkpoint that it was "
                           "made from and write that as "
                           "ONNX: optimum-cli export onnx --model FOLDER OUT";
static const char zip[] = "a zip archive: unpack it, and give the ONNX file in it";

static bool begins(const uint8_t *b, size_t n, const void *magic, size_t length)
{
    return n >= length && memcmp(b, magic, length) == 0;
}

static bool holds(const uint8_t *b, size_t n, const char *text)
{
    size_t length = strlen(text);
    for (size_t i = 0; i + length <= n; i++)
        if (b[i] == (uint8_t)text[0] && memcmp(b + i, text, length) == 0)
            return true;
    return false;
}

static bool zip_holds(const uint8_t *b, size_t n, const char *entry)
{
    size_t searched = n < ZIP_SEARCHED ? n : ZIP_SEARCHED;
    return holds(b, searched, entry) || holds(b + (n - searched), searched, entry);
}

static const char *zip_format(const uint8_t *b, size_t n)
{
    if (zip_holds(b, n, "data.pkl") || zip_holds(b, n, "archive_format"))
        return pytorch; /* torch.save and TorchScript; torch.export (.pt2) */
    return zip_holds(b, n, "model.weights.h5") ? keras : zip;
}

static uint64_t read_le(const uint8_t *b, unsigned bytes)
{
    uint64_t v = 0;
    for (unsigned i = 0; i < bytes; i++)
        v |= (uint64_t)b[i] << (8 * i);
    return v;
}

/* A flat buffer: the offset of its root, then its four letters. */
static bool is_tflite(const uint8_t *b, size_t n)
{
    return n >= 8 && memcmp(b + 4, "TFL3", 4) == 0 && read_le(b, 4) < n;
}

/* The length of a JSON object, then the object. */
static bool is_safetensors(const uint8_t *b, size_t n)
{
    if (n < 10 || b[8] != '{' || (b[9] != '"' && b[9] != '}' && b[9] != ' '))
        return false;
    uint64_t length = read_le(b, 8);
    return length >= 2 && length <= n - 8;
}

/* Where the message behind a tag and its length at b[at] begins; 0: cut off or too long. */
static size_t message_at(const uint8_t *b, size_t n, size_t at)
{
    uint64_t length = 0;
    for (unsigned i = 0; i < 5 && at < n; i++) {
        length |= (uint64_t)(b[at] & 0x7f) << (7 * i);
        if (!(b[at++] & 0x80))
            return length <= n - at ? at : 0;
    }
    return 0;
}

/* SavedModel: schema version 1, then a MetaGraphDef, whose first field is a message. (In an ONNX
 * file of ir_version 1 the second field is the producer's name, which begins with no line feed.) */
static bool is_saved_model(const uint8_t *b, size_t n)
{
    size_t at = begins(b, n, "\x08\x01\x12", 3) ? message_at(b, n, 3) : 0;
    return at && at < n && b[at] == 0x0a;
}

/* GraphDef: a NodeDef, whose first field is its name. Field 1 of an ONNX file is a number. */
static bool is_graph_def(const uint8_t *b, size_t n)
{
    size_t at = begins(b, n, "\x0a", 1) ? message_at(b, n, 1) : 0;
    size_t name = at && at < n && b[at] == 0x0a ? message_at(b, n, at + 1) : 0;
    return name != 0;
}

const char *pith_foreign_format(const void *bytes, size_t n)
{
    static const uint8_t pickled[] = {0x80, 2,    0x8a, 10,  'l',  0xfc, 0x9c,
                                      'F',  0xf9, ' ',  'j', 0xa8, 'P'};
    const uint8_t *b = bytes;
    if (begins(b, n, "PK\3\4", 4))
        return zip_format(b, n);
    if (begins(b, n, pickled, sizeof pickled)) /* torch.save before 1.6 */
        return pytorch;
    if (begins(b, n, "\x89HDF\r\n\x1a\n", 8))
        return keras;
    if (begins(b, n, "GGUF", 4))
        return gguf;
    if (is_tflite(b, n))
        return tflite;
    if (is_safetensors(b, n))
        return safetensors;
    if (is_saved_model(b, n))
        return saved_model;
    return is_graph_def(b, n) ? graph_def : NULL;
}

const char *pith_foreign_folder(const char *path)
{
    char inside[4096];
    struct stat st;
    int n = snprintf(inside, sizeof inside, "%s/saved_model.pb", path);
    return n > 0 && (size_t)n < sizeof inside && stat(inside, &st) == 0 ? saved_model : NULL;
}
