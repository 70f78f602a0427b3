/* plugin.c - documents: texts, conversations and labelled texts of JSON lines, CSV and TSV as rows of tokens. */
/* SPDX-License-Identifier: Apache-2.0 */
#define TUTTI_USE_MINOR 1 /* tutti.class_names/1 */
#define TUTTI_MIN_MINOR 0 /* which an older host does not ask for */
#include "../common/labelled.h"
#include "../common/records.h"
#include "../common/vocab.h"
#include "asked.h"
#include "encode.h"
#include "pack.h"

#include "tokenizer.h"
#include "tutti/tutti.h"
#include "tutti/vocabulary.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct documents {
    char *path;
    vocab vocab;
    encoded all;                    /* the tokens of all documents */
    int32_t begin_token, end_token; /* or -1 */
    int32_t padding;
    uint32_t ncolumns;
    int labels; /* documents have classes: they are in `labelled`, else in `pack` */
    pack pack;
    labelled labelled;
    asked asked;
} documents;

/* What reading needs. */
typedef struct reading {
    documents *d;
    encode_how how;
    encode_pool pool;
    const char *label_field;
} reading;

/* ---- documents to rows ---- */

/* The document whose tokens begin at `from` has its text by now: cut to a row with what ends it, and given its class. */
static tutti_status documents_label(reading *r, uint64_t from, const json_t *record,
                                    const char *where, tutti_error *err)
{
    documents *d = r->d;
    const pack *p = &d->pack;
    const uint64_t most = (uint64_t)p->length - (d->end_token >= 0);
    const uint64_t size = d->all.tokens.count - from;
    if (size > most && p->too_long == TOO_LONG_REFUSE)
        return tutti_fail(err, TUTTI_E_RANGE,
                          "%s: has %llu tokens, a row takes %llu; set \"too_long\" or a "
                          "greater \"length\"",
                          where, (unsigned long long)size + (d->end_token >= 0),
                          (unsigned long long)p->length);
    if (size > most && p->too_long == TOO_LONG_DROP) {
        d->all.tokens.count = from;
        return TUTTI_OK;
    }
    d->all.tokens.count = size > most ? from + most : d->all.tokens.count;
    const unsigned char end = 0;
    const tutti_status s =
        encoded_add(&d->all, &d->end_token, &end, d->end_token >= 0, d->path, err);
    return s ? s
             : labelled_add(&d->labelled, from, d->all.tokens.count - from, record,
                            r->label_field, where, err);
}

/* The next document: record `record`, which is number k of those that were encoded. */
static tutti_status documents_add(reading *r, const encode_record *record, uint64_t k,
                                  tutti_error *err)
{
    documents *d = r->d;
    const uint64_t from = d->all.tokens.count, rows = d->pack.nrows;
    const int32_t *tokens = NULL;
    const unsigned char *learnt = NULL;
    uint64_t count = 0;
    char where[512];
    (void)snprintf(where, sizeof where, "%s:%llu", d->path, (unsigned long long)record->line);
    tutti_status s = encode_at(&r->pool, k, &tokens, &learnt, &count, err);
    if (s == TUTTI_OK)
        s = encoded_add(&d->all, tokens, learnt, count, d->path, err);
    if (s == TUTTI_OK && d->labels)
        return documents_label(r, from, record->json, where, err);
    if (s == TUTTI_OK)
        s = pack_add(&d->pack, from, count, where, err);
    return s == TUTTI_OK && d->asked.most && d->pack.nrows > rows
               ? asked_add(&d->asked, r->pool.parts->encoder, &r->how.compose, record->json,
                           d->pack.length, where, err)
               : s;
}

/* Reads at most `most` records and makes documents of them; *ret_count 0 at the end.  What is wrong with a line comes
 * after what is wrong with those before it. */
static tutti_status documents_some(reading *r, records *file, encode_record *list,
                                   uint64_t most, uint64_t *ret_count, tutti_error *err)
{
    uint64_t n = 0;
    tutti_error read_err = TUTTI_ERROR_INIT;
    tutti_status read = TUTTI_OK, s = TUTTI_OK;
    while (n < most && (read = records_next(file, &list[n].json, &read_err)) == TUTTI_OK &&
           list[n].json)
        list[n++].line = file->here;
    encode_all(&r->pool, list, n);
    for (uint64_t k = 0; k < n; k++) {
        if (s == TUTTI_OK)
            s = documents_add(r, &list[k], k, err);
        json_decref(list[k].json);
    }
    *ret_count = n;
    return s || !read ? s : tutti_fail(err, read, "%s", read_err.text);
}

