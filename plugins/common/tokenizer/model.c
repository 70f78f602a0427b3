/* model.c - the vocabulary of each kind of model, and pieces that come again. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "tables.h"
#include "unicode.h"

#include <stdio.h>

enum { MEMORY_BITS = 15, MEMORY_MOST = 64 /* bytes of a piece that is worth it */ };
static const uint64_t memory_capacity = (uint64_t)16 << 20; /* then it begins anew */

/* ---- reading ---- */

static void model_put(tokenizer *t, const part *p, const char *text, uint64_t size, int64_t id)
{
    if (id < 0 || id > INT32_MAX / 2)
        part_fail(p, TUTTI_E_FORMAT, "the token \"%.80s\" has no number from 0 to %d", text,
                  INT32_MAX / 2);
    else if (!words_put(&t->words, text, size, (int32_t)id))
        part_fail(p, TUTTI_E_NOMEM, "no memory for its tokens");
    else if (id >= t->size)
        t->size = id + 1;
}

/* An object of spellings and ids. */
static void model_read_object(tokenizer *t, const part *p)
{
    const part vocab = part_object(p, "vocab", p->where, true);
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)vocab.json, key, value)
    {
        if (*p->status)
            return;
        model_put(t, p, key, strlen(key),
                  json_is_integer(value) ? json_integer_value(value) : -1);
    }
}

/* A list of [spelling, score]; the place is the id. */
static void model_read_list(tokenizer *t, const part *p)
{
    const json_t *list = part_list(p, "vocab", true);
    for (size_t k = 0; k < json_array_size(list) && *p->status == TUTTI_OK; k++) {
        const json_t *pair = json_array_get(list, k), *text = json_array_get(pair, 0);
        if (!json_is_string(text) || !json_is_number(json_array_get(pair, 1)))
            part_fail(p, TUTTI_E_FORMAT, "entry %zu of \"vocab\" is not [token, score]", k);
        else
            model_put(t, p, json_string_value(text), json_string_length(text), (int64_t)k);
    }
}

static int32_t model_unknown(const tokenizer *t, const part *p, bool wanted)
{
    const char *text = part_text(p, "unk_token", wanted ? "[UNK]" : NULL);
    const int32_t id = text ? words_find(&t->words, text, strlen(text)) : -1;
    if (text && (*text || wanted) && id < 0)
        part_fail(p, TUTTI_E_FORMAT, "\"vocab\" does not have the \"unk_token\" \"%.80s\"",
                  text);
    return id;
}

static void model_read_singles(tokenizer *t)
{
    char text[8];
    for (uint32_t k = 0; k < 512; k++) {
        const utf8proc_ssize_t n =
            utf8proc_encode_char((utf8proc_int32_t)k, (utf8proc_uint8_t *)text);
        t->of_code[k] = words_find(&t->words, text, (uint64_t)n);
    }
    for (uint32_t k = 0; k < 256; k++) {
        (void)snprintf(text, sizeof text, "<0x%02X>", k);
        t->of_byte[k] = words_find(&t->words, text, 6);
    }
}

/* Files of old versions do not say which model they have. */
static model_kind model_read_kind(const part *p)
{
    static const char *const names[] = {"BPE", "WordPiece", "WordLevel", "Unigram", NULL};
    if (json_object_get(p->json, "type"))
        return (model_kind)part_word(p, "type", names, 0);
    return json_object_get(p->json, "merges")                     ? MODEL_BPE
           : json_is_array(json_object_get(p->json, "vocab"))     ? MODEL_UNIGRAM
           : json_object_get(p->json, "max_input_chars_per_word") ? MODEL_WORDPIECE
                                                                  : MODEL_WORDLEVEL;
}

