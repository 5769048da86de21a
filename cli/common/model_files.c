/* SPDX-License-Identifier: MIT */
/* Models in and out: files or pipes, never a terminal, never half a file. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif
#include "cli.h"
#include "base/cpu_allowed.h"
#include "pith_data.h"
#include "compress/recipe/history_beside.h"
#include "pith_load.h"
#include "pith_pack.h"
#include "pith_onnx.h"
#include "pith_host.h"

#define MAX_BESIDE_BYTES (16 << 20)
#define MAX_THREADS 256 /* the range of -T too */

enum cli_exit cli_read_file(const char *path, struct pith_buffer *file)
{
    struct pith_error err = {0};
    bool piped = strcmp(path, "-") == 0;
    if (piped && isatty(STDIN_FILENO)) {
        cli_error("refusing to read a model from the terminal");
        return EXIT_USAGE;
    }
    if (pith_file_read(path, cli_max_memory(), file, &err))
        return cli_fail(&err);
    if (file->bytes > 0)
        return EXIT_DONE;
    pith_buffer_free(file);
    if (cli_interrupted())
        return EXIT_INTERRUPTED;
    cli_error("%s: empty input", piped ? "standard input" : path);
    return EXIT_IO;
}

/* What a folder may be, the loader of models knows; it reads none. */
enum cli_exit cli_read_model_file(const char *path, struct pith_buffer *file)
{
    struct pith_error err = {0};
    struct pith_model *m = NULL;
    struct stat st;
    if (strcmp(path, "-") == 0 || stat(path, &st) != 0 || !S_ISDIR(st.st_mode) ||
        !pith_model_load(path, NULL, &m, &err)) {
        pith_model_free(m);
        return cli_read_file(path, file);
    }
    return cli_fail(&err);
}

void cli_import_warn(void *user, const char *text)
{
    (void)user;
    cli_warn("%s", text);
}

/* What import stores of ONNX, a .pith gets, too. */
static enum cli_exit store_meta(struct pith_model *m, const struct pith_import_opts *opts)
{
    enum pith_status st = PITH_OK;
    if (opts && opts->preprocess)
        st = pith_model_set_meta(m, "preprocess", opts->preprocess);
    if (!st && opts && opts->labels)
        st = pith_model_set_meta(m, "labels", opts->labels);
    return st ? cli_no_memory() : EXIT_DONE;
}

/* NAME=N[:MAX], n bytes of text: value [m->n_sizes] and maximum of that size. */
static enum cli_exit take_size(struct pith_model *m, const char *text, size_t n, uint32_t *value)
{
    const char *eq = memchr(text, '=', n),
               *colon = eq ? memchr(eq, ':', n - (size_t)(eq - text)) : NULL;
    uint64_t number[2] = {0, 0};
    char digits[2][16] = {"", ""};
    if (eq)
        snprintf(digits[0], sizeof digits[0], "%.*s", (int)((colon ? colon : text + n) - eq - 1),
                 eq + 1);
    if (colon)
        snprintf(digits[1], sizeof digits[1], "%.*s", (int)(text + n - colon - 1), colon + 1);
    if (!eq || !pith_parse_uint(digits[0], &number[0]) || number[0] > INT32_MAX ||
        (colon && !pith_parse_uint(digits[1], &number[1])) || number[1] > INT32_MAX ||
        (colon && number[1] < number[0])) {
        cli_error("--size %.*s: not NAME=N or NAME=N:MAX", (int)n, text);
        return EXIT_USAGE;
    }
    for (uint32_t i = 0; i < m->n_sizes; i++) {
        struct pith_size *s = &m->sizes[i];
        if (strlen(s->name) != (size_t)(eq - text) || strncmp(s->name, text, (size_t)(eq - text)))
            continue;
        value[i] = (uint32_t)number[0];
        if (colon)
            s->max = (uint32_t)number[1];
        return EXIT_DONE;
    }
    cli_error("--size %.*s: the network has no open size of this name%s%s", (int)n, text,
              m->n_sizes ? "; the first is " : "", m->n_sizes ? m->sizes[0].name : "");
    return EXIT_USAGE;
}

