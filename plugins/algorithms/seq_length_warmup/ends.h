/* ends.h - which token of a longer sequence comes to a place of a shorter one, once, for every device. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SEQ_LENGTH_WARMUP_ENDS_H
#define SEQ_LENGTH_WARMUP_ENDS_H

#include "tutti/cuda_code.h"

/* Place of the last of `length` numbers of `size` bytes that is not zero, or -1. */
TUTTI_SHARED int64_t ends_find(const uint8_t *row, int64_t length, int64_t size)
{
    int64_t k = length * size - 1;
    while (k >= 0 && row[k] == 0)
        k--;
    return k < 0 ? -1 : k / size;
}

/* Source of place `at` < length; `end`: the sequence's last token that counts, or -1. */
TUTTI_SHARED int64_t ends_source(int64_t at, int64_t length, int64_t end)
{
    return at == length - 1 && end >= length ? end : at;
}

#endif
