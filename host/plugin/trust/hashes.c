/* hashes.c - reading the lines of sha256sum. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "plugin/trust/hashes.h"

#include <stdlib.h>
#include <string.h>

enum { DIGITS = 64, PATH_AT = 66 };

typedef struct row {
    const char *hex;
    const char *path;
} row;

struct hashes {
    char *name;
    bytes text;
    row *rows;
    size_t count;
};

void hashes_free(hashes *h)
{
    if (!h)
        return;
    bytes_free(&h->text);
    free(h->rows);
    free(h->name);
    free(h);
}

/* Plain names with slashes between them. */
static bool is_below(const char *path)
{
    while (*path) {
        const size_t n = strcspn(path, "/");
        if (!n || (n == 1 && path[0] == '.') || (n == 2 && strncmp(path, "..", 2) == 0))
            return false;
        path += n;
        if (*path && !*++path)
            return false;
    }
    return true;
}

static tutti_status read_line(hashes *h, char *line, size_t number, bool absolute,
                              tutti_error *err)
{
    if (!*line)
        return TUTTI_OK;
    const bool good = strspn(line, "0123456789abcdef") == DIGITS &&
                      strncmp(line + DIGITS, "  ", 2) == 0 && line[PATH_AT] &&
                      (absolute ? line[PATH_AT] == '/' : is_below(line + PATH_AT));
    if (!good)
        return tutti_fail(err, TUTTI_E_FORMAT,
                          "%s:%zu: want 64 hexadecimal digits, two spaces and %s", h->name,
                          number, absolute ? "an absolute path" : "a path below the folder");
    line[DIGITS] = '\0';
    h->rows[h->count++] = (row){line, line + PATH_AT};
    return TUTTI_OK;
}

static tutti_status read_lines(hashes *h, bool absolute, tutti_error *err)
{
    size_t lines = 1, number = 0;
    tutti_status status = TUTTI_OK;
    for (size_t k = 0; k < h->text.size; k++)
        lines += h->text.data[k] == '\n';
    h->rows = calloc(lines, sizeof *h->rows);
    if (!h->rows)
        return tutti_fail(err, TUTTI_E_NOMEM, "%s: no memory to read it", h->name);
    for (char *line = (char *)h->text.data, *end; line && !status; line = end) {
        end = strchr(line, '\n');
        if (end)
            *end++ = '\0';
        status = read_line(h, line, ++number, absolute, err);
    }
    return status;
}

tutti_status hashes_read(const char *name, bytes *text, bool absolute, hashes **ret,
                         tutti_error *err)
{
    hashes *h = calloc(1, sizeof *h);
    if (h)
        h->name = strdup(name);
    if (!h || !h->name) {
        free(h);
        bytes_free(text);
        return tutti_fail(err, TUTTI_E_NOMEM, "%s: no memory to read it", name);
    }
    h->text = *text;
    *text = (bytes){NULL, 0, -1};
    const tutti_status status = read_lines(h, absolute, err);
    if (status)
        hashes_free(h);
    else
        *ret = h;
    return status;
}

const char *hashes_name(const hashes *h)
{
    return h->name;
}

const char *hashes_find(const hashes *h, const char *path)
{
    for (size_t k = 0; k < h->count; k++)
        if (strcmp(h->rows[k].path, path) == 0)
            return h->rows[k].hex;
    return NULL;
}

const char *hashes_path(const hashes *h, size_t k)
{
    return k < h->count ? h->rows[k].path : NULL;
}
