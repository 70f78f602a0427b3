/* pins.c - reading the lock file, and looking a file up in it. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "plugin/pins.h"
#include "plugin/bytes.h"

#include <stdlib.h>
#include <string.h>

enum { DIGITS = 64, PATH_AT = 66, MOST_BYTES = 1 << 24 };

typedef struct pin {
    const char *hex;
    const char *path;
} pin;

struct pins {
    char *name; /* as the operator wrote it */
    bytes text;
    pin *items;
    size_t count;
};

void pins_free(pins *p)
{
    if (!p)
        return;
    bytes_free(&p->text);
    free(p->items);
    free(p->name);
    free(p);
}

static tutti_status read_line(pins *p, char *line, size_t number, tutti_error *err)
{
    if (!*line)
        return TUTTI_OK;
    if (strspn(line, "0123456789abcdef") != DIGITS || strncmp(line + DIGITS, "  /", 3) != 0)
        return tutti_fail(err, TUTTI_E_FORMAT,
                          "%s:%zu: want 64 hexadecimal digits, two spaces and an absolute path",
                          p->name, number);
    line[DIGITS] = '\0';
    p->items[p->count++] = (pin){line, line + PATH_AT};
    return TUTTI_OK;
}

static tutti_status read_lines(pins *p, tutti_error *err)
{
    size_t lines = 1, number = 0;
    tutti_status status = TUTTI_OK;
    for (size_t k = 0; k < p->text.size; k++)
        lines += p->text.data[k] == '\n';
    p->items = calloc(lines, sizeof *p->items);
    if (!p->items)
        return tutti_fail(err, TUTTI_E_NOMEM, "%s: no memory to read it", p->name);
    for (char *line = (char *)p->text.data, *end; line && !status; line = end) {
        end = strchr(line, '\n');
        if (end)
            *end++ = '\0';
        status = read_line(p, line, ++number, err);
    }
    return status;
}

tutti_status pins_read(const char *path, pins **ret, tutti_error *err)
{
    tutti_error cause = TUTTI_ERROR_INIT;
    held file = {0};
    pins *p = calloc(1, sizeof *p);
    if (p)
        p->name = strdup(path);
    if (!p || !p->name) {
        free(p);
        return tutti_fail(err, TUTTI_E_NOMEM, "%s: no memory to read it", path);
    }
    tutti_status status = trust_path(path, (trust_rule){.owner = true}, &file, &cause);
    if (!status)
        status = bytes_read(&file, MOST_BYTES, &p->text, &cause);
    held_close(&file);
    if (status == TUTTI_E_TRUST)
        (void)tutti_fail(err, status, "the lock file %s is not used: %s", path, cause.text);
    else if (status)
        (void)tutti_fail(err, status, "%s", cause.text);
    else
        status = read_lines(p, err);
    if (status)
        pins_free(p);
    else
        *ret = p;
    return status;
}

tutti_status pins_admit(const pins *p, const char *path, const char *hex, tutti_error *err)
{
    for (size_t k = 0; k < p->count; k++) {
        if (strcmp(p->items[k].path, path) != 0)
            continue;
        if (strcmp(p->items[k].hex, hex) == 0)
            return TUTTI_OK;
        return tutti_fail(err, TUTTI_E_TRUST, "%s: has SHA-256 %s, but %s pins %s", path, hex,
                          p->name, p->items[k].hex);
    }
    return tutti_fail(err, TUTTI_E_TRUST, "%s: not pinned in %s", path, p->name);
}
