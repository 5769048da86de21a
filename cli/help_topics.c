/* SPDX-License-Identifier: MIT */
#include "help_topics.h"
#include <stddef.h>

const struct help_row cli_exit_codes[] = {
    {"0", "done"},
    {"1", "the answer is no: a goal was not met, outputs differ, a check failed"},
    {"2", "wrong usage"},
    {"3", "cannot read or write"},
    {"4", "a file is broken or not what it claims to be"},
    {"5", "valid but unsupported"},
    {"6", "out of memory, or a limit exceeded"},
    {"128+n", "ended by signal n: 130 by ^C, 143 by SIGTERM, 129 by SIGHUP"},
    {NULL, NULL}};

const struct help_row cli_environment[] = {
    {"PITH_THREADS", "default of -T"},
    {"PITH_CPU",
     "highest instruction set to use: ref, avx2, avxvnni, avx512, vbmi, vnni, amx, neon, "
     "dotprod, i8mm; each name includes the levels below it"},
    {"PITH_CUBLASLT", "cuBLASLt library for GPUs (default libcublasLt.so.13, .12), or none"},
    {"PITH_DEVICE", "default of --device of run, eval and bench: cpu, cuda:N, auto"},
    {"TERM", "dumb: no progress bar"},
    {NULL, NULL}};

const struct help_row cli_preprocessing[] = {
    {"", "preprocessing of pictures: PART,PART,... or NAME or NAME,PART,..."},
    {"imagenet", "scale=1/255,mean=0.485:0.456:0.406,std=0.229:0.224:0.225,resize=256,crop=224"},
    {"caffe", "mean=104:117:123,resize=256,crop=224,order=bgr"},
    {"unit", "scale=1/255: pixels from 0 to 1"},
    {"signed", "scale=1/127.5,mean=1: pixels from -1 to 1"},
    {"raw", "scale=1: pixels from 0 to 255"},
    {"resize=N", "resize so that the shorter side has N pixels"},
    {"resize=HxW", "resize to H x W pixels; the aspect ratio may change"},
    {"crop=N", "then crop the central N x N pixels"},
    {"letterbox=HxW", "resize to fit into H x W pixels, keep the aspect ratio, pad the borders"},
    {"pad=V", "with letterbox: pixel value of the borders, 0 to 255 (114)"},
    {"scale=S", "multiply pixels by S: a number or a fraction such as 1/255"},
    {"mean=M", "then subtract M: one number or R:G:B (B:G:R with order=bgr)"},
    {"std=S", "then divide by S: one number or one per channel"},
    {"order=bgr", "channel order (default rgb)"},
    {"layout=nhwc", "the input takes channels last (default: channels first)"},
    {"layout=nchw", "channels first; arrays with channels last are refused, not transposed"},
    {NULL, NULL}};

const char cli_overview_text[] =
    "A trained network in ONNX form becomes a .pith file that is many times smaller and that the\n"
    "runtime executes. Each command reads one model and writes one model; '-' or nothing stands "
    "for\n"
    "standard input and output, so commands join in pipes:\n"
    "\n"
    "  pith import net.onnx | pith prune --sparsity 0.9 | pith cluster --bits 5 | pith encode -o "
    "net.pith\n"
    "\n"
    "or in one:\n"
    "\n"
    "  pith compress net.onnx --sparsity 0.9 --bits 5 -d test-images-idx3-ubyte --max-drop 0.5%\n"
    "\n"
    "An output appears whole or not at all, and is never overwritten without -f. Results go to\n"
    "standard output, everything for the eyes to standard error; a progress bar (per cent and\n"
    "the time left) is drawn on a terminal only. The same input, options and seed give the same "
    "bytes for every number of threads\n"
    "and every processor; what trains, for every processor of the same instruction set. Nothing "
    "is\n"
    "ever sent anywhere.\n";