/* What --size says, of whatever network was loaded last. */
static enum cli_exit take_sizes(struct pith_model *m)
{
    struct pith_error err = {0};
    const struct cli_list *sizes = cli_sizes();
    uint32_t *value = sizes->n ? malloc((m->n_sizes + 1u) * sizeof *value) : NULL;
    enum cli_exit rc = sizes->n && !value ? cli_no_memory() : EXIT_DONE;
    for (uint32_t i = 0; value && i < m->n_sizes; i++)
        value[i] = m->sizes[i].value;
    for (uint32_t i = 0; i < sizes->n; i++)
        for (const char *text = sizes->item[i]; !rc && *text;) {
            const size_t n = strcspn(text, ",");
            rc = take_size(m, text, n, value);
            text += n + (text[n] == ',');
        }
    if (!rc && value && pith_model_set_sizes(m, value, &err))
        rc = cli_fail(&err);
    free(value);
    return rc;
}

/* An import takes some hundred bytes for each node in small blocks, and gives them back below what
 * it made, where glibc would keep them while plans are made above. */
void cli_trim_heap(void)
{
#ifdef __GLIBC__
    malloc_trim(0);
#endif
}

/* The path of what lies beside a compact file. NULL: no memory. */
static char *path_beside(const char *path)
{
    size_t n = strlen(path) + sizeof ".json";
    char *beside = malloc(n);
    if (beside)
        snprintf(beside, n, "%s.json", path);
    return beside;
}

/* The whole of a file of that name; none where there is none or it is no such text. False: there
 * was no memory. */
static bool read_beside(const char *path, struct pith_buffer *text)
{
    static const char head[] = "{\"pith\":1,\"file\":";
    *text = (struct pith_buffer){0};
    errno = 0;
    FILE *in = fopen(path, "rb");
    if (!in)
        return errno != ENOMEM;
    long n = fseek(in, 0, SEEK_END) == 0 ? ftell(in) : -1;
    bool likely = n > (long)sizeof head && n <= MAX_BESIDE_BYTES && fseek(in, 0, SEEK_SET) == 0;
    if (likely)
        text->data = malloc((size_t)n);
    bool has_memory = !likely || text->data;
    text->bytes = text->data ? fread(text->data, 1, (size_t)n, in) : 0;
    if (text->bytes < sizeof head || memcmp(text->data, head, sizeof head - 1) != 0)
        pith_buffer_free(text);
    fclose(in);
    return has_memory;
}

/* What a compact file leaves out, where it lies beside it. */
static enum cli_exit take_beside(const char *path, struct pith_model *m)
{
    uint8_t end[PITH_HISTORY_END];
    struct pith_buffer text = {0};
    if (m->n_history > 0)
        return EXIT_DONE;
    char *beside = path_beside(path);
    bool ok = beside && read_beside(beside, &text);
    FILE *in = ok && text.data ? fopen(path, "rb") : NULL;
    ok = ok && (!text.data || in);
    if (in && fseek(in, -(long)sizeof end, SEEK_END) == 0 && fread(end, sizeof end, 1, in) == 1)
        ok = pith_history_take(m, (uint64_t)ftell(in), end, (const char *)text.data, text.bytes) ==
             PITH_OK;
    if (in)
        fclose(in);
    pith_buffer_free(&text);
    free(beside);
    return ok ? EXIT_DONE : cli_no_memory();
}

enum cli_exit cli_load_model(const char *path, const struct pith_import_opts *given,
                             struct pith_model **m)
{
    const struct pith_import_opts plain = {
        .size_bytes = sizeof plain, .warn = cli_import_warn, .max_bytes = cli_max_memory()};
    const struct pith_import_opts *opts = given ? given : &plain;
    struct pith_error err = {0};
    struct pith_buffer file;
    enum cli_exit rc;
    if (strcmp(path, "-") != 0) {
        if (pith_model_load(path, opts, m, &err))
            return cli_fail(&err);
        rc = take_beside(path, *m);
        rc = rc ? rc : take_sizes(*m);
        return rc ? rc : store_meta(*m, opts);
    }
    rc = cli_read_file(path, &file);
    if (rc)
        return rc;
    if (pith_model_read(file.data, file.bytes, "standard input", opts, m, &err))
        rc = cli_fail(&err);
    pith_buffer_free(&file);
    rc = rc ? rc : take_sizes(*m);
    return rc ? rc : store_meta(*m, opts);
}

