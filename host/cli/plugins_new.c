/* plugins_new.c - tutti plugins new: a template of the SDK under another name. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "base/json.h"
#include "base/text.h"
#include "cli/cli.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MOST_NAME = 48, MOST_FILE = 1 << 20 };

/* A word of the template and what stands in its place. */
typedef struct renaming {
    const char *from, *to;
} renaming;

/* [a-z][a-z0-9_]*, as objects are called. */
static bool is_name(const char *name)
{
    const size_t n = strlen(name);
    return n && n <= MOST_NAME && islower((unsigned char)*name) &&
           strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789_") == n;
}

static int by_name(const struct dirent **a, const struct dirent **b)
{
    return strcmp((*a)->d_name, (*b)->d_name);
}

static int is_visible(const struct dirent *entry)
{
    return entry->d_name[0] != '.' && strcmp(entry->d_name, "common") != 0;
}

/* " algorithm metric", the folders of `path`. */
static void list_folders(const char *path, text_buffer *b)
{
    struct dirent **entries = NULL;
    const int n = scandir(path, &entries, is_visible, by_name);
    for (int k = 0; k < n; k++) {
        text_add(b, " %s", entries[k]->d_name);
        free(entries[k]);
    }
    free(entries);
}

static void say_what_there_is(const char *templates, const char *kind, const char *lang)
{
    static const char *const langs[] = {"c", "cpp", "rust", "cuda"};
    text_buffer b = {0};
    for (size_t k = 0; k < sizeof langs / sizeof *langs; k++) {
        char path[PATH_MAX];
        text_add(&b, "\n  --lang %s --kind", langs[k]);
        if (snprintf(path, sizeof path, "%s/%s", templates, langs[k]) < (int)sizeof path)
            list_folders(path, &b);
    }
    (void)fprintf(stderr, "tutti: there is no template of kind %s in %s; there are%s\n", kind,
                  lang, b.data ? b.data : "");
    free(b.data);
}

/* The name that the template goes by. */
static bool read_word(const char *folder, char *ret_word, size_t size)
{
    char path[PATH_MAX + 16];
    tutti_error e = TUTTI_ERROR_INIT;
    json_doc *doc = NULL;
    (void)snprintf(path, sizeof path, "%s/plugin.json", folder);
    if (json_read(path, MOST_FILE, &doc, &e)) {
        (void)fprintf(stderr, "tutti: %s\n", e.text);
        return false;
    }
    const char *name =
        json_string(json_get(json_at(json_get(json_root(doc), "objects"), 0), "name"));
    (void)snprintf(ret_word, size, "%s", name ? name : "");
    json_free(doc);
    return *ret_word != '\0';
}

/* `text` with the words replaced where no letter stands around them. */
static void rename_in(const char *text, const renaming *words, text_buffer *b)
{
    for (const char *at = text; *at;) {
        const renaming *r = words;
        const bool inside = at > text && isalpha((unsigned char)at[-1]);
        while (r->from && (inside || strncmp(at, r->from, strlen(r->from)) != 0 ||
                           isalpha((unsigned char)at[strlen(r->from)])))
            r++;
        if (r->from) {
            text_add(b, "%s", r->to);
            at += strlen(r->from);
        } else
            text_add_bytes(b, at++, 1);
    }
}

static char *read_file(const char *path)
{
    FILE *file = fopen(path, "re");
    char *text = file ? calloc(1, MOST_FILE) : NULL;
    if (text)
        (void)!fread(text, 1, MOST_FILE - 1, file);
    if (file)
        (void)fclose(file);
    return text;
}

static bool write_file(const char *path, const text_buffer *b)
{
    FILE *file = fopen(path, "wex");
    bool good = file && fwrite(b->data ? b->data : "", 1, b->size, file) == b->size;
    if (file && fclose(file) != 0)
        good = false;
    if (!good)
        (void)fprintf(stderr, "tutti: %s: %s\n", path, strerror(errno));
    return good;
}

static bool copy_file(const char *from, const char *folder, const char *name,
                      const renaming *words)
{
    char path[PATH_MAX];
    text_buffer renamed = {0}, text = {0};
    char *old = read_file(from);
    rename_in(name, words, &renamed);
    rename_in(old ? old : "", words, &text);
    const bool good =
        old && !renamed.failed && !text.failed &&
        snprintf(path, sizeof path, "%s/%s", folder, renamed.data) < (int)sizeof path &&
        write_file(path, &text);
    free(old);
    free(renamed.data);
    free(text.data);
    return good;
}

/* The files of one folder, and of those below it. */
static bool copy_folder(const char *from, const char *to, const renaming *words)
{
    struct dirent **entries = NULL;
    const int n = scandir(from, &entries, is_visible, by_name);
    bool good = n >= 0;
    for (int k = 0; k < n; k++) {
        char one[PATH_MAX], below[PATH_MAX];
        struct stat s;
        if (good &&
            snprintf(one, sizeof one, "%s/%s", from, entries[k]->d_name) < (int)sizeof one &&
            stat(one, &s) == 0) {
            if (S_ISDIR(s.st_mode))
                good = snprintf(below, sizeof below, "%s/%s", to, entries[k]->d_name) <
                           (int)sizeof below &&
                       mkdir(below, 0755) == 0 && copy_folder(one, below, words);
            else
                good = copy_file(one, to, entries[k]->d_name, words);
        }
        free(entries[k]);
    }
    free(entries);
    return good;
}

static int make(const char *name, const char *kind, const char *lang, const char *folder,
                const char *common)
{
    char word[MOST_NAME + 32];
    if (!read_word(folder, word, sizeof word))
        return CLI_FAILED;
    if (mkdir(name, 0755) != 0) {
        (void)fprintf(stderr, "tutti: %s: %s\n", name, strerror(errno));
        return CLI_USAGE;
    }
    const renaming words[] = {
        {word, name}, {"plugin_name", name}, {"plugin_kind", kind}, {NULL, NULL}};
    if (!copy_folder(folder, name, words) || !copy_folder(common, name, words))
        return CLI_FAILED;
    (void)printf("%s/ has a plugin of kind %s in %s; %s/README.md says how it is built\n", name,
                 kind, lang, name);
    return CLI_OK;
}

int plugins_new(const cli_options *o, const tutti_op *const *ops)
{
    const char *name = o->words[1],
               *kind = o->making.kind ? o->making.kind : TUTTI_KIND_ALGORITHM;
    const char *lang = o->making.lang ? o->making.lang : "c";
    char templates[PATH_MAX], folder[PATH_MAX], common[PATH_MAX];
    if (!is_name(name)) {
        (void)fprintf(stderr,
                      "tutti: %s is no name for a plugin; want small letters, digits and _, "
                      "a letter first, at most %d\n",
                      name, MOST_NAME);
        return CLI_USAGE;
    }
    if (!cli_share("templates", templates, sizeof templates)) {
        (void)fprintf(stderr,
                      "tutti: the SDK's templates are not there (%s); install the "
                      "component sdk, Debian's package tutti-sdk\n",
                      templates);
        return CLI_USAGE;
    }
    if (snprintf(folder, sizeof folder, "%s/%s/%s", templates, lang, kind) >=
            (int)sizeof folder ||
        snprintf(common, sizeof common, "%s/%s/common", templates, lang) >=
            (int)sizeof common ||
        !is_name(lang) || !is_name(kind) || access(folder, R_OK | X_OK) != 0) {
        say_what_there_is(templates, kind, lang);
        return CLI_USAGE;
    }
    return make(name, kind, lang, folder, common);
}
