/* argument.c - values are held to the types that a manifest declares, and laid out as C does. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/handlers/argument.h"
#include "base/duration.h"

#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct argument_memory {
    argument_memory *next;
    max_align_t data[];
};

void argument_memory_free(argument_memory *m)
{
    for (argument_memory *next; m; m = next) {
        next = m->next;
        free(m);
    }
}

void *argument_allocate(const argument_reader *r, size_t bytes, const json_node *at)
{
    argument_memory *m = calloc(1, sizeof *m + bytes);
    if (!m) {
        faults_add_no_memory(r->f, at);
        return NULL;
    }
    m->next = *r->memory;
    *r->memory = m;
    return m->data;
}

static void refuse(const json_node *at, const char *want, const char *name, faults *f)
{
    char *got = json_text(at);
    faults_add(f, at, "is %.60s, want %s for \"%s\"", got ? got : "?", want, name);
    free(got);
}

static void read_integer(const json_node *at, const ctype *t, const char *name, void *to,
                         faults *f)
{
    const int64_t x = json_int(at);
    const bool is_signed = t->word[0] == 'i';
    const unsigned bits = 8 * (unsigned)t->size;
    const int64_t max = bits == 64 ? INT64_MAX : ((int64_t)1 << (bits - is_signed)) - 1;
    const int64_t min = is_signed ? -max - 1 : 0;
    if (json_type(at) == JSON_INT && x >= min && x <= max) {
        memcpy(to, &x, t->size); /* little-endian: the low bytes come first */
        return;
    }
    char want[96];
    (void)snprintf(want, sizeof want, "an %s (%lld to %lld)", t->word, (long long)min,
                   (long long)max);
    refuse(at, want, name, f);
}

static void read_real(const json_node *at, const ctype *t, const char *name, void *to,
                      faults *f)
{
    const double x = json_real(at);
    const float narrow = (float)x;
    const bool number = json_type(at) == JSON_INT || json_type(at) == JSON_REAL;
    if (!number || (t->size == sizeof narrow && isinf(narrow)))
        refuse(at, t->size == sizeof narrow ? "an f32" : "an f64", name, f);
    else
        memcpy(to, t->size == sizeof narrow ? (const void *)&narrow : &x, t->size);
}

static void read_time(const argument_reader *r, const json_node *at, const char *name, void *to)
{
    tutti_error e = TUTTI_ERROR_INIT;
    tutti_time *time = argument_allocate(r, sizeof *time, at);
    if (json_type(at) != JSON_STRING)
        refuse(at, "a time such as \"10ep\"", name, r->f);
    else if (time && duration_parse(json_string(at), time, &e))
        faults_add(r->f, at, "%s", e.text);
    memcpy(to, &time, sizeof(void *));
}

static void read_struct(const argument_reader *r, const json_node *at, const ctype *t,
                        const char *name, char *to)
{
    const bool named = json_type(at) == JSON_OBJECT;
    char want[128];
    (void)snprintf(want, sizeof want,
                   "an object of members of \"%s\", or a list of at most %zu", t->word,
                   t->count);
    if (!named && (json_type(at) != JSON_ARRAY || json_count(at) > t->count)) {
        refuse(at, want, name, r->f);
        return;
    }
    for (size_t k = 0; k < json_count(at); k++) {
        const json_node *one = json_at(at, k);
        size_t m = named ? 0 : k;
        while (named && m < t->count && strcmp(t->members[m].name, json_key(one)) != 0)
            m++;
        if (m == t->count)
            faults_add(r->f, one, "is no member of \"%s\"", t->word);
        else
            argument_read(r, one, t->members[m].type, t->members[m].name,
                          to + t->members[m].offset);
    }
}

static void read_array(const argument_reader *r, const json_node *at, const ctype *t,
                       const char *name, char *to)
{
    const bool bytes = t->of->kind == CTYPE_NUMBER && t->of->size == 1;
    const char *text = bytes ? json_string(at) : NULL;
    char want[96];
    (void)snprintf(want, sizeof want,
                   bytes ? "a text shorter than %zu bytes, or as many numbers at most"
                         : "a list of at most %zu",
                   t->count);
    if (text && strlen(text) < t->count)
        memcpy(to, text, strlen(text) + 1);
    else if (json_type(at) != JSON_ARRAY || json_count(at) > t->count)
        refuse(at, want, name, r->f);
    else
        for (size_t k = 0; k < json_count(at); k++)
            argument_read(r, json_at(at, k), t->of, name, to + k * t->of->size);
}

/* Text, opaque pointers and pointers to something. */
static void read_pointer(const argument_reader *r, const json_node *at, const ctype *t,
                         const char *name, void *to)
{
    const void *pointer = NULL;
    if (json_type(at) == JSON_NULL)
        return;
    if (t->kind == CTYPE_OPAQUE) {
        refuse(at, "null", name, r->f);
    } else if (t->kind == CTYPE_TEXT) {
        pointer = json_string(at);
        if (!pointer)
            refuse(at, "a string", name, r->f);
    } else {
        void *behind = argument_allocate(r, t->of->size, at);
        if (behind)
            argument_read(r, at, t->of, name, behind);
        pointer = behind;
    }
    memcpy(to, &pointer, sizeof(void *));
}

void argument_read(const argument_reader *r, const json_node *at, const ctype *t,
                   const char *name, void *to)
{
    const int32_t truth = json_bool(at);
    switch (t->kind) {
    case CTYPE_NUMBER:
        (t->word[0] == 'f' ? read_real : read_integer)(at, t, name, to, r->f);
        return;
    case CTYPE_BOOL:
        memcpy(to, &truth, sizeof truth);
        if (json_type(at) != JSON_BOOL)
            refuse(at, "true or false", name, r->f);
        return;
    case CTYPE_TIME:
        read_time(r, at, name, to);
        return;
    case CTYPE_STRUCT:
        read_struct(r, at, t, name, to);
        return;
    case CTYPE_ARRAY:
        read_array(r, at, t, name, to);
        return;
    case CTYPE_CALLBACK:
        r->read_callback(r, at, t, name, to);
        return;
    default:
        read_pointer(r, at, t, name, to);
    }
}
