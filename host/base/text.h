/* text.h - numbers and pieces of sentences, as messages and files write them. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOST_BASE_TEXT_H
#define HOST_BASE_TEXT_H

#include "tutti/base.h"

#include <stdbool.h>

#define TEXT_REAL_SIZE 32

/* The shortest decimal that reads back as `value`: "0.1", "1e-05".  Returns `text`, which has room
 * for TEXT_REAL_SIZE bytes.  [any] */
const char *text_real(double value, char *text);

/* A text that grows; starts as zeros.  After a failed allocation `failed` is 1 and nothing more is
 * added.  The caller frees `data`, which is NULL before the first addition. */
typedef struct text_buffer {
    char *data;
    size_t size; /* without the final NUL */
    size_t capacity;
    int failed;
} text_buffer;

TUTTI_PRINTF(2, 3)
void text_add(text_buffer *b, const char *format, ...);
void text_add_bytes(text_buffer *b, const char *bytes, size_t size);
/* As a JSON string: quoted and escaped. */
void text_add_quoted(text_buffer *b, const char *string);

/* Whether it is an address, such as "s3://bucket/name", and no path. */
bool text_is_address(const char *text);

/* What follows "NAME: " where the text begins so, else the text: of a plugin that says its name, for a
 * sentence that has it already.  [any] */
const char *text_after_name(const char *text, const char *name);

#endif
