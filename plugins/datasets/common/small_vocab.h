/* small_vocab.h - a vocabulary in GPT-2's format: the bytes in its order, and eight merges. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SMALL_VOCAB_H
#define SMALL_VOCAB_H

#include "../dataset_check.h"

#include <stdio.h>

enum { SMALL_VOCAB = 256 + 8 };

/* U+0120 stands for the space. */
static const char small_merges[] = "#version: 0.2\nh e\nl l\nhe ll\nhell o\n\xc4\xa0 w\no r\n"
                                   "\xc4\xa0w or\nl o\n";

static inline uint32_t small_utf8(uint32_t code, char *to)
{
    if (code < 0x80) {
        to[0] = (char)code;
        return 1;
    }
    if (code < 0x800) {
        to[0] = (char)(0xc0 | code >> 6);
        to[1] = (char)(0x80 | (code & 63));
        return 2;
    }
    const uint32_t n = code < 0x10000 ? 3 : 4;
    to[0] = (char)(n == 3 ? 0xe0 | code >> 12 : 0xf0 | code >> 18);
    for (uint32_t k = 1; k < n; k++)
        to[k] = (char)(0x80 | (code >> 6 * (n - 1 - k) & 63));
    return n;
}

/* Writes vocab.json: as in GPT-2, printable bytes have the numbers from 0, the others those after
 * them, and merges the ones from 256. */
static inline const char *small_vocab_file(const shelf *s, const char *name)
{
    static char json[8192];
    static const char *const merged[] = {"he",        "ll", "hell",        "hello",
                                         "\xc4\xa0w", "or", "\xc4\xa0wor", "lo"};
    size_t used = (size_t)snprintf(json, sizeof json, "{");
    for (uint32_t k = 0; k < 256; k++) {
        const uint32_t code = k < 94    ? k + 33
                              : k < 106 ? k - 94 + 161
                              : k < 188 ? k - 106 + 174
                                        : k - 188 + 256;
        char word[5] = "";
        (void)small_utf8(code, word);
        used += (size_t)snprintf(json + used, sizeof json - used, "\"%s%s\": %u, ",
                                 code == '"' || code == '\\' ? "\\" : "", word, k);
    }
    for (uint32_t k = 0; k < 8; k++)
        used += (size_t)snprintf(json + used, sizeof json - used, "\"%s\": %u%s", merged[k],
                                 256 + k, k < 7 ? ", " : "}");
    return shelf_file(s, name, json, used);
}

#endif
