/* SPDX-License-Identifier: MIT */
/* onnx_hint.c - what to do about an operator that is not supported. */
#include "onnx.h"

static const struct hint {
    const char *op_type; /* a '.' at its end: every operator of that domain */
    const char *hint;
} hints[] = {
    {"AffineGrid", "compute the grid outside and feed it as an input"},
    {"Bernoulli", "export in inference mode: it draws random numbers"},
    {"Compress",
     "the size of its output depends on the data: use Where, or cut before it with --outputs"},
    {"ConcatFromSequence", "export with tensors instead of lists: Concat"},
    {"DFT", "write it as a Conv with fixed cosines and sines, or compute the spectrum outside"},
    {"ImageDecoder", "decode pictures outside: pith reads PNG and JPEG as data"},
    {"Multinomial", "export in inference mode: it draws random numbers"},
    {"NegativeLogLikelihoodLoss", "export without the loss, or cut before it with --outputs"},
    {"NonZero",
     "the size of its output depends on the data: use Where, or cut before it with --outputs"},
    {"RandomNormal", "export in inference mode, or feed the numbers as an input"},
    {"RandomNormalLike", "export in inference mode, or feed the numbers as an input"},
    {"RandomUniform", "export in inference mode, or feed the numbers as an input"},
    {"RandomUniformLike", "export in inference mode, or feed the numbers as an input"},
    {"SequenceAt", "export with tensors instead of lists: Slice or Gather"},
    {"SequenceConstruct", "export with tensors instead of lists: Concat"},
    {"SequenceEmpty", "export with tensors instead of lists"},
    {"SequenceInsert", "export with tensors instead of lists: Concat"},
    {"SoftmaxCrossEntropyLoss", "export without the loss, or cut before it with --outputs"},
    {"SplitToSequence", "export with tensors instead of lists: Split"},
    {"StringNormalizer", "prepare text outside and feed numbers"},
    {"TfIdfVectorizer", "prepare text outside and feed numbers"},
    {"Unique", "the size of its output depends on the data: cut before it with --outputs"},
    {"ai.onnx.ml.", "not a neural network's operator: run it outside, or cut with --outputs"},
    {"ai.onnx.preview.training.", "export the network without its training step"},
    {"ai.onnx.training.", "export the network without its training step"},
    {"com.microsoft.", "export without onnxruntime's optimizations: it is an operator of its own"},
};

static bool is_about(const char *row, const char *op_type)
{
    size_t n = strlen(row);
    return row[n - 1] == '.' ? strncmp(row, op_type, n) == 0 : strcmp(row, op_type) == 0;
}

const char *pith_onnx_hint(const char *op_type)
{
    for (size_t i = 0; i < sizeof hints / sizeof *hints; i++)
        if (is_about(hints[i].op_type, op_type))
            return hints[i].hint;
    return "rewrite it with supported operators, or cut the graph before it with --outputs";
}
