/* plugin.c - tokens_bin: token files of llm.c as blocks of tokens with the next ones as targets. */
/* SPDX-License-Identifier: Apache-2.0 */
#define TUTTI_USE_MINOR 2 /* tutti.sample_groups/1 */
#define TUTTI_MIN_MINOR 0 /* which older hosts do not ask for */
#include "../common/blocks.h"
#include "../common/vocab.h"
#include "file.h"

#include "tutti/tutti.h"
#include "tutti/vocabulary.h"

#include <errno.h>
#include <glob.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

typedef struct shard {
    token_file file;
    blocks blocks;
    int64_t first; /* number of its first sample */
} shard;

typedef struct tokens_bin {
    char *path; /* as given */
    shard *shards;
    size_t count;
    int64_t samples;
    vocab vocab; /* closed when the files of one are not set */
} tokens_bin;

static tutti_status tokens_bin_close(void *self, tutti_error *err)
{
    tokens_bin *d = self;
    (void)err;
    for (size_t k = 0; k < d->count; k++)
        token_file_close(&d->shards[k].file);
    free(d->shards);
    vocab_close(&d->vocab);
    free(d->path);
    free(d);
    return TUTTI_OK;
}

static tutti_status add_shard(tokens_bin *d, const char *path, const tutti_params *params,
                              tutti_error *err)
{
    shard *s = &d->shards[d->count];
    const tutti_status status = token_file_open(&s->file, path, err);
    if (status)
        return status;
    d->count++;
    const token_file *first = &d->shards[0].file;
    if (s->file.wide != first->wide)
        return tutti_fail(err, TUTTI_E_FORMAT, "%s: has tokens of %d bytes, but %s of %d", path,
                          s->file.wide ? 4 : 2, first->path, first->wide ? 4 : 2);
    const int64_t length = tutti_param_i64(params, "length");
    s->blocks = (blocks){.file = s->file.path,
                         .tokens = s->file.tokens,
                         .count = s->file.count,
                         .length = length,
                         .stride = tutti_param_is_set(params, "stride")
                                       ? tutti_param_i64(params, "stride")
                                       : length,
                         .classes = tutti_param_is_set(params, "vocabulary_size")
                                        ? tutti_param_i64(params, "vocabulary_size")
                                        : s->file.vocabulary,
                         .wide = s->file.wide};
    s->first = d->samples;
    d->samples += blocks_samples(&s->blocks);
    return TUTTI_OK;
}

/* All the files of the pattern in byte order; a file whose very name looks like a pattern is one. */
static tutti_status add_all(tokens_bin *d, const tutti_params *params, tutti_error *err)
{
    struct stat st;
    glob_t found;
    char *itself[] = {d->path};
    const int plain = stat(d->path, &st) == 0 || !strpbrk(d->path, "*?[");
    const int failed = plain ? 0 : glob(d->path, GLOB_ERR, NULL, &found);
    if (failed)
        return failed == GLOB_NOMATCH
                   ? tutti_fail(err, TUTTI_E_IO, "%s: matches no file", d->path)
               : failed == GLOB_NOSPACE
                   ? tutti_fail(err, TUTTI_E_NOMEM, "%s: no memory for the files it matches",
                                d->path)
                   : tutti_fail(err, TUTTI_E_IO, "%s: a folder cannot be read", d->path);
    const size_t n = plain ? 1 : found.gl_pathc;
    char *const *paths = plain ? itself : found.gl_pathv;
    tutti_status s = TUTTI_OK;
    d->shards = calloc(n, sizeof *d->shards);
    if (!d->shards)
        s = tutti_fail(err, TUTTI_E_NOMEM, "%s: no memory for %llu files", d->path,
                       (unsigned long long)n);
    for (size_t k = 0; k < n && s == TUTTI_OK; k++)
        s = add_shard(d, paths[k], params, err);
    if (!plain)
        globfree(&found);
    if (s == TUTTI_OK && d->samples == 0)
        s = tutti_fail(err, TUTTI_E_FORMAT,
                       "%s: no file has %lld tokens, which one block takes", d->path,
                       (long long)tutti_param_i64(params, "length") + 1);
    return s;
}

static tutti_status open_vocab(tokens_bin *d, const tutti_params *params, tutti_error *err)
{
    const char *words = tutti_param_str(params, "vocab_file");
    const char *merges = tutti_param_str(params, "merges_file");
    if (!words != !merges)
        return tutti_fail(err, TUTTI_E_ARG, "tokens_bin: %s is set without %s",
                          words ? "vocab_file" : "merges_file",
                          words ? "merges_file" : "vocab_file");
    const char *tokenizer = tutti_param_str(params, "tokenizer_file");
    if (words && tokenizer)
        return tutti_fail(err, TUTTI_E_ARG,
                          "tokens_bin: vocab_file and tokenizer_file are both set, want one");
    return words       ? vocab_gpt2(&d->vocab, words, merges, err)
           : tokenizer ? vocab_tokenizer(&d->vocab, tokenizer, err)
                       : TUTTI_OK;
}

