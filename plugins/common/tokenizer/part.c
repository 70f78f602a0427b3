/* part.c - members by type, with one sentence for what is of another. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "part.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void part_fail(const part *p, tutti_status status, const char *format, ...)
{
    char what[256];
    va_list list;
    if (*p->status)
        return;
    va_start(list, format);
    (void)vsnprintf(what, sizeof what, format, list);
    va_end(list);
    *p->status = tutti_fail(p->err, status, "%s: %s: %s", p->file, p->where, what);
}

/* The member if there is one that is not null. */
static const json_t *part_member(const part *p, const char *key)
{
    const json_t *value = p->json ? json_object_get(p->json, key) : NULL;
    return json_is_null(value) ? NULL : value;
}

static void part_is_not(const part *p, const char *key, const char *want)
{
    part_fail(p, TUTTI_E_FORMAT, "\"%s\" is not %s", key, want);
}

bool part_bool(const part *p, const char *key, bool fallback)
{
    const json_t *value = part_member(p, key);
    if (value && !json_is_boolean(value))
        part_is_not(p, key, "true or false");
    return value ? json_is_true(value) : fallback;
}

int64_t part_int(const part *p, const char *key, int64_t fallback)
{
    const json_t *value = part_member(p, key);
    if (value && !json_is_integer(value))
        part_is_not(p, key, "a whole number");
    return value ? json_integer_value(value) : fallback;
}

const char *part_text(const part *p, const char *key, const char *fallback)
{
    const json_t *value = part_member(p, key);
    if (value && !json_is_string(value))
        part_is_not(p, key, "a string");
    return json_is_string(value) ? json_string_value(value) : fallback;
}

const char *part_wanted_text(const part *p, const char *key)
{
    const char *text = part_text(p, key, NULL);
    if (!text)
        part_fail(p, TUTTI_E_FORMAT, "\"%s\" is missing, want a string", key);
    return text ? text : "";
}

const char *part_type(const part *p)
{
    return part_wanted_text(p, "type");
}

part part_object(const part *p, const char *key, const char *where, bool wanted)
{
    const json_t *value = part_member(p, key);
    if (value ? !json_is_object(value) : wanted)
        part_is_not(p, key, "there, or no object");
    return (part){json_is_object(value) ? value : NULL, p->file, where, p->status, p->err};
}

const json_t *part_list(const part *p, const char *key, bool wanted)
{
    const json_t *value = part_member(p, key);
    if (value ? !json_is_array(value) : wanted)
        part_is_not(p, key, "there, or no list");
    return json_is_array(value) ? value : NULL;
}

void part_each(const part *p, const char *key, void *ctx, void (*read)(void *, const part *))
{
    const json_t *list = part_list(p, key, true);
    for (size_t k = 0; k < json_array_size(list) && *p->status == TUTTI_OK; k++) {
        part one = *p;
        one.json = json_array_get(list, k);
        if (json_is_object(one.json))
            read(ctx, &one);
        else
            part_fail(p, TUTTI_E_FORMAT, "\"%s\" has something that is no object", key);
    }
}

int part_word(const part *p, const char *key, const char *const *words, int fallback)
{
    const char *word = part_text(p, key, NULL);
    if (!word)
        return fallback;
    for (int k = 0; words[k]; k++)
        if (strcmp(words[k], word) == 0)
            return k;
    part_fail(p, TUTTI_E_UNSUPPORTED, "\"%s\" is \"%.80s\", which is not known here", key,
              word);
    return fallback;
}