enum cli_exit cli_load_packed(const char *path, struct pith_packed *packed)
{
    const struct pith_import_opts opts = {.size_bytes = sizeof opts,
                                          .warn = cli_import_warn,
                                          .max_bytes = cli_max_memory(),
                                          .strict = true};
    struct pith_error err = {0};
    struct pith_buffer file;
    enum cli_exit rc;
    enum pith_status st;
    if (strcmp(path, "-") != 0) {
        st = pith_packed_load(path, &opts, packed, &err);
    } else {
        rc = cli_read_file(path, &file);
        if (rc)
            return rc;
        st = pith_packed_read(&file, "standard input", &opts, packed, &err);
    }
    cli_trim_heap();
    if (st)
        return cli_fail(&err);
    rc = strcmp(path, "-") != 0 ? take_beside(path, packed->outline) : EXIT_DONE;
    rc = rc ? rc : take_sizes(packed->outline);
    if (rc)
        pith_packed_free(packed);
    return rc;
}

char *cli_derive_output(const char *input)
{
    const char *slash = strrchr(input, '/'), *base = slash ? slash + 1 : input;
    const char *dot = strrchr(base, '.');
    size_t stem = dot && dot > base ? (size_t)(dot - base) : strlen(base);
    char *path = malloc(stem + sizeof ".pith");
    if (path) {
        memcpy(path, base, stem);
        memcpy(path + stem, ".pith", sizeof ".pith");
    }
    return path;
}

bool cli_same_file(const char *a, const char *b)
{
    struct stat sa, sb;
    return stat(a, &sa) == 0 && stat(b, &sb) == 0 && sa.st_dev == sb.st_dev &&
           sa.st_ino == sb.st_ino;
}

/* What rename would only find out at the end of the work. */
static enum cli_exit check_folder(const char *path)
{
    char folder[4096];
    const char *slash = strrchr(path, '/');
    size_t len = slash ? (size_t)(slash - path) : 0;
    if (len >= sizeof folder) {
        cli_error("%s: name too long", path);
        return EXIT_USAGE;
    }
    memcpy(folder, path, len);
    folder[len] = '\0';
    if (access(slash ? (len ? folder : "/") : ".", W_OK) == 0)
        return EXIT_DONE;
    cli_error("%s: cannot write to its folder: %s", path, strerror(errno));
    return EXIT_IO;
}

enum cli_exit cli_check_writable(const char *path)
{
    struct stat st;
    if (stat(path, &st) != 0 || S_ISREG(st.st_mode))
        return check_folder(path);
    if (!S_ISDIR(st.st_mode)) /* a device or pipe is written to, never replaced */
        return EXIT_DONE;
    cli_error("%s is a folder", path);
    return EXIT_IO;
}

static bool to_stdout(const struct cli_common *c)
{
    return !c->output || strcmp(c->output, "-") == 0;
}

static bool is_link(const char *path)
{
    struct stat st;
    return lstat(path, &st) == 0 && S_ISLNK(st.st_mode);
}

enum cli_exit cli_check_output(const struct cli_common *c, const char *input)
{
    struct stat st;
    if (c->dry_run)
        return EXIT_DONE;
    if (to_stdout(c) && c->json) {
        cli_error("--json and the model cannot both go to standard output: give -o FILE");
        return EXIT_USAGE;
    }
    if (to_stdout(c)) {
        if (!isatty(STDOUT_FILENO))
            return EXIT_DONE;
        cli_error("refusing to write a model to the terminal: use -o FILE or a pipe");
        return EXIT_USAGE;
    }
    if (input && cli_same_file(input, c->output)) {
        cli_error("%s is input and output: give another -o", c->output);
        return EXIT_USAGE;
    }
    if (!c->force && (stat(c->output, &st) == 0 ? S_ISREG(st.st_mode) : is_link(c->output))) {
        cli_error("%s exists: use -f to overwrite it", c->output);
        return EXIT_USAGE;
    }
    return cli_check_writable(c->output);
}

bool cli_ends_in(const char *path, const char *suffix)
{
    size_t n = strlen(path), k = strlen(suffix);
    return n > k && strcmp(path + n - k, suffix) == 0;
}

enum cli_exit cli_check_model_output(const struct cli_common *c, const char *input)
{
    if (c->output && cli_ends_in(c->output, ".onnx")) {
        cli_error("-o %s: this command writes .pith; pith decode writes ONNX", c->output);
        return EXIT_USAGE;
    }
    return cli_check_output(c, input);
}

