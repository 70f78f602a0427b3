/* encoder.c - what one thread encodes with, and texts to ids. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "tables.h"
#include "unicode.h"

tutti_status tokenizer_encoder_create(const tokenizer *t, tokenizer_encoder **ret,
                                      tutti_error *err)
{
    tokenizer_encoder *e = calloc(1, sizeof *e);
    if (e) {
        e->t = t;
        e->generation = 1;
        e->match = pcre2_match_data_create(1, NULL);
        e->memory = model_memory();
    }
    if (!e || !e->match || !e->memory) {
        tokenizer_encoder_destroy(e);
        return tokenizer_no_memory(err);
    }
    *ret = e;
    return TUTTI_OK;
}

void tokenizer_encoder_destroy(tokenizer_encoder *e)
{
    if (!e)
        return;
    pcre2_match_data_free(e->match);
    for (int k = 0; k < TOKENIZER_STEPS; k++) {
        bytes_free(&e->scratch[k]);
        bytes_free(&e->spaced[k]);
    }
    bytes_free(&e->normal[0]);
    bytes_free(&e->normal[1]);
    bytes_free(&e->keys);
    free(e->values.data);
    free(e->memory);
    free(e->symbols);
    free(e->heap);
    free(e->best);
    free(e);
}

static tutti_status encoder_around(tokenizer_encoder *e, const tokenizer_ids *ids,
                                   tutti_error *err)
{
    for (uint64_t k = 0; k < ids->count; k++)
        if (!ids_add(e->ids, ids->data[k]))
            return tokenizer_no_memory(err);
    return TUTTI_OK;
}

tutti_status tokenizer_encode(tokenizer_encoder *e, const char *name, const char *text,
                              uint64_t size, int special, tokenizer_ids *ids, tutti_error *err)
{
    const uint64_t from = ids->count, good = unicode_check(text, size);
    tutti_error why = TUTTI_ERROR_INIT;
    if (good < size)
        return tutti_fail(err, TUTTI_E_FORMAT, "%s: byte %llu begins no UTF-8 character", name,
                          (unsigned long long)good);
    e->ids = ids;
    tutti_status s = special ? encoder_around(e, &e->t->before, &why) : TUTTI_OK;
    if (s == TUTTI_OK)
        s = added_encode(e, text, size, &why);
    if (s == TUTTI_OK && special)
        s = encoder_around(e, &e->t->after, &why);
    if (s == TUTTI_OK)
        return TUTTI_OK;
    ids->count = from;
    return tutti_fail(err, s, "%s: %s", name, why.text);
}
