/* SPDX-License-Identifier: MIT */
/* data_source.h - what the readers of data sets share.
 *
 * A source is one opened file or folder. It gives samples either as pictures (interleaved 8-bit
 * pixels, to be resized, cropped and laid out) or as plain numbers in the order of the model's
 * input. data.c owns ranges, labels, preprocessing and the shape test; a reader only decodes.
 *
 *     path -> file_source (bytes, unpacked) -> data_idx | data_cifar | data_npy | data_raw | wav
 *                                           -> data_pictures (folder, tar, zip, one picture) */
#ifndef DATA_SOURCE_H
#define DATA_SOURCE_H

#include "base/error_fill.h"
#include "base/count_text.h"
#include "base/number_text.h"
#include "pith_data.h"

enum { DATA_MAX_SAMPLES = 1 << 28, DATA_MAX_SAMPLE_ELEMS = 1 << 28 };

/* ---- bytes (file_source.c, decompress.c)
 * ----------------------------------------------------------
 */

/* The memory that a file of n bytes may take once it is inflated or decoded: max_bytes, or for 0
 * 64 MiB and 100 bytes for each byte, at most 4 GiB. */
uint64_t pith_input_bound(uint64_t max_bytes, uint64_t n);
/* PITH_ERR_LIMIT, with what allows it, where `wanted` bytes are more than pith_input_bound. */
enum pith_status pith_within_bound(uint64_t wanted, uint64_t max_bytes, uint64_t n,
                                   const char *name, struct pith_error *err);

/* The bytes of a file behind its compression: gzip, xz, zstd, bzip2 or none. name is borrowed until
 * it is closed. */
struct unpacker;
bool pith_is_packed(const uint8_t *head, size_t n);
enum pith_status pith_unpack_open(int fd, const char *name, struct unpacker **unpacker,
                                  struct pith_error *err);
/* n bytes, or fewer where they end. PITH_ERR_CORRUPT: damaged or incomplete; PITH_ERR_IO. */
enum pith_status pith_unpack_read(struct unpacker *unpacker, void *to, size_t n, size_t *got,
                                  struct pith_error *err);
void pith_unpack_close(struct unpacker *unpacker); /* accepts NULL */

/* A file that is read in place, or in memory (unpacked, or loaded). */
struct file_source {
    int fd;       /* -1: in memory */
    uint8_t *mem; /* owned */
    uint64_t bytes;
    char *name;            /* for messages; owned */
    struct unpacker *rest; /* mem is the beginning; pith_source_load gets the rest; owned */
    uint64_t packed_bytes; /* of the file with that rest; UINT64_MAX: of a pipe */
    uint64_t least;        /* bytes that it has at least by what it declares, or 0 */
};

/* Opens a file; pith_source_close() f, also after a failure. A regular one is read in place; of a
 * compressed one, of "-" and of pipes the first 128 KiB come into memory. PITH_ERR_UNSUPPORTED: a
 * device. */
enum pith_status pith_source_open(const char *path, struct file_source *f, struct pith_error *err);
void pith_source_close(struct file_source *f); /* accepts one never opened when zeroed, fd -1 */
/* PITH_ERR_CORRUPT when [offset, offset + n) is not all there, PITH_ERR_IO. */
enum pith_status pith_source_at(const struct file_source *f, uint64_t offset, void *to, size_t n,
                                struct pith_error *err);
/* Makes the source one in memory, whole. The size in an .npy or IDX header is checked before the
 * data is unpacked. max_bytes as in pith_input_bound. PITH_ERR_LIMIT, PITH_ERR_CORRUPT. */
enum pith_status pith_source_load(struct file_source *f, uint64_t max_bytes,
                                  struct pith_error *err);

/* Becomes a source in memory of these bytes, which it takes over. */
void pith_source_replace(struct file_source *f, struct pith_buffer *b);

/* ---- lists of files, archives ------------------------------------------------------------------
 */

struct listed_file {
    char *name; /* owned by the list */
    uint64_t offset, bytes;
};

struct file_list {
    struct listed_file *entry;
    size_t n, room;
};

void pith_list_free(struct file_list *list);
/* name is copied. false without memory. */
bool pith_list_add(struct file_list *list, const char *name, uint64_t offset, uint64_t bytes);
void pith_list_sort(struct file_list *list); /* by the bytes of the names */

