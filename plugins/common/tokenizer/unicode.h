/* unicode.h - characters and their classes, by utf8proc. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TOKENIZER_UNICODE_H
#define TOKENIZER_UNICODE_H

#include "bytes.h"

#include <utf8proc.h>

/* The character at `at` < size of valid UTF-8, and its length in bytes. */
static inline uint32_t unicode_read(const char *text, uint64_t size, uint64_t at,
                                    uint32_t *ret_length)
{
    if ((unsigned char)text[at] < 0x80) {
        *ret_length = 1;
        return (unsigned char)text[at];
    }
    utf8proc_int32_t code = 0;
    const utf8proc_ssize_t n = utf8proc_iterate((const utf8proc_uint8_t *)text + at,
                                                (utf8proc_ssize_t)(size - at), &code);
    *ret_length = n > 0 ? (uint32_t)n : 1;
    return (uint32_t)code;
}

static inline void unicode_add(bytes *to, uint32_t code)
{
    if (bytes_reserve(to, 4))
        to->size += (uint64_t)utf8proc_encode_char((utf8proc_int32_t)code,
                                                   (utf8proc_uint8_t *)to->data + to->size);
}

/* The first byte that begins no UTF-8 character, or `size`. */
uint64_t unicode_check(const char *text, uint64_t size);
/* true: all below 0x80 */
bool unicode_is_ascii(const char *text, uint64_t size);

/* As the package has them, some of whose tables are older (unicode_late.h). */
bool unicode_is_space(uint32_t code);  /* the property White_Space */
bool unicode_is_number(uint32_t code); /* N */
bool unicode_is_punctuation(
    uint32_t code); /* P, and all of ASCII that is neither letter, digit, space nor control */
bool unicode_is_word(
    uint32_t code); /* \w: letters, marks, decimal digits, connectors, joiners */
bool unicode_is_mark(uint32_t code);       /* M */
bool unicode_is_nonspacing(uint32_t code); /* Mn */
bool unicode_is_other(uint32_t code);      /* C without what is not assigned */

#endif
