/* decode.c - decoders: tokens go through all steps as a list of texts, which then stand together. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "decode.h"

#include "unicode.h"

void texts_end(texts *t)
{
    if (t->count == t->capacity) {
        const uint64_t capacity = t->capacity ? 2 * t->capacity : 64;
        uint64_t *ends = realloc(t->ends, capacity * sizeof *ends);
        if (!ends) {
            t->all.lacks = true;
            return;
        }
        t->ends = ends;
        t->capacity = capacity;
    }
    t->ends[t->count++] = t->all.size;
}

void texts_clear(texts *t)
{
    t->all.size = 0;
    t->count = 0;
}

void texts_free(texts *t)
{
    bytes_free(&t->all);
    free(t->ends);
}

static const char *texts_at(const texts *t, uint64_t k, uint64_t *ret_size)
{
    const uint64_t begin = k ? t->ends[k - 1] : 0;
    *ret_size = t->ends[k] - begin;
    return t->all.data ? t->all.data + begin : "";
}

/* ---- bytes out of characters and out of <0x..> ---- */

/* U+FFFD for each longest part of `text` that is the beginning of a character, or a byte that is none. */
void decode_lossy(const char *text, uint64_t size, bytes *to)
{
    for (uint64_t at = 0; at < size;) {
        const uint64_t good = unicode_check(text + at, size - at);
        bytes_add(to, text + at, good);
        at += good;
        if (at == size)
            return;
        bytes_text(to, "\xef\xbf\xbd");
        at += decode_broken(text + at, size - at);
    }
}

uint64_t decode_broken(const char *text, uint64_t size)
{
    const unsigned char *at = (const unsigned char *)text;
    const uint64_t whole = at[0] >= 0xf0 ? 4 : at[0] >= 0xe0 ? 3 : 2;
    if (at[0] < 0xc2 || at[0] > 0xf4 || size < 2)
        return 1;
    const unsigned char least = at[0] == 0xe0 ? 0xa0 : at[0] == 0xf0 ? 0x90 : 0x80;
    const unsigned char most = at[0] == 0xed ? 0x9f : at[0] == 0xf4 ? 0x8f : 0xbf;
    if (at[1] < least || at[1] > most)
        return 1;
    uint64_t n = 2;
    while (n < whole && n < size && (at[n] & 0xc0) == 0x80)
        n++;
    return n;
}

/* The bytes that the characters of a token stand for; a token with another character is its own bytes. */
void decode_spelled(const char *text, uint64_t size, bytes *to)
{
    const uint64_t from = to->size;
    uint32_t n;
    for (uint64_t at = 0; at < size; at += n) {
        const int byte = byte_level_byte(unicode_read(text, size, at, &n));
        if (byte < 0) {
            to->size = from;
            bytes_add(to, text, size);
            return;
        }
        bytes_add(to, &(char){(char)byte}, 1);
    }
}

static void decode_byte_level(const texts *in, texts *out)
{
    bytes raw = {0};
    uint64_t size;
    for (uint64_t k = 0; k < in->count; k++) {
        const char *text = texts_at(in, k, &size);
        decode_spelled(text, size, &raw);
    }
    decode_lossy(raw.data, raw.size, &out->all);
    out->all.lacks = out->all.lacks || raw.lacks;
    bytes_free(&raw);
    texts_end(out);
}

/* The byte of "<0x41>", or -1. */
int decode_named_byte(const char *text, uint64_t size)
{
    static const char digits[] = "0123456789ABCDEFabcdef";
    if (size != 6 || memcmp(text, "<0x", 3) != 0 || text[5] != '>')
        return -1;
    const char *high = strchr(digits, text[3]), *low = strchr(digits, text[4]);
    if (!high || !low || !*high || !*low)
        return -1;
    const int a = (int)(high - digits), b = (int)(low - digits);
    return 16 * (a > 15 ? a - 6 : a) + (b > 15 ? b - 6 : b);
}

/* Bytes that are no text become a U+FFFD each. */
static void decode_flush(bytes *run, texts *out)
{
    const bool good = unicode_check(run->data, run->size) == run->size;
    if (good && run->size) {
        bytes_add(&out->all, run->data, run->size);
        texts_end(out);
    }
    for (uint64_t k = 0; !good && k < run->size; k++) {
        bytes_text(&out->all, "\xef\xbf\xbd");
        texts_end(out);
    }
    run->size = 0;
}

static void decode_bytes(const texts *in, texts *out)
{
    bytes run = {0};
    uint64_t size;
    for (uint64_t k = 0; k < in->count; k++) {
        const char *text = texts_at(in, k, &size);
        const int byte = decode_named_byte(text, size);
        if (byte >= 0) {
            bytes_add(&run, &(char){(char)byte}, 1);
            continue;
        }
        decode_flush(&run, out);
        bytes_add(&out->all, text, size);
        texts_end(out);
    }
    decode_flush(&run, out);
    out->all.lacks = out->all.lacks || run.lacks;
    bytes_free(&run);
}