#define TAR_BLOCK 512u
bool pith_is_tar(const uint8_t *head, size_t n);
bool pith_is_zip(const uint8_t *head, size_t n);
/* Regular files of a tar or zip, in its order. offset: of a tar, where the file lies in f; of a
 * zip, its number. PITH_ERR_CORRUPT, PITH_ERR_UNSUPPORTED: encrypted or sparse. */
enum pith_status pith_archive_list(const struct file_source *f, struct file_list *list,
                                   struct pith_error *err);
/* n files of a zip, in the list's order, one behind the other in *out, which the caller owns;
 * offset is then their place there. max_bytes as in pith_input_bound, for all of them. */
enum pith_status pith_zip_decode(const struct file_source *f, struct listed_file *file, size_t n,
                                 uint64_t max_bytes, struct pith_buffer *out,
                                 struct pith_error *err);

/* ---- sources of samples ---------------------------------------------------------------------- */

enum { UNLABELLED_BYTES = 400 };

struct recording {
    uint64_t n;               /* its length in values */
    uint32_t bytes, channels; /* of one value; values side by side */
    bool real;                /* they are floats */
};

/* Of pith_data_opts; borrowed. */
struct opening {
    const char *input_name;
    const char *const *arrays;
    uint32_t n_arrays;
    const char *class_names;
    uint32_t output_rank;
    const uint32_t *output_dim;
    void (*warn)(void *user, const char *text);
    void *user;
};

struct data_source {
    struct file_source file;
    uint64_t n_samples;
    bool pictures;
    /* numbers: shape of one sample without batch axis. Pictures of one known size: [H, W] or
     * [C, H, W]; of unknown sizes: rank 0. */
    uint32_t rank;
    uint32_t dim[PITH_MAX_RANK];
    uint64_t elems;
    /* Exactly one of the two. numbers: x[elems]. picture: *image is owned by the caller. */
    enum pith_status (*numbers)(const struct data_source *s, uint64_t i, float *x,
                                struct pith_error *err);
    enum pith_status (*picture)(struct data_source *s, uint64_t i, struct pith_image *image,
                                struct pith_error *err);
    enum pith_type type; /* of stored numbers */
    bool big_endian;
    uint64_t first;    /* offset of sample 0 in file.mem */
    uint32_t *lengths; /* of samples along dim[0], filled up with zeros; NULL: all dim[0]; owned */
    struct recording sound;
    uint64_t hop; /* values between samples of a recording or a text; 0: elems */
    /* what the file says about labels */
    int64_t *labels; /* label_elems of sample i from i * label_step on, or NULL; owned */
    uint64_t label_elems, label_step; /* 0: 1 */
    float *targets;                   /* [n_samples * target_elems] or NULL; owned */
    uint64_t target_elems;
    /* pictures in a folder or tar */
    struct file_list list;
    char *folder;    /* prefix of the names on disk; NULL: in file */
    uint8_t *packed; /* the picture being decoded */
    size_t packed_room;
    bool sizes_only;                   /* `picture` reads headers alone: no pixels */
    uint64_t max_bytes;                /* pith_data_opts */
    struct opening options;            /* while it is opened */
    char unlabelled[UNLABELLED_BYTES]; /* why there are no labels; "": the source has no place for
                                          them */
};

/* What o names, by the reader for it. */
enum pith_status pith_open_reader(struct data_source *s, const struct pith_data_opts *o,
                                  struct pith_error *err);
/* Each fills *s (zeroed, s->file opened and, but for pictures, loaded) or fails; the caller closes
 * in any case. */
enum pith_status pith_idx_open(struct data_source *s, struct pith_error *err);
enum pith_status pith_cifar_open(struct data_source *s, struct pith_error *err);
enum pith_status pith_npy_open(struct data_source *s, struct pith_error *err);
enum pith_status pith_zip_open(struct data_source *s, struct pith_error *err);
enum pith_status pith_raw_open(struct data_source *s, enum pith_type type, uint64_t elems,
                               struct pith_error *err);
/* Frames of `frame` values every `hop`; both >= 1. */
enum pith_status pith_wav_open(struct data_source *s, uint64_t frame, uint64_t hop,
                               struct pith_error *err);
