/* text_stream.c - bytes that come in pieces become whole characters of UTF-8, up to a stop text. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "train/generate/text_stream.h"

#include <stdlib.h>
#include <string.h>

/* The least that a character of n bytes may stand for: shorter ones are written with fewer. */
static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};

/* How many of the `left` bytes are a character; 0: none begins here; *ret_more: one might, were there more. */
static size_t character(const unsigned char *at, size_t left, bool *ret_more)
{
    const size_t n = at[0] < 0x80                    ? 1
                     : at[0] >= 0xc2 && at[0] < 0xe0 ? 2
                     : (at[0] & 0xf0) == 0xe0        ? 3
                     : at[0] >= 0xf0 && at[0] < 0xf5 ? 4
                                                     : 0;
    uint32_t code = n ? at[0] & (0xff >> (n > 1 ? n + 1 : 1)) : 0;
    *ret_more = false;
    for (size_t k = 1; k < n; k++) {
        if (k == left) {
            *ret_more = true;
            return 0;
        }
        if ((at[k] & 0xc0) != 0x80)
            return 0;
        code = code << 6 | (at[k] & 0x3f);
    }
    return code < least[n] || code > 0x10ffff || (code >= 0xd800 && code < 0xe000) ? 0 : n;
}

/* Where the first stop text stands from `from` on; `size`: nowhere. */
static size_t find_stop(const text_stream *s, size_t from)
{
    size_t at = s->all.size;
    for (const char *const *stop = s->stops; stop && *stop; stop++) {
        const size_t n = strlen(*stop);
        for (size_t k = from; n && k + n <= s->all.size && k < at; k++)
            at = memcmp(s->all.data + k, *stop, n) == 0 ? k : at;
    }
    return at;
}

/* How many of the last bytes may be the beginning of a stop text. */
static size_t pending(const text_stream *s)
{
    size_t most = 0;
    for (const char *const *stop = s->stops; stop && *stop; stop++) {
        const size_t n = strlen(*stop);
        for (size_t k = n ? n - 1 : 0; k > most; k--)
            if (k <= s->all.size && memcmp(s->all.data + s->all.size - k, *stop, k) == 0)
                most = k;
    }
    return most;
}

tutti_status text_stream_add(text_stream *s, const char *bytes, size_t n, tutti_error *err)
{
    size_t longest = 0;
    for (const char *const *stop = s->stops; stop && *stop; stop++)
        longest = strlen(*stop) > longest ? strlen(*stop) : longest;
    const size_t from = s->all.size > longest ? s->all.size - longest : 0;
    text_add_bytes(&s->all, bytes, n);
    if (s->all.failed)
        return tutti_fail(err, TUTTI_E_NOMEM, "no memory for a text");
    const size_t stop = find_stop(s, from > s->told ? from : s->told);
    s->stopped = s->stopped || stop < s->all.size;
    s->all.size = stop;
    return TUTTI_OK;
}

char *text_stream_take(text_stream *s, bool end)
{
    static const char unknown[] = "\xef\xbf\xbd";
    const size_t sure = s->all.size - (end || s->stopped ? 0 : pending(s));
    char *text = malloc(3 * (sure - s->told) + 1);
    size_t used = 0, n;
    while (text && s->told < sure) {
        bool more;
        n = character((const unsigned char *)s->all.data + s->told, s->all.size - s->told,
                      &more);
        if ((more && !end && !s->stopped) || s->told + n > sure)
            break;
        const size_t bytes = n ? n : sizeof unknown - 1;
        memcpy(text + used, n ? s->all.data + s->told : unknown, bytes);
        used += bytes;
        s->told += n ? n : 1;
    }
    if (text)
        text[used] = '\0';
    return text;
}

void text_stream_fini(text_stream *s)
{
    free(s->all.data);
    *s = (text_stream){.stops = NULL};
}
