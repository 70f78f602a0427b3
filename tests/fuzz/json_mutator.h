/* json_mutator.h - a mutator of libFuzzer that keeps JSON in one piece: values and members change places, are left
 * out, are doubled, and become others; keys and strings become words of the dictionary.  Included by the one source of a
 * fuzzer whose input is JSON.  One whose input has JSON as a part defines JSON_IS_A_PART and has a mutator of its own.
 *
 * TUTTI_FUZZ_TELL=1 prints in the end how many mutants the program has read and taken; with TUTTI_FUZZ_BLIND=1 there are
 * libFuzzer's own mutations alone. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef JSON_MUTATOR_H
#define JSON_MUTATOR_H

#include "json_changes.h"
#include "json_spans.h"

#include <ctype.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed);

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
