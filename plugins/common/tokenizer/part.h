/* part.h - the members of one object of a tokenizer.json, read strictly: the first that is wrong is told. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TOKENIZER_PART_H
#define TOKENIZER_PART_H

#include "tutti/base.h"

#include <jansson.h>
#include <stdbool.h>

enum { TOKENIZER_STEPS = 16 /* of a sequence, with those of sequences in it */ };

/* An object of the file.  What reads it goes on with fallbacks after a fault and looks at *status last. */
typedef struct part {
    const json_t *json;
    const char *file;
    const char *where; /* "pre_tokenizer", named in errors */
    tutti_status *status;
    tutti_error *err;
} part;

/* Sets status and error unless there is one already. */
void part_fail(const part *p, tutti_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* The member, or the fallback where it is missing or null. */
bool part_bool(const part *p, const char *key, bool fallback);
int64_t part_int(const part *p, const char *key, int64_t fallback);
/* Lives as long as the JSON.  NULL is a fallback like others. */
const char *part_text(const part *p, const char *key, const char *fallback);
/* The same where it must not be missing; "" after a fault. */
const char *part_wanted_text(const part *p, const char *key);
/* The member "type", which each part has. */
const char *part_type(const part *p);
/* A part of the part, an array or an object; .json is NULL after a fault or where it is missing and not
 * `wanted`. */
part part_object(const part *p, const char *key, const char *where, bool wanted);
const json_t *part_list(const part *p, const char *key, bool wanted);
/* `read` for each object of a list that must be there, until a fault. */
void part_each(const part *p, const char *key, void *ctx, void (*read)(void *, const part *));
/* The place of the member's word in `words`, which NULL ends; `fallback` where it is missing. */
int part_word(const part *p, const char *key, const char *const *words, int fallback);

#endif
