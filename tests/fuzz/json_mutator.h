/* json_mutator.h - a mutator of libFuzzer that keeps JSON in one piece: values and members change places, are left
 * out, are doubled, and become others; keys and strings become words of the dictionary.  Included by the one source of a
 * fuzzer whose input is JSON.  One whose input has JSON as a part defines JSON_IS_A_PART and has a mutator of its own.
 *
 * TUTTI_FUZZ_TELL=1 prints in the end how many mutants the program has read and taken; with TUTTI_FUZZ_BLIND=1 there are
 * libFuzzer's own mutations alone. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef JSON_MUTATOR_H
#define JSON_MUTATOR_H

#include <ctype.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max_size);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed);

enum { JSON_SPANS = 1024, JSON_DEPTH = 64, JSON_WORD = 64, JSON_COPY = 1 << 16 };
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

static struct {
    size_t mutants, read, taken;
    bool mutated; /* what comes next is a mutant */
} json_told;

static inline void json_told_print(void)
{
    (void)fprintf(stderr, "mutants: %zu, read: %zu, taken: %zu\n", json_told.mutants,
                  json_told.read, json_told.taken);
}

/* Every mutator begins with it.  Whether only libFuzzer's own mutations are wanted. */
static inline bool json_blind(void)
{
    static bool begun, blind;
    if (!begun) {
        begun = true;
        blind = getenv("TUTTI_FUZZ_BLIND") != NULL;
        if (getenv("TUTTI_FUZZ_TELL") && atexit(json_told_print) != 0)
            abort();
    }
    json_told.mutated = true;
    return blind;
}

/* What became of an input: its JSON was read as JSON; it was taken, without an error or fault. */
static inline void json_tell(bool read, bool taken)
{
    json_told.mutants += json_told.mutated;
    json_told.read += json_told.mutated && read;
    json_told.taken += json_told.mutated && taken;
    json_told.mutated = false;
}

/* Whether an error is of JSON's grammar: "FILE:LINE: ..." with a line. */
static inline bool json_error_is(const char *text, const char *file)
{
    const char *at = strstr(text, file);
    return at && at[strlen(file)] == ':' && isdigit((unsigned char)at[strlen(file) + 1]);
}

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

static size_t json_change(uint8_t *data, size_t size, size_t max_size, unsigned *state)
{
    static uint8_t copy[JSON_COPY];
    static json_spans s;
    s.count = 0;
    json_spans_find(data, size, &s);
    const unsigned way = json_random(state) % 8;
    const int kinds = way < 4   ? SPAN_VALUE
                      : way < 6 ? SPAN_MEMBER | SPAN_ELEMENT
                                : SPAN_KEY | SPAN_VALUE;
    const json_span *a = json_pick(&s, kinds, state);
    const json_span *b = a ? json_pick(&s, a->kind, state) : NULL;
    if (!a || !b)
        return size;
    if (way < 2 && b->end - b->begin <= sizeof copy) {
        memcpy(copy, data + b->begin, b->end - b->begin);
        return json_put(data, size, max_size, a->begin, a->end, copy, b->end - b->begin);
    }
    if (way < 4)
        return json_replace(data, size, max_size, a, state);
    if (way == 4)
        return json_leave_out(data, size, a);
    if (way == 5)
        return json_insert(data, size, max_size, a, b, state);
    return json_rename(data, size, max_size, a, state);
}

/* Mutates text that need not be JSON; one in sixteen times libFuzzer does.  It mutates a mutant some times more, so that one
 * that is no JSON has others behind it. */
static size_t json_mutate(uint8_t *data, size_t size, size_t max_size, unsigned *state)
{
    const unsigned times = json_random(state) % 2 ? 1 : 1 + json_random(state) % 4;
    if (json_random(state) % 16 == 0 || size < 2)
        return LLVMFuzzerMutate(data, size, max_size);
    for (unsigned k = 0; k < times; k++)
        size = json_change(data, size, max_size, state);
    return size;
}

/* Mutates the JSON in [begin, end), and leaves what lies around it. */
static inline size_t json_mutate_part(uint8_t *data, size_t size, size_t max_size, size_t begin,
                                      size_t end, unsigned *state)
{
    static uint8_t behind[JSON_COPY];
    const size_t n = size - end;
    if (n > sizeof behind || begin + n >= max_size)
        return LLVMFuzzerMutate(data, size, max_size);
    memcpy(behind, data + end, n);
    end = begin + json_mutate(data + begin, end - begin, max_size - begin - n, state);
    memcpy(data + end, behind, n);
    return end + n;
}

#ifndef JSON_IS_A_PART
/* JSON to the end, or to a zero, behind which lies what libFuzzer mutates. */
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed)
{
    unsigned state = seed;
    if (json_blind())
        return LLVMFuzzerMutate(data, size, max_size);
    const uint8_t *zero = size ? memchr(data, 0, size) : NULL;
    const size_t end = zero ? (size_t)(zero - data) : size;
    if (zero && json_random(&state) % 4 == 0)
        return end + 1 + LLVMFuzzerMutate(data + end + 1, size - end - 1, max_size - end - 1);
    return json_mutate_part(data, size, max_size, 0, end, &state);
}
#endif

#endif
