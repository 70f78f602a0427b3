/* vocab.c - vocabularies of bytes and of characters, and encoding in all. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "vocab.h"

#include "../../common/utf8.h"

#include "tokenizer.h"

#include <stdlib.h>
#include <string.h>

void vocab_close(vocab *v)
{
    tokenizer_close(v->tokenizer);
    free(v->text);
    free(v->at);
    free(v->codes);
    free(v->merges);
    memset(v, 0, sizeof *v);
}

tutti_status vocab_bytes(vocab *v, tutti_error *err)
{
    memset(v, 0, sizeof *v);
    v->size = 256;
    v->text = malloc(256);
    v->at = malloc(257 * sizeof *v->at);
    if (!v->text || !v->at) {
        vocab_close(v);
        return tutti_fail(err, TUTTI_E_NOMEM, "vocabulary: no memory for the vocabulary");
    }
    for (uint64_t k = 0; k <= 256; k++) {
        v->at[k] = k;
        if (k < 256)
            v->text[k] = (char)k;
    }
    return TUTTI_OK;
}

/* ---- characters ---- */

/* Marks the characters that occur, a bit each, and counts them. */
static tutti_status vocab_mark(unsigned char *seen, const char *name, const char *data,
                               uint64_t size, int64_t *ret_count, tutti_error *err)
{
    uint32_t code = 0;
    int64_t count = 0;
    for (uint64_t at = 0, n; at < size; at += n) {
        n = utf8_read(data + at, size - at, &code);
        if (n == 0)
            return tutti_fail(err, TUTTI_E_FORMAT, "%s: byte %llu begins no UTF-8 character",
                              name, (unsigned long long)at);
        const unsigned char bit = (unsigned char)(1u << (code & 7));
        count += !(seen[code >> 3] & bit);
        seen[code >> 3] |= bit;
    }
    *ret_count = count;
    return TUTTI_OK;
}

/* The tokens of the characters marked in `seen`. */
static tutti_status number_chars(vocab *v, const unsigned char *seen, const char *name,
                                 tutti_error *err)
{
    v->text = malloc((size_t)v->size * UTF8_MOST_BYTES + 1);
    v->at = malloc(((size_t)v->size + 1) * sizeof *v->at);
    v->codes = malloc(((size_t)v->size + 1) * sizeof *v->codes);
    if (!v->text || !v->at || !v->codes)
        return tutti_fail(err, TUTTI_E_NOMEM, "%s: no memory for its characters", name);
    uint64_t used = 0, k = 0;
    for (uint32_t code = 0; code < UTF8_CODES; code++) {
        if (!(seen[code >> 3] & 1u << (code & 7)))
            continue;
        v->codes[k] = code;
        v->at[k++] = used;
        used += utf8_write(code, v->text + used);
    }
    v->at[k] = used;
    return TUTTI_OK;
}

tutti_status vocab_chars(vocab *v, const char *name, const char *data, uint64_t size,
                         tutti_error *err)
{
    memset(v, 0, sizeof *v);
    unsigned char *seen = calloc(UTF8_CODES / 8, 1);
    if (!seen)
        return tutti_fail(err, TUTTI_E_NOMEM, "%s: no memory for its characters", name);
    tutti_status s = vocab_mark(seen, name, data, size, &v->size, err);
    if (s == TUTTI_OK)
        s = number_chars(v, seen, name, err);
    free(seen);
    if (s)
        vocab_close(v);
    return s;
}

/* The token of a character, or -1. */
static int32_t find_char(const vocab *v, uint32_t code)
{
    int64_t low = 0, high = v->size;
    while (low < high) {
        const int64_t middle = low + (high - low) / 2;
        if (v->codes[middle] < code)
            low = middle + 1;
        else
            high = middle;
    }
    return low < v->size && v->codes[low] == code ? (int32_t)low : -1;
}

