/* tokenizer.c - a tokenizer.json opened. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "../json_memory.h"
#include "../regular_file.h"
#include "tables.h"

#include <stdio.h>

static tutti_status tokenizer_load(tokenizer *t, const char *path, tutti_error *err)
{
    json_error_t why;
    t->path = strdup(path);
    if (!t->path)
        return tokenizer_no_memory(err);
    const char *cause;
    FILE *f = regular_file_open(path, &cause);
    if (!f)
        return tutti_fail(err, TUTTI_E_IO, "%s: %s", path, cause);
    /* a byte order mark is no part of the text */
    char mark[3];
    if (fread(mark, 1, 3, f) != 3 || memcmp(mark, "\xef\xbb\xbf", 3) != 0)
        rewind(f);
    const unsigned long before = json_memory_watch();
    t->json = json_loadf(f, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, &why);
    const tutti_status lacks = json_memory_told(before, &t->json, path, err);
    (void)fclose(f);
    if (lacks)
        return lacks;
    if (!t->json)
        return tutti_fail(err, TUTTI_E_FORMAT, "%s:%d: %s", path, why.line, why.text);
    if (!json_is_object(t->json))
        return tutti_fail(err, TUTTI_E_FORMAT, "%s: is no object, want a tokenizer.json", path);
    return TUTTI_OK;
}

static void tokenizer_read(tokenizer *t, tutti_status *status, tutti_error *err)
{
    const part root = {t->json, t->path, "the file", status, err};
    const part model = part_object(&root, "model", "model", true);
    const part normal = part_object(&root, "normalizer", "normalizer", false);
    const part pieces = part_object(&root, "pre_tokenizer", "pre_tokenizer", false);
    const part post = part_object(&root, "post_processor", "post_processor", false);
    const part decoder = part_object(&root, "decoder", "decoder", false);
    model_read(t, &model);
    if (*status == TUTTI_OK)
        added_read(t, &root);
    normalize_read(&t->normalize, &normal);
    split_read(&t->split, &pieces);
    process_read(t, &post);
    decode_read(&t->decode, &decoder);
}

/* The spelling of every id: the model's, over which those of added tokens go. */
static tutti_status tokenizer_spell(tokenizer *t, tutti_error *err)
{
    t->spelling = calloc((size_t)t->size, sizeof *t->spelling);
    t->is_special = calloc((size_t)t->size, sizeof *t->is_special);
    if (!t->spelling || !t->is_special)
        return tokenizer_no_memory(err);
    for (uint64_t k = 0; k < (uint64_t)1 << t->words.bits; k++)
        if (t->words.places[k].text)
            t->spelling[t->words.places[k].id] = t->words.places[k].text;
    for (uint64_t k = 0; k < t->added.count; k++) {
        t->spelling[t->added.tokens[k].id] = t->added.tokens[k].text;
        t->is_special[t->added.tokens[k].id] = t->added.tokens[k].special;
    }
    return TUTTI_OK;
}

/* The post-processor may name ids that no token has. */
static tutti_status tokenizer_check(const tokenizer *t, tutti_error *err)
{
    const tokenizer_ids *const both[2] = {&t->before, &t->after};
    for (int k = 0; k < 2; k++)
        for (uint64_t m = 0; m < both[k]->count; m++)
            if (both[k]->data[m] >= t->size)
                return tutti_fail(err, TUTTI_E_FORMAT,
                                  "%s: post_processor: names the id %d, the tokens end at %lld",
                                  t->path, both[k]->data[m], (long long)t->size - 1);
    return TUTTI_OK;
}

tutti_status tokenizer_open(const char *path, tokenizer **ret, tutti_error *err)
{
    tokenizer *t = calloc(1, sizeof *t);
    if (!t)
        return tokenizer_no_memory(err);
    tutti_status s = tokenizer_load(t, path, err);
    if (s == TUTTI_OK)
        tokenizer_read(t, &s, err);
    if (s == TUTTI_OK)
        s = tokenizer_check(t, err);
    if (s == TUTTI_OK)
        s = tokenizer_spell(t, err);
    if (s == TUTTI_OK)
        s = decode_table(t, err);
    if (s == TUTTI_OK)
        s = added_normalize(t, err);
    if (s)
        tokenizer_close(t);
    else
        *ret = t;
    return s;
}

void tokenizer_close(tokenizer *t)
{
    if (!t)
        return;
    normalize_free(&t->normalize);
    split_free(&t->split);
    decode_free(&t->decode);
    model_free(t);
    for (uint64_t k = 0; k < t->added.count; k++)
        free(t->added.tokens[k].own);
    free(t->added.tokens);
    words_free(&t->specials);
    free(t->before.data);
    free(t->after.data);
    free(t->spelling);
    free(t->is_special);
    free(t->texts);
    free(t->texts_at);
    free(t->path);
    json_decref(t->json);
    free(t);
}

int64_t tokenizer_size(const tokenizer *t)
{
    return t->size;
}

int64_t tokenizer_find(const tokenizer *t, const char *spelling)
{
    const int32_t own = words_find(&t->specials, spelling, strlen(spelling));
    return own >= 0 ? own : words_find(&t->words, spelling, strlen(spelling));
}

const char *tokenizer_text(const tokenizer *t, int64_t id, uint64_t *ret_size)
{
    if (id < 0 || id >= t->size || !t->spelling[id])
        return NULL;
    *ret_size = t->texts_at[id + 1] - t->texts_at[id];
    return t->texts + t->texts_at[id];
}
