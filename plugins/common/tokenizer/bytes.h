/* bytes.h - a row of bytes that grows and remembers that memory was lacking. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TOKENIZER_BYTES_H
#define TOKENIZER_BYTES_H

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* A zeroed one is empty.  What is added after memory was lacking is dropped; the user looks at `lacks`
 * at the end. */
typedef struct bytes {
    char *data;
    uint64_t size;
    uint64_t capacity;
    bool lacks;
} bytes;

static inline bool bytes_reserve(bytes *b, uint64_t more)
{
    if (b->capacity - b->size >= more && b->data)
        return true;
    uint64_t capacity = b->capacity ? b->capacity : 64;
    while (capacity - b->size < more)
        capacity *= 2;
    char *grown = b->lacks ? NULL : realloc(b->data, capacity);
    if (!grown) {
        b->lacks = true;
        return false;
    }
    b->data = grown;
    b->capacity = capacity;
    return true;
}

static inline void bytes_add(bytes *b, const char *data, uint64_t size)
{
    if (size && bytes_reserve(b, size)) {
        memcpy(b->data + b->size, data, size);
        b->size += size;
    }
}

static inline void bytes_text(bytes *b, const char *text)
{
    bytes_add(b, text, strlen(text));
}

static inline void bytes_free(bytes *b)
{
    free(b->data);
    memset(b, 0, sizeof *b);
}

#endif
