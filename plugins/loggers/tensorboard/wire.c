/* wire.c - protobuf's wire format by hand. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "wire.h"

#include <stdlib.h>
#include <string.h>

void put_raw(bytes *b, const void *data, size_t size)
{
    if (b->size + size > b->capacity && !b->failed) {
        const size_t capacity = 2 * b->capacity + size + 256;
        char *grown = realloc(b->data, capacity);
        b->failed = !grown;
        if (grown) {
            b->data = grown;
            b->capacity = capacity;
        }
    }
    if (b->failed || !size)
        return;
    memcpy(b->data + b->size, data, size);
    b->size += size;
}

void add_varint(bytes *b, uint64_t v)
{
    unsigned char byte;
    for (; v > 127; v >>= 7) {
        byte = (unsigned char)(v | 128);
        put_raw(b, &byte, 1);
    }
    byte = (unsigned char)v;
    put_raw(b, &byte, 1);
}

void add_fixed(bytes *b, uint64_t v, int size)
{
    for (int k = 0; k < size; k++, v >>= 8) {
        const unsigned char byte = (unsigned char)v;
        put_raw(b, &byte, 1);
    }
}

void add_key(bytes *b, uint32_t field, uint32_t type)
{
    add_varint(b, field << 3 | type);
}

void put_int(bytes *b, uint32_t field, int64_t v)
{
    add_key(b, field, VARINT);
    add_varint(b, (uint64_t)v);
}

void put_double(bytes *b, uint32_t field, double v)
{
    uint64_t bits;
    memcpy(&bits, &v, sizeof bits);
    add_key(b, field, FIXED64);
    add_fixed(b, bits, 8);
}

void put_float(bytes *b, uint32_t field, float v)
{
    uint32_t bits;
    memcpy(&bits, &v, sizeof bits);
    add_key(b, field, FIXED32);
    add_fixed(b, bits, 4);
}

void put_bytes(bytes *b, uint32_t field, const void *data, size_t size)
{
    add_key(b, field, LENGTH);
    add_varint(b, size);
    put_raw(b, data, size);
}

void put_string(bytes *b, uint32_t field, const char *text)
{
    put_bytes(b, field, text, strlen(text));
}

void put_message(bytes *b, uint32_t field, bytes *message)
{
    put_bytes(b, field, message->data, message->size);
    b->failed = b->failed || message->failed;
    free(message->data);
}

void put_doubles(bytes *b, uint32_t field, const double *values, uint32_t n)
{
    add_key(b, field, LENGTH);
    add_varint(b, (uint64_t)n * sizeof *values);
    for (uint32_t k = 0; k < n; k++) {
        uint64_t bits;
        memcpy(&bits, &values[k], sizeof bits);
        add_fixed(b, bits, 8);
    }
}
