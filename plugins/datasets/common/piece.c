/* piece.c - GPT-2's pattern by hand: contractions, runs of one class, white space. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "piece.h"

#include "../../common/utf8.h"
#include "unicode_ranges.h"

#include <stddef.h>
#include <string.h>

enum class { SPACE, LETTER, NUMBER, OTHER, NOTHING };

static int in_ranges(uint32_t code, const unicode_range *ranges, size_t n)
{
    while (n > 1) {
        const size_t half = n / 2;
        if (ranges[half].first <= code) {
            ranges += half;
            n -= half;
        } else {
            n = half;
        }
    }
    return code >= ranges->first && code <= ranges->last;
}

/* The Unicode property White_Space. */
static int is_space(uint32_t c)
{
    return (c >= 9 && c <= 13) || c == ' ' || c == 0x85 || c == 0xa0 || c == 0x1680 ||
           (c >= 0x2000 && c <= 0x200a) || c == 0x2028 || c == 0x2029 || c == 0x202f ||
           c == 0x205f || c == 0x3000;
}

static enum class class_of(uint32_t code) {
    if (code < 0x80){const uint32_t small = code | 0x20;
                     return small >= 'a' && small <= 'z' ? LETTER
                            : code >= '0' && code <= '9' ? NUMBER
                            : is_space(code)             ? SPACE
                                                         : OTHER;}
if (is_space(code)) return SPACE;
if (in_ranges(code, unicode_letters, sizeof unicode_letters / sizeof *unicode_letters))
    return LETTER;
return in_ranges(code, unicode_numbers, sizeof unicode_numbers / sizeof *unicode_numbers)
           ? NUMBER
           : OTHER;
}

/* The class of the character at `at`, NOTHING at the end, and the character's length. */
static enum class class_at(const char *text, uint64_t size, uint64_t at, uint32_t *ret_length) {
    uint32_t code = 0; *ret_length = at < size ? utf8_read(text + at, size - at, &code) : 0;
    return *ret_length ? class_of(code) : NOTHING;
}

/* Where the run of `is` that begins at `at` ends, and where its last character begins. */
static uint64_t run_end(const char *text, uint64_t size, uint64_t at, enum class is,
                        uint64_t *ret_last)
{
    uint32_t n;
    while (class_at(text, size, at, &n) == is) {
        *ret_last = at;
        at += n;
    }
    return at;
}

static uint64_t piece_contraction(const char *text, uint64_t size)
{
    static const char *const all[] = {"'s", "'t", "'re", "'ve", "'m", "'ll", "'d"};
    for (size_t k = 0; k < sizeof all / sizeof *all; k++) {
        const size_t n = strlen(all[k]);
        if (n <= size && memcmp(text, all[k], n) == 0)
            return n;
    }
    return 0;
}

uint64_t piece_length(const char *text, uint64_t size)
{
    uint64_t last = 0;
    uint32_t n;
    const uint64_t short_form = piece_contraction(text, size);
    if (short_form)
        return short_form;
    const uint64_t start = text[0] == ' '; /* " ?" */
    const enum class is = class_at(text, size, start, &n);
    if (is != SPACE && is != NOTHING)
        return run_end(text, size, start, is, &last);
    /* White space: what follows it takes the last character along, if there are several. */
    const uint64_t end = run_end(text, size, 0, SPACE, &last);
    return end < size && last > 0 ? last : end;
}
