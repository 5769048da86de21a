/* SPDX-License-Identifier: MIT */
/* pith_data.h - data sets: numbered samples, laid out as a model's input wants them, with labels.
 *
 *     struct pith_data_opts o = {.size_bytes = sizeof o, .path = "t10k-images-idx3-ubyte.gz",
 *                                .preprocess = "scale=1/256", .range = "0:1000",
 *                                .rank = 4, .dim = {1, 1, 28, 28}, .input_name = "x"};
 *     struct pith_data *data;
 *     if (pith_data_open(&o, &data, &err)) ...
 *     for (uint64_t i = 0; i < pith_data_count(data); i++)
 *         pith_data_read(data, i, x, &label, &err) ...
 *     pith_data_free(data);
 *
 * What a path may name (recognized by content, not by ending; any file may be compressed
 * by gzip, xz, zstd or bzip2):
 *
 *     IDX                 unsigned byte, byte, short, int, float, double; big-endian
 *     CIFAR-10 binary     records of 1 + 3072 bytes; name ends in .bin (.bin.gz, ...)
 *     .npy                f2 f4 f8, i1..i8, u1..u8, bool, either byte order, C order, up to 8 axes
 *     .npz                the array that `arrays` names, or else the one called as input_name, or
 * `x`, or the first that is not labels; the labels of x_test are y_test, else the first found of y,
 * label(s), target(s), class(es), y_train, y_test, y_val, each with a small or a capital first
 * letter, else of names with such a word in them (test_labels, ground_truth, testLabels), else, of
 * two arrays, the other one if it holds one integer for each sample
 *     raw:TYPE:N:FILE     records of N values: i8 u8 i16 u16 i32 f16 f32 f64, little-endian
 *     wav:FRAME:HOP:FILE  frames of FRAME values in [-1, 1) of a WAV (integers of 8 to 32 bits, or
 * floats), or of FLAC, OGG, AIFF, MP3 and others by libsndfile; of several channels the mean.
 * Frame i ends with sample (i + 1) * HOP of the recording and so begins FRAME - HOP samples before
 * its own HOP; what lies before the first and behind the last sample is 0. A recording of n samples
 * has ceil(n / HOP) frames
 *     text:LENGTH[:STEP]:FILE  windows of LENGTH characters of a UTF-8 text, one every STEP
 * (LENGTH), as ids: the numbers of the classes that class_names calls so, each by its one character
 * (\n, \r, \t for those). The labels of a window are the ids one character on
 *     a folder            of .npy files, each a sample, sorted by name; only the first axis of a
 * sample (behind the batch axis) may have other lengths: shorter ones are filled up with zeros
 *     lines of numbers    each a sample, with blanks or commas between them, such as token ids;
 * filled up in the same way
 *     a folder, .tar, .zip  of PNG and JPEG pictures; class folders give the labels: their names
 * are looked for in class_names; where they are all numbers, these count; else they are numbered 0,
 * 1, ... as sorted by bytes, with a warning
 *
 * Labels: for IDX the file beside it (...images-idx3... -> ...labels-idx1...); for folders and
 * archives a labels.csv inside or beside; or `labels`: IDX, .npy, .npz (an array named as above, or
 * the only one), .csv (a line of column names, then rows; column `class`, `label`, `target`, ...;
 * matched by column `file`, `filename`, `image`, ... for pictures, one row for each, else in sample
 * order; without that line: file name, class; fields between ',', ';' or tabs) or .txt (one label a
 * line). A label is a class number, which may be stored as a float, or one of class_names: its
 * line; else the same in any case and with '_' for ' ', or by the ImageNet synset that the line
 * begins with; else one of the line's names between commas. Of an output [1, S, V], a class for
 * each position, an array of labels may be [samples, S]; a negative one is that of no class, and
 * counts for nothing.
 *
 * Picture pixels go through `preprocess` (pith_preprocess.h): order, resize, crop, then
 * (pixel * scale - mean) / std. Numbers of other sources take scale, mean and std only.
 *
 * The shape of a sample must be the input's, up to axes of 1 and neighbours merged or split (a flat
 * array fits). Images of [H, W, C] for an input [C, H, W], or the other way round, are transposed;
 * pith_data_reordered says so. The same holds of targets and the output's shape; opts.warn gets the
 * sentence.
 *
 * A model that is called step by step (its state fed back) may take samples of several steps:
 * `steps` allows a sample to be a whole number of inputs, one behind the other.
 *
 * Threads: calls on one data set must not overlap; different data sets are independent. */
