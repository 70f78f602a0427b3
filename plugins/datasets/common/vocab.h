/* vocab.h - vocabularies: bytes, characters of a file, GPT-2's byte-pair encoding, a tokenizer.json. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef VOCAB_H
#define VOCAB_H

#include "tutti/base.h"

/* Two tokens that become one. */
typedef struct vocab_merge {
    int32_t left; /* -1: an empty place of the table */
    int32_t right;
    int32_t rank; /* smaller ones go first */
    int32_t token;
} vocab_merge;

/* A zeroed one is closed.  Tokens are numbered 0 to size - 1. */
typedef struct vocab {
    int64_t size;
    char *text;   /* of all tokens, one after the other */
    uint64_t *at; /* (size + 1) where each begins in it */
    /* chars: the code point of each token, ascending; else NULL */
    uint32_t *codes;
    /* gpt2: a hash table of 2^bits places, else NULL; and the tokens of single bytes */
    vocab_merge *merges;
    uint32_t bits;
    int32_t of_byte[256];
    uint32_t reserved;
    struct tokenizer *tokenizer; /* its own tables, or NULL */
} vocab;

TUTTI_NODISCARD tutti_status vocab_bytes(vocab *v, tutti_error *err);
/* The characters that occur in `data`, UTF-8, which is called `name` in errors. */
TUTTI_NODISCARD tutti_status vocab_chars(vocab *v, const char *name, const char *data,
                                         uint64_t size, tutti_error *err);
/* vocab.json and merges.txt as GPT-2 and Hugging Face have them. */
TUTTI_NODISCARD tutti_status vocab_gpt2(vocab *v, const char *vocab_file,
                                        const char *merges_file, tutti_error *err);
/* A tokenizer.json. */
TUTTI_NODISCARD tutti_status vocab_tokenizer(vocab *v, const char *file, tutti_error *err);
void vocab_close(vocab *v);

/* The tokens of `data`, which is called `name` in errors; without those that a tokenizer.json puts around a
 * text.  The caller frees *ret_tokens. */
TUTTI_NODISCARD tutti_status vocab_encode(const vocab *v, const char *name, const char *data,
                                          uint64_t size, int32_t **ret_tokens,
                                          uint64_t *ret_count, tutti_error *err);

/* The calls of tutti.vocabulary/1. */
TUTTI_NODISCARD tutti_status vocab_words_encode(const vocab *v, const char *text, uint64_t size,
                                                int32_t *tokens, uint64_t capacity,
                                                uint64_t *ret_count, tutti_error *err);
const char *vocab_words_token(const vocab *v, int64_t token, uint64_t *ret_size);

/* vocab_tokenizer.c: as vocab_encode. */
TUTTI_NODISCARD tutti_status vocab_tokenizer_encode(const vocab *v, const char *name,
                                                    const char *data, uint64_t size,
                                                    int32_t **ret_tokens, uint64_t *ret_count,
                                                    tutti_error *err);

/* vocab_encode.c: pieces of `data`, valid UTF-8, one after the other. */
TUTTI_NODISCARD tutti_status vocab_encode_pieces(const vocab *v, const char *data,
                                                 uint64_t size, int32_t *tokens,
                                                 uint64_t *ret_count, tutti_error *err);
/* The place of a pair in v->merges: its own, or the empty one where it would be. */
vocab_merge *vocab_merge_find(const vocab *v, int32_t left, int32_t right);

#endif
