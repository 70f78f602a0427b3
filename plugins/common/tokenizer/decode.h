/* decode.h - what the sources of decoding share. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TOKENIZER_DECODE_H
#define TOKENIZER_DECODE_H

#include "tables.h"

/* Several texts, one after the other. */
typedef struct texts {
    bytes all;
    uint64_t *ends;
    uint64_t count;
    uint64_t capacity;
} texts;

void texts_end(texts *t); /* what was added to `all` since is one text */
void texts_clear(texts *t);
void texts_free(texts *t);

/* `in` through all steps: what came out lies in one of the two. */
texts *decode_run(const decode *d, texts *in, texts *spare);
/* One token of a step that takes them one by one. */
void decode_token(const decode_step *s, const char *text, uint64_t size, bool first, bool last,
                  bytes *to);
void decode_spelled(const char *text, uint64_t size, bytes *to);
int decode_named_byte(const char *text, uint64_t size);
void decode_lossy(const char *text, uint64_t size, bytes *to);
/* Bytes of what is broken at the beginning of `text`, which counts as one. */
uint64_t decode_broken(const char *text, uint64_t size);

#endif
