/* SPDX-License-Identifier: MIT */
/* Words for the numbers the core speaks in. */
#include <stdarg.h>
#include <stdio.h>
#include "core/op_number.h"
#include "pith_host.h"

/* No default in the switch: the compiler warns when a status has no text. */
const char *pith_status_text(enum pith_status status)
{
    switch (status) {
    case PITH_OK:
        return "success";
    case PITH_ERR_ARGUMENT:
        return "bad argument";
    case PITH_ERR_MEMORY:
        return "out of memory";
    case PITH_ERR_IO:
        return "cannot read or write";
    case PITH_ERR_CORRUPT:
        return "corrupt file";
    case PITH_ERR_UNSUPPORTED:
        return "not supported by this build";
    case PITH_ERR_VERSION:
        return "written in another format version";
    case PITH_ERR_SPACE:
        return "buffer too small";
    case PITH_ERR_LIMIT:
        return "would exceed a limit";
    case PITH_ERR_GOAL:
        return "goal not met";
    case PITH_ERR_STOPPED:
        return "stopped";
    }
    /* a number that is none of them gets a text all the same, as callers print it untested */
    return "unknown status";
}

/* Names where ONNX has the operator; operators that stand for several of ONNX's (Unary, Variadic,
 * Reduce ...) have a name of pith's own. Numbers come from files, and may be any. A number without
 * a name, be it past the end or between others, is "?". */
const char *pith_op_text(uint32_t op)
{
    static const char *const names[PITH_OP_END] = {
        [PITH_OP_CONV] = "Conv",
        [PITH_OP_GEMM] = "Gemm",
        [PITH_OP_MATMUL] = "MatMul",
        [PITH_OP_ADD] = "Add",
        [PITH_OP_SUB] = "Sub",
        [PITH_OP_MUL] = "Mul",
        [PITH_OP_DIV] = "Div",
        [PITH_OP_RELU] = "Relu",
        [PITH_OP_LEAKY_RELU] = "LeakyRelu",
        [PITH_OP_PRELU] = "PRelu",
        [PITH_OP_CLIP] = "Clip",
        [PITH_OP_SIGMOID] = "Sigmoid",
        [PITH_OP_TANH] = "Tanh",
        [PITH_OP_HARD_SIGMOID] = "HardSigmoid",
        [PITH_OP_HARD_SWISH] = "HardSwish",
        [PITH_OP_SOFTMAX] = "Softmax",
        [PITH_OP_LOG_SOFTMAX] = "LogSoftmax",
        [PITH_OP_MAX_POOL] = "MaxPool",
        [PITH_OP_AVERAGE_POOL] = "AveragePool",
        [PITH_OP_GLOBAL_MAX_POOL] = "GlobalMaxPool",
        [PITH_OP_GLOBAL_AVERAGE_POOL] = "GlobalAveragePool",
        [PITH_OP_BATCH_NORM] = "BatchNormalization",
        [PITH_OP_LRN] = "LRN",
        [PITH_OP_CONCAT] = "Concat",
        [PITH_OP_SPLIT] = "Split",
        [PITH_OP_SLICE] = "Slice",
        [PITH_OP_SQUEEZE] = "Squeeze",
        [PITH_OP_UNSQUEEZE] = "Unsqueeze",
        [PITH_OP_RESHAPE] = "Reshape",
        [PITH_OP_FLATTEN] = "Flatten",
        [PITH_OP_TRANSPOSE] = "Transpose",
        [PITH_OP_PAD] = "Pad",
        [PITH_OP_CAST] = "Cast",
        [PITH_OP_REDUCE_MEAN] = "ReduceMean",
        [PITH_OP_RESIZE] = "Resize",
        [PITH_OP_IDENTITY] = "Identity",
        [PITH_OP_GATHER] = "Gather",
        [PITH_OP_SCATTER] = "Scatter",
        [PITH_OP_TILE] = "Tile",
        [PITH_OP_DEPTH_SPACE] = "DepthToSpace",
        [PITH_OP_TRILU] = "Trilu",
        [PITH_OP_ONE_HOT] = "OneHot",
        [PITH_OP_TOP_K] = "TopK",
        [PITH_OP_CONV_TRANSPOSE] = "ConvTranspose",
        [PITH_OP_UNARY] = "Unary",
        [PITH_OP_POWER] = "Pow",
        [PITH_OP_MOD] = "Mod",
        [PITH_OP_COMPARE] = "Compare",
        [PITH_OP_WHERE] = "Where",
        [PITH_OP_VARIADIC] = "Variadic",
        [PITH_OP_REDUCE] = "Reduce",
        [PITH_OP_ARG] = "Arg",
        [PITH_OP_ALONG_AXIS] = "AlongAxis",
        [PITH_OP_GROUP_NORM] = "GroupNormalization",
        [PITH_OP_LAYER_NORM] = "LayerNormalization",
        [PITH_OP_MEAN_VARIANCE] = "MeanVarianceNormalization",
        [PITH_OP_QUANTIZE] = "QuantizeLinear",
        [PITH_OP_DEQUANTIZE] = "DequantizeLinear",
        [PITH_OP_DYNAMIC_QUANTIZE] = "DynamicQuantizeLinear",
        [PITH_OP_REQUANTIZE] = "Requantize",
        [PITH_OP_MATMUL_INTEGER] = "MatMulInteger",
        [PITH_OP_CONV_INTEGER] = "ConvInteger",
        [PITH_OP_NON_MAX_SUPPRESSION] = "NonMaxSuppression",
        [PITH_OP_LP_POOL] = "LpPool",
        [PITH_OP_RECURRENT] = "Recurrent",
        [PITH_OP_LOOP] = "Loop",
        [PITH_OP_LOOP_END] = "LoopEnd",
        [PITH_OP_BRANCH] = "Branch",
        [PITH_OP_BRANCH_ELSE] = "BranchElse",
        [PITH_OP_BRANCH_END] = "BranchEnd",
        [PITH_OP_ATTENTION] = "Attention",
        [PITH_OP_GRID_SAMPLE] = "GridSample",
    };
    return op < PITH_OP_END && names[op] ? names[op] : "?";
}

/* A type of a file that was not checked may be any number, too. */
const char *pith_type_text(enum pith_type type)
{
    static const char *const names[] = {
        [PITH_F32] = "f32", [PITH_F16] = "f16", [PITH_BF16] = "bf16", [PITH_F64] = "f64",
        [PITH_I8] = "i8",   [PITH_U8] = "u8",   [PITH_I16] = "i16",   [PITH_U16] = "u16",
        [PITH_I32] = "i32", [PITH_I64] = "i64", [PITH_BOOL] = "bool",
    };
    return type < sizeof names / sizeof *names && names[type] ? names[type] : "?";
}

/* vsnprintf cuts the line to the array and always ends it. err may be NULL. The status comes back,
 * so that a caller can set the error and return it in one line. */
enum pith_status pith_error_set(struct pith_error *err, enum pith_status status, const char *format,
                                ...)
{
    if (!err)
        return status;
    va_list args;
    va_start(args, format);
    err->status = status;
    vsnprintf(err->text, sizeof err->text, format, args);
    va_end(args);
    return status;
}