static tutti_status documents_read_all(reading *r, const char *format, tutti_error *err)
{
    const uint64_t most = (uint64_t)r->pool.count * ENCODE_EACH;
    uint64_t count = most;
    records file;
    tutti_status s = records_open(&file, r->d->path, format, err);
    if (s)
        return s;
    encode_record *list = calloc(most, sizeof *list);
    if (!list)
        s = tutti_fail(err, TUTTI_E_NOMEM, "documents: no memory");
    while (s == TUTTI_OK && count == most)
        s = documents_some(r, &file, list, most, &count, err);
    free(list);
    records_close(&file);
    pack_end(&r->d->pack, r->d->all.tokens.count);
    return s;
}

static tutti_status documents_check_count(const documents *d, tutti_error *err)
{
    if (d->pack.packing == PACK_STREAM && !d->pack.nrows)
        return tutti_fail(err, TUTTI_E_FORMAT, "%s: has %llu tokens, a row wants %lld", d->path,
                          (unsigned long long)d->all.tokens.count,
                          (long long)d->pack.length + 1);
    return (d->labels ? d->labelled.nrows : d->pack.nrows)
               ? TUTTI_OK
               : tutti_fail(err, TUTTI_E_FORMAT, "%s: has no document%s", d->path,
                            d->labels ? "" : " of two tokens or more");
}

/* ---- settings ---- */

static tutti_status documents_special(const documents *d, const tutti_params *params,
                                      const char *key, int32_t *ret, tutti_error *err)
{
    const char *spelling = tutti_param_str(params, key);
    if (!spelling)
        return TUTTI_OK;
    *ret = (int32_t)tokenizer_find(d->vocab.tokenizer, spelling);
    return *ret >= 0 ? TUTTI_OK
                     : tutti_fail(err, TUTTI_E_NOTFOUND,
                                  "documents: %s is \"%s\", which %s does not have", key,
                                  spelling, tutti_param_str(params, "tokenizer_file"));
}

static int documents_word(const tutti_params *params, const char *key, const char *const *words)
{
    int k = 0;
    while (words[k + 1] && strcmp(words[k], tutti_param_str(params, key)) != 0)
        k++;
    return k;
}

static void documents_how(reading *r, const tutti_params *params)
{
    static const char *const kinds[] = {"text", "completion", "messages", "classes", NULL};
    static const char *const packings[] = {"none", "whole", "cut", "stream", NULL};
    static const char *const lengths[] = {"cut", "drop", "refuse", NULL};
    r->how.compose = (compose){.kind = (compose_kind)documents_word(params, "content", kinds),
                               .text_field = tutti_param_str(params, "text_field"),
                               .prompt_field = tutti_param_str(params, "prompt_field"),
                               .completion_field = tutti_param_str(params, "completion_field"),
                               .messages_field = tutti_param_str(params, "messages_field"),
                               .message_template = tutti_param_str(params, "template"),
                               .answer_role = tutti_param_str(params, "answer_role")};
    pack *p = &r->d->pack;
    p->packing = (packing)documents_word(params, "packing", packings);
    p->too_long = (too_long)documents_word(params, "too_long", lengths);
    p->length = tutti_param_i64(params, "length");
    r->d->asked.most = tutti_param_i64(params, "references");
    r->how.compose.several = r->d->asked.most > 0;
    r->d->ncolumns = r->d->asked.most            ? 5
                     : p->packing == PACK_NONE   ? 3
                     : p->packing == PACK_STREAM ? 2
                                                 : 4;
    r->d->labels = r->how.compose.kind == COMPOSE_CLASSES;
    r->label_field = tutti_param_str(params, "label_field");
}

static tutti_status documents_check_classes(const documents *d, const tutti_params *params,
                                            tutti_error *err)
{
    const int ends =
        !!tutti_param_str(params, "begin_token") + !!tutti_param_str(params, "end_token");
    if (d->pack.packing != PACK_NONE)
        return tutti_fail(err, TUTTI_E_ARG,
                          "documents: packing is %s, but content classes has one document a "
                          "row: want none",
                          tutti_param_str(params, "packing"));
    return d->pack.length > ends
               ? TUTTI_OK
               : tutti_fail(err, TUTTI_E_ARG,
                            "documents: length is %lld, which has no room for a text beside "
                            "begin_token and end_token",
                            (long long)d->pack.length);
}