/* ---- one token ---- */

static void decode_replaced(const char *text, uint64_t size, const char *from, const char *with,
                            bytes *to)
{
    const uint64_t n = strlen(from);
    for (uint64_t at = 0; at < size;) {
        if (n && size - at >= n && memcmp(text + at, from, n) == 0) {
            bytes_text(to, with);
            at += n;
        } else {
            bytes_add(to, text + at++, 1);
        }
    }
}

static void decode_cleanup(bytes *to, uint64_t from)
{
    static const char *const pairs[][2] = {
        {" .", "."},   {" ?", "?"},     {" !", "!"},     {" ,", ","},
        {" ' ", "'"},  {" n't", "n't"}, {" 'm", "'m"},   {" do not", " don't"},
        {" 's", "'s"}, {" 've", "'ve"}, {" 're", "'re"},
    };
    for (size_t k = 0; k < sizeof pairs / sizeof *pairs; k++) {
        bytes changed = {0};
        decode_replaced(to->data + from, to->size - from, pairs[k][0], pairs[k][1], &changed);
        to->size = from;
        bytes_add(to, changed.data, changed.size);
        to->lacks = to->lacks || changed.lacks;
        bytes_free(&changed);
    }
}

static void decode_wordpiece(const decode_step *s, const char *text, uint64_t size, bool first,
                             bytes *to)
{
    const uint64_t from = to->size, n = strlen(s->text);
    const bool goes_on = size >= n && memcmp(text, s->text, n) == 0;
    if (!first && !goes_on)
        bytes_add(to, " ", 1);
    if (!first && goes_on)
        bytes_add(to, text + n, size - n);
    else
        bytes_add(to, text, size);
    if (s->cleanup && to->data)
        decode_cleanup(to, from);
}

static void decode_strip(const decode_step *s, const char *text, uint64_t size, bytes *to)
{
    const uint64_t n = strlen(s->text);
    uint64_t begin = 0, end = size;
    for (int64_t k = 0;
         k < s->start && size - begin >= n && memcmp(text + begin, s->text, n) == 0; k++)
        begin += n;
    for (int64_t k = 0;
         k < s->stop && end - begin >= n && memcmp(text + end - n, s->text, n) == 0; k++)
        end -= n;
    bytes_add(to, text + begin, end - begin);
}

static void decode_pattern(const decode_step *s, const char *text, uint64_t size, bytes *to)
{
    tutti_error ignored = TUTTI_ERROR_INIT;
    pcre2_match_data *match = pcre2_match_data_create(1, NULL);
    uint64_t begin = size, end = size;
    for (uint64_t at = 0; at < size; at = end) {
        if (!match || pattern_find(s->pattern, match, text, size, at, &begin, &end, &ignored))
            begin = end = size;
        bytes_add(to, text + at, begin - at);
        if (end > begin)
            bytes_text(to, s->content);
    }
    to->lacks = to->lacks || !match;
    pcre2_match_data_free(match);
}

void decode_token(const decode_step *s, const char *text, uint64_t size, bool first, bool last,
                  bytes *to)
{
    switch (s->kind) {
    case DECODE_WORDPIECE:
        decode_wordpiece(s, text, size, first, to);
        break;
    case DECODE_METASPACE:
        decode_replaced(text, size, s->text, first && !s->keep_first ? "" : " ", to);
        break;
    case DECODE_BPE:
        decode_replaced(text, size, s->text, last ? "" : " ", to);
        break;
    case DECODE_STRIP:
        decode_strip(s, text, size, to);
        break;
    case DECODE_REPLACE:
        decode_pattern(s, text, size, to);
        break;
    default:
        bytes_add(to, text, size);
        break;
    }
}

static void decode_step_run(const decode_step *s, const texts *in, texts *out)
{
    uint64_t size;
    if (s->kind == DECODE_BYTE_LEVEL) {
        decode_byte_level(in, out);
        return;
    }
    if (s->kind == DECODE_BYTE_FALLBACK) {
        decode_bytes(in, out);
        return;
    }
    for (uint64_t k = 0; k < in->count; k++) {
        const char *text = texts_at(in, k, &size);
        decode_token(s, text, size, k == 0, k + 1 == in->count, &out->all);
        if (s->kind != DECODE_FUSE)
            texts_end(out);
    }
    if (s->kind == DECODE_FUSE)
        texts_end(out);
}

texts *decode_run(const decode *d, texts *in, texts *spare)
{
    texts *const both[2] = {in, spare};
    for (uint32_t k = 0; k < d->count; k++) {
        const texts *from = both[k % 2];
        texts *to = both[(k + 1) % 2];
        texts_clear(to);
        decode_step_run(&d->steps[k], from, to);
        to->all.lacks = to->all.lacks || from->all.lacks;
    }
    return both[d->count % 2];
}