#ifndef PITH_DATA_H
#define PITH_DATA_H

#include "pith_model.h"

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

struct pith_data;

#define PITH_NO_LABEL INT64_MIN

struct pith_data_opts {
    uint32_t size_bytes;
    const char *path;
    const char *labels;     /* NULL: found as above, or none */
    const char *range;      /* "a:b", "a:b:step" (either number may be empty), "!a:b:step": all
                               others; NULL: all */
    const char *within;     /* a range, of whose samples `range` chooses; NULL: all */
    const char *preprocess; /* NULL: none (values as they are, pixels 0..255) */
    const char *input_name; /* for messages; may be NULL */
    uint32_t rank;          /* one sample with its batch axis (1, or 0 for open); 0: as the data is,
                               [1, C, H, W] for pictures */
    uint32_t dim[PITH_MAX_RANK];
    bool open[PITH_MAX_RANK]; /* dimensions that become those of the data. Pictures may then have
                                 several heights and widths: dim gets the largest */
    uint64_t
        max_bytes;       /* memory that one file may take, inflated or decoded (of a folder or tar:
                            one picture); 0: 64 MiB and 100 bytes for each byte of it, at most 4 GiB */
    const void *content; /* the file's bytes when they are in memory already; copied. path is then
                            only its name. NULL: path is opened */
    size_t content_bytes;
    bool steps; /* numbers only: a sample may be several of the given shape, one behind the other */
    const char *const *files; /* pictures and folders of them as one data set, in this order, each
                                 sample named as it is given (a folder's pictures: sorted, with the
                                 folder in front); without labels. path is then only what messages
                                 call it. NULL: path is opened */
    size_t n_files;
    const char *const *arrays; /* .npz: arrays[0] are the samples; the others belong to other data
                                  sets and are no labels. NULL: as above */
    uint32_t n_arrays;
    const char
        *class_names;     /* that labels may be given by, one a line, class 0 first; NULL: none */
    uint32_t output_rank; /* shape of the model's first output, batch axis 1 first; 0: unknown. Of 2
                             values or */
    uint32_t output_dim[PITH_MAX_RANK]; /* more, one float for each sample is a class number, not a
                                           target */
    bool skip_broken; /* pictures of a folder, tar or list: all are decoded once, and those that
                         cannot be are no samples, each with a warning; labels stay with the others
                       */
    void (*warn)(void *user, const char *text); /* while it is opened; may be NULL */
    void *user;
};

/* Whether the file at path is a .npz with arrays of these names: has[i] of names[i]; returns how
 * many. list: the names of its arrays, in their order and with commas, cut off at list_bytes; ""
 * where it is no .npz, or cannot be read, which opening it reports. */
uint32_t pith_data_find_arrays(const char *path, const char *const *names, uint32_t n, bool *has,
                               char *list, size_t list_bytes);

/* The shape of the array in a .npy file, or of that called `array` in a .npz; array NULL: of its
 * samples, as pith_data_open finds them with input_name (may be NULL). dim: [PITH_MAX_RANK]. false:
 * it is neither, or cannot be read. */
bool pith_data_array_shape(const char *path, const char *array, const char *input_name,
                           uint32_t *rank, uint32_t *dim);

/* Opens and checks: sizes, shape, labels, range. Pictures are decoded when read. All text is
 * copied. PITH_ERR_ARGUMENT, _IO, _CORRUPT, _UNSUPPORTED, _LIMIT, _MEMORY. */
