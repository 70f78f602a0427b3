/* utf8.h - the characters of UTF-8. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef UTF8_H
#define UTF8_H

#include <stdint.h>

enum { UTF8_CODES = 0x110000, UTF8_MOST_BYTES = 4 };

/* The code point at `at` and its length in bytes; 0: no UTF-8 (overlong and surrogates too). */
static inline uint32_t utf8_read(const char *text, uint64_t left, uint32_t *ret_code)
{
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    const unsigned char *at = (const unsigned char *)text;
    if (left == 0)
        return 0;
    const uint32_t n = at[0] < 0x80                    ? 1
                       : at[0] >= 0xc2 && at[0] < 0xe0 ? 2
                       : at[0] >= 0xe0 && at[0] < 0xf0 ? 3
                       : at[0] >= 0xf0 && at[0] < 0xf5 ? 4
                                                       : 0;
    if (n == 0 || n > left)
        return 0;
    uint32_t code = n == 1 ? at[0] : at[0] & (0x7fu >> n);
    for (uint32_t k = 1; k < n; k++) {
        if ((at[k] & 0xc0) != 0x80)
            return 0;
        code = code << 6 | (at[k] & 0x3f);
    }
    if (code < least[n] || code >= UTF8_CODES || (code >= 0xd800 && code < 0xe000))
        return 0;
    *ret_code = code;
    return n;
}

/* Writes the character and returns its length in bytes. */
static inline uint32_t utf8_write(uint32_t code, char ret[UTF8_MOST_BYTES])
{
    const uint32_t n = code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
    for (uint32_t k = n; k-- > 1; code >>= 6)
        ret[k] = (char)(0x80 | (code & 0x3f));
    ret[0] = (char)(n == 1 ? code : (0xf00u >> n & 0xf0) | code);
    return n;
}

#endif
