/* braces.c - the first pair of braces is replaced by each of its choices, until none is left. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "braces.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The end of the pair that opens at `open`, and whether it holds a comma of its own. */
static const char *braces_closing(const char *open, int *ret_comma)
{
    int depth = 0;
    *ret_comma = 0;
    for (const char *c = open; *c; c++) {
        depth += (*c == '{') - (*c == '}');
        if (depth == 0)
            return c;
        *ret_comma |= depth == 1 && *c == ',';
    }
    return NULL;
}

/* "{-2..013}" with `close` at its end. */
typedef struct range {
    long first;
    long last;
    int width; /* digits, 0: as many as it takes */
} range;

static int one_number(const char **at, long *ret, int *ret_padded, int *ret_length)
{
    const char *begin = *at;
    const char *c = begin + (*begin == '-');
    *ret_padded = c[0] == '0' && isdigit((unsigned char)c[1]);
    while (isdigit((unsigned char)*c))
        c++;
    *ret_length = (int)(c - begin);
    if (!isdigit((unsigned char)c[-1]) || *ret_length > 9)
        return 0;
    *ret = strtol(begin, NULL, 10);
    *at = c;
    return 1;
}

static int is_range(const char *open, const char *close, range *ret)
{
    const char *at = open + 1;
    int padded[2], length[2];
    if (!one_number(&at, &ret->first, &padded[0], &length[0]) || strncmp(at, "..", 2) != 0)
        return 0;
    at += 2;
    if (!one_number(&at, &ret->last, &padded[1], &length[1]) || at != close)
        return 0;
    ret->width = padded[0] || padded[1] ? (length[0] > length[1] ? length[0] : length[1]) : 0;
    return 1;
}

static tutti_status no_memory(tutti_error *err)
{
    return tutti_fail(err, TUTTI_E_NOMEM, "no memory for the names of shards");
}

static tutti_status braces_add(braces *b, const char *text, tutti_error *err)
{
    if (b->count == BRACES_MAX)
        return tutti_fail(err, TUTTI_E_RANGE, "the braces stand for more than %d names",
                          BRACES_MAX);
    if ((b->count & (b->count - 1)) == 0) {
        char **grown = realloc(b->texts, (b->count ? b->count * 2u : 1u) * sizeof *grown);
        if (!grown)
            return no_memory(err);
        b->texts = grown;
    }
    if (!(b->texts[b->count] = strdup(text)))
        return no_memory(err);
    b->count++;
    return TUTTI_OK;
}

static tutti_status braces_expand_at(braces *b, const char *text, size_t from,
                                     tutti_error *err);

/* `text` with [open, close] replaced by `n` bytes of `choice`; braces before `open` stay. */
static tutti_status braces_replaced(braces *b, const char *text, const char *open,
                                    const char *close, const char *choice, size_t n,
                                    tutti_error *err)
{
    const size_t head = (size_t)(open - text), tail = strlen(close + 1);
    char *made = malloc(head + n + tail + 1);
    if (!made)
        return no_memory(err);
    memcpy(made, text, head);
    memcpy(made + head, choice, n);
    memcpy(made + head + n, close + 1, tail + 1);
    const tutti_status s = braces_expand_at(b, made, head, err);
    free(made);
    return s;
}

static tutti_status expand_list(braces *b, const char *text, const char *open,
                                const char *close, tutti_error *err)
{
    const char *begin = open + 1;
    int depth = 0;
    tutti_status s = TUTTI_OK;
    for (const char *c = begin; s == TUTTI_OK && c <= close; c++) {
        if (c == close || (depth == 0 && *c == ',')) {
            s = braces_replaced(b, text, open, close, begin, (size_t)(c - begin), err);
            begin = c + 1;
        }
        depth += (*c == '{') - (*c == '}');
    }
    return s;
}

/* Braces from byte `from` on. */
static tutti_status braces_expand_at(braces *b, const char *text, size_t from, tutti_error *err)
{
    for (const char *open = strchr(text + from, '{'); open; open = strchr(open + 1, '{')) {
        int comma;
        range r;
        const char *close = braces_closing(open, &comma);
        if (close && comma)
            return expand_list(b, text, open, close, err);
        if (!close || !is_range(open, close, &r))
            continue;
        tutti_status s = TUTTI_OK;
        for (long k = r.first; s == TUTTI_OK; k += r.last < r.first ? -1 : 1) {
            char number[32];
            const int n = snprintf(number, sizeof number, "%0*ld", r.width, k);
            s = braces_replaced(b, text, open, close, number, (size_t)n, err);
            if (k == r.last)
                break;
        }
        return s;
    }
    return braces_add(b, text, err);
}

tutti_status braces_expand(braces *b, const char *text, tutti_error *err)
{
    *b = (braces){NULL, 0, 0};
    return braces_expand_at(b, text, 0, err);
}

void braces_free(braces *b)
{
    for (uint32_t k = 0; k < b->count; k++)
        free(b->texts[k]);
    free(b->texts);
    *b = (braces){NULL, 0, 0};
}
