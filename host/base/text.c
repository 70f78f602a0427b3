/* text.c - the shortest decimals, and a growing buffer. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "base/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *text_real(double value, char *text)
{
    for (int digits = 15; digits <= 17; digits++) {
        (void)snprintf(text, TEXT_REAL_SIZE, "%.*g", digits, value);
        if (strtod(text, NULL) == value)
            break;
    }
    return text;
}

static int reserve(text_buffer *b, size_t more)
{
    if (b->failed)
        return 0;
    if (b->size + more + 1 <= b->capacity)
        return 1;
    size_t capacity = b->capacity ? b->capacity : 64;
    while (capacity < b->size + more + 1)
        capacity *= 2;
    char *data = realloc(b->data, capacity);
    if (!data) {
        b->failed = 1;
        return 0;
    }
    b->data = data;
    b->capacity = capacity;
    return 1;
}

void text_add_bytes(text_buffer *b, const char *bytes, size_t size)
{
    if (!reserve(b, size))
        return;
    memcpy(b->data + b->size, bytes, size);
    b->size += size;
    b->data[b->size] = '\0';
}

void text_add(text_buffer *b, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    va_list again;
    va_copy(again, args);
    const int size = vsnprintf(NULL, 0, format, args);
    if (size >= 0 && reserve(b, (size_t)size)) {
        (void)vsnprintf(b->data + b->size, (size_t)size + 1, format, again);
        b->size += (size_t)size;
    }
    va_end(again);
    va_end(args);
}

void text_add_quoted(text_buffer *b, const char *string)
{
    static const char escapes[] = "\"\"\\\\\bb\ff\nn\rr\tt";
    text_add_bytes(b, "\"", 1);
    for (const char *c = string; *c; c++) {
        const char *found = NULL;
        for (const char *e = escapes; *e && !found; e += 2)
            found = *e == *c ? e : NULL;
        if (found)
            text_add(b, "\\%c", found[1]);
        else if ((unsigned char)*c < 0x20)
            text_add(b, "\\u%04x", (unsigned)(unsigned char)*c);
        else
            text_add_bytes(b, c, 1);
    }
    text_add_bytes(b, "\"", 1);
}

bool text_is_address(const char *text)
{
    const size_t n = strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789+.-");
    return n > 0 && strncmp(text + n, "://", 3) == 0;
}

const char *text_after_name(const char *text, const char *name)
{
    const size_t n = strlen(name);
    const bool begins = n > 0 && strncmp(text, name, n) == 0 && strncmp(text + n, ": ", 2) == 0;
    return begins ? text + n + 2 : text;
}
