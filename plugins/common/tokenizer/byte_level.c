/* byte_level.c - bytes as characters that can be seen: printable ones of Latin-1 as themselves, the others
 * as U+0100 and up in their order. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "tables.h"
#include "unicode.h"

static bool byte_level_is_printable(uint32_t byte)
{
    return (byte >= '!' && byte <= '~') || (byte >= 0xa1 && byte <= 0xac) || byte >= 0xae;
}

/* The bytes that cannot be seen: 0 to 0x20, 0x7f to 0xa0, 0xad. */
static uint32_t byte_level_code(uint32_t byte)
{
    return byte_level_is_printable(byte) ? byte
           : byte <= ' '                 ? 0x100 + byte
           : byte <= 0xa0                ? 0x121 + (byte - 0x7f)
                                         : 0x143;
}

void byte_level_add(bytes *to, const char *text, uint64_t size)
{
    if (!bytes_reserve(to, 2 * size))
        return;
    unsigned char *out = (unsigned char *)to->data + to->size;
    for (uint64_t k = 0; k < size; k++) {
        const uint32_t code = byte_level_code((unsigned char)text[k]);
        if (code < 0x80) {
            *out++ = (unsigned char)code;
        } else {
            *out++ = (unsigned char)(0xc0 | code >> 6);
            *out++ = (unsigned char)(0x80 | (code & 0x3f));
        }
    }
    to->size = (uint64_t)((char *)out - to->data);
}

int byte_level_byte(uint32_t code)
{
    if (code < 0x100)
        return byte_level_is_printable(code) ? (int)code : -1;
    return code <= 0x120   ? (int)(code - 0x100)
           : code <= 0x142 ? (int)(code - 0x121 + 0x7f)
           : code == 0x143 ? 0xad
                           : -1;
}
