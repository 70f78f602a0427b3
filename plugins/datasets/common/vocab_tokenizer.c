/* vocab_tokenizer.c - the vocabulary of a tokenizer.json. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "tokenizer.h"
#include "vocab.h"

#include <stdlib.h>
#include <string.h>

tutti_status vocab_tokenizer(vocab *v, const char *file, tutti_error *err)
{
    memset(v, 0, sizeof *v);
    const tutti_status s = tokenizer_open(file, &v->tokenizer, err);
    if (s == TUTTI_OK)
        v->size = tokenizer_size(v->tokenizer);
    return s;
}

tutti_status vocab_tokenizer_encode(const vocab *v, const char *name, const char *data,
                                    uint64_t size, int32_t **ret_tokens, uint64_t *ret_count,
                                    tutti_error *err)
{
    tokenizer_encoder *e = NULL;
    tokenizer_ids ids = {0};
    tutti_status s = tokenizer_encoder_create(v->tokenizer, &e, err);
    if (s == TUTTI_OK)
        s = tokenizer_encode(e, name, data, size, 0, &ids, err);
    tokenizer_encoder_destroy(e);
    if (s) {
        free(ids.data);
        return s;
    }
    *ret_tokens = ids.data;
    *ret_count = ids.count;
    return TUTTI_OK;
}
