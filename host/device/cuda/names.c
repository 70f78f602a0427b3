/* names.c - an open hash table of names. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "device/cuda/names.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FIRST_SIZE = 256 };

static uint32_t hash_of(const char *text, uint32_t h)
{
    for (; *text; text++)
        h = (h ^ (unsigned char)*text) * 16777619u;
    return h;
}

static uint32_t hash_name(const char *where, const char *name)
{
    uint32_t h = 2166136261u;
    if (*where)
        h = hash_of(": ", hash_of(where, h));
    return hash_of(name, h);
}

static bool is_name(const char *text, const char *where, const char *name)
{
    const size_t n = strlen(where);
    if (n == 0)
        return strcmp(text, name) == 0;
    return strncmp(text, where, n) == 0 && strncmp(text + n, ": ", 2) == 0 &&
           strcmp(text + n + 2, name) == 0;
}

/* The place of the name, or the free one where it belongs. */
static uint32_t *find(const names *n, const char *where, const char *name)
{
    uint32_t at = hash_name(where, name);
    for (;; at++) {
        uint32_t *place = &n->table[at & (n->size - 1)];
        if (!*place || is_name(n->texts[*place - 1], where, name))
            return place;
    }
}

/* At most half of the table is in use. */
static bool grow(names *n)
{
    if (2 * n->count < n->size)
        return true;
    const uint32_t size = n->size ? 2 * n->size : FIRST_SIZE;
    uint32_t *table = calloc(size, sizeof *table);
    char **texts = table ? realloc(n->texts, sizeof *texts * size) : NULL;
    if (!texts) {
        free(table);
        return false;
    }
    free(n->table);
    n->table = table;
    n->texts = texts;
    n->size = size;
    for (uint32_t k = 0; k < n->count; k++)
        *find(n, "", texts[k]) = k + 1;
    return true;
}

uint32_t names_number(names *n, const char *where, const char *name)
{
    where = where ? where : "";
    if (!grow(n))
        return 0;
    uint32_t *place = find(n, where, name);
    if (*place)
        return *place;
    const size_t size = strlen(where) + strlen(name) + 3;
    char *text = malloc(size);
    if (!text)
        return 0;
    (void)snprintf(text, size, "%s%s%s", where, *where ? ": " : "", name);
    n->texts[n->count++] = text;
    return *place = n->count;
}

const char *names_text(const names *n, uint32_t number)
{
    return number && number <= n->count ? n->texts[number - 1] : "a kernel";
}

void names_fini(names *n)
{
    for (uint32_t k = 0; k < n->count; k++)
        free(n->texts[k]);
    free(n->texts);
    free(n->table);
    *n = (names){.count = 0};
}
