/* normalize.h - normalizers: text to text, step by step. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TOKENIZER_NORMALIZE_H
#define TOKENIZER_NORMALIZE_H

#include "bytes.h"
#include "part.h"
#include "pattern.h"
#include "tokenizer.h"

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

#endif
