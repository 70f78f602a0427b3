/* split.h - pre-tokenizers: text to pieces, step by step. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TOKENIZER_SPLIT_H
#define TOKENIZER_SPLIT_H

#include "part.h"
#include "pattern.h"
#include "tokenizer.h"

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

void split_read(split *s, const part *p);
void split_free(split *s);
/* A piece of a text; `first`: the text begins with it. */
TUTTI_NODISCARD tutti_status split_run(tokenizer_encoder *e, uint32_t step, const char *text,
                                       uint64_t size, bool first, tutti_error *err);

#endif
