/* vocab_gpt2.c - reads vocab.json and merges.txt. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "../../common/json_memory.h"
#include "../../common/utf8.h"
#include "vocab.h"
#include "whole_file.h"

#include <jansson.h>

/* In both files a token's bytes are written as characters that can be seen: printable ones of Latin-1
 * as themselves, the others as U+0100 and up in their order. */
static int vocab_gpt2_printable(int byte)
{
    return (byte >= '!' && byte <= '~') || (byte >= 0xa1 && byte <= 0xac) || byte >= 0xae;
}

enum { LETTERS = 256 + 68 };

/* The byte that each character stands for, or -1. */
static void read_letters(int16_t ret[LETTERS])
{
    int next = 256;
    for (int code = 0; code < LETTERS; code++)
        ret[code] = -1;
    for (int16_t byte = 0; byte < 256; byte++)
        ret[vocab_gpt2_printable(byte) ? byte : next++] = byte;
}

/* Writes the bytes that `key` stands for; returns how many, or -1. */
static int64_t vocab_gpt2_spell(const int16_t letters[LETTERS], const char *key, char *to)
{
    const uint64_t size = strlen(key);
    int64_t used = 0;
    uint32_t code = 0;
    for (uint64_t at = 0, n; at < size; at += n) {
        n = utf8_read(key + at, size - at, &code);
        if (n == 0 || code >= LETTERS || letters[code] < 0)
            return -1;
        to[used++] = (char)letters[code];
    }
    return used;
}

/* The keys in the order of their numbers, which are 0 to size - 1. */
static tutti_status number_keys(const char *file, json_t *json, const char **keys,
                                tutti_error *err)
{
    const size_t size = json_object_size(json);
    const char *key;
    json_t *value;
    json_object_foreach(json, key, value)
    {
        const json_int_t id = json_integer_value(value);
        if (!json_is_integer(value) || id < 0 || (uint64_t)id >= size || keys[id])
            return tutti_fail(err, TUTTI_E_FORMAT,
                              "%s: the token %s has no number of its own from 0 to %llu", file,
                              key, (unsigned long long)size - 1);
        keys[id] = key;
    }
    return TUTTI_OK;
}

static tutti_status fill_tokens(vocab *v, const char *file, json_t *json, tutti_error *err)
{
    const size_t size = json_object_size(json);
    const char **keys = calloc(size + 1, sizeof *keys);
    int16_t letters[LETTERS];
    uint64_t capacity = 1;
    tutti_status s = TUTTI_OK;
    read_letters(letters);
    if (!keys) {
        s = tutti_fail(err, TUTTI_E_NOMEM, "%s: no memory for its tokens", file);
        goto done;
    }
    if ((s = number_keys(file, json, keys, err)))
        goto done;
    for (size_t k = 0; k < size; k++)
        capacity += strlen(keys[k]);
    v->size = (int64_t)size;
    v->text = malloc(capacity);
    v->at = calloc(size + 1, sizeof *v->at);
    if (!v->text || !v->at) {
        s = tutti_fail(err, TUTTI_E_NOMEM, "%s: no memory for its tokens", file);
        goto done;
    }
    for (int byte = 0; byte < 256; byte++)
        v->of_byte[byte] = -1;
    for (size_t k = 0; k < size && s == TUTTI_OK; k++) {
        const int64_t n = vocab_gpt2_spell(letters, keys[k], v->text + v->at[k]);
        if (n < 1)
            s = tutti_fail(err, TUTTI_E_FORMAT,
                           "%s: the token %s has a character that stands for no byte", file,
                           keys[k]);
        v->at[k + 1] = v->at[k] + (uint64_t)(n < 1 ? 0 : n);
        if (n == 1)
            v->of_byte[(unsigned char)v->text[v->at[k]]] = (int32_t)k;
    }
    for (int byte = 0; byte < 256 && s == TUTTI_OK; byte++)
        if (v->of_byte[byte] < 0)
            s = tutti_fail(err, TUTTI_E_FORMAT, "%s: has no token for the byte 0x%02x", file,
                           byte);
done:
    free(keys);
    return s;
}

static int32_t find_token(json_t *json, const char *key)
{
    const json_t *value = json_object_get(json, key);
    return value ? (int32_t)json_integer_value(value) : -1;
}