enum cli_exit cli_write_output(const struct cli_common *c, const void *bytes, size_t n)
{
    struct pith_error err = {0};
    if (cli_interrupted())
        return EXIT_INTERRUPTED;
    if (c->dry_run)
        return EXIT_DONE;
    if (!to_stdout(c)) {
        enum pith_status st = c->force ? pith_file_write(c->output, bytes, n, &err)
                                       : pith_file_write_new(c->output, bytes, n, &err);
        cli_end_in_order();
        return st ? cli_fail(&err) : EXIT_DONE;
    }
    if (fwrite(bytes, 1, n, stdout) != n || fflush(stdout) != 0) {
        if (cli_interrupted())
            return EXIT_INTERRUPTED;
        cli_error("cannot write to standard output: %s", strerror(errno));
        return EXIT_IO;
    }
    return EXIT_DONE;
}

/* The requested file is written: an error here is a warning. An existing file of another form
 * belongs to the user and stays. */
static void write_beside(const struct cli_common *c, const char *path,
                         const struct pith_buffer *text)
{
    struct pith_error err = {0};
    struct pith_buffer old;
    const char *why = "it exists, and is something else";
    bool known = read_beside(path, &old);
    bool ours = c->force || (known && (old.data || access(path, F_OK) != 0));
    pith_buffer_free(&old);
    if (!known)
        why = "out of memory";
    else if (ours && !pith_file_write(path, text->data, text->bytes, &err))
        return;
    cli_warn("%s: names and recipe are not kept: %s", path, ours && known ? err.text : why);
}

const char *cli_ratio_text(double before_bytes, double after_bytes, char text[32])
{
    bool larger = after_bytes > before_bytes;
    snprintf(text, 32, "%.1fx %s", larger ? after_bytes / before_bytes : before_bytes / after_bytes,
             larger ? "larger" : "smaller");
    return text;
}

/* What lies beside is made first: after the file is there little may fail. */
enum cli_exit cli_write_packed(const struct cli_common *c, const struct pith_model *m,
                               const struct pith_buffer *file)
{
    struct pith_error err = {0};
    struct pith_buffer text = {0};
    struct stat st;
    bool file_out = !c->dry_run && !to_stdout(c);
    char *path = file_out ? path_beside(c->output) : NULL;
    enum cli_exit rc = EXIT_DONE;
    if (file_out && !path)
        rc = cli_no_memory();
    else if (file_out && pith_history_beside(m, file, &text, &err))
        rc = cli_fail(&err);
    if (!rc)
        rc = cli_write_output(c, file->data, file->bytes);
    if (!rc && text.data && stat(c->output, &st) == 0 && S_ISREG(st.st_mode))
        write_beside(c, path, &text);
    pith_buffer_free(&text);
    free(path);
    return rc;
}

enum cli_exit cli_write_model(const struct cli_common *c, const struct pith_model *m,
                              uint64_t *bytes)
{
    struct pith_error err = {0};
    struct pith_buffer file;
    enum cli_exit rc;
    if (cli_interrupted())
        return EXIT_INTERRUPTED;
    if (!c->dry_run && !to_stdout(c)) {
        enum pith_status st = pith_model_write(m, NULL, c->output, c->force, bytes, &err);
        cli_end_in_order();
        return st ? cli_fail(&err) : EXIT_DONE;
    }
    if (pith_model_pack(m, NULL, &file, &err))
        return cli_fail(&err);
    if (bytes)
        *bytes = file.bytes;
    rc = cli_write_output(c, file.data, file.bytes);
    pith_buffer_free(&file);
    return rc;
}

enum cli_exit cli_threads(const struct cli_common *c, uint32_t *n)
{
    const char *text = secure_getenv("PITH_THREADS");
    uint64_t v = c->threads;
    if (v == 0 && text && *text && (!pith_parse_uint(text, &v) || v == 0 || v > MAX_THREADS)) {
        cli_error("PITH_THREADS=%s: not a number of threads in 1..%d", text, MAX_THREADS);
        return EXIT_USAGE;
    }
    if (v == 0)
        v = pith_processor_count();
    *n = (uint32_t)(v > MAX_THREADS ? MAX_THREADS : v);
    return EXIT_DONE;
}

enum cli_exit cli_cpu_mask(uint32_t *mask)
{
    const char *text = secure_getenv("PITH_CPU");
    *mask = 0;
    if (text && *text && pith_cpu_mask_parse(text, mask)) {
        cli_error(
            "PITH_CPU=%s: not a CPU level (ref, avx2, avxvnni, avx512, vbmi, vnni, amx, neon, "
            "dotprod, i8mm)",
            text);
        return EXIT_USAGE;
    }
    pith_cpu_allow(*mask);
    return EXIT_DONE;
}
