/* faults.c - gathering sentences. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "base/faults.h"
#include "base/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char no_memory[] = "out of memory";

struct faults {
    char **texts;
    size_t count;
    size_t capacity;
    bool lost; /* a sentence that found no memory at all still counts as one */
    bool lacks_memory;
    faults *notes;           /* not NULL: unknown words go there */
    const char *const *must; /* but for these; may be NULL */
};

faults *faults_create(void)
{
    return calloc(1, sizeof(faults));
}

void faults_destroy(faults *f)
{
    if (!f)
        return;
    for (size_t k = 0; k < f->count; k++)
        if (f->texts[k] != no_memory)
            free(f->texts[k]);
    free(f->texts);
    free(f);
}

static void add_place(text_buffer *b, const json_node *at)
{
    text_add(b, "%s:", json_name(at));
    if (json_line(at) > 0)
        text_add(b, "%d:", json_line(at));
    if (*json_path(at))
        text_add(b, " %s:", json_path(at));
    text_add(b, " ");
}

static void add_list(faults *f, const json_node *at, const char *format, va_list args)
{
    if (f->count == f->capacity) {
        const size_t capacity = f->capacity ? 2 * f->capacity : 16;
        char **texts = realloc(f->texts, capacity * sizeof *texts);
        if (!texts) {
            f->lost = f->lacks_memory = true;
            return;
        }
        f->texts = texts;
        f->capacity = capacity;
    }

    char *sentence = NULL;
    text_buffer b = {0};
    if (vasprintf(&sentence, format, args) < 0)
        sentence = NULL;
    if (at)
        add_place(&b, at);
    text_add(&b, "%s", sentence ? sentence : no_memory);
    f->lacks_memory = f->lacks_memory || !sentence || b.failed;
    free(sentence);
    if (b.failed) {
        free(b.data);
        b.data = no_memory;
    }
    f->texts[f->count++] = b.data;
}

void faults_add(faults *f, const json_node *at, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    add_list(f, at, format, args);
    va_end(args);
}

void faults_add_no_memory(faults *f, const json_node *at)
{
    f->lacks_memory = true;
    faults_add(f, at, "%s", no_memory);
}

bool faults_lack_memory(const faults *f)
{
    return f->lacks_memory;
}

void faults_be_lenient(faults *f, faults *notes, const char *const *must)
{
    f->notes = notes;
    f->must = must;
}

bool faults_lenient(const faults *f)
{
    return f->notes != NULL;
}

void faults_add_word(faults *f, const json_node *at, const char *word, const char *format, ...)
{
    bool must = false;
    for (size_t k = 0; f->must && f->must[k] && !must; k++)
        must = strcmp(f->must[k], word) == 0;
    va_list args;
    va_start(args, format);
    add_list(f->notes && !must ? f->notes : f, at, format, args);
    va_end(args);
}

size_t faults_count(const faults *f)
{
    return f->count + (f->lost ? 1 : 0);
}

const char *faults_text(const faults *f, size_t k)
{
    return k < f->count ? f->texts[k] : no_memory;
}