/* Recordings that are no WAV: s->file becomes their values as f64. PITH_ERR_UNSUPPORTED: no
 * libsndfile; PITH_ERR_CORRUPT, also where it ends early; PITH_ERR_LIMIT. */
enum pith_status pith_sound_decode(struct data_source *s, struct pith_error *err);
/* Windows of `length` characters every `step` as ids, with the next characters as labels; both
 * >= 1. */
enum pith_status pith_text_open(struct data_source *s, uint64_t length, uint64_t step,
                                struct pith_error *err);
/* Pictures in a tar; and in a zip whose files are s->list. */
enum pith_status pith_tar_open(struct data_source *s, struct pith_error *err);
enum pith_status pith_zip_pictures_open(struct data_source *s, struct pith_error *err);
enum pith_status pith_one_picture_open(struct data_source *s, struct pith_error *err);
enum pith_status pith_folder_open(struct data_source *s, const char *path, struct pith_error *err);
/* Each path is a picture or a folder; name stands in messages. */
enum pith_status pith_files_open(struct data_source *s, const char *name, const char *const *path,
                                 size_t n, struct pith_error *err);

/* Of text:LENGTH[:STEP]:FILE, the shape of an array of such samples. dim: [PITH_MAX_RANK]. false:
 * path is none. */
bool pith_text_shape(const char *path, uint32_t *rank, uint32_t *dim);
/* By its ending, PNG or JPEG. */
bool pith_is_picture_name(const char *name);
/* A folder with .npy files, one a sample, and neither pictures nor folders. rank: as
 * pith_data_opts. */
bool pith_folder_has_arrays(const char *path);
enum pith_status pith_arrays_open(struct data_source *s, const char *path, uint32_t rank,
                                  struct pith_error *err);
/* Text of numbers, a line a sample. */
bool pith_is_number_text(const uint8_t *head, size_t n);
enum pith_status pith_lines_open(struct data_source *s, struct pith_error *err);

/* As data_source.lengths, which become the data set's. */
void pith_data_set_lengths(struct pith_data *data, uint32_t *lengths);

bool pith_is_idx(const uint8_t *head, size_t n);
/* What the header says the file has; 0: it cannot be. */
uint64_t pith_idx_bytes(const uint8_t *head, size_t n);

/* The shared `numbers` for samples that lie one behind the other in file.mem. */
enum pith_status pith_stored_numbers(const struct data_source *s, uint64_t i, float *x,
                                     struct pith_error *err);
/* The same as elements of another type, each value kept or refused. */
enum pith_status pith_stored_as(const struct data_source *s, uint64_t i, enum pith_type type,
                                void *x, struct pith_error *err);
/* The bits of a number of 1, 2, 4 or 8 bytes. */
uint64_t pith_load_stored(const uint8_t *p, uint32_t bytes, bool big_endian);
/* Element k of stored numbers as a double, and as an integer (false: not one that fits). */
double pith_stored_f64(enum pith_type type, bool big_endian, const uint8_t *p);
bool pith_stored_i64(enum pith_type type, bool big_endian, const uint8_t *p, int64_t *v);

/* Of n numbers in the machine's byte order: none is NaN or infinite, but in a mask, of 0 and
 * -infinity alone (a masked position). *nan: why not. */
bool pith_numbers_usable(enum pith_type type, const void *x, uint64_t n, bool *nan);

/* The targets of the samples chosen (NULL: of the first n) hold no NaN or infinity; s has some.
 * PITH_ERR_UNSUPPORTED. */
enum pith_status pith_targets_check(const struct data_source *s, const uint32_t *chosen, uint64_t n,
                                    struct pith_error *err);

/* ---- labels and ranges ----------------------------------------------------------------------- */

/* Fills s->labels or s->targets from a file; names of pictures are matched where it has a column
 * `file`. */
enum pith_status pith_labels_read(struct data_source *s, const char *path, struct pith_error *err);
/* The same from bytes in memory. */
enum pith_status pith_labels_parse(struct data_source *s, const uint8_t *bytes, size_t n,
                                   const char *name, struct pith_error *err);