enum pith_status pith_data_open(const struct pith_data_opts *opts, struct pith_data **data,
                                struct pith_error *err);
/* Samples that are in memory already, without labels. */
struct pith_numbers {
    uint32_t rank;       /* of a sample with its batch axis */
    const uint32_t *dim; /* [rank]; the batch axis, 1, is first */
    uint64_t n;          /* samples, >= 1 */
    float *x;            /* [n, elements of a sample] */
    float *targets;      /* [n, target_elems]; NULL: none */
    uint64_t target_elems;
};
/* x and targets are malloc'ed and the data set's from now on, also after a failure.
 * PITH_ERR_ARGUMENT, _MEMORY. */
enum pith_status pith_data_of_numbers(const struct pith_numbers *numbers, struct pith_data **data,
                                      struct pith_error *err);
void pith_data_free(struct pith_data *data); /* accepts NULL */

uint64_t pith_data_count(const struct pith_data *data); /* samples in the range, >= 1 */
/* From now on only these of the range's samples are read, in this order: sample i is number
 * numbers[i] of all (0..count - 1, copied). n 0: all again. PITH_ERR_ARGUMENT: there is no such
 * sample; PITH_ERR_MEMORY; nothing changes on failure. */
enum pith_status pith_data_pick(struct pith_data *data, const uint32_t *numbers, uint64_t n,
                                struct pith_error *err);
/* What pith_data_pick chose: [*n], borrowed until the next; NULL: all. */
const uint32_t *pith_data_picked(const struct pith_data *data, uint64_t *n);
/* From now on to the next pith_data_pick each sample is followed by its mirror image, left for
 * right, of the same label: there are twice as many. So is every other sample that a network for
 * photographs may see. False: nothing changes, for samples are no pictures of three channels, or
 * have targets. */
bool pith_data_mirror(struct pith_data *data);
uint64_t pith_data_elems(const struct pith_data *data); /* values of one sample, all its steps */
uint64_t pith_data_steps(const struct pith_data *data); /* of one sample; 1 but with opts.steps */
/* Shape of one sample, batch axis 1 first; returns the rank. Of samples of several sizes it has the
 * largest of each dimension. */
uint32_t pith_data_shape(const struct pith_data *data, uint32_t dim[PITH_MAX_RANK]);
/* Have samples several sizes? Arrays and lines differ in the first axis behind the batch and are
 * filled up with zeros; pictures differ in height and width (opts.open) and are not. */
bool pith_data_uneven(const struct pith_data *data);
/* From now on pith_data_read gives the middle of each picture, as large as dim says
 * (pith_data_shape's axes; the channels stay): for work that needs samples of one size. Heights and
 * widths were open. PITH_ERR_ARGUMENT: they were not, or a picture is smaller; PITH_ERR_MEMORY. */
enum pith_status pith_data_cut(struct pith_data *data, const uint32_t *dim, struct pith_error *err);
/* Picture i of a set of several sizes whole, cut or not: [elements of pith_data_sample_shape]. As
 * pith_data_read. */
enum pith_status pith_data_read_whole(struct pith_data *data, uint64_t i, float *x,
                                      struct pith_error *err);
/* The shape of sample i alone, batch axis 1 first; returns the rank, 0: i is out of range. */
uint32_t pith_data_sample_shape(const struct pith_data *data, uint64_t i,
                                uint32_t dim[PITH_MAX_RANK]);
/* A data set for the mask that goes with samples of different lengths: [1, longest], 1 where sample
 * i has values, else 0; its samples have the same lengths. PITH_ERR_ARGUMENT: all are as long, or
 * they are pictures; PITH_ERR_MEMORY. */
enum pith_status pith_data_mask(const struct pith_data *of, struct pith_data **mask,
                                struct pith_error *err);
bool pith_data_labelled(const struct pith_data *data);
/* One sentence where the stored samples are transposed to the input's order of axes, else NULL.
 * Borrowed from data. */
