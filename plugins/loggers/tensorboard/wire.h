/* wire.h - protobuf's wire format: keys are field << 3 | type, numbers are varints or little-endian. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TENSORBOARD_WIRE_H
#define TENSORBOARD_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Bytes that grow.  Once memory has failed, nothing is added. */
typedef struct bytes {
    char *data;
    size_t size, capacity;
    bool failed;
} bytes;

enum { VARINT = 0, FIXED64 = 1, LENGTH = 2, FIXED32 = 5 };

void put_raw(bytes *b, const void *data, size_t size);
void add_varint(bytes *b, uint64_t v);
void add_fixed(bytes *b, uint64_t v, int size); /* the least significant byte first */
void add_key(bytes *b, uint32_t field, uint32_t type);

/* A field each. */
void put_int(bytes *b, uint32_t field, int64_t v);
void put_double(bytes *b, uint32_t field, double v);
void put_float(bytes *b, uint32_t field, float v);
void put_bytes(bytes *b, uint32_t field, const void *data, size_t size);
void put_string(bytes *b, uint32_t field, const char *text);
void put_doubles(bytes *b, uint32_t field, const double *values, uint32_t n); /* packed */
/* The message goes into the one around it, and is freed. */
void put_message(bytes *b, uint32_t field, bytes *message);

#endif
