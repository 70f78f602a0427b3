/* charsmap.c - SentencePiece's precompiled map of characters: base64 of the size of a double array in bytes,
 * the array (Darts-clone's 32-bit units, little endian) and texts that its values point to. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "tables.h"
#include "unicode.h"

static int charsmap_digit(unsigned char c)
{
    return c >= 'A' && c <= 'Z'   ? c - 'A'
           : c >= 'a' && c <= 'z' ? c - 'a' + 26
           : c >= '0' && c <= '9' ? c - '0' + 52
           : c == '+'             ? 62
           : c == '/'             ? 63
                                  : -1;
}

/* false: no base64. */
static bool charsmap_decode(const char *text, bytes *to)
{
    uint32_t bits = 0, count = 0;
    const char *at = text;
    for (; *at && *at != '='; at++) {
        const int digit = charsmap_digit((unsigned char)*at);
        if (digit < 0)
            return false;
        bits = bits << 6 | (uint32_t)digit;
        if (++count % 4 == 0) {
            const char three[3] = {(char)(bits >> 16), (char)(bits >> 8), (char)bits};
            bytes_add(to, three, 3);
        }
    }
    const char two[2] = {(char)(count % 4 == 3 ? bits >> 10 : bits >> 4), (char)(bits >> 2)};
    bytes_add(to, two, count % 4 > 1 ? count % 4 - 1 : 0);
    return count % 4 != 1 && strspn(at, "=") == strlen(at);
}

static uint32_t charsmap_u32(const char *data)
{
    const unsigned char *at = (const unsigned char *)data;
    return at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;
}

/* The two halves of the blob; the texts end with a zero whatever the file says. */
static bool charsmap_fill(charsmap *m, const bytes *blob)
{
    const uint64_t array = charsmap_u32(blob->data);
    m->count = array / 4;
    m->size = blob->size - 4 - array;
    m->units = malloc(array + 4);
    m->texts = malloc(m->size + 1);
    if (!m->units || !m->texts)
        return false;
    for (uint64_t k = 0; k < m->count; k++)
        m->units[k] = charsmap_u32(blob->data + 4 + 4 * k);
    memcpy(m->texts, blob->data + 4 + array, m->size);
    m->texts[m->size] = '\0';
    return true;
}

void charsmap_read(charsmap *m, const part *p)
{
    bytes blob = {0};
    const char *text = part_text(p, "precompiled_charsmap", "");
    if (!*text) /* the identity */
        return;
    if (!charsmap_decode(text, &blob))
        part_fail(p, TUTTI_E_FORMAT, "\"precompiled_charsmap\" is no base64");
    else if (blob.lacks)
        part_fail(p, TUTTI_E_NOMEM, "no memory");
    else if (blob.size < 8 || charsmap_u32(blob.data) > blob.size - 4 ||
             charsmap_u32(blob.data) % 4 || charsmap_u32(blob.data) == 0)
        part_fail(p, TUTTI_E_FORMAT,
                  "\"precompiled_charsmap\" does not hold the array it names");
    else if (!charsmap_fill(m, &blob))
        part_fail(p, TUTTI_E_NOMEM, "no memory");
    bytes_free(&blob);
}

void charsmap_free(charsmap *m)
{
    free(m->units);
    free(m->texts);
}

/* The text for the shortest beginning of `text` that the map has, or NULL.  A unit has the byte that leads to
 * it in bits 0 to 7 (and 31 for a value), in bit 8 whether a value is below, the offset to its children above
 * bit 10, times 256 where bit 9 is set. */
static const char *charsmap_find(const charsmap *m, const char *text, uint64_t size)
{
    uint64_t at = 0;
    if (!m->count)
        return NULL;
    uint32_t unit = m->units[0];
    at ^= (uint64_t)(unit >> 10) << ((unit & 1u << 9) >> 6);
    for (uint64_t k = 0; k < size; k++) {
        const unsigned char byte = (unsigned char)text[k];
        at ^= byte;
        if (byte == 0 || at >= m->count)
            return NULL;
        unit = m->units[at];
        if ((unit & (1u << 31 | 0xff)) != byte)
            return NULL;
        at ^= (uint64_t)(unit >> 10) << ((unit & 1u << 9) >> 6);
        if (at >= m->count)
            return NULL;
        if (unit >> 8 & 1) {
            const uint64_t value = m->units[at] & 0x7fffffff;
            return value < m->size ? m->texts + value : NULL;
        }
    }
    return NULL;
}

/* What stands together as one character, if it is short and the map has it; else each by itself. */
static void charsmap_cluster(const charsmap *m, const char *text, uint64_t size, bytes *to)
{
    const char *mapped = size < 6 ? charsmap_find(m, text, size) : NULL;
    if (mapped) {
        bytes_text(to, mapped);
        return;
    }
    uint32_t n;
    for (uint64_t at = 0; at < size; at += n) {
        (void)unicode_read(text, size, at, &n);
        mapped = charsmap_find(m, text + at, n);
        if (mapped)
            bytes_text(to, mapped);
        else
            bytes_add(to, text + at, n);
    }
}

void charsmap_run(const charsmap *m, const char *text, uint64_t size, bytes *to)
{
    utf8proc_int32_t state = 0;
    uint32_t n = 0, last = 0;
    uint64_t begin = 0;
    for (uint64_t at = 0; at < size; at += n) {
        const uint32_t code = unicode_read(text, size, at, &n);
        if (at && utf8proc_grapheme_break_stateful((utf8proc_int32_t)last,
                                                   (utf8proc_int32_t)code, &state)) {
            charsmap_cluster(m, text + begin, at - begin, to);
            begin = at;
        }
        last = code;
    }
    if (size)
        charsmap_cluster(m, text + begin, size - begin, to);
}
