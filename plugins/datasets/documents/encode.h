/* encode.h - records to tokens by several threads; what they make does not depend on how many there are. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DOCUMENTS_ENCODE_H
#define DOCUMENTS_ENCODE_H

#include "compose.h"

#include "tokenizer.h"

#include <pthread.h>

enum { ENCODE_MOST_THREADS = 16, ENCODE_EACH = 256 /* records of a thread at a time */ };

/* Tokens, and of each whether it is to be predicted.  A zeroed one is empty. */
typedef struct encoded {
    tokenizer_ids tokens;
    unsigned char *learnt;
    uint64_t learnt_capacity;
} encoded;

void encoded_free(encoded *e);
/* Appends `count` tokens with their marks.  Errors: E_NOMEM. */
TUTTI_NODISCARD tutti_status encoded_add(encoded *e, const int32_t *tokens,
                                         const unsigned char *learnt, uint64_t count,
                                         const char *path, tutti_error *err);

typedef struct encode_how {
    const tokenizer *tokenizer;
    compose compose;
    const char *path;
    int32_t begin_token, end_token; /* or -1 */
    int labels;                     /* the end and the marks are the caller's */
} encode_how;

typedef struct encode_record {
    json_t *json;
    uint64_t line;
} encode_record;

/* One thread's part of the records. */
typedef struct encode_part {
    const encode_how *how;
    const encode_record *records;
    uint64_t count, done;      /* of records; all before the first that fails */
    uint64_t end[ENCODE_EACH]; /* of each record in `out` */
    encoded out;
    tokenizer_encoder *encoder;
    composed text;
    tokenizer_ids beginning; /* ids of a beginning of the text */
    tutti_status status;     /* of the record behind `done` */
    tutti_error err;
    pthread_t thread;
} encode_part;

/* As many parts as threads. */
typedef struct encode_pool {
    encode_part *parts;
    uint32_t count;
} encode_pool;

/* `threads` from 1 to ENCODE_MOST_THREADS; `how` outlives the pool.  Errors: E_NOMEM. */
TUTTI_NODISCARD tutti_status encode_open(encode_pool *p, const encode_how *how,
                                         uint32_t threads, tutti_error *err);
void encode_close(encode_pool *p);
/* Encodes at most ENCODE_EACH records a part, and returns when all threads have ended. */
void encode_all(encode_pool *p, const encode_record *records, uint64_t count);
/* Record k of these: its tokens and their marks, valid until the next encode_all.  Errors: what was wrong with it; records
 * behind one that fails need not be there. */
TUTTI_NODISCARD tutti_status encode_at(const encode_pool *p, uint64_t k,
                                       const int32_t **ret_tokens,
                                       const unsigned char **ret_learnt, uint64_t *ret_count,
                                       tutti_error *err);

#endif
