/* plugin.c - documents: texts, conversations and labelled texts of JSON lines, CSV and TSV as rows of tokens. */
/* SPDX-License-Identifier: Apache-2.0 */
#define TUTTI_USE_MINOR 1 /* tutti.class_names/1 */
#define TUTTI_MIN_MINOR 0 /* which an older host does not ask for */
#include "../common/labelled.h"
#include "../common/records.h"
#include "../common/vocab.h"
#include "asked.h"
#include "compose.h"
#include "pack.h"

#include "tokenizer.h"
#include "tutti/tutti.h"
#include "tutti/vocabulary.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct documents {
    char *path;
    vocab vocab;
    tokenizer_ids tokens;  /* of all documents */
    unsigned char *learnt; /* of each token */
    uint64_t learnt_room;
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
    compose how;
    composed text;
    const char *label_field;
    tokenizer_encoder *encoder;
    tokenizer_ids part; /* ids of a beginning of the text */
} reading;

/* ---- a document to tokens ---- */

static tutti_status documents_mark(documents *d, uint64_t first, int all, tutti_error *err)
{
    if (d->tokens.count > d->learnt_room) {
        const uint64_t room = 2 * d->tokens.count;
        unsigned char *learnt = realloc(d->learnt, room);
        if (!learnt)
            return tutti_fail(err, TUTTI_E_NOMEM, "%s: no memory for its tokens", d->path);
        d->learnt = learnt;
        d->learnt_room = room;
    }
    memset(d->learnt + first, all, d->tokens.count - first);
    return TUTTI_OK;
}

/* How many of the text's tokens, from `first` on, are those of its first `size` bytes by themselves: what is behind
 * belongs to the rest of the text, also a token across the border. */
static tutti_status documents_border(reading *r, uint64_t first, uint64_t size,
                                     const char *where, uint64_t *ret, tutti_error *err)
{
    const documents *d = r->d;
    uint64_t n = 0;
    r->part.count = 0;
    const tutti_status s =
        tokenizer_encode(r->encoder, where, r->text.text, size, 0, &r->part, err);
    while (s == TUTTI_OK && n < r->part.count && first + n < d->tokens.count &&
           r->part.data[n] == d->tokens.data[first + n])
        n++;
    *ret = n;
    return s;
}

static tutti_status documents_answers(reading *r, uint64_t first, const char *where,
                                      tutti_error *err)
{
    documents *d = r->d;
    tutti_status s = documents_mark(d, first, 0, err);
    for (uint64_t k = 0; k < r->text.answers && s == TUTTI_OK; k++) {
        uint64_t begin = 0, end = d->tokens.count - first;
        s = documents_border(r, first, r->text.begin[k], where, &begin, err);
        if (s == TUTTI_OK && r->text.end[k] < r->text.size)
            s = documents_border(r, first, r->text.end[k], where, &end, err);
        if (s == TUTTI_OK && end > begin)
            memset(d->learnt + first + begin, 1, end - begin);
    }
    return s;
}

static tutti_status documents_token(documents *d, int32_t id, int learnt, tutti_error *err)
{
    tokenizer_ids *t = &d->tokens;
    if (id < 0)
        return TUTTI_OK;
    if (t->count == t->room) {
        const uint64_t room = 2 * t->room + 256;
        int32_t *data = realloc(t->data, room * sizeof *data);
        if (!data)
            return tutti_fail(err, TUTTI_E_NOMEM, "%s: no memory for its tokens", d->path);
        t->data = data;
        t->room = room;
    }
    t->data[t->count++] = id;
    return documents_mark(d, t->count - 1, learnt, err);
}

/* The document whose tokens begin at `from` has its text by now: cut to a row with what ends it, and given its class. */
static tutti_status documents_label(reading *r, uint64_t from, const json_t *record,
                                    const char *where, tutti_error *err)
{
    documents *d = r->d;
    const pack *p = &d->pack;
    const uint64_t most = (uint64_t)p->length - (d->end_token >= 0);
    const uint64_t size = d->tokens.count - from;
    if (size > most && p->too_long == TOO_LONG_REFUSE)
        return tutti_fail(err, TUTTI_E_RANGE,
                          "%s: has %llu tokens, a row takes %llu; set \"too_long\" or a "
                          "greater \"length\"",
                          where, (unsigned long long)size + (d->end_token >= 0),
                          (unsigned long long)p->length);
    if (size > most && p->too_long == TOO_LONG_DROP) {
        d->tokens.count = from;
        return TUTTI_OK;
    }
    d->tokens.count = size > most ? from + most : d->tokens.count;
    const tutti_status s = documents_token(d, d->end_token, 0, err);
    return s ? s
             : labelled_add(&d->labelled, from, d->tokens.count - from, record, r->label_field,
                            where, err);
}

