/* tar.c - headers of the old, the POSIX (ustar, pax) and the GNU kind; POSIX.1-2017, "pax". */
/* SPDX-License-Identifier: Apache-2.0 */
#include "tar.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCK = 512 };

/* Where a header's fields lie. */
enum {
    NAME_AT = 0,
    NAME_BYTES = 100,
    SIZE_AT = 124,
    SIZE_BYTES = 12,
    SUM_AT = 148,
    SUM_BYTES = 8,
    TYPE_AT = 156,
    MAGIC_AT = 257,
    PREFIX_AT = 345,
    PREFIX_BYTES = 155
};

static int32_t tar_fail(tutti_status status, const char *what, uint64_t at,
                        char why[TAR_WHY_SIZE])
{
    (void)snprintf(why, TAR_WHY_SIZE, "%s at byte %llu", what, (unsigned long long)at);
    return status;
}

void tar_begin(tar_reader *r, const void *data, uint64_t size)
{
    memset(r, 0, sizeof *r);
    r->data = data;
    r->size = size;
    r->wide_size = UINT64_MAX;
}

/* Octal digits between blanks, or GNU's base 256; UINT64_MAX if it is neither. */
static uint64_t tar_number(const uint8_t *field, int bytes)
{
    uint64_t n = 0;
    int k = 0;
    if (field[0] & 0x80) {
        for (k = 1; k < bytes; k++)
            n = n >> 56 ? UINT64_MAX >> 8 : n << 8 | field[k];
        return field[0] == 0x80 ? n : UINT64_MAX;
    }
    while (k < bytes && field[k] == ' ')
        k++;
    for (; k < bytes && field[k] >= '0' && field[k] <= '7'; k++)
        n = n << 3 | (uint64_t)(field[k] - '0');
    return k == bytes || field[k] == ' ' || field[k] == '\0' ? n : UINT64_MAX;
}

/* The sum counts its own field as blanks. */
static int sum_is_right(const uint8_t *header)
{
    uint64_t sum = 0;
    for (int k = 0; k < BLOCK; k++)
        sum += k >= SUM_AT && k < SUM_AT + SUM_BYTES ? ' ' : header[k];
    return tar_number(header + SUM_AT, SUM_BYTES) == sum;
}

static int is_zero(const uint8_t *block)
{
    for (int k = 0; k < BLOCK; k++)
        if (block[k])
            return 0;
    return 1;
}

/* The name of a header: its name field, after POSIX's prefix. */
static void short_name(const uint8_t *h, char *name)
{
    const char *prefix = (const char *)h + PREFIX_AT;
    if (memcmp(h + MAGIC_AT, "ustar\0", 6) == 0 && *prefix)
        (void)snprintf(name, TAR_NAME_SIZE, "%.*s/%.*s", PREFIX_BYTES, prefix, NAME_BYTES,
                       (const char *)h);
    else
        (void)snprintf(name, TAR_NAME_SIZE, "%.*s", NAME_BYTES, (const char *)h);
}

/* GNU's long name: all of `data` up to a 0. */
static int long_name(tar_reader *r, const uint8_t *data, uint64_t size)
{
    while (size > 0 && data[size - 1] == '\0')
        size--;
    if (size == 0 || size >= TAR_NAME_SIZE)
        return 0;
    memcpy(r->name, data, size);
    r->name[size] = '\0';
    r->named = 1;
    return 1;
}

/* pax: lines "31 path=some/long/name\n", the number counting the whole line. */
static int pax_records(tar_reader *r, const uint8_t *data, uint64_t size)
{
    while (size > 0) {
        uint64_t length = 0, k = 0;
        for (; k < size && k < 10 && data[k] >= '0' && data[k] <= '9'; k++)
            length = length * 10 + (uint64_t)(data[k] - '0');
        if (k == 0 || k >= size || data[k] != ' ' || length <= k + 2 || length > size ||
            data[length - 1] != '\n')
            return 0;
        const char *record = (const char *)data + k + 1;
        const uint64_t n = length - k - 2;
        if (n > 5 && memcmp(record, "path=", 5) == 0) {
            if (!long_name(r, (const uint8_t *)record + 5, n - 5))
                return 0;
        } else if (n > 5 && memcmp(record, "size=", 5) == 0)
            r->wide_size = strtoull(record + 5, NULL, 10);
        data += length;
        size -= length;
    }
    return 1;
}

/* Types whose size field counts nothing: links, devices, directories. */
static int has_data(char type)
{
    return !(type >= '1' && type <= '6');
}

/* The header at r->at; 1, 0 at the end, negative on error. */
static int32_t tar_header(tar_reader *r, uint64_t *ret_size, char why[TAR_WHY_SIZE])
{
    const uint64_t left = r->size - r->at;
    const uint8_t *h = r->data + r->at;
    if (left == 0 || (left >= BLOCK && is_zero(h)))
        return 0;
    if (left < BLOCK)
        return tar_fail(TUTTI_E_FORMAT, "ends within a header", r->at, why);
    if (!sum_is_right(h))
        return tar_fail(TUTTI_E_FORMAT, "has no tar header", r->at, why);
    *ret_size = r->wide_size != UINT64_MAX ? r->wide_size : tar_number(h + SIZE_AT, SIZE_BYTES);
    if (!has_data((char)h[TYPE_AT]))
        *ret_size = 0;
    if (*ret_size > left - BLOCK)
        return tar_fail(TUTTI_E_FORMAT, "ends within a file, whose header stands", r->at, why);
    return 1;
}

int32_t tar_next(tar_reader *r, tar_file *ret, char why[TAR_WHY_SIZE])
{
    uint64_t size;
    int32_t s;
    while ((s = tar_header(r, &size, why)) == 1) {
        const uint8_t *h = r->data + r->at;
        const uint64_t at = r->at, padded = (size + BLOCK - 1) / BLOCK * BLOCK;
        const char type = (char)h[TYPE_AT];
        r->at = padded > r->size - at - BLOCK ? r->size : at + BLOCK + padded;
        if (type == 'L' || type == 'x') {
            r->wide_size = UINT64_MAX;
            if (type == 'L' ? !long_name(r, h + BLOCK, size) : !pax_records(r, h + BLOCK, size))
                return tar_fail(TUTTI_E_FORMAT, "has a broken long header", at, why);
            continue;
        }
        if (type == 'S')
            return tar_fail(TUTTI_E_UNSUPPORTED, "holds a sparse file", at, why);
        if (type == 'g' || type == 'K')
            continue; /* about all files, or where a link leads: nothing for us */
        r->wide_size = UINT64_MAX;
        if (!r->named)
            short_name(h, r->name);
        r->named = 0;
        if (type != '0' && type != '\0' && type != '7')
            continue;
        *ret = (tar_file){r->name, at + BLOCK, size};
        return 1;
    }
    return s;
}