const char *pith_data_reordered(const struct pith_data *data);
/* Are the samples pixels for certain (PNG, JPEG, CIFAR-10), not just numbers? */
bool pith_data_pictures(const struct pith_data *data);
/* Are they bytes of 0 to 255, of pictures or of an array, that no preprocessing was given for? */
bool pith_data_unscaled_pixels(const struct pith_data *data);
/* Labels of a sample: 1, or one for each of its positions; 0: there are none. */
uint64_t pith_data_label_count(const struct pith_data *data);
/* Those of sample i of the range: [pith_data_label_count], borrowed from data. NULL: there are
 * none, or i is out of range. */
const int64_t *pith_data_labels(const struct pith_data *data, uint64_t i);
/* The class of sample i of the range, or PITH_NO_LABEL (also where i is out of range, or its
 * positions have labels). */
int64_t pith_data_label(const struct pith_data *data, uint64_t i);

/* Sample i of the range into x: [pith_data_elems] f32, ready for the model. A picture smaller than
 * the largest lies at the beginning, with zeros behind it. *label (may be NULL):
 * its class, or PITH_NO_LABEL. PITH_ERR_ARGUMENT (i out of range), _IO, _CORRUPT, _UNSUPPORTED,
 * _LIMIT, _MEMORY: a picture cannot be decoded or does not fit, or a number is NaN or infinite
 * (but in a mask, of 0 and -infinity alone); x is then unspecified. */
enum pith_status pith_data_read(struct pith_data *data, uint64_t i, float *x, int64_t *label,
                                struct pith_error *err);

/* The same as elements of another type, for inputs that are not f32; preprocessing does not apply.
 * x: [pith_data_elems] of type. Also PITH_ERR_UNSUPPORTED: pictures and sound give f32 only;
 * PITH_ERR_ARGUMENT: a value that the type cannot hold (as pith_array_convert). */
enum pith_status pith_data_read_as(struct pith_data *data, uint64_t i, enum pith_type type, void *x,
                                   int64_t *label, struct pith_error *err);

/* What sample i of the range is called: a file name for pictures, else "sample 17". Valid until the
 * next call on this data set. */
const char *pith_data_sample_name(struct pith_data *data, uint64_t i);

/* The same where it is a file name (of pictures), else NULL. */
const char *pith_data_sample_file(const struct pith_data *data, uint64_t i);

/* Real-valued targets: npz `y` of floats with the samples' number of rows. 0: none. */
uint64_t pith_data_target_elems(const struct pith_data *data);
/* y: [pith_data_target_elems] f32. PITH_ERR_ARGUMENT. */
enum pith_status pith_data_read_target(struct pith_data *data, uint64_t i, float *y);

/* Samples of the range that opts.skip_broken left out. */
uint64_t pith_data_skipped(const struct pith_data *data);
/* Why there are neither labels nor targets, where the source has a place for them; else "". */
const char *pith_data_unlabelled(const struct pith_data *data);

/* ---- text ------------------------------------------------------------------------------------ */

struct pith_ids {
    int32_t *id; /* [n] */
    uint64_t n;
};

/* The ids of a UTF-8 text's characters: each is the number of the class that class_names (one a
 * line, class 0 first) calls so. name stands in messages. ids->id: the caller's, free().
 * PITH_ERR_ARGUMENT: a class name is no single character, two are the same, or a character has no
 * class; PITH_ERR_CORRUPT: no UTF-8; PITH_ERR_MEMORY. */
enum pith_status pith_text_ids(const char *class_names, const char *text, size_t n,
                               const char *name, struct pith_ids *ids, struct pith_error *err);
/* The text that a class name of n bytes stands for, in which \n, \r, \t and \\ are a newline, a
 * return, a tab and a backslash. text: room for n bytes. Returns its bytes. */
size_t pith_class_name_text(const char *name, size_t n, char *text);

/* ---- single pictures and arrays (what `run` feeds and writes) -------------------------------- */