/* A warning, where who opened the data takes any. */
void pith_source_warn(const struct data_source *s, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* Of an .npz with labels alone, or among other arrays. */
enum pith_status pith_npz_labels(struct data_source *s, const uint8_t *bytes, size_t n,
                                 const char *name, struct pith_error *err);

/* How many of the names (one a line, class 0 first; may be NULL) the text is one of; *number: the
 * first of them, unchanged where there is none. */
uint32_t pith_class_find(const char *names, const char *text, size_t n, int64_t *number);
uint32_t pith_class_count(const char *names);
/* A decimal number of at most INT32_MAX with nothing but space around it. */
bool pith_class_number(const char *text, size_t n, int64_t *number);
enum { CLASS_REASON_BYTES = 160 };
/* Why a text that pith_class_find found so often, and that is no number, is no label. Returns
 * reason. */
const char *pith_class_unknown(const char *names, uint32_t found, char reason[CLASS_REASON_BYTES]);

/* The sample numbers a range chooses of n. *chosen: owned by the caller, [*n_chosen], or NULL for
 * all. */
enum pith_status pith_range_choose(const char *text, uint64_t n, const char *name,
                                   uint32_t **chosen, uint64_t *n_chosen, struct pith_error *err);

/* ---- pictures -------------------------------------------------------------------------------- */

enum { IMAGE_MAX_SIDE = 1 << 16, IMAGE_MAX_PIXELS = 1 << 26 };

/* pixels of image: allocated, uninitialised. For a decoded image call pith_within_bound first.
 */
enum pith_status pith_image_new(uint32_t width, uint32_t height, uint32_t channels,
                                const char *name, struct pith_image *image, struct pith_error *err);
/* PITH_ERR_UNSUPPORTED, of what pith_foreign_picture found. */
enum pith_status pith_error_foreign_picture(const char *name, const char *format,
                                            struct pith_error *err);
bool pith_is_png(const void *bytes, size_t n);
bool pith_is_jpeg(const void *bytes, size_t n);
/* A picture in memory, by what `s` says: bounds, and whether the header alone is read. */
enum pith_status pith_picture_decode(const struct data_source *s, const void *bytes, size_t n,
                                     const char *name, struct pith_image *image,
                                     struct pith_error *err);
/* max_bytes: as in pith_input_bound. size_only: the header alone is read, and the
 * pixels of *image are not set. */
enum pith_status pith_png_decode(const struct data_source *s, const void *bytes, size_t n,
                                 const char *name, struct pith_image *image,
                                 struct pith_error *err);
enum pith_status pith_jpeg_decode(const struct data_source *s, const void *bytes, size_t n,
                                  const char *name, struct pith_image *image,
                                  struct pith_error *err);
/* Bilinear, antialiased when shrinking; width, height >= 1. *out is owned by the caller. */
enum pith_status pith_image_resize(const struct pith_image *in, uint32_t width, uint32_t height,
                                   const char *name, struct pith_image *out,
                                   struct pith_error *err);
/* Shorter side to `side`, the other in proportion, rounded down. Changes *image; one without pixels
 * changes its size alone. */
enum pith_status pith_image_resize_shorter(struct pith_image *image, uint32_t side,
                                           const char *name, struct pith_error *err);
/* To this size, whatever the picture's shape. Changes *image, as above. */
enum pith_status pith_image_resize_to(struct pith_image *image, uint32_t width, uint32_t height,
                                      const char *name, struct pith_error *err);
/* In proportion to fit into width x height, in the middle of pixels of value pad; an odd rest is
 * right and below. Changes *image. */
enum pith_status pith_image_letterbox(struct pith_image *image, uint32_t width, uint32_t height,
                                      uint8_t pad, const char *name, struct pith_error *err);
/* The middle width x height; an odd rest is cut on the right and bottom. Changes *image in place.
 * PITH_ERR_ARGUMENT when the picture is smaller. */
enum pith_status pith_image_crop(struct pith_image *image, uint32_t width, uint32_t height,
                                 const char *name, struct pith_error *err);
/* Grey <-> RGB: three equal channels; luma 0.299 R + 0.587 G + 0.114 B. channels: 1 or 3. */
enum pith_status pith_image_set_channels(struct pith_image *image, uint32_t channels,
                                         const char *name, struct pith_error *err);

/* ---- numbers in messages --------------------------------------------------------------------- */

/* pith_shape_text, or "1 value". Returns out. */
const char *pith_values_text(const uint32_t *dim, uint32_t rank, char out[PITH_SHAPE_TEXT]);

#endif
