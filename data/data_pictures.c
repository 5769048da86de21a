/* SPDX-License-Identifier: MIT */
/* data_pictures.c - samples that are PNG or JPEG files: in a folder, in a tar or zip, or one alone.
 * The names are listed once and sorted by bytes, so that sample numbers do not depend on the order
 * in an archive or file system; a picture is read and decoded when it is requested. Folders that
 * hold pictures are the classes, when there are at least two: by the names that the model stores,
 * else by numbers that they are called, else in alphabetical order. */
#define _XOPEN_SOURCE 700
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#include "data_source.h"

enum { FOLDER_MAX_DEPTH = 16, FOLDER_MAX_FILES = 1 << 24 };
#define PICTURE_MAX_BYTES (256u << 20) /* one packed picture */

static bool has_ending(const char *name, const char *const *endings)
{
    size_t n = strlen(name);
    for (; *endings; endings++) {
        size_t k = strlen(*endings);
        if (n > k && strcasecmp(name + n - k, *endings) == 0)
            return true;
    }
    return false;
}

bool pith_is_picture_name(const char *name)
{
    static const char *const endings[] = {".png", ".jpg", ".jpeg", NULL};
    return has_ending(name, endings);
}

/* Not read: they are reported, for else the user would miss them. */
static bool is_foreign_picture_name(const char *name)
{
    static const char *const endings[] = {".bmp",  ".gif",  ".tif", ".tiff", ".webp",
                                          ".avif", ".heic", ".jp2", NULL};
    return has_ending(name, endings);
}

struct foreign_pictures {
    uint64_t n;
    char first[200];
};

static void count_foreign(struct foreign_pictures *f, const char *name)
{
    if (is_foreign_picture_name(name) && f->n++ == 0)
        snprintf(f->first, sizeof f->first, "%s", name);
}

static void warn_of_foreign(const struct data_source *s, const struct foreign_pictures *f)
{
    char count[32];
    if (f->n > 0)
        pith_source_warn(s, "%.120s: %s picture%s left out (%s); pith reads PNG and JPEG",
                         s->file.name, pith_count_text(f->n, count), f->n == 1 ? "" : "s",
                         f->first);
}

static enum pith_status no_pictures(const char *name, const struct foreign_pictures *f,
                                    struct pith_error *err)
{
    return pith_error_fill(err, f->n ? PITH_ERR_UNSUPPORTED : PITH_ERR_CORRUPT,
                           f->n ? "%s: no .png or .jpg in it, but %s: convert the pictures first"
                                : "%s: no .png or .jpg in it",
                           name, f->first);
}

/* ---- reading one ----------------------------------------------------------------------------- */

static enum pith_status make_room(struct data_source *s, uint64_t bytes, const char *name,
                                  struct pith_error *err)
{
    if (bytes > PICTURE_MAX_BYTES)
        return pith_error_fill(err, PITH_ERR_LIMIT, "%s: picture file of %llu bytes", name,
                               (unsigned long long)bytes);
    if (bytes <= s->packed_room && s->packed)
        return PITH_OK;
    uint8_t *packed = realloc(s->packed, (size_t)bytes + 1);
    if (!packed)
        return pith_error_no_memory(err);
    s->packed = packed;
    s->packed_room = (size_t)bytes;
    return PITH_OK;
}

static enum pith_status archived_picture(struct data_source *s, uint64_t i,
                                         struct pith_image *image, struct pith_error *err)
{
    const struct listed_file *e = &s->list.entry[i];
    char name[512];
    bool alone = strcmp(e->name, s->file.name) == 0;
    snprintf(name, sizeof name, "%.250s%s%.250s", s->file.name, alone ? "" : ": ",
             alone ? "" : e->name);
    enum pith_status st = make_room(s, e->bytes, name, err);
    if (st == PITH_OK)
        st = pith_source_at(&s->file, e->offset, s->packed, (size_t)e->bytes, err);
    if (st == PITH_OK)
        st = pith_picture_decode(s, s->packed, (size_t)e->bytes, name, image, err);
    return st;
}