static tutti_status encode_chars(const vocab *v, const char *name, const char *data,
                                 uint64_t size, int32_t *tokens, uint64_t *ret_count,
                                 tutti_error *err)
{
    uint64_t count = 0;
    uint32_t code = 0;
    for (uint64_t at = 0; at < size; at += utf8_read(data + at, size - at, &code)) {
        (void)utf8_read(data + at, size - at, &code);
        const int32_t token = find_char(v, code);
        if (token < 0)
            return tutti_fail(err, TUTTI_E_NOTFOUND,
                              "%s: the vocabulary does not have the character U+%04X at byte "
                              "%llu",
                              name, code, (unsigned long long)at);
        tokens[count++] = token;
    }
    *ret_count = count;
    return TUTTI_OK;
}

static tutti_status check_utf8(const char *name, const char *data, uint64_t size,
                               tutti_error *err)
{
    uint32_t code;
    for (uint64_t at = 0, n; at < size; at += n)
        if ((n = utf8_read(data + at, size - at, &code)) == 0)
            return tutti_fail(err, TUTTI_E_FORMAT, "%s: byte %llu begins no UTF-8 character",
                              name, (unsigned long long)at);
    return TUTTI_OK;
}

/* Those with a table of their own; at most a token a byte. */
static tutti_status vocab_encode_into(const vocab *v, const char *name, const char *data,
                                      uint64_t size, int32_t *tokens, uint64_t *ret_count,
                                      tutti_error *err)
{
    if (!v->codes && !v->merges) {
        for (uint64_t k = 0; k < size; k++)
            tokens[k] = ((const unsigned char *)data)[k];
        *ret_count = size;
        return TUTTI_OK;
    }
    const tutti_status s = check_utf8(name, data, size, err);
    if (s)
        return s;
    return v->codes ? encode_chars(v, name, data, size, tokens, ret_count, err)
                    : vocab_encode_pieces(v, data, size, tokens, ret_count, err);
}

tutti_status vocab_encode(const vocab *v, const char *name, const char *data, uint64_t size,
                          int32_t **ret_tokens, uint64_t *ret_count, tutti_error *err)
{
    if (v->tokenizer)
        return vocab_tokenizer_encode(v, name, data, size, ret_tokens, ret_count, err);
    int32_t *tokens =
        size < SIZE_MAX / sizeof *tokens ? malloc((size + 1) * sizeof *tokens) : NULL;
    if (!tokens)
        return tutti_fail(err, TUTTI_E_NOMEM, "%s: no memory for its tokens", name);
    uint64_t count = 0;
    const tutti_status s = vocab_encode_into(v, name, data, size, tokens, &count, err);
    if (s) {
        free(tokens);
        return s;
    }
    int32_t *fewer = realloc(tokens, (count + 1) * sizeof *tokens);
    *ret_tokens = fewer ? fewer : tokens;
    *ret_count = count;
    return TUTTI_OK;
}

tutti_status vocab_words_encode(const vocab *v, const char *text, uint64_t size,
                                int32_t *tokens, uint64_t capacity, uint64_t *ret_count,
                                tutti_error *err)
{
    int32_t *all = NULL;
    uint64_t count = 0;
    const tutti_status s = vocab_encode(v, "the text to encode", text, size, &all, &count, err);
    if (s == TUTTI_OK) {
        const uint64_t fit = count < capacity ? count : capacity;
        if (fit)
            memcpy(tokens, all, fit * sizeof *tokens);
        *ret_count = count;
    }
    free(all);
    return s == TUTTI_OK && capacity >= size && capacity < count
               ? tutti_fail(err, TUTTI_E_RANGE,
                            "room for %llu tokens of a text of %llu bytes that has %llu",
                            (unsigned long long)capacity, (unsigned long long)size,
                            (unsigned long long)count)
               : s;
}

const char *vocab_words_token(const vocab *v, int64_t token, uint64_t *ret_size)
{
    if (token < 0 || token >= v->size)
        return NULL;
    if (v->tokenizer)
        return tokenizer_text(v->tokenizer, token, ret_size);
    *ret_size = v->at[token + 1] - v->at[token];
    return v->text + v->at[token];
}
