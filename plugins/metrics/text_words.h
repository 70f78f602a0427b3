/* text_words.h - a text that grows, and its words. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef METRIC_TEXT_WORDS_H
#define METRIC_TEXT_WORDS_H

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* A word of a text: bytes that are not ended by a zero. */
typedef struct text_word {
    const char *at;
    uint64_t size;
} text_word;

/* A text and its words, which point into it. */
typedef struct text {
    char *bytes;
    text_word *words;
    uint64_t size, capacity;
    uint64_t count, words_capacity;
} text;

static inline int text_same(text_word a, text_word b)
{
    return a.size == b.size && memcmp(a.at, b.at, (size_t)a.size) == 0;
}

static inline int text_append(text *t, const char *bytes, uint64_t size)
{
    if (t->size + size > t->capacity) {
        const uint64_t capacity = 2 * (t->size + size);
        char *more = (char *)realloc(t->bytes, (size_t)capacity);
        if (!more)
            return 0;
        t->bytes = more;
        t->capacity = capacity;
    }
    if (size)
        memcpy(t->bytes + t->size, bytes, (size_t)size);
    t->size += size;
    return 1;
}

static inline int text_add_word(text *t, const char *at, uint64_t size)
{
    if (t->count == t->words_capacity) {
        const uint64_t capacity = 2 * t->count + 16;
        text_word *more = (text_word *)realloc(t->words, (size_t)capacity * sizeof *more);
        if (!more)
            return 0;
        t->words = more;
        t->words_capacity = capacity;
    }
    t->words[t->count++] = (text_word){at, size};
    return 1;
}

/* Words as Python's str.split() finds them in ASCII: between spaces and control characters that break lines. */
static inline int text_split_at_spaces(text *t)
{
    uint64_t begin = 0;
    for (uint64_t k = 0; k <= t->size; k++) {
        const char c = k < t->size ? t->bytes[k] : ' ';
        if (c != ' ' && !(c >= '\t' && c <= '\r') && !(c >= 0x1c && c <= 0x1f))
            continue;
        if (k > begin && !text_add_word(t, t->bytes + begin, k - begin))
            return 0;
        begin = k + 1;
    }
    return 1;
}

#endif