static char *join_path(const char *folder, const char *name)
{
    size_t k = strlen(folder), n = k + strlen(name) + 2;
    bool slash = k > 0 && folder[k - 1] == '/';
    char *path = malloc(n);
    if (path)
        snprintf(path, n, "%s%s%s", folder, slash ? "" : "/", name);
    return path;
}

static enum pith_status folder_picture(struct data_source *s, uint64_t i, struct pith_image *image,
                                       struct pith_error *err)
{
    char *path = join_path(s->folder, s->list.entry[i].name);
    if (!path)
        return pith_error_no_memory(err);
    struct pith_buffer file;
    enum pith_status st = pith_file_read(path, PICTURE_MAX_BYTES, &file, err);
    if (st == PITH_OK) {
        st = pith_picture_decode(s, file.data, file.bytes, path, image, err);
        free(file.data);
    }
    free(path);
    return st;
}

/* ---- classes --------------------------------------------------------------------------------- */

/* Bytes of the folder part of a name; 0: none. */
static size_t folder_bytes(const char *name)
{
    const char *slash = strrchr(name, '/');
    return slash ? (size_t)(slash - name) : 0;
}

static bool same_folder(const char *a, const char *b)
{
    size_t n = folder_bytes(a);
    return n == folder_bytes(b) && memcmp(a, b, n) == 0;
}

static int compare_folders(const void *a, const void *b)
{
    const char *x = *(const char *const *)a, *y = *(const char *const *)b;
    size_t n = folder_bytes(x), k = folder_bytes(y);
    int order = memcmp(x, y, n < k ? n : k);
    return order ? order : n < k ? -1 : n > k;
}

/* The names of files that stand for their folders, one for each, in folder order. */
static const char **distinct_folders(const struct file_list *list, size_t *n)
{
    const char **names = malloc((list->n + 1) * sizeof *names);
    if (!names)
        return NULL;
    for (size_t i = 0; i < list->n; i++)
        names[i] = list->entry[i].name;
    qsort(names, list->n, sizeof *names, compare_folders);
    *n = 0;
    for (size_t i = 0; i < list->n; i++) {
        if (*n == 0 || !same_folder(names[*n - 1], names[i]))
            names[(*n)++] = names[i];
    }
    return names;
}

/* The class that a folder's name gives; the last of its parts that is the name of one class counts
 * (n01440764/images). */
static bool class_of_folder(const struct data_source *s, const char *file, int64_t *label)
{
    size_t end = folder_bytes(file);
    while (end > 0) {
        size_t from = end;
        while (from > 0 && file[from - 1] != '/')
            from--;
        if (pith_class_find(s->options.class_names, file + from, end - from, label) == 1)
            return true;
        end = from ? from - 1 : 0;
    }
    return false;
}

static bool number_of_folder(const char *file, int64_t *label)
{
    size_t end = folder_bytes(file), from = end;
    while (from > 0 && file[from - 1] != '/')
        from--;
    return pith_class_number(file + from, end - from, label);
}

static void warn_of_order(const struct data_source *s, const char **folders, size_t n)
{
    char why[96] = "the model stores no class names", count[32];
    if (s->options.class_names)
        snprintf(why, sizeof why, "none is one of the %s class names that the model stores",
                 pith_count_text(pith_class_count(s->options.class_names), count));
    pith_source_warn(s,
                     "%.120s: folders are numbered in alphabetical order, '%.*s' is class 0, "
                     "'%.*s' class %zu: %s",
                     s->file.name, (int)folder_bytes(folders[0]), folders[0],
                     (int)folder_bytes(folders[n - 1]), folders[n - 1], n - 1, why);
}

