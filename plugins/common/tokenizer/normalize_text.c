/* normalize_text.c - Unicode's forms, lower case, and what BERT does to a text. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "tables.h"
#include "unicode.h"

bool normalize_form(const char *text, uint64_t size, int options, bytes *to)
{
    if (unicode_is_ascii(text, size)) { /* in every form already */
        bytes_add(to, text, size);
        return true;
    }
    utf8proc_uint8_t *out = NULL;
    const utf8proc_ssize_t n =
        utf8proc_map((const utf8proc_uint8_t *)text, (utf8proc_ssize_t)size, &out,
                     (utf8proc_option_t)(options | UTF8PROC_STABLE));
    if (n >= 0)
        bytes_add(to, (const char *)out, (uint64_t)n);
    free(out);
    return n >= 0;
}

void normalize_lowercase(const char *text, uint64_t size, bytes *to)
{
    uint32_t n;
    for (uint64_t at = 0; at < size; at += n) {
        const uint32_t code = unicode_read(text, size, at, &n);
        if (code == 0x130) /* the one whose lower case is two characters */
            bytes_text(to, "i\xcc\x87");
        else
            unicode_add(to, (uint32_t)utf8proc_tolower((utf8proc_int32_t)code));
    }
}

static bool normalize_is_chinese(uint32_t c)
{
    return (c >= 0x4e00 && c <= 0x9fff) || (c >= 0x3400 && c <= 0x4dbf) ||
           (c >= 0x20000 && c <= 0x2a6df) || (c >= 0x2a700 && c <= 0x2b73f) ||
           (c >= 0x2b740 && c <= 0x2b81f) || (c >= 0x2b920 && c <= 0x2ceaf) ||
           (c >= 0xf900 && c <= 0xfaff) || (c >= 0x2f800 && c <= 0x2fa1f);
}

/* Control characters go, white space becomes spaces, ideographs get spaces around them. */
static void normalize_clean(const normalize_step *s, const char *text, uint64_t size, bytes *to)
{
    uint32_t n;
    for (uint64_t at = 0; at < size; at += n) {
        const uint32_t c = unicode_read(text, size, at, &n);
        const bool blank = c == '\t' || c == '\n' || c == '\r';
        if (s->clean && (c == 0 || c == 0xfffd || (!blank && unicode_is_other(c))))
            continue;
        if (s->clean && unicode_is_space(c)) {
            bytes_add(to, " ", 1);
        } else if (s->chinese && normalize_is_chinese(c)) {
            bytes_add(to, " ", 1);
            bytes_add(to, text + at, n);
            bytes_add(to, " ", 1);
        } else {
            bytes_add(to, text + at, n);
        }
    }
}

static void normalize_nonspacing(const char *text, uint64_t size, bytes *to)
{
    uint32_t n;
    for (uint64_t at = 0; at < size; at += n)
        if (!unicode_is_nonspacing(unicode_read(text, size, at, &n)))
            bytes_add(to, text + at, n);
}

void normalize_bert(const normalize_step *s, const char *text, uint64_t size, bytes *to)
{
    bytes clean = {0}, parted = {0}, bare = {0};
    bytes *last = &clean;
    normalize_clean(s, text, size, &clean);
    if (s->accents) {
        if (!normalize_form(clean.data, clean.size, UTF8PROC_DECOMPOSE, &parted))
            to->lacks = true;
        normalize_nonspacing(parted.data, parted.size, &bare);
        last = &bare;
    }
    if (s->lowercase)
        normalize_lowercase(last->data, last->size, to);
    else
        bytes_add(to, last->data, last->size);
    to->lacks = to->lacks || clean.lacks || parted.lacks || bare.lacks;
    bytes_free(&clean);
    bytes_free(&parted);
    bytes_free(&bare);
}
