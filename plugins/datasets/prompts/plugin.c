/* plugin.c - prompts: texts of the run file as rows of tokens. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "../common/vocab.h"

#include "tutti/dataset.h"
#include "tutti/tutti.h"
#include "tutti/vocabulary.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NOT_LEARNT = -100 };

typedef struct prompts {
    vocab vocab;
    int32_t *tokens; /* (rows, length); token 0 behind a text */
    int64_t *counts; /* of each row's text */
    int64_t rows;
    int64_t length;
} prompts;

static tutti_status prompts_no_memory(tutti_error *err)
{
    return tutti_fail(err, TUTTI_E_NOMEM, "prompts: no memory for the texts");
}

static tutti_status prompts_row(prompts *p, int64_t row, const char *text, tutti_error *err)
{
    char name[64];
    int32_t *tokens = NULL;
    uint64_t count = 0;
    (void)snprintf(name, sizeof name, "prompts: text %lld", (long long)row);
    tutti_status s = vocab_encode(&p->vocab, name, text, strlen(text), &tokens, &count, err);
    if (!s && count > (uint64_t)p->length)
        s = tutti_fail(err, TUTTI_E_RANGE, "%s has %llu tokens, a row has %lld", name,
                       (unsigned long long)count, (long long)p->length);
    if (!s && count)
        memcpy(p->tokens + row * p->length, tokens, count * sizeof *tokens);
    if (!s)
        p->counts[row] = (int64_t)count;
    free(tokens);
    return s;
}

static tutti_status prompts_fill(prompts *p, const tutti_params *params, tutti_error *err)
{
    const tutti_param *texts = tutti_param_find(params, "texts");
    tutti_status s = vocab_tokenizer(&p->vocab, tutti_param_str(params, "tokenizer_file"), err);
    if (s)
        return s;
    p->rows = (int64_t)texts->count;
    p->length = tutti_param_i64(params, "length");
    p->tokens = calloc((size_t)p->rows * (size_t)p->length, sizeof *p->tokens);
    p->counts = calloc((size_t)p->rows, sizeof *p->counts);
    if (!p->tokens || !p->counts)
        return prompts_no_memory(err);
    for (int64_t k = 0; k < p->rows && !s; k++)
        s = prompts_row(p, k, texts->items[k]->s, err);
    return s;
}

/* ---- tutti.dataset/1, tutti.vocabulary/1 ---- */

static tutti_status prompts_info(void *self, tutti_dataset_info *ret, tutti_error *err)
{
    static const char *const names[] = {"input", "target"};
    const prompts *p = self;
    (void)err;
    ret->samples = p->rows;
    ret->ncolumns = 2;
    memset(ret->columns, 0, sizeof ret->columns);
    for (uint32_t k = 0; k < 2; k++) {
        memcpy(ret->columns[k].name, names[k], strlen(names[k]));
        ret->columns[k].desc = (tutti_desc){{p->length}, 1, TUTTI_I32};
        ret->columns[k].classes = p->vocab.size;
    }
    return TUTTI_OK;
}

static tutti_status prompts_read(void *self, int64_t index, tutti_tensor *columns,
                                 const uint64_t *capacity, uint32_t ncolumns, tutti_error *err)
{
    const prompts *p = self;
    const uint64_t bytes = (uint64_t)p->length * sizeof(int32_t);
    if (index < 0 || index >= p->rows || ncolumns != 2 || capacity[0] < bytes ||
        capacity[1] < bytes)
        return tutti_fail(err, TUTTI_E_RANGE, "prompts: text %lld, there are %lld of %lld",
                          (long long)index, (long long)p->rows, (long long)p->length);
    const int32_t *row = p->tokens + index * p->length;
    int32_t *target = columns[1].data;
    memcpy(columns[0].data, row, bytes);
    for (int64_t k = 0; k < p->length; k++)
        target[k] = k + 1 < p->counts[index] ? row[k + 1] : NOT_LEARNT;
    columns[0].desc = columns[1].desc = (tutti_desc){{p->length}, 1, TUTTI_I32};
    return TUTTI_OK;
}

static tutti_status prompts_encode(void *self, const char *words, uint64_t size,
                                   int32_t *tokens, uint64_t room, uint64_t *ret_count,
                                   tutti_error *err)
{
    return vocab_words_encode(&((prompts *)self)->vocab, words, size, tokens, room, ret_count,
                              err);
}

static const char *prompts_token(void *self, int64_t token, uint64_t *ret_size)
{
    return vocab_words_token(&((prompts *)self)->vocab, token, ret_size);
}

static tutti_status prompts_close(void *self, tutti_error *err)
{
    prompts *p = self;
    (void)err;
    vocab_close(&p->vocab);
    free(p->tokens);
    free(p->counts);
    free(p);
    return TUTTI_OK;
}

static tutti_status prompts_open(const tutti_host *host, const tutti_params *params,
                                 void **ret_self, tutti_error *err)
{
    (void)host;
    prompts *p = calloc(1, sizeof *p);
    if (!p)
        return prompts_no_memory(err);
    const tutti_status s = prompts_fill(p, params, err);
    if (s)
        (void)prompts_close(p, NULL);
    else
        *ret_self = p;
    return s;
}

static const void *prompts_query(void *self, const char *id)
{
    static const tutti_dataset_v1 dataset = {
        .struct_size = sizeof dataset, .info = prompts_info, .read = prompts_read};
    static const tutti_vocabulary_v1 words = {
        .struct_size = sizeof words, .encode = prompts_encode, .token = prompts_token};
    (void)self;
    if (strcmp(id, TUTTI_VOCABULARY_V1) == 0)
        return &words;
    return strcmp(id, TUTTI_DATASET_V1) == 0 ? &dataset : NULL;
}

TUTTI_PLUGIN_OF_ONE("org.tutti.prompts", "1.0.0", "prompts", TUTTI_KIND_DATASET,
                    .open = prompts_open, .close = prompts_close, .query = prompts_query);
