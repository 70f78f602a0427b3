/* plugin.c - text: a file as blocks of tokens, with the next ones as targets. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "../common/blocks.h"
#include "../common/vocab.h"
#include "../common/whole_file.h"

#include "tutti/tutti.h"
#include "tutti/vocabulary.h"

typedef struct text {
    blocks blocks;
    vocab vocab;
    int32_t *tokens; /* of the whole file */
    char *path;
} text;

/* The setting `key`, which is for the vocabulary `kind` alone and needed there. */
static tutti_status text_check_file(const tutti_params *params, const char *key,
                                    const char *kind, tutti_error *err)
{
    const char *chosen = tutti_param_str(params, "vocabulary");
    const int wanted = strcmp(chosen, kind) == 0, there = tutti_param_is_set(params, key);
    if (wanted && !there)
        return tutti_fail(err, TUTTI_E_ARG, "text: the vocabulary %s wants %s", kind, key);
    if (there && !wanted)
        return tutti_fail(err, TUTTI_E_ARG, "text: %s is for the vocabulary %s, not for %s",
                          key, kind, chosen);
    return TUTTI_OK;
}

static tutti_status open_vocab(text *d, const tutti_params *params, const char *data,
                               uint64_t size, tutti_error *err)
{
    const char *kind = tutti_param_str(params, "vocabulary");
    tutti_status s;
    if ((s = text_check_file(params, "vocab_file", "gpt2", err)) ||
        (s = text_check_file(params, "merges_file", "gpt2", err)) ||
        (s = text_check_file(params, "tokenizer_file", "tokenizer", err)))
        return s;
    if (strcmp(kind, "gpt2") == 0)
        return vocab_gpt2(&d->vocab, tutti_param_str(params, "vocab_file"),
                          tutti_param_str(params, "merges_file"), err);
    if (strcmp(kind, "tokenizer") == 0)
        return vocab_tokenizer(&d->vocab, tutti_param_str(params, "tokenizer_file"), err);
    return strcmp(kind, "chars") == 0 ? vocab_chars(&d->vocab, d->path, data, size, err)
                                      : vocab_bytes(&d->vocab, err);
}

static tutti_status encode_file(text *d, const char *data, uint64_t size, tutti_error *err)
{
    uint64_t count = 0;
    const tutti_status s =
        vocab_encode(&d->vocab, d->path, data, size, &d->tokens, &count, err);
    d->blocks.count = (int64_t)count;
    return s;
}

static tutti_status text_fill(text *d, const tutti_params *params, tutti_error *err)
{
    const char *path = tutti_param_str(params, "path");
    void *data = NULL;
    uint64_t size = 0;
    tutti_status s = whole_file(path, &data, &size, err);
    if (s)
        return s;
    d->path = strdup(path);
    if (!d->path)
        s = tutti_fail(err, TUTTI_E_NOMEM, "%s: no memory for its name", path);
    if (s == TUTTI_OK && (s = open_vocab(d, params, data, size, err)) == TUTTI_OK)
        s = encode_file(d, data, size, err);
    free(data);
    if (s)
        return s;
    d->blocks.file = d->path;
    d->blocks.tokens = d->tokens;
    d->blocks.wide = 1;
    d->blocks.classes = d->vocab.size;
    d->blocks.length = tutti_param_i64(params, "length");
    d->blocks.stride = tutti_param_is_set(params, "stride") ? tutti_param_i64(params, "stride")
                                                            : d->blocks.length;
    return blocks_split(&d->blocks, tutti_param_str(params, "split"),
                        tutti_param_f64(params, "validation"), err);
}

static tutti_status text_info(void *self, tutti_dataset_info *ret, tutti_error *err)
{
    (void)err;
    blocks_info(&((text *)self)->blocks, ret);
    return TUTTI_OK;
}

static tutti_status text_read(void *self, int64_t index, tutti_tensor *columns,
                              const uint64_t *capacity, uint32_t ncolumns, tutti_error *err)
{
    return blocks_read(&((text *)self)->blocks, index, columns, capacity, ncolumns, err);
}

/* ---- tutti.vocabulary/1 ---- */

static tutti_status text_encode(void *self, const char *words, uint64_t size, int32_t *tokens,
                                uint64_t room, uint64_t *ret_count, tutti_error *err)
{
    return vocab_words_encode(&((text *)self)->vocab, words, size, tokens, room, ret_count,
                              err);
}

static const char *text_token(void *self, int64_t token, uint64_t *ret_size)
{
    return vocab_words_token(&((text *)self)->vocab, token, ret_size);
}

static tutti_status text_close(void *self, tutti_error *err)
{
    text *d = self;
    (void)err;
    vocab_close(&d->vocab);
    free(d->tokens);
    free(d->path);
    free(d);
    return TUTTI_OK;
}

static tutti_status text_open(const tutti_host *host, const tutti_params *params,
                              void **ret_self, tutti_error *err)
{
    (void)host;
    text *d = calloc(1, sizeof *d);
    if (!d)
        return tutti_fail(err, TUTTI_E_NOMEM, "text: no memory");
    const tutti_status s = text_fill(d, params, err);
    if (s)
        (void)text_close(d, NULL);
    else
        *ret_self = d;
    return s;
}

static const void *text_query(void *self, const char *id)
{
    static const tutti_dataset_v1 dataset = {
        .struct_size = sizeof dataset, .info = text_info, .read = text_read};
    static const tutti_vocabulary_v1 words = {
        .struct_size = sizeof words, .encode = text_encode, .token = text_token};
    (void)self;
    if (strcmp(id, TUTTI_VOCABULARY_V1) == 0)
        return &words;
    return strcmp(id, TUTTI_DATASET_V1) == 0 ? &dataset : NULL;
}

static const tutti_calls calls = {
    .struct_size = sizeof calls, .open = text_open, .close = text_close, .query = text_query};
static const tutti_object object = TUTTI_OBJECT_INIT("text", TUTTI_KIND_DATASET, &calls);
static const tutti_object *const objects[] = {&object, NULL};
static const tutti_plugin plugin = TUTTI_PLUGIN_INIT("org.tutti.text", "1.0.0", objects);

TUTTI_EXPORT const tutti_plugin *tutti_plugin_v1(uint32_t host_abi)
{
    (void)host_abi;
    return &plugin;
}
