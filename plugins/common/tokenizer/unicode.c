/* unicode.c - classes of characters out of their categories. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "unicode.h"

#include "unicode_late.h"

uint64_t unicode_check(const char *text, uint64_t size)
{
    uint64_t at = 0;
    while (at < size) {
        utf8proc_int32_t code;
        const utf8proc_ssize_t n = (unsigned char)text[at] < 0x80
                                       ? 1
                                       : utf8proc_iterate((const utf8proc_uint8_t *)text + at,
                                                          (utf8proc_ssize_t)(size - at), &code);
        if (n < 1)
            return at;
        at += (uint64_t)n;
    }
    return at;
}

bool unicode_is_ascii(const char *text, uint64_t size)
{
    unsigned char all = 0;
    for (uint64_t k = 0; k < size; k++)
        all |= (unsigned char)text[k];
    return all < 0x80;
}

static bool unicode_in(uint32_t code, utf8proc_category_t first, utf8proc_category_t last)
{
    const utf8proc_category_t c = utf8proc_category((utf8proc_int32_t)code);
    return c >= first && c <= last;
}

static bool unicode_late(uint32_t code, const unicode_range *ranges, size_t count)
{
    size_t low = 0, high = count; /* the first range that ends at or behind the character */
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (ranges[middle].last < code)
            low = middle + 1;
        else
            high = middle;
    }
    return low < count && ranges[low].first <= code;
}
#define UNICODE_LATE(code, ranges) unicode_late(code, ranges, sizeof(ranges) / sizeof *(ranges))

bool unicode_is_space(uint32_t c)
{
    return (c >= 9 && c <= 13) || c == ' ' || c == 0x85 || c == 0xa0 || c == 0x1680 ||
           (c >= 0x2000 && c <= 0x200a) || c == 0x2028 || c == 0x2029 || c == 0x202f ||
           c == 0x205f || c == 0x3000;
}

bool unicode_is_number(uint32_t code)
{
    return unicode_in(code, UTF8PROC_CATEGORY_ND, UTF8PROC_CATEGORY_NO);
}

bool unicode_is_punctuation(uint32_t code)
{
    if (code < 0x80)
        return (code >= '!' && code <= '/') || (code >= ':' && code <= '@') ||
               (code >= '[' && code <= '`') || (code >= '{' && code <= '~');
    return unicode_in(code, UTF8PROC_CATEGORY_PC, UTF8PROC_CATEGORY_PO) !=
           UNICODE_LATE(code, late_punctuation);
}

bool unicode_is_word(uint32_t code)
{
    return unicode_in(code, UTF8PROC_CATEGORY_LU, UTF8PROC_CATEGORY_NL) ||
           utf8proc_category((utf8proc_int32_t)code) == UTF8PROC_CATEGORY_PC ||
           code == 0x200c || code == 0x200d ||
           (code >= 0x24b6 &&
            code <= 0x24e9) || /* letters in circles and squares are alphabetic */
           (code >= 0x1f130 && code <= 0x1f149) ||
           (code >= 0x1f150 && code <= 0x1f169) || (code >= 0x1f170 && code <= 0x1f189);
}

bool unicode_is_mark(uint32_t code)
{
    return unicode_in(code, UTF8PROC_CATEGORY_MN, UTF8PROC_CATEGORY_ME) !=
           UNICODE_LATE(code, late_mark);
}

bool unicode_is_nonspacing(uint32_t code)
{
    return unicode_in(code, UTF8PROC_CATEGORY_MN, UTF8PROC_CATEGORY_MN) !=
           UNICODE_LATE(code, late_nonspacing);
}

bool unicode_is_other(uint32_t code)
{
    return unicode_in(code, UTF8PROC_CATEGORY_CC, UTF8PROC_CATEGORY_CO) !=
           UNICODE_LATE(code, late_other);
}
