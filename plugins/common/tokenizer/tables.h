/* tables.h - the parts of a tokenizer, each filled by the source of its name. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TOKENIZER_TABLES_H
#define TOKENIZER_TABLES_H

#include "bytes.h"
#include "models.h"
#include "normalize.h"
#include "part.h"
#include "pattern.h"
#include "split.h"
#include "tokenizer.h"
#include "words.h"

/* ---- added.c: tokens that are found before anything else ---- */

typedef struct added_token {
    const char *text; /* of the JSON, or of `own` */
    uint64_t size;
    char *own; /* normalized, freed with the token; or NULL */
    int32_t id;
    bool special, single_word, left, right, normalized;
} added_token;

typedef struct added {
    added_token *tokens; /* longest first */
    uint64_t count;
    bool begins
        [2]
        [256]; /* by what a token begins: of those in the text as it is, in the normalized one */
} added;

/* ---- decode.c: tokens to text ---- */

typedef enum decode_kind {
    DECODE_BYTE_LEVEL,
    DECODE_WORDPIECE,
    DECODE_METASPACE,
    DECODE_BPE,
    DECODE_BYTE_FALLBACK,
    DECODE_FUSE,
    DECODE_STRIP,
    DECODE_REPLACE,
} decode_kind;

typedef struct decode_step {
    decode_kind kind;
    bool cleanup;
    bool keep_first;  /* DECODE_METASPACE: nothing was prepended */
    const char *text; /* prefix, mark, suffix or what is stripped */
    const char *content;
    int64_t start, stop;
    pcre2_code *pattern;
} decode_step;

typedef struct decode {
    decode_step steps[TOKENIZER_STEPS];
    uint32_t count;
} decode;

/* ---- all of it ---- */

struct tokenizer {
    json_t *json; /* what the tables point into */
    char *path;
    normalize normalize;
    split split;
    model_kind kind;
    words words;          /* of the model */
    int32_t unknown;      /* the model's token for what it does not have, or -1 */
    int32_t of_code[512]; /* by the first characters of Unicode, or -1 */
    int32_t of_byte[256]; /* "<0x00>" and so on, or -1 */
    bpe bpe;
    wordpiece wordpiece;
    unigram unigram;
    added added;
    words specials;              /* spellings of added tokens */
    tokenizer_ids before, after; /* what the post-processor puts around a text */
    decode decode;
    const char **spelling; /* of each id, or NULL */
    bool *is_special;
    int64_t size;
    char *texts; /* what each id stands for, one after the other */
    uint64_t *texts_at;
};

typedef struct work_memory {
    uint64_t hash;
    uint64_t key;   /* in keys */
    uint64_t first; /* in values */
    uint32_t size;
    uint32_t count;      /* of ids */
    uint32_t generation; /* the encoder's when it was written; from 1 */
} work_memory;

/* A merge that may happen. */
typedef struct bpe_entry {
    int32_t rank;
    int32_t id;
    uint32_t at;
} bpe_entry;

typedef struct bpe_symbol {
    int32_t id; /* -1: merged into the one before */
    int32_t before, next;
} bpe_symbol;

typedef struct unigram_best {
    double score;
    uint64_t from;
    int32_t id; /* -1: nothing ends here */
} unigram_best;

struct tokenizer_encoder {
    const tokenizer *t;
    pcre2_match_data *match;
    bytes normal[2];
    bytes scratch[TOKENIZER_STEPS]; /* of each split */
    bytes spaced[TOKENIZER_STEPS];  /* of those that put a space before a text */
    work_memory *memory;
    bytes keys;
    tokenizer_ids values;
    uint32_t generation;
    bpe_symbol *symbols;
    bpe_entry *heap;
    uint64_t symbols_capacity, heap_capacity;
    unigram_best *best;
    uint64_t best_capacity;
    tokenizer_ids *ids;
};

void model_read(tokenizer *t, const part *p);
/* Of an encoder; NULL: no memory. */
work_memory *model_memory(void);
void model_free(tokenizer *t);
TUTTI_NODISCARD tutti_status model_encode(tokenizer_encoder *e, const char *text, uint64_t size,
                                          tutti_error *err);
void bpe_read(tokenizer *t, const part *p);
TUTTI_NODISCARD tutti_status bpe_encode(tokenizer_encoder *e, const char *text, uint64_t size,
                                        tutti_error *err);
void wordpiece_read(tokenizer *t, const part *p);
TUTTI_NODISCARD tutti_status wordpiece_encode(tokenizer_encoder *e, const char *text,
                                              uint64_t size, tutti_error *err);
void unigram_read(tokenizer *t, const part *p);
void unigram_free(unigram *u);
TUTTI_NODISCARD tutti_status unigram_encode(tokenizer_encoder *e, const char *text,
                                            uint64_t size, tutti_error *err);

void added_read(tokenizer *t, const part *p);
/* What is no added token of `text` goes through normalization, splits and model. */
TUTTI_NODISCARD tutti_status added_encode(tokenizer_encoder *e, const char *text, uint64_t size,
                                          tutti_error *err);
/* The tokens whose text is normalized before it is looked for. */
TUTTI_NODISCARD tutti_status added_normalize(tokenizer *t, tutti_error *err);

void process_read(tokenizer *t, const part *p);
void decode_read(decode *d, const part *p);
void decode_free(decode *d);
/* Fills texts and texts_at. */
TUTTI_NODISCARD tutti_status decode_table(tokenizer *t, tutti_error *err);

/* Appends; false: no memory. */
TUTTI_NODISCARD bool ids_add(tokenizer_ids *ids, int32_t id);
TUTTI_NODISCARD tutti_status tokenizer_no_memory(tutti_error *err);
/* byte_level.c: the characters that stand for bytes, as GPT-2 writes them. */
void byte_level_add(bytes *to, const char *text, uint64_t size);
/* The byte of a character, or -1. */
int byte_level_byte(uint32_t code);

#endif