static tutti_status tokens_bin_open(const tutti_host *host, const tutti_params *params,
                                    void **ret_self, tutti_error *err)
{
    (void)host;
    tokens_bin *d = calloc(1, sizeof *d);
    if (!d)
        return tutti_fail(err, TUTTI_E_NOMEM, "tokens_bin: no memory");
    tutti_status s = TUTTI_OK;
    d->path = strdup(tutti_param_str(params, "path"));
    if (!d->path)
        s = tutti_fail(err, TUTTI_E_NOMEM, "tokens_bin: no memory");
    if (s == TUTTI_OK && (s = add_all(d, params, err)) == TUTTI_OK)
        s = open_vocab(d, params, err);
    if (s)
        (void)tokens_bin_close(d, NULL);
    else
        *ret_self = d;
    return s;
}

static tutti_status tokens_bin_info(void *self, tutti_dataset_info *ret, tutti_error *err)
{
    const tokens_bin *d = self;
    (void)err;
    blocks_info(&d->shards[0].blocks, ret);
    ret->samples = d->samples;
    return TUTTI_OK;
}

static tutti_status tokens_bin_read(void *self, int64_t index, tutti_tensor *columns,
                                    const uint64_t *capacity, uint32_t ncolumns,
                                    tutti_error *err)
{
    const tokens_bin *d = self;
    if (index < 0 || index >= d->samples)
        return tutti_fail(err, TUTTI_E_RANGE, "%s: sample %lld, there are %lld", d->path,
                          (long long)index, (long long)d->samples);
    size_t low = 0, high = d->count; /* the last shard that begins at or before index */
    while (high - low > 1) {
        const size_t middle = low + (high - low) / 2;
        if (d->shards[middle].first <= index)
            low = middle;
        else
            high = middle;
    }
    return blocks_read(&d->shards[low].blocks, index - d->shards[low].first, columns, capacity,
                       ncolumns, err);
}

static tutti_status tokens_bin_encode(void *self, const char *words, uint64_t size,
                                      int32_t *tokens, uint64_t room, uint64_t *ret_count,
                                      tutti_error *err)
{
    return vocab_words_encode(&((tokens_bin *)self)->vocab, words, size, tokens, room,
                              ret_count, err);
}

static const char *tokens_bin_token(void *self, int64_t token, uint64_t *ret_size)
{
    return vocab_words_token(&((tokens_bin *)self)->vocab, token, ret_size);
}

static int64_t tokens_bin_files(void *self)
{
    return (int64_t)((const tokens_bin *)self)->count;
}

static int64_t tokens_bin_file_first(void *self, int64_t file)
{
    return ((const tokens_bin *)self)->shards[file].first;
}

static const void *tokens_bin_query(void *self, const char *id)
{
    static const tutti_dataset_v1 dataset = {
        .struct_size = sizeof dataset, .info = tokens_bin_info, .read = tokens_bin_read};
    static const tutti_vocabulary_v1 words = {
        .struct_size = sizeof words, .encode = tokens_bin_encode, .token = tokens_bin_token};
    static const tutti_sample_groups_v1 groups = {.struct_size = sizeof groups,
                                                  .count = tokens_bin_files,
                                                  .first = tokens_bin_file_first};
    if (strcmp(id, TUTTI_SAMPLE_GROUPS_V1) == 0)
        return &groups;
    if (strcmp(id, TUTTI_VOCABULARY_V1) == 0)
        return ((tokens_bin *)self)->vocab.size ? &words : NULL;
    return strcmp(id, TUTTI_DATASET_V1) == 0 ? &dataset : NULL;
}

static const tutti_calls calls = {.struct_size = sizeof calls,
                                  .open = tokens_bin_open,
                                  .close = tokens_bin_close,
                                  .query = tokens_bin_query};
static const tutti_object object = TUTTI_OBJECT_INIT("tokens_bin", TUTTI_KIND_DATASET, &calls);
static const tutti_object *const objects[] = {&object, NULL};
static const tutti_plugin plugin = TUTTI_PLUGIN_INIT("org.tutti.tokens_bin", "1.0.0", objects);

TUTTI_EXPORT const tutti_plugin *tutti_plugin_v1(uint32_t host_abi)
{
    (void)host_abi;
    return &plugin;
}