static tutti_status documents_add(reading *r, const json_t *record, const char *where,
                                  tutti_error *err)
{
    documents *d = r->d;
    const uint64_t from = d->tokens.count;
    tutti_status s = compose_record(&r->how, record, where, &r->text, err);
    if (s == TUTTI_OK)
        s = documents_token(d, d->begin_token, 0, err);
    const uint64_t first = d->tokens.count;
    if (s == TUTTI_OK)
        s = tokenizer_encode(r->encoder, where, r->text.text ? r->text.text : "", r->text.size,
                             0, &d->tokens, err);
    if (s == TUTTI_OK && d->labels)
        return documents_label(r, from, record, where, err);
    if (s == TUTTI_OK)
        s = r->how.kind == COMPOSE_TEXT ? documents_mark(d, first, 1, err)
                                        : documents_answers(r, first, where, err);
    if (s == TUTTI_OK)
        s = documents_token(d, d->end_token, 1, err);
    const uint64_t rows = d->pack.nrows;
    if (s == TUTTI_OK)
        s = pack_add(&d->pack, from, d->tokens.count - from, where, err);
    return s == TUTTI_OK && d->asked.most && d->pack.nrows > rows
               ? asked_add(&d->asked, r->encoder, &r->how, record, d->pack.length, where, err)
               : s;
}

static tutti_status documents_read_all(reading *r, const char *format, tutti_error *err)
{
    records file;
    char where[512];
    json_t *record = NULL;
    tutti_status s = records_open(&file, r->d->path, format, err);
    if (s)
        return s;
    while ((s = records_next(&file, &record, err)) == TUTTI_OK && record) {
        (void)snprintf(where, sizeof where, "%s:%llu", r->d->path,
                       (unsigned long long)file.here);
        s = documents_add(r, record, where, err);
        json_decref(record);
        if (s)
            break;
    }
    records_close(&file);
    pack_end(&r->d->pack, r->d->tokens.count);
    if (s == TUTTI_OK && r->d->pack.packing == PACK_STREAM && !r->d->pack.nrows)
        return tutti_fail(err, TUTTI_E_FORMAT, "%s: has %llu tokens, a row wants %lld",
                          r->d->path, (unsigned long long)r->d->tokens.count,
                          (long long)r->d->pack.length + 1);
    if (s == TUTTI_OK && (r->d->labels ? r->d->labelled.nrows : r->d->pack.nrows) == 0)
        s = tutti_fail(err, TUTTI_E_FORMAT, "%s: has no document%s", r->d->path,
                       r->d->labels ? "" : " of two tokens or more");
    return s;
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
    r->how = (compose){.kind = (compose_kind)documents_word(params, "content", kinds),
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
    r->how.several = r->d->asked.most > 0;
    r->d->ncolumns = r->d->asked.most            ? 5
                     : p->packing == PACK_NONE   ? 3
                     : p->packing == PACK_STREAM ? 2
                                                 : 4;
    r->d->labels = r->how.kind == COMPOSE_CLASSES;
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
    if (r->d->asked.most && (r->how.kind != COMPOSE_COMPLETION || p->packing != PACK_NONE ||
                             p->too_long == TOO_LONG_CUT))
        return tutti_fail(err, TUTTI_E_ARG,
                          "documents: references want content \"completion\", packing \"none\" "
                          "and too_long \"drop\" or \"refuse\"");
    if (p->packing == PACK_STREAM && r->how.kind != COMPOSE_TEXT && !r->d->labels)
        return tutti_fail(err, TUTTI_E_ARG,
                          "documents: packing stream learns all tokens, and content %s only "
                          "answers: want content text",
                          tutti_param_str(params, "content"));
    if (!r->d->labels && tutti_param_str(params, "labels"))
        return tutti_fail(err, TUTTI_E_ARG, "documents: labels is for content classes alone");
    const tutti_status s = r->d->labels ? documents_check_classes(r->d, params, err) : TUTTI_OK;
    return s ? s : compose_check(&r->how, err);
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
    if (s == TUTTI_OK)
        s = tokenizer_encoder_create(d->vocab.tokenizer, &r.encoder, err);
    if (s == TUTTI_OK)
        s = documents_read_all(&r, tutti_param_str(params, "format"), err);
    if (s == TUTTI_OK && d->labels)
        s = labelled_number(&d->labelled, tutti_param_str(params, "labels"), d->path, err);
    tokenizer_encoder_destroy(r.encoder);
    composed_free(&r.text);
    free(r.part.data);
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
    const pack_source from = {d->tokens.data, d->learnt, d->padding};
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
        labelled_read(&d->labelled, index, d->tokens.data, d->padding, d->pack.length, to);
    else
        pack_read(&d->pack, &from, index, to);
    if (d->asked.most)
        asked_read(&d->asked, &d->pack, &from, index, to[3], to[4]);
    return TUTTI_OK;
}

static tutti_status documents_encode(void *self, const char *words, uint64_t size,
                                     int32_t *tokens, uint64_t room, uint64_t *ret_count,
                                     tutti_error *err)
{
    return vocab_words_encode(&((documents *)self)->vocab, words, size, tokens, room, ret_count,
                              err);
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
    free(d->tokens.data);
    free(d->learnt);
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