/* Rows have references where they are documents, whole, with an answer. */
static tutti_status documents_check(const reading *r, const tutti_params *params,
                                    tutti_error *err)
{
    const pack *p = &r->d->pack;
    if (r->d->asked.most && (r->how.compose.kind != COMPOSE_COMPLETION ||
                             p->packing != PACK_NONE || p->too_long == TOO_LONG_CUT))
        return tutti_fail(err, TUTTI_E_ARG,
                          "documents: references want content \"completion\", packing \"none\" "
                          "and too_long \"drop\" or \"refuse\"");
    if (p->packing == PACK_STREAM && r->how.compose.kind != COMPOSE_TEXT && !r->d->labels)
        return tutti_fail(err, TUTTI_E_ARG,
                          "documents: packing stream learns all tokens, and content %s only "
                          "answers: want content text",
                          tutti_param_str(params, "content"));
    if (!r->d->labels && tutti_param_str(params, "labels"))
        return tutti_fail(err, TUTTI_E_ARG, "documents: labels is for content classes alone");
    const tutti_status s = r->d->labels ? documents_check_classes(r->d, params, err) : TUTTI_OK;
    return s ? s : compose_check(&r->how.compose, err);
}

/* The setting "threads"; 0 and without it one a CPU. */
static uint32_t documents_threads(const tutti_params *params)
{
    const int64_t given =
        tutti_param_find(params, "threads") ? tutti_param_i64(params, "threads") : 0;
    const int64_t n = given ? given : (int64_t)sysconf(_SC_NPROCESSORS_ONLN);
    return n < 1 ? 1 : n > ENCODE_MOST_THREADS ? ENCODE_MOST_THREADS : (uint32_t)n;
}

static tutti_status documents_fill(documents *d, const tutti_params *params, tutti_error *err)
{
    reading r = {.d = d};
    d->begin_token = d->end_token = -1;
    d->path = strdup(tutti_param_str(params, "path"));
    if (!d->path)
        return tutti_fail(err, TUTTI_E_NOMEM, "documents: no memory");
    documents_how(&r, params);
    tutti_status s = documents_check(&r, params, err);
    if (s == TUTTI_OK)
        s = vocab_tokenizer(&d->vocab, tutti_param_str(params, "tokenizer_file"), err);
    if (s == TUTTI_OK)
        s = documents_special(d, params, "begin_token", &d->begin_token, err);
    if (s == TUTTI_OK)
        s = documents_special(d, params, "end_token", &d->end_token, err);
    if (s == TUTTI_OK)
        s = documents_special(d, params, "pad_token", &d->padding, err);
    r.how.tokenizer = d->vocab.tokenizer;
    r.how.path = d->path;
    r.how.begin_token = d->begin_token;
    r.how.end_token = d->end_token;
    r.how.labels = d->labels;
    if (s == TUTTI_OK)
        s = encode_open(&r.pool, &r.how, documents_threads(params), err);
    if (s == TUTTI_OK)
        s = documents_read_all(&r, tutti_param_str(params, "format"), err);
    if (s == TUTTI_OK)
        s = documents_check_count(d, err);
    if (s == TUTTI_OK && d->labels)
        s = labelled_number(&d->labelled, tutti_param_str(params, "labels"), d->path, err);
    encode_close(&r.pool);
    return s;
}

/* ---- tutti.dataset/1, tutti.vocabulary/1 ---- */

static int64_t documents_count(const documents *d)
{
    return (int64_t)(d->labels ? d->labelled.nrows : d->pack.nrows);
}

/* Of column k of a row. */
static tutti_desc documents_desc(const documents *d, uint32_t k)
{
    if (d->labels && k == 1)
        return (tutti_desc){{0}, 0, TUTTI_I32};
    return d->asked.most && k == 4 ? (tutti_desc){{d->asked.most, d->pack.length}, 2, TUTTI_I32}
                                   : (tutti_desc){{d->pack.length}, 1, TUTTI_I32};
}