/* number: [n], the class of each folder. false: they give no labels. */
static bool number_folders(struct data_source *s, const char **folders, size_t n, int64_t *number)
{
    size_t n_named = 0, n_numbers = 0, unknown = 0;
    for (size_t i = 0; i < n; i++)
        if (class_of_folder(s, folders[i], &number[i]))
            n_named++;
        else
            unknown = i;
    if (n_named == n)
        return true;
    if (n_named > 0) {
        snprintf(s->unlabelled, sizeof s->unlabelled,
                 "folder '%.*s' is none of the class names that the model stores, as %zu other%s",
                 (int)folder_bytes(folders[unknown]), folders[unknown], n_named,
                 n_named == 1 ? " is" : "s are");
        pith_source_warn(s, "%.120s: %s: its folders give no labels", s->file.name, s->unlabelled);
        return false;
    }
    while (n_numbers < n && number_of_folder(folders[n_numbers], &number[n_numbers]))
        n_numbers++;
    for (size_t i = 0; i < n && n_numbers < n; i++)
        number[i] = (int64_t)i;
    if (n_numbers < n)
        warn_of_order(s, folders, n);
    return true;
}

static bool label_by_folder(struct data_source *s, const char **folders, size_t n)
{
    int64_t *number = malloc(n * sizeof *number), *labels = malloc(s->list.n * sizeof *labels);
    bool ok = number && labels;
    if (ok && number_folders(s, folders, n, number)) {
        for (size_t i = 0; i < s->list.n; i++) {
            const char *name = s->list.entry[i].name;
            const char **at = bsearch(&name, folders, n, sizeof *folders, compare_folders);
            labels[i] = number[at - folders];
        }
        s->labels = labels;
        labels = NULL;
    }
    free(number);
    free(labels);
    return ok;
}

/* Two folders or more, and no picture outside them: they are classes. */
static enum pith_status find_classes(struct data_source *s, struct pith_error *err)
{
    size_t n;
    const char **folders = distinct_folders(&s->list, &n);
    if (!folders)
        return pith_error_no_memory(err);
    bool ok = true;
    if (n >= 2 && folder_bytes(folders[0]) > 0)
        ok = label_by_folder(s, folders, n);
    free(folders);
    return ok ? PITH_OK : pith_error_no_memory(err);
}

/* ---- tar and zip ----------------------------------------------------------------------------- */

static enum pith_status begin_pictures(struct data_source *s,
                                       const struct foreign_pictures *foreign,
                                       struct pith_error *err)
{
    if (s->list.n == 0)
        return no_pictures(s->file.name, foreign, err);
    warn_of_foreign(s, foreign);
    pith_list_sort(&s->list);
    s->n_samples = s->list.n;
    s->pictures = true;
    return find_classes(s, err);
}

/* Takes the pictures that are not hidden out of all files; *labels: the entry labels.csv, freed by
 * the caller. */
static void keep_pictures(struct file_list *list, struct listed_file *labels,
                          struct foreign_pictures *foreign)
{
    size_t n = 0;
    for (size_t i = 0; i < list->n; i++) {
        struct listed_file *e = &list->entry[i];
        const char *slash = strrchr(e->name, '/'), *base = slash ? slash + 1 : e->name;
        if (pith_is_picture_name(base) && base[0] != '.') {
            list->entry[n++] = *e;
        } else if (strcmp(base, "labels.csv") == 0 && !labels->name) {
            *labels = *e;
        } else {
            if (base[0] != '.')
                count_foreign(foreign, e->name);
            free(e->name);
        }
    }
    list->n = n;
}

static enum pith_status read_in_place(const struct data_source *s, const struct listed_file *e,
                                      struct pith_buffer *b, struct pith_error *err)
{
    enum pith_status st = pith_within_bound(e->bytes, s->max_bytes, e->bytes, e->name, err);
    if (st != PITH_OK)
        return st;
    *b = (struct pith_buffer){malloc((size_t)e->bytes + 1), (size_t)e->bytes};
    return b->data ? pith_source_at(&s->file, e->offset, b->data, b->bytes, err)
                   : pith_error_no_memory(err);
}

