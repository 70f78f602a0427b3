/* json_mutator.h - a mutator of libFuzzer that keeps JSON in one piece: values and members change places, are left
 * out, are doubled, and become others.  Included by the one source of a fuzzer whose input is JSON. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef JSON_MUTATOR_H
#define JSON_MUTATOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max_size);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed);

enum { JSON_SPANS = 1024, JSON_DEPTH = 64 };

/* A value, or a member of an object with its key. */
typedef struct json_span {
    size_t begin, end;
    bool item; /* what commas stand between */
} json_span;

typedef struct json_spans {
    json_span list[JSON_SPANS];
    size_t count;
} json_spans;

static void json_span_add(json_spans *s, size_t begin, size_t end, bool item)
{
    if (s->count < JSON_SPANS && begin < end)
        s->list[s->count++] = (json_span){begin, end, item};
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

/* Finds what it can in text that need not be JSON. */
static void json_spans_find(const uint8_t *data, size_t size, json_spans *s)
{
    size_t open[JSON_DEPTH], item[JSON_DEPTH + 1] = {0};
    size_t depth = 0;
    for (size_t at = 0; at < size;) {
        const uint8_t c = data[at];
        if (c == '{' || c == '[') {
            if (depth == JSON_DEPTH)
                return;
            open[depth++] = at++;
            item[depth] = at;
        } else if (c == '}' || c == ']') {
            json_span_add(s, item[depth], at, true);
            at++;
            if (depth)
                json_span_add(s, open[--depth], at, false);
        } else if (c == ',') {
            json_span_add(s, item[depth], at, true);
            item[depth] = ++at;
        } else if (c == ':' || c <= ' ') {
            at++;
        } else {
            const size_t end = json_token_end(data, size, at);
            json_span_add(s, at, end > at ? end : at + 1, false);
            at = end > at ? end : at + 1;
        }
    }
}

/* Puts `text` where [begin, end) was; the size stays when there is no room. */
static size_t json_put(uint8_t *data, size_t size, size_t max_size, size_t begin, size_t end,
                       const void *text, size_t n)
{
    if (size - (end - begin) + n > max_size)
        return size;
    memmove(data + begin + n, data + end, size - end);
    memcpy(data + begin, text, n);
    return size - (end - begin) + n;
}

static unsigned json_random(unsigned *state)
{
    *state = *state * 1664525u + 1013904223u;
    return *state >> 8;
}

static size_t json_change(uint8_t *data, size_t size, size_t max_size, unsigned *state)
{
    static const char *const words[] = {"0",
                                        "-1",
                                        "1",
                                        "0.5",
                                        "1e308",
                                        "9223372036854775807",
                                        "-9223372036854775808",
                                        "1e-9",
                                        "null",
                                        "true",
                                        "\"\"",
                                        "[]",
                                        "{}",
                                        "\"1ep\"",
                                        "\"x\"",
                                        "[[]]",
                                        "\"..\"",
                                        "[null]",
                                        "99999999999999999999",
                                        "\"0.5dur\"",
                                        "{\"name\": \"x\"}"};
    static uint8_t copy[1 << 16];
    json_spans s;
    s.count = 0;
    json_spans_find(data, size, &s);
    if (!s.count)
        return LLVMFuzzerMutate(data, size, max_size);
    const json_span a = s.list[json_random(state) % s.count];
    const json_span b = s.list[json_random(state) % s.count];
    size_t n = b.end - b.begin < sizeof copy - 1 ? b.end - b.begin : sizeof copy - 1;
    const char *word = words[json_random(state) % (sizeof words / sizeof *words)];
    memcpy(copy, data + b.begin, n);
    switch (json_random(state) % 4) {
    case 0: /* a value becomes another of the text */
        return json_put(data, size, max_size, a.begin, a.end, copy, n);
    case 1:
        return a.item ? size
                      : json_put(data, size, max_size, a.begin, a.end, word, strlen(word));
    case 2: /* a member is left out, with its comma */
        return json_put(data, size, max_size, a.begin,
                        a.end + (a.end < size && data[a.end] == ','), "", 0);
    default: /* a member of somewhere else comes in before this one */
        copy[n++] = ',';
        return a.item && b.item ? json_put(data, size, max_size, a.begin, a.begin, copy, n)
                                : size;
    }
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed)
{
    unsigned state = seed;
    const unsigned times = 1 + json_random(&state) % 4;
    if (json_random(&state) % 8 == 0)
        return LLVMFuzzerMutate(data, size, max_size);
    for (unsigned k = 0; k < times; k++)
        size = json_change(data, size, max_size, &state);
    return size;
}

#endif
