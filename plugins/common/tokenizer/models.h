/* models.h - models: a piece to ids, by byte pairs, WordPiece, whole words or a unigram trie. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TOKENIZER_MODELS_H
#define TOKENIZER_MODELS_H

#include "words.h"

#include <stdbool.h>
#include <stdint.h>

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

#endif