struct pith_image {
    uint32_t width, height, channels; /* channels 1 (grey) or 3 (RGB) */
    uint8_t *pixels;                  /* [height, width, channels]; owned: pith_image_free */
};
void pith_image_free(struct pith_image *image);

/* PNG or JPEG, recognized by content. 16-bit samples are cut to 8, alpha is dropped, palettes
 * expanded. At most 2^26 pixels, 2^16 a side, and max_bytes as in pith_data_opts. `name` stands in
 * messages.
 */
enum pith_status pith_image_decode(const void *bytes, size_t n, const char *name,
                                   uint64_t max_bytes, struct pith_image *image,
                                   struct pith_error *err);

/* "BMP", "GIF", "TIFF", "WebP", ...: what a picture is that cannot be read, by its first bytes (26
 * or more); NULL: none of these. */
const char *pith_foreign_picture(const void *bytes, size_t n);

struct pith_array {
    enum pith_type type; /* as stored; F16 .. I64 and BOOL; u32 and u64 become I64 */
    uint32_t rank;
    uint32_t dim[PITH_MAX_RANK]; /* may contain 0 */
    uint64_t count;
    void *data; /* [count] in the machine's byte order; owned: pith_array_free */
};
void pith_array_free(struct pith_array *array);

/* A .npy file in memory. PITH_ERR_CORRUPT, _UNSUPPORTED, _MEMORY. */
enum pith_status pith_npy_read(const void *bytes, size_t n, const char *name,
                               struct pith_array *array, struct pith_error *err);
/* a's elements as `type`, values kept: reals are rounded to f32 and f16 precision, everything else
 * must be exact. to: [a->count] of type, unspecified on failure. PITH_ERR_ARGUMENT: `name` and the
 * element that does not fit. */
enum pith_status pith_array_convert(const struct pith_array *a, enum pith_type type, void *to,
                                    const char *name, struct pith_error *err);
/* The bytes of a .npy (version 1.0, little-endian). The caller owns *file.
 * PITH_ERR_ARGUMENT (bf16 has no npy type), PITH_ERR_MEMORY. */
enum pith_status pith_npy_write(enum pith_type type, uint32_t rank, const uint32_t *dim,
                                const void *data, struct pith_buffer *file, struct pith_error *err);

/* How an array's values become those of an input. fits false: its shape is another. rows 0: as they
 * stand, for the shapes are equal up to axes of 1 and neighbours merged or split. Else it is an
 * image with its channels at the other end: each rows * columns values are a matrix to transpose.
 */
struct pith_order {
    bool fits;
    uint64_t rows, columns;
    bool channels_last; /* of the input; the array's are first */
};
/* An array of shape dim holds `times` inputs of shape `to`, one behind the other: as many values,
 * all axes >= 1. */
struct pith_order pith_array_order(const uint32_t *dim, uint32_t rank, uint32_t times,
                                   const uint32_t *to, uint32_t to_rank);
/* Of n values of `bytes` each, whole images. PITH_ERR_MEMORY. */
enum pith_status pith_array_reorder(const struct pith_order *order, void *x, uint64_t n,
                                    uint32_t bytes, struct pith_error *err);
#define PITH_ORDER_TEXT_BYTES 288
/* "transposed from 6x6x3 (channels last) to 1x3x6x6 (channels first)", or that it does not fit;
 * returns text. */
const char *pith_order_text(const struct pith_order *order, const uint32_t *dim, uint32_t rank,
                            const uint32_t *to, uint32_t to_rank, char text[PITH_ORDER_TEXT_BYTES]);

/* A whole file, unpacked when it is compressed; max_bytes as in pith_data_opts. "-" is stdin. The
 * caller owns *file. PITH_ERR_IO, _CORRUPT, _LIMIT, _MEMORY; _UNSUPPORTED: a device. */
enum pith_status pith_file_read(const char *path, uint64_t max_bytes, struct pith_buffer *file,
                                struct pith_error *err);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
#endif