/* Of a zip the pictures come into memory as they are, compressed. */
static enum pith_status open_archive(struct data_source *s, bool zip, struct pith_error *err)
{
    struct listed_file labels = {0};
    struct foreign_pictures foreign = {0};
    struct pith_buffer table = {0}, pictures = {0};
    enum pith_status st = PITH_OK;
    keep_pictures(&s->list, &labels, &foreign);
    if (labels.name)
        st = zip ? pith_zip_decode(&s->file, &labels, 1, s->max_bytes, &table, err)
                 : read_in_place(s, &labels, &table, err);
    if (st == PITH_OK && zip) {
        st = pith_zip_decode(&s->file, s->list.entry, s->list.n, s->max_bytes, &pictures, err);
        if (st == PITH_OK)
            pith_source_replace(&s->file, &pictures);
    }
    s->picture = archived_picture;
    if (st == PITH_OK)
        st = begin_pictures(s, &foreign, err);
    if (st == PITH_OK && labels.name && !s->labels)
        st = pith_labels_parse(s, table.data, table.bytes, labels.name, err);
    free(labels.name);
    free(table.data);
    return st;
}

enum pith_status pith_tar_open(struct data_source *s, struct pith_error *err)
{
    enum pith_status st = pith_archive_list(&s->file, &s->list, err);
    return st == PITH_OK ? open_archive(s, false, err) : st;
}

enum pith_status pith_zip_pictures_open(struct data_source *s, struct pith_error *err)
{
    return open_archive(s, true, err);
}

enum pith_status pith_one_picture_open(struct data_source *s, struct pith_error *err)
{
    const char *name = s->file.name;
    if (!pith_list_add(&s->list, name, 0, s->file.bytes))
        return pith_error_no_memory(err);
    s->picture = archived_picture;
    s->n_samples = 1;
    s->pictures = true;
    return PITH_OK;
}

/* ---- folder ---------------------------------------------------------------------------------- */

struct folder_walk {
    const char *root;
    struct file_list *files;
    struct file_list folders; /* still to be read; offset: depth */
    struct foreign_pictures foreign;
    struct pith_error *err;
};

static enum pith_status walk_error(const struct folder_walk *w, const char *path)
{
    return pith_error_fill(w->err, PITH_ERR_IO, "%s: %s", path, strerror(errno));
}

/* name: below root. */
static enum pith_status visit(struct folder_walk *w, const char *path, const char *name,
                              uint64_t depth)
{
    struct stat info, itself;
    if (lstat(path, &itself) != 0 || stat(path, &info) != 0)
        return walk_error(w, path);
    bool ok = true;
    if (S_ISDIR(info.st_mode)) {
        if (S_ISLNK(itself.st_mode)) /* could lead back up */
            return PITH_OK;
        if (depth >= FOLDER_MAX_DEPTH)
            return pith_error_fill(w->err, PITH_ERR_LIMIT, "%s: folders more than %d deep", path,
                                   FOLDER_MAX_DEPTH);
        ok = pith_list_add(&w->folders, name, depth + 1, 0);
    } else if (S_ISREG(info.st_mode) && pith_is_picture_name(name)) {
        if (w->files->n >= FOLDER_MAX_FILES)
            return pith_error_fill(w->err, PITH_ERR_LIMIT, "%s: more than 16,777,216 pictures",
                                   w->root);
        ok = pith_list_add(w->files, name, 0, (uint64_t)info.st_size);
    } else {
        count_foreign(&w->foreign, name);
    }
    return ok ? PITH_OK : pith_error_no_memory(w->err);
}

static enum pith_status visit_entry(struct folder_walk *w, const char *folder, const char *entry,
                                    uint64_t depth)
{
    if (entry[0] == '.') /* itself, its parent, hidden files */
        return PITH_OK;
    char *name = folder[0] ? join_path(folder, entry) : strdup(entry);
    char *path = name ? join_path(w->root, name) : NULL;
    enum pith_status st = path ? visit(w, path, name, depth) : pith_error_no_memory(w->err);
    free(path);
    free(name);
    return st;
}

static enum pith_status walk_folder(struct folder_walk *w, const char *folder, uint64_t depth)
{
    char *path = join_path(w->root, folder);
    if (!path)
        return pith_error_no_memory(w->err);
    DIR *dir = opendir(path);
    enum pith_status st = dir ? PITH_OK : walk_error(w, path);
    while (st == PITH_OK) {
        const struct dirent *entry = readdir(dir);
        if (!entry)
            break;
        st = visit_entry(w, folder, entry->d_name, depth);
    }
    if (dir)
        closedir(dir);
    free(path);
    return st;
}

