/* json_spans.h - what text that need not be JSON has of it: keys, values, members and elements, where they lie. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef JSON_SPANS_H
#define JSON_SPANS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum { JSON_SPANS = 1024, JSON_DEPTH = 64 };
enum { SPAN_KEY = 1, SPAN_VALUE = 2, SPAN_MEMBER = 4, SPAN_ELEMENT = 8 };

/* A key, a value, or what commas stand between: a member of an object or an element of an array. */
typedef struct json_span {
    size_t begin, end;
    size_t of; /* where its object or array begins */
    int kind;
} json_span;

typedef struct json_spans {
    json_span list[JSON_SPANS];
    size_t count;
} json_spans;

/* An object or array that is open. */
typedef struct json_level {
    size_t open, item; /* item: where the one that is being read begins */
    bool object, named, full;
} json_level;

static void json_span_add(json_spans *s, size_t begin, size_t end, int kind, size_t of)
{
    if (s->count < JSON_SPANS && begin < end)
        s->list[s->count++] = (json_span){begin, end, of, kind};
}

/* The end of the string or word that begins at `at`. */
static size_t json_token_end(const uint8_t *data, size_t size, size_t at)
{
    if (data[at] != '"') {
        while (at < size && !strchr(" \t\r\n,:[]{}\"", data[at]))
            at++;
        return at;
    }
    for (at++; at < size && data[at] != '"'; at++)
        at += data[at] == '\\';
    return at < size ? at + 1 : size;
}

static void json_item_end(json_spans *s, json_level *now, size_t at)
{
    if (now->full)
        json_span_add(s, now->item, at, now->object ? SPAN_MEMBER : SPAN_ELEMENT, now->open);
    now->item = at + 1;
    now->named = now->full = false;
}

/* Finds what it can in text that need not be JSON. */
static void json_spans_find(const uint8_t *data, size_t size, json_spans *s)
{
    json_level levels[JSON_DEPTH + 1] = {{0}};
    json_level *now = levels;
    for (size_t at = 0; at < size; at++) {
        const uint8_t c = data[at];
        if (c == '{' || c == '[') {
            if (now == levels + JSON_DEPTH)
                return;
            now->full = true;
            *++now = (json_level){.open = at, .item = at + 1, .object = c == '{'};
        } else if (c == '}' || c == ']') {
            json_item_end(s, now, at);
            if (now > levels) {
                json_span_add(s, now->open, at + 1, SPAN_VALUE, now[-1].open);
                now--;
            }
        } else if (c == ',') {
            json_item_end(s, now, at);
        } else if (c == ':') {
            now->named = true;
        } else if (c > ' ') {
            const size_t end = json_token_end(data, size, at);
            json_span_add(s, at, end > at ? end : at + 1,
                          now->object && !now->named ? SPAN_KEY : SPAN_VALUE, now->open);
            now->full = true;
            at = end > at ? end - 1 : at;
        }
    }
}

#endif
