/* compose.h - the text of a record, and which parts of it are to be learnt. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DOCUMENTS_COMPOSE_H
#define DOCUMENTS_COMPOSE_H

#include "tutti/base.h"

#include <jansson.h>

typedef enum compose_kind {
    COMPOSE_TEXT,
    COMPOSE_COMPLETION,
    COMPOSE_MESSAGES,
    COMPOSE_CLASSES /* as COMPOSE_TEXT */
} compose_kind;

/* How, by the settings; strings are the settings'. */
typedef struct compose {
    compose_kind kind;
    const char *text_field, *prompt_field, *completion_field, *messages_field;
    const char *message_template; /* with {role} and {content} */
    const char *answer_role;
    int several; /* the field of completions may be a list, of which the first is the document's */
} compose;

/* The text; bytes begin[k] to end[k] are answers.  Of COMPOSE_TEXT all is.  A zeroed one is empty. */
typedef struct composed {
    char *text;
    uint64_t size, capacity;
    uint64_t *begin, *end;
    uint64_t answers, answers_capacity;
} composed;

void composed_free(composed *c);

/* Completion k of a record, or NULL: there are no more. */
const json_t *compose_completion(const compose *how, const json_t *record, size_t k);

/* Fills *ret from a record, with the room that it has.  Errors say what of `where` is missing or of another
 * type. */
TUTTI_NODISCARD tutti_status compose_record(const compose *how, const json_t *record,
                                            const char *where, composed *ret, tutti_error *err);
/* The template has {content} once. */
TUTTI_NODISCARD tutti_status compose_check(const compose *how, tutti_error *err);

#endif