static enum pith_status walk_all(struct folder_walk *w)
{
    enum pith_status st = walk_folder(w, "", 0);
    while (st == PITH_OK && w->folders.n > 0) {
        struct listed_file next = w->folders.entry[--w->folders.n];
        st = walk_folder(w, next.name, next.offset);
        free(next.name);
    }
    pith_list_free(&w->folders);
    return st;
}

static enum pith_status folder_labels(struct data_source *s, struct pith_error *err)
{
    char *path = join_path(s->folder, "labels.csv");
    if (!path)
        return pith_error_no_memory(err);
    struct stat info;
    enum pith_status st = PITH_OK;
    if (stat(path, &info) == 0)
        st = pith_labels_read(s, path, err);
    free(path);
    return st;
}

enum pith_status pith_folder_open(struct data_source *s, const char *path, struct pith_error *err)
{
    s->file = (struct file_source){.fd = -1, .name = strdup(path)};
    s->folder = strdup(path);
    if (!s->file.name || !s->folder)
        return pith_error_no_memory(err);
    struct folder_walk w = {.root = path, .files = &s->list, .err = err};
    enum pith_status st = walk_all(&w);
    s->picture = folder_picture;
    if (st == PITH_OK)
        st = begin_pictures(s, &w.foreign, err);
    if (st == PITH_OK && !s->labels)
        st = folder_labels(s, err);
    return st;
}

/* ---- files named one by one ------------------------------------------------------------------ */

static enum pith_status named_picture(struct data_source *s, uint64_t i, struct pith_image *image,
                                      struct pith_error *err)
{
    const char *path = s->list.entry[i].name;
    struct pith_buffer file;
    enum pith_status st = pith_file_read(path, PICTURE_MAX_BYTES, &file, err);
    if (st != PITH_OK)
        return st;
    st = pith_picture_decode(s, file.data, file.bytes, path, image, err);
    free(file.data);
    return st;
}

/* The pictures of a folder, sorted among themselves, with its path in front of their names. */
static enum pith_status add_folder(struct data_source *s, const char *folder,
                                   struct pith_error *err)
{
    struct file_list files = {0};
    struct folder_walk w = {.root = folder, .files = &files, .err = err};
    enum pith_status st = walk_all(&w);
    if (st == PITH_OK && files.n == 0)
        st = no_pictures(folder, &w.foreign, err);
    if (st == PITH_OK)
        warn_of_foreign(s, &w.foreign);
    pith_list_sort(&files);
    for (size_t i = 0; i < files.n && st == PITH_OK; i++) {
        char *path = join_path(folder, files.entry[i].name);
        if (!path || !pith_list_add(&s->list, path, 0, files.entry[i].bytes))
            st = pith_error_no_memory(err);
        free(path);
    }
    pith_list_free(&files);
    return st;
}

static enum pith_status add_path(struct data_source *s, const char *path, struct pith_error *err)
{
    struct stat info;
    if (stat(path, &info) != 0)
        return pith_error_fill(err, PITH_ERR_IO, "%s: %s", path, strerror(errno));
    if (S_ISDIR(info.st_mode))
        return add_folder(s, path, err);
    return pith_list_add(&s->list, path, 0, (uint64_t)info.st_size) ? PITH_OK
                                                                    : pith_error_no_memory(err);
}

enum pith_status pith_files_open(struct data_source *s, const char *name, const char *const *path,
                                 size_t n, struct pith_error *err)
{
    enum pith_status st =
        n ? PITH_OK : pith_error_fill(err, PITH_ERR_ARGUMENT, "no pictures named");
    s->file = (struct file_source){.fd = -1, .name = strdup(name)};
    if (!s->file.name)
        return pith_error_no_memory(err);
    for (size_t i = 0; i < n && st == PITH_OK; i++)
        st = add_path(s, path[i], err);
    s->picture = named_picture;
    s->n_samples = s->list.n;
    s->pictures = true;
    return st;
}