/* "left right" of a line whose ends are cut off; `line` is changed. */
static tutti_status add_merge(vocab *v, const char *file, int32_t number, char *line,
                              json_t *json, int32_t rank, tutti_error *err)
{
    char *space = strchr(line, ' ');
    if (!space || space == line || !space[1] || strchr(space + 1, ' '))
        return tutti_fail(err, TUTTI_E_FORMAT,
                          "%s:%d: want two tokens and a space between them", file, number);
    *space = '\0';
    const int32_t left = find_token(json, line), right = find_token(json, space + 1);
    memmove(space, space + 1, strlen(space + 1) + 1);
    const int32_t both = find_token(json, line);
    if (left < 0 || right < 0 || both < 0)
        return tutti_fail(err, TUTTI_E_FORMAT,
                          "%s:%d: the vocabulary lacks %s or one of its two parts", file,
                          number, line);
    vocab_merge *m = vocab_merge_find(v, left, right);
    if (m->left < 0)
        *m = (vocab_merge){left, right, rank, both};
    return TUTTI_OK;
}

static tutti_status fill_merges(vocab *v, const char *file, char *data, uint64_t size,
                                json_t *json, tutti_error *err)
{
    uint64_t lines = 1;
    for (uint64_t k = 0; k < size; k++)
        lines += data[k] == '\n';
    v->bits = 4;
    while ((uint64_t)1 << v->bits < 2 * lines)
        v->bits++;
    v->merges = malloc(((size_t)1 << v->bits) * sizeof *v->merges);
    if (!v->merges)
        return tutti_fail(err, TUTTI_E_NOMEM, "%s: no memory for its merges", file);
    for (uint64_t k = 0; k < (uint64_t)1 << v->bits; k++)
        v->merges[k].left = -1;
    tutti_status s = TUTTI_OK;
    int32_t number = 0;
    for (char *line = data, *end; line < data + size && s == TUTTI_OK; line = end + 1) {
        end = memchr(line, '\n', (size_t)(data + size - line));
        end = end ? end : data + size;
        *end = '\0';
        if (end > line && end[-1] == '\r')
            end[-1] = '\0';
        number++;
        if (*line && !(number == 1 && strncmp(line, "#version", 8) == 0))
            s = add_merge(v, file, number, line, json, number, err);
    }
    return s;
}

/* A whole file with a zero after it. */
static tutti_status read_text(const char *file, char **ret_data, uint64_t *ret_size,
                              tutti_error *err)
{
    void *data = NULL;
    uint64_t size = 0;
    const tutti_status s = whole_file(file, &data, &size, err);
    if (s)
        return s;
    char *text = realloc(data, size + 1);
    if (!text) {
        free(data);
        return tutti_fail(err, TUTTI_E_NOMEM, "%s: no memory for %llu bytes", file,
                          (unsigned long long)size + 1);
    }
    text[size] = '\0';
    *ret_data = text;
    *ret_size = size;
    return TUTTI_OK;
}

tutti_status vocab_gpt2(vocab *v, const char *vocab_file, const char *merges_file,
                        tutti_error *err)
{
    char *words = NULL, *merges = NULL;
    uint64_t words_size, merges_size;
    json_error_t why;
    json_t *json = NULL;
    memset(v, 0, sizeof *v);
    tutti_status s = read_text(vocab_file, &words, &words_size, err);
    if (s || (s = read_text(merges_file, &merges, &merges_size, err)))
        goto done;
    const uint64_t mark = words_size >= 3 && memcmp(words, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;
    const unsigned long before = json_memory_watch();
    json = json_loadb(words + mark, words_size - mark, JSON_REJECT_DUPLICATES, &why);
    if ((s = json_memory_told(before, &json, vocab_file, err)))
        goto done;
    if (!json)
        s = tutti_fail(err, TUTTI_E_FORMAT, "%s:%d: %s", vocab_file, why.line, why.text);
    else if (!json_is_object(json) || json_object_size(json) > INT32_MAX)
        s = tutti_fail(err, TUTTI_E_FORMAT, "%s: is no object of tokens and their numbers",
                       vocab_file);
    if (s || (s = fill_tokens(v, vocab_file, json, err)))
        goto done;
    s = fill_merges(v, merges_file, merges, merges_size, json, err);
done:
    json_decref(json);
    free(words);
    free(merges);
    if (s)
        vocab_close(v);
    return s;
}
