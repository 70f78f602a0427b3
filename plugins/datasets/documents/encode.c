/* encode.c - records to tokens: the text, what of it is learnt, and the threads that do it. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "encode.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- tokens with marks ---- */

void encoded_free(encoded *e)
{
    free(e->tokens.data);
    free(e->learnt);
    memset(e, 0, sizeof *e);
}

static tutti_status encoded_mark(encoded *e, uint64_t first, int all, const char *path,
                                 tutti_error *err)
{
    if (e->tokens.count > e->learnt_capacity) {
        const uint64_t capacity = 2 * e->tokens.count;
        unsigned char *learnt = realloc(e->learnt, capacity);
        if (!learnt)
            return tutti_fail(err, TUTTI_E_NOMEM, "%s: no memory for its tokens", path);
        e->learnt = learnt;
        e->learnt_capacity = capacity;
    }
    if (e->tokens.count > first)
        memset(e->learnt + first, all, e->tokens.count - first);
    return TUTTI_OK;
}

tutti_status encoded_add(encoded *e, const int32_t *tokens, const unsigned char *learnt,
                         uint64_t count, const char *path, tutti_error *err)
{
    tokenizer_ids *t = &e->tokens;
    const uint64_t first = t->count;
    if (!count)
        return TUTTI_OK;
    if (first + count > t->capacity) {
        const uint64_t capacity = 2 * (first + count) + 256;
        int32_t *data = realloc(t->data, capacity * sizeof *data);
        if (!data)
            return tutti_fail(err, TUTTI_E_NOMEM, "%s: no memory for its tokens", path);
        t->data = data;
        t->capacity = capacity;
    }
    memcpy(t->data + first, tokens, count * sizeof *tokens);
    t->count += count;
    const tutti_status s = encoded_mark(e, first, 0, path, err);
    if (s == TUTTI_OK)
        memcpy(e->learnt + first, learnt, count);
    return s;
}

/* ---- a record ---- */

static tutti_status encode_token(encode_part *p, int32_t id, unsigned char learnt,
                                 tutti_error *err)
{
    return id < 0 ? TUTTI_OK : encoded_add(&p->out, &id, &learnt, 1, p->how->path, err);
}

/* How many of the text's tokens, from `first` on, are those of its first `size` bytes by themselves: what is behind
 * belongs to the rest of the text, also a token across the border. */
static tutti_status encode_border(encode_part *p, uint64_t first, uint64_t size,
                                  const char *where, uint64_t *ret, tutti_error *err)
{
    const tokenizer_ids *all = &p->out.tokens;
    uint64_t n = 0;
    p->beginning.count = 0;
    const tutti_status s =
        tokenizer_encode(p->encoder, where, p->text.text, size, 0, &p->beginning, err);
    while (s == TUTTI_OK && n < p->beginning.count && first + n < all->count &&
           p->beginning.data[n] == all->data[first + n])
        n++;
    *ret = n;
    return s;
}

static tutti_status encode_answers(encode_part *p, uint64_t first, const char *where,
                                   tutti_error *err)
{
    tutti_status s = encoded_mark(&p->out, first, 0, p->how->path, err);
    for (uint64_t k = 0; k < p->text.answers && s == TUTTI_OK; k++) {
        uint64_t begin = 0, end = p->out.tokens.count - first;
        s = encode_border(p, first, p->text.begin[k], where, &begin, err);
        if (s == TUTTI_OK && p->text.end[k] < p->text.size)
            s = encode_border(p, first, p->text.end[k], where, &end, err);
        if (s == TUTTI_OK && end > begin)
            memset(p->out.learnt + first + begin, 1, end - begin);
    }
    return s;
}

static tutti_status encode_one(encode_part *p, const encode_record *record, tutti_error *err)
{
    const encode_how *how = p->how;
    char where[512];
    (void)snprintf(where, sizeof where, "%s:%llu", how->path, (unsigned long long)record->line);
    tutti_status s = compose_record(&how->compose, record->json, where, &p->text, err);
    if (s == TUTTI_OK)
        s = encode_token(p, how->begin_token, 0, err);
    const uint64_t first = p->out.tokens.count;
    if (s == TUTTI_OK)
        s = tokenizer_encode(p->encoder, where, p->text.text ? p->text.text : "", p->text.size,
                             0, &p->out.tokens, err);
    if (s == TUTTI_OK)
        s = how->labels || how->compose.kind == COMPOSE_TEXT
                ? encoded_mark(&p->out, first, !how->labels, how->path, err)
                : encode_answers(p, first, where, err);
    return s || how->labels ? s : encode_token(p, how->end_token, 1, err);
}

/* ---- threads ---- */

static void *encode_work(void *argument)
{
    encode_part *p = argument;
    p->out.tokens.count = 0;
    p->status = TUTTI_OK;
    p->err = (tutti_error)TUTTI_ERROR_INIT;
    for (p->done = 0; p->done < p->count; p->done++) {
        p->status = encode_one(p, &p->records[p->done], &p->err);
        if (p->status)
            break;
        p->end[p->done] = p->out.tokens.count;
    }
    return NULL;
}

void encode_all(encode_pool *p, const encode_record *records, uint64_t count)
{
    int runs[ENCODE_MOST_THREADS] = {0};
    for (uint32_t k = 0; k < p->count; k++) {
        const uint64_t first = count * k / p->count;
        p->parts[k].records = records + first;
        p->parts[k].count = count * (k + 1) / p->count - first;
    }
    for (uint32_t k = 1; k < p->count; k++)
        runs[k] = p->parts[k].count &&
                  pthread_create(&p->parts[k].thread, NULL, encode_work, &p->parts[k]) == 0;
    for (uint32_t k = 0; k < p->count; k++)
        if (!runs[k]) /* its own part, and those for which there is no thread */
            (void)encode_work(&p->parts[k]);
    for (uint32_t k = 1; k < p->count; k++)
        if (runs[k])
            (void)pthread_join(p->parts[k].thread, NULL);
}

tutti_status encode_at(const encode_pool *p, uint64_t k, const int32_t **ret_tokens,
                       const unsigned char **ret_learnt, uint64_t *ret_count, tutti_error *err)
{
    const encode_part *part = p->parts;
    while (k >= part->count)
        k -= part++->count;
    if (k >= part->done)
        return tutti_fail(err, part->status, "%s", part->err.text);
    const uint64_t first = k ? part->end[k - 1] : 0;
    *ret_tokens = part->out.tokens.data + first;
    *ret_learnt = part->out.learnt + first;
    *ret_count = part->end[k] - first;
    return TUTTI_OK;
}

tutti_status encode_open(encode_pool *p, const encode_how *how, uint32_t threads,
                         tutti_error *err)
{
    tutti_status s = TUTTI_OK;
    p->parts = calloc(threads, sizeof *p->parts);
    if (!p->parts)
        return tutti_fail(err, TUTTI_E_NOMEM, "documents: no memory");
    for (p->count = 0; p->count < threads && s == TUTTI_OK; p->count++) {
        p->parts[p->count].how = how;
        s = tokenizer_encoder_create(how->tokenizer, &p->parts[p->count].encoder, err);
    }
    if (s)
        encode_close(p);
    return s;
}

void encode_close(encode_pool *p)
{
    for (uint32_t k = 0; k < p->count; k++) {
        encoded_free(&p->parts[k].out);
        composed_free(&p->parts[k].text);
        free(p->parts[k].beginning.data);
        tokenizer_encoder_destroy(p->parts[k].encoder);
    }
    free(p->parts);
    *p = (encode_pool){0};
}
