/* json_changes.h - changes of JSON for fuzzers: values and keys become others, members and elements go or come twice. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef JSON_CHANGES_H
#define JSON_CHANGES_H

#include "json_spans.h"

#include <stdio.h>
#include <string.h>

size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max_size);

enum { JSON_WORD = 64, JSON_COPY = 1 << 16 };

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

/* One of these kinds, seldom all of the text; NULL: none was found. */
static const json_span *json_pick(const json_spans *s, int kinds, unsigned *state)
{
    for (int tries = 0; tries < 32 && s->count; tries++) {
        const json_span *one = &s->list[json_random(state) % s->count];
        const bool all = one->begin == one->of;
        if (one->kind & kinds && (!all || json_random(state) % 8 == 0))
            return one;
    }
    return NULL;
}

/* A string in quotes: what libFuzzer makes of [begin, end), or of nothing, which is a word of its dictionaries more often
 * than not.  Returns its size, below 2 * JSON_WORD. */
static size_t json_word(const uint8_t *begin, const uint8_t *end, uint8_t word[2 * JSON_WORD],
                        unsigned *state)
{
    uint8_t raw[JSON_WORD];
    size_t n = 0, size = (size_t)(end - begin);
    if (size > JSON_WORD / 2 || json_random(state) % 2)
        size = 0;
    memcpy(raw, begin, size);
    size = LLVMFuzzerMutate(raw, size, sizeof raw);
    word[n++] = '"';
    for (size_t k = 0; k < size; k++)
        if (raw[k] >= ' ' && raw[k] < 0x7f && raw[k] != '"' && raw[k] != '\\')
            word[n++] = raw[k];
    word[n++] = '"';
    return n;
}

/* A value becomes another. */
static size_t json_replace(uint8_t *data, size_t size, size_t max_size, const json_span *a,
                           unsigned *state)
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
    const char *word = words[json_random(state) % (sizeof words / sizeof *words)];
    char number[16];
    const unsigned bits = json_random(state) % 24;
    if (json_random(state) % 3 == 0) {
        (void)snprintf(number, sizeof number, "%u", json_random(state) >> bits);
        word = number;
    }
    return json_put(data, size, max_size, a->begin, a->end, word, strlen(word));
}

/* A key or a string becomes another. */
static size_t json_rename(uint8_t *data, size_t size, size_t max_size, const json_span *a,
                          unsigned *state)
{
    uint8_t word[2 * JSON_WORD];
    const size_t quote = data[a->begin] == '"' && a->end - a->begin >= 2;
    const size_t n = json_word(data + a->begin + quote, data + a->end - quote, word, state);
    return json_put(data, size, max_size, a->begin, a->end, word, n);
}

/* A member or element goes, with a comma. */
static size_t json_leave_out(uint8_t *data, size_t size, const json_span *a)
{
    const bool follows = a->end < size && data[a->end] == ',';
    const bool before = !follows && a->begin > 0 && data[a->begin - 1] == ',';
    return json_put(data, size, size, a->begin - before, a->end + follows, "", 0);
}

/* A copy of member or element b comes in before a; a member gets another key where its object has it. */
static size_t json_insert(uint8_t *data, size_t size, size_t max_size, const json_span *a,
                          const json_span *b, unsigned *state)
{
    static uint8_t copy[JSON_COPY];
    size_t begin = b->begin, n = 0;
    if (b->end - b->begin > sizeof copy - 2 * JSON_WORD - 1)
        return size;
    if (b->kind == SPAN_MEMBER && (a->of == b->of || json_random(state) % 4 == 0)) {
        while (begin < b->end && data[begin] <= ' ')
            begin++;
        begin = begin < b->end ? json_token_end(data, b->end, begin) : begin;
        n = json_word(data + begin, data + begin, copy, state);
    }
    memcpy(copy + n, data + begin, b->end - begin);
    n += b->end - begin;
    copy[n++] = ',';
    return json_put(data, size, max_size, a->begin, a->begin, copy, n);
}

#endif
