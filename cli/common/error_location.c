/* SPDX-License-Identifier: MIT */
/* error_location.c - messages of all modules say first, or in quotes, what they are about; so the
 * file and the layer are read from the text, where a field of their own in every error would be
 * filled in hundreds of places. */
#include "error_location.h"
#include <stdio.h>
#include <string.h>

#define PLAIN /* what a shell takes as it is */                                                    \
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789%+,-./:=@_"

static const char **words;
static int n_words;

void cli_set_words(const char **all, int n)
{
    words = all;
    n_words = n;
}

/* Appends a word as a shell reads it. */
static void add_word(char *text, size_t room, const char *word)
{
    size_t n = strlen(text);
    const bool plain = *word && strspn(word, PLAIN) == strlen(word);
    n += (size_t)snprintf(text + n, room - n, plain ? " " : " '");
    for (; *word && n + 8 < room; word++)
        n += (size_t)snprintf(text + n, room - n, *word == '\'' ? "'\\''" : "%c", *word);
    if (!plain && n + 1 < room)
        snprintf(text + n, room - n, "'");
}

void cli_command_again(const char *verb, const char *more, char *text, size_t room)
{
    bool there = false;
    snprintf(text, room, "pith %s", verb);
    for (int i = 0; i < n_words; i++) {
        there = there || strcmp(words[i], more) == 0;
        add_word(text, room, words[i]);
    }
    if (!there)
        add_word(text, room, more);
}

/* "cannot open 'WORD'" and the like. */
static const char *find_quoted(const char *text, const char *word, size_t n)
{
    static const char *const verbs[] = {"open '", "read '", "write '", "append to '"};
    for (size_t i = 0; i < sizeof verbs / sizeof *verbs; i++) {
        const char *at = strstr(text, verbs[i]);
        at = at ? at + strlen(verbs[i]) : NULL;
        if (at && strncmp(at, word, n) == 0 && at[n] == '\'')
            return at;
    }
    return NULL;
}

/* "WORD: ...", "WORD/below: ...", "WORD exists", "WORD is", or quoted; the bytes of the file's name
 * from *at on, 0: not so. */
static size_t names_word(const char *text, const char *word, const char **at)
{
    size_t n = strlen(word);
    *at = text;
    if (n == 0)
        return 0;
    if (strncmp(text, word, n) != 0)
        return (*at = find_quoted(text, word, n)) ? n : 0;
    const char *end = strstr(text + n, ": ");
    if (end && (text[n] == '/' || word[n - 1] == '/'))
        return (size_t)(end - text);
    bool ends =
        text[n] == ':' || strncmp(text + n, " exists", 7) == 0 || strncmp(text + n, " is ", 4) == 0;
    return ends ? n : 0;
}

/* Of an option and its value what is behind the '='; of raw:TYPE:N:FILE what is behind the last
 * ':'. */
bool cli_error_file(const char *text, const char **at, size_t *n)
{
    *n = 0;
    for (int i = 0; i < n_words; i++) {
        const char *eq = strchr(words[i], '='), *colon = strrchr(words[i], ':');
        const char *forms[] = {words[i], eq ? eq + 1 : "", colon ? colon + 1 : ""};
        for (int k = 0; k < 3; k++) {
            const char *here;
            size_t bytes = forms[k][0] == '-' ? 0 : names_word(text, forms[k], &here);
            if (bytes > *n) {
                *at = here;
                *n = bytes;
            }
        }
    }
    return *n > 0;
}

bool cli_error_layer(const char *text, const char **at, size_t *n)
{
    static const char *const before[] = {"layer '", "node '"};
    for (int i = 0; i < 2; i++) {
        const char *found = strstr(text, before[i]);
        const char *name = found ? found + strlen(before[i]) : NULL;
        const char *end = name ? strchr(name, '\'') : NULL;
        if (end && end > name && (found == text || found[-1] == ' ')) {
            *at = name;
            *n = (size_t)(end - name);
            return true;
        }
    }
    return false;
}
