/* tables.h - the parts of a tokenizer, each filled by the source of its name. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TOKENIZER_TABLES_H
#define TOKENIZER_TABLES_H

#include "bytes.h"
#include "part.h"
#include "pattern.h"
#include "tokenizer.h"
#include "words.h"

enum { TOKENIZER_STEPS = 16 /* of a sequence, with those of sequences in it */ };

/* ---- normalize.c: text to text ---- */

typedef enum normalize_kind {
    NORMALIZE_NFC,
    NORMALIZE_NFD,
    NORMALIZE_NFKC,
    NORMALIZE_NFKD,
    NORMALIZE_LOWERCASE,
    NORMALIZE_STRIP,
    NORMALIZE_STRIP_ACCENTS,
    NORMALIZE_BERT,
    NORMALIZE_REPLACE,
    NORMALIZE_PREPEND,
    NORMALIZE_CHARSMAP,
    NORMALIZE_BYTE_LEVEL,
    NORMALIZE_NMT,
} normalize_kind;

/* charsmap.c: SentencePiece's map of characters, a double array and the texts that it points to. */
typedef struct charsmap {
    uint32_t *units;
    uint64_t count;
    char *texts; /* each ended by a zero */
    uint64_t size;
} charsmap;

typedef struct normalize_step {
    normalize_kind kind;
    bool left, right;                        /* NORMALIZE_STRIP */
    bool clean, chinese, accents, lowercase; /* NORMALIZE_BERT */
    pcre2_code *pattern;
    const char *content; /* of the JSON */
    charsmap map;
} normalize_step;

typedef struct normalize {
    normalize_step steps[TOKENIZER_STEPS];
    uint32_t count;
} normalize;

/* ---- split.c: text to pieces ---- */

typedef enum split_kind {
    SPLIT_BYTE_LEVEL,
    SPLIT_PATTERN,
    SPLIT_WHITESPACE,
    SPLIT_BERT,
    SPLIT_METASPACE,
    SPLIT_DIGITS,
    SPLIT_PUNCTUATION,
    SPLIT_DELIMITER,
} split_kind;

/* What becomes of a match. */
typedef enum split_behavior {
    SPLIT_REMOVED,
    SPLIT_ISOLATED,
    SPLIT_WITH_PREVIOUS,
    SPLIT_WITH_NEXT,
    SPLIT_CONTIGUOUS,
} split_behavior;

typedef enum split_prepend { SPLIT_ALWAYS, SPLIT_NEVER, SPLIT_FIRST } split_prepend;

typedef struct split_step {
    split_kind kind;
    split_behavior behavior;
    split_prepend prepend;
    bool invert;
    bool add_space; /* SPLIT_BYTE_LEVEL */
    pcre2_code *pattern;
    const char *mark; /* SPLIT_METASPACE's character, SPLIT_DELIMITER's */
} split_step;

typedef struct split {
    split_step steps[TOKENIZER_STEPS];
    uint32_t count;
} split;

/* ---- models: a piece to ids ---- */

/* Two ids that become one; left -1: an empty place. */
typedef struct bpe_merge {
    int32_t left;
    int32_t right;
    int32_t rank; /* smaller ones go first */
    int32_t id;
} bpe_merge;

typedef struct bpe {
    bpe_merge *merges; /* open addressing, 2^bits places */
    uint32_t bits;
    bool fuse_unknown;
    bool byte_fallback;
    bool ignore_merges;
    const char *prefix; /* of what goes on with a word; "" for none */
    const char *suffix; /* of what ends one */
} bpe;

typedef struct wordpiece {
    words rest; /* what goes on with a word, without its prefix */
    const char *prefix;
    uint64_t most; /* characters of a word that is looked at */
} wordpiece;

/* A trie; children are found by node and byte. */
typedef struct unigram {
    uint64_t *edges; /* node << 8 | byte, plus 1; 0: an empty place */
    uint32_t *to;    /* the child */
    int32_t *ids;    /* of each node, or -1 */
    double *scores;  /* of each id */
    uint64_t nodes;
    uint32_t bits;
    double unknown_score;
    bool byte_fallback;
} unigram;

typedef enum model_kind {
    MODEL_BPE,
    MODEL_WORDPIECE,
    MODEL_WORDLEVEL,
    MODEL_UNIGRAM
} model_kind;

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
    uint64_t symbols_room, heap_room;
    unigram_best *best;
    uint64_t best_room;
    tokenizer_ids *ids;
};

void normalize_read(normalize *n, const part *p);
void normalize_free(normalize *n);
/* `text` through all steps into one of e->normal, or `text` itself. */
TUTTI_NODISCARD tutti_status normalize_run(tokenizer_encoder *e, const char **text,
                                           uint64_t *size, tutti_error *err);
/* normalize_bert.c */
void normalize_bert(const normalize_step *s, const char *text, uint64_t size, bytes *to);
void normalize_lowercase(const char *text, uint64_t size, bytes *to);
/* By utf8proc's options; false: no memory. */
bool normalize_form(const char *text, uint64_t size, int options, bytes *to);

void charsmap_read(charsmap *m, const part *p);
void charsmap_run(const charsmap *m, const char *text, uint64_t size, bytes *to);
void charsmap_free(charsmap *m);

void split_read(split *s, const part *p);
void split_free(split *s);
/* A piece of a text; `first`: the text begins with it. */
TUTTI_NODISCARD tutti_status split_run(tokenizer_encoder *e, uint32_t step, const char *text,
                                       uint64_t size, bool first, tutti_error *err);

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
