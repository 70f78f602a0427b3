/* tokenizer.h - Hugging Face's tokenizer.json: text to the ids that the package `tokenizers` gives, and back. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TOKENIZER_TOKENIZER_H
#define TOKENIZER_TOKENIZER_H

#include "tutti/base.h"

/* What one file says.  It does not change: any number of threads may use it. */
typedef struct tokenizer tokenizer;

/* Errors, one sentence each with the file and the part of it that is wrong: E_IO, E_FORMAT,
 * E_UNSUPPORTED (a part of a kind that is not known here; a build without PCRE2 or utf8proc), E_NOMEM.
 * The caller closes *ret. */
TUTTI_NODISCARD tutti_status tokenizer_open(const char *path, tokenizer **ret,
                                            tutti_error *err);
void tokenizer_close(tokenizer *t); /* NULL is allowed */

/* All ids are below it. */
int64_t tokenizer_size(const tokenizer *t);
/* The id of a token by its spelling in the file, as "<|im_start|>" or "[MASK]"; -1: there is none. */
int64_t tokenizer_find(const tokenizer *t, const char *spelling);
/* The *ret_size bytes that a token stands for where it is not the first of a text; not ended by a zero,
 * and of byte-level tokenizers perhaps a part of a character.  NULL: there is no such token. */
const char *tokenizer_text(const tokenizer *t, int64_t id, uint64_t *ret_size);

/* A row of ids that grows.  A zeroed one is empty; the owner frees `data`. */
typedef struct tokenizer_ids {
    int32_t *data;
    uint64_t count;
    uint64_t capacity;
} tokenizer_ids;

/* Scratch memory and a memory of words, of one thread at a time; the tokenizer outlives it. */
typedef struct tokenizer_encoder tokenizer_encoder;
TUTTI_NODISCARD tutti_status tokenizer_encoder_create(const tokenizer *t,
                                                      tokenizer_encoder **ret,
                                                      tutti_error *err);
void tokenizer_encoder_destroy(tokenizer_encoder *e); /* NULL is allowed */

/* Appends the ids of `size` bytes of UTF-8 to *ids, with those that the file's post-processor puts
 * around a text if `special`.  `name` stands for the text in errors: E_FORMAT says which byte begins
 * no character; on an error *ids has the ids it had.  Truncation and padding of the file are the
 * caller's. */
TUTTI_NODISCARD tutti_status tokenizer_encode(tokenizer_encoder *e, const char *name,
                                              const char *text, uint64_t size, int special,
                                              tokenizer_ids *ids, tutti_error *err);

/* The text of ids, as the file's decoder writes it, ended by a zero that *ret_size leaves out; the
 * caller frees it.  `skip` leaves special tokens out.  Errors: E_RANGE (no such id), E_NOMEM. */
TUTTI_NODISCARD tutti_status tokenizer_decode(const tokenizer *t, const int32_t *ids,
                                              uint64_t count, int skip, char **ret,
                                              uint64_t *ret_size, tutti_error *err);

#endif