static tutti_status documents_info(void *self, tutti_dataset_info *ret, tutti_error *err)
{
    static const char *const packed[] = {"input", "target", "document_ids", "position_ids"};
    static const char *const alone[] = {"input", "target", "attention_mask", "prompt",
                                        "references"};
    const documents *d = self;
    const char *const *names = d->pack.packing == PACK_NONE ? alone : packed;
    (void)err;
    ret->samples = documents_count(d);
    ret->ncolumns = d->ncolumns;
    memset(ret->columns, 0, sizeof ret->columns);
    for (uint32_t k = 0; k < d->ncolumns; k++) {
        memcpy(ret->columns[k].name, names[k], strlen(names[k]));
        ret->columns[k].desc = documents_desc(d, k);
        ret->columns[k].classes = k > 1                 ? 0
                                  : k == 1 && d->labels ? d->labelled.classes
                                                        : d->vocab.size;
    }
    return TUTTI_OK;
}

static tutti_status documents_read(void *self, int64_t index, tutti_tensor *columns,
                                   const uint64_t *capacity, uint32_t ncolumns,
                                   tutti_error *err)
{
    const documents *d = self;
    const pack_source from = {d->all.tokens.data, d->all.learnt, d->padding};
    int32_t *to[5] = {NULL, NULL, NULL, NULL, NULL};
    if (index < 0 || index >= documents_count(d) || ncolumns != d->ncolumns)
        return tutti_fail(err, TUTTI_E_RANGE, "%s: sample %lld, there are %lld", d->path,
                          (long long)index, (long long)documents_count(d));
    for (uint32_t k = 0; k < ncolumns; k++) {
        columns[k].desc = documents_desc(d, k);
        if (capacity[k] < tutti_nbytes(&columns[k].desc))
            return tutti_fail(err, TUTTI_E_RANGE,
                              "%s: sample %lld does not fit into %llu bytes", d->path,
                              (long long)index, (unsigned long long)capacity[k]);
        to[k] = columns[k].data;
    }
    if (d->labels)
        labelled_read(&d->labelled, index, d->all.tokens.data, d->padding, d->pack.length, to);
    else
        pack_read(&d->pack, &from, index, to);
    if (d->asked.most)
        asked_read(&d->asked, &d->pack, &from, index, to[3], to[4]);
    return TUTTI_OK;
}

static tutti_status documents_encode(void *self, const char *words, uint64_t size,
                                     int32_t *tokens, uint64_t capacity, uint64_t *ret_count,
                                     tutti_error *err)
{
    return vocab_words_encode(&((documents *)self)->vocab, words, size, tokens, capacity,
                              ret_count, err);
}

static const char *documents_text(void *self, int64_t token, uint64_t *ret_size)
{
    return vocab_words_token(&((documents *)self)->vocab, token, ret_size);
}

/* What class `index` is called. */
static const char *documents_class(void *self, const char *column, int64_t index)
{
    const documents *d = self;
    return column && strcmp(column, "target") != 0
               ? NULL
               : label_names_text(&d->labelled.names, index);
}

static tutti_status documents_close(void *self, tutti_error *err)
{
    documents *d = self;
    (void)err;
    vocab_close(&d->vocab);
    pack_free(&d->pack);
    labelled_free(&d->labelled);
    asked_free(&d->asked);
    encoded_free(&d->all);
    free(d->path);
    free(d);
    return TUTTI_OK;
}

static tutti_status documents_open(const tutti_host *host, const tutti_params *params,
                                   void **ret_self, tutti_error *err)
{
    (void)host;
    documents *d = calloc(1, sizeof *d);
    if (!d)
        return tutti_fail(err, TUTTI_E_NOMEM, "documents: no memory");
    const tutti_status s = documents_fill(d, params, err);
    if (s)
        (void)documents_close(d, NULL);
    else
        *ret_self = d;
    return s;
}

static const void *documents_query(void *self, const char *id)
{
    static const tutti_dataset_v1 dataset = {
        .struct_size = sizeof dataset, .info = documents_info, .read = documents_read};
    static const tutti_vocabulary_v1 words = {
        .struct_size = sizeof words, .encode = documents_encode, .token = documents_text};
    static const tutti_class_names_v1 names = {.struct_size = sizeof names,
                                               .name = documents_class};
    if (strcmp(id, TUTTI_CLASS_NAMES_V1) == 0)
        return ((const documents *)self)->labelled.names.count ? &names : NULL;
    if (strcmp(id, TUTTI_VOCABULARY_V1) == 0)
        return &words;
    return strcmp(id, TUTTI_DATASET_V1) == 0 ? &dataset : NULL;
}

TUTTI_PLUGIN_OF_ONE("org.tutti.documents", "1.0.0", "documents", TUTTI_KIND_DATASET,
                    .open = documents_open, .close = documents_close, .query = documents_query);
