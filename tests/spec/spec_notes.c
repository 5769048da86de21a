/* SPDX-License-Identifier: MIT */
/* spec_notes.c - names, meta and history (F7, F8, F9). */
#include "spec_notes.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void print_bytes(const uint8_t *text, uint64_t n)
{
    putchar('"');
    for (uint64_t i = 0; i < n; i++) {
        uint8_t b = text[i];
        if (b < 0x20 || b == 0x7F || b == '"' || b == '\\') {
            printf("\\x%02x", b);
        } else {
            putchar(b);
        }
    }
    putchar('"');
}

static void print_text(struct span s)
{
    print_bytes(file + s.at, left(&s));
}

static int compare_spans(const void *a, const void *b)
{
    return compare_bytes(*(const struct span *)a, *(const struct span *)b);
}

void read_names(struct span s, uint64_t n_values, uint64_t n_nodes)
{
    uint64_t at = s.at, some = 0;
    struct span *name = zeroed(n_values, sizeof *name);
    for (uint64_t i = 0; i < n_values + n_nodes; i++) {
        bool value = i < n_values;
        struct span t = text(&s, 0, MAX_SHORT);
        if (left(&t) > 0) {
            printf("name %s %" PRIu64 " ", value ? "value" : "node", value ? i : i - n_values);
            print_text(t);
            printf("\n");
            some++;
        }
        if (value) {
            name[i] = t;
        }
    }
    must(left(&s) == 0, s.at, "nothing behind the names");
    must(some > 0, at, "at least one name is not empty");
    qsort(name, n_values, sizeof *name, compare_spans);
    for (uint64_t i = 1; i < n_values; i++) {
        must(left(&name[i]) == 0 || compare_bytes(name[i - 1], name[i]) != 0, name[i].at,
             "names of values are unique");
    }
    free(name);
}

static const char *const numbered_key[] = {NULL, "preprocess", "labels", "recipe"};

/* The key as a string: at most 255 bytes and NUL. */
static void read_key(struct span *s, char *key)
{
    uint64_t at = s->at, v = varint(s);
    must((v >= 1 && v <= 3) || (v >= 16 && v <= 15 + MAX_SHORT), at, "a key's number");
    if (v <= 3) {
        strcpy(key, numbered_key[v]);
        return;
    }
    struct span t = cut(s, v - 15);
    check_utf8(t);
    memcpy(key, file + t.at, left(&t));
    key[left(&t)] = 0;
    for (int i = 1; i <= 3; i++) {
        must(strcmp(key, numbered_key[i]) != 0, at, "a key with a number must not be spelled");
    }
}

void read_meta(struct span s)
{
    char key[256], before[256] = "";
    for (uint64_t n = 0; left(&s) > 0; n++) {
        uint64_t at = s.at;
        must(n < 1024, at, "at most 1,024 entries of meta");
        read_key(&s, key);
        must(strcmp(before, key) < 0, at, "keys must ascend");
        strcpy(before, key);
        struct span t = text(&s, 0, MAX_TEXT);
        printf("meta ");
        print_bytes((const uint8_t *)key, strlen(key));
        printf(" ");
        print_text(t);
        printf("\n");
    }
}

void read_history(struct span s)
{
    for (uint64_t n = 0; left(&s) > 0; n++) {
        must(n < MAX_EACH, s.at, "at most 65,536 entries of history");
        struct span verb = text(&s, 1, MAX_SHORT), json = text(&s, 0, MAX_TEXT);
        printf("history ");
        print_text(verb);
        printf(" ");
        print_text(json);
        printf("\n");
    }
}