void model_read(tokenizer *t, const part *p)
{
    if (!p->json || *p->status)
        return;
    t->kind = model_read_kind(p);
    if (t->kind == MODEL_UNIGRAM)
        model_read_list(t, p);
    else
        model_read_object(t, p);
    if (*p->status == TUTTI_OK && t->words.count == 0)
        part_fail(p, TUTTI_E_FORMAT, "\"vocab\" is empty");
    if (*p->status)
        return;
    model_read_singles(t);
    if (t->kind != MODEL_UNIGRAM)
        t->unknown = model_unknown(t, p, t->kind == MODEL_WORDPIECE);
    if (t->kind == MODEL_BPE)
        bpe_read(t, p);
    else if (t->kind == MODEL_UNIGRAM)
        unigram_read(t, p);
    else if (t->kind == MODEL_WORDPIECE)
        wordpiece_read(t, p);
}

void model_free(tokenizer *t)
{
    words_free(&t->words);
    free(t->bpe.merges);
    words_free(&t->wordpiece.rest);
    unigram_free(&t->unigram);
}

/* ---- encoding ---- */

static tutti_status wordlevel_encode(tokenizer_encoder *e, const char *text, uint64_t size,
                                     tutti_error *err)
{
    int32_t id = words_find(&e->t->words, text, size);
    if (id < 0)
        id = e->t->unknown;
    if (id < 0)
        return tutti_fail(err, TUTTI_E_NOTFOUND,
                          "the vocabulary has neither \"%.*s\" nor an \"unk_token\"",
                          (int)(size < 80 ? size : 80), text);
    return ids_add(e->ids, id) ? TUTTI_OK : tokenizer_no_memory(err);
}

static tutti_status model_run(tokenizer_encoder *e, const char *text, uint64_t size,
                              tutti_error *err)
{
    switch (e->t->kind) {
    case MODEL_BPE:
        return bpe_encode(e, text, size, err);
    case MODEL_WORDPIECE:
        return wordpiece_encode(e, text, size, err);
    case MODEL_UNIGRAM:
        return unigram_encode(e, text, size, err);
    default:
        return wordlevel_encode(e, text, size, err);
    }
}

static bool model_remembered(tokenizer_encoder *e, const work_memory *m, const char *text,
                             uint64_t size, uint64_t hash)
{
    if (m->generation != e->generation || m->hash != hash || m->size != size ||
        memcmp(e->keys.data + m->key, text, size) != 0)
        return false;
    for (uint32_t k = 0; k < m->count; k++)
        if (!ids_add(e->ids, e->values.data[m->first + k]))
            return false;
    return true;
}

/* Not to have the memory for it is no fault: the piece is encoded again. */
static void model_remember(tokenizer_encoder *e, work_memory *m, const char *text,
                           uint64_t size, uint64_t hash, uint64_t from)
{
    if (e->keys.size > memory_capacity) {
        e->keys.size = 0;
        e->values.count = 0;
        e->generation++;
    }
    const uint64_t key = e->keys.size, first = e->values.count, count = e->ids->count - from;
    bytes_add(&e->keys, text, size);
    for (uint64_t k = 0; k < count; k++)
        if (!ids_add(&e->values, e->ids->data[from + k]))
            return;
    if (!e->keys.lacks)
        *m = (work_memory){hash, key, first, (uint32_t)size, (uint32_t)count, e->generation};
}

tutti_status model_encode(tokenizer_encoder *e, const char *text, uint64_t size,
                          tutti_error *err)
{
    if (size == 0)
        return TUTTI_OK;
    if (size > MEMORY_MOST)
        return model_run(e, text, size, err);
    const uint64_t hash = words_hash(text, size), from = e->ids->count;
    work_memory *m = &e->memory[hash >> (64 - MEMORY_BITS)];
    if (model_remembered(e, m, text, size, hash))
        return TUTTI_OK;
    e->ids->count = from;
    const tutti_status s = model_run(e, text, size, err);
    if (s == TUTTI_OK)
        model_remember(e, m, text, size, hash, from);
    return s;
}

work_memory *model_memory(void)
{
    return calloc((size_t)1 << MEMORY_BITS, sizeof(work_memory));
}
