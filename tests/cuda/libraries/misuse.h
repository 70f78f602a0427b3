/* misuse.h - what the stand-ins of libraries share: wrong calls are loud, numbers in three dtypes. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_CUDA_LIBRARIES_MISUSE_H
#define TESTS_CUDA_LIBRARIES_MISUSE_H

#include "common/half.h"
#include "standin_work.h"

#include <stdbool.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))

/* The device fails for good with this sentence: a library would have refused the call, or worse.
 * Returns `status`. */
__attribute__((format(printf, 2, 3))) uint32_t misuse(uint32_t status, const char *format, ...);

/* False where TUTTI_CUDA_LIBRARIES is 0: then handles cannot be made. */
bool libraries_are_there(void);

/* NVIDIA's libraries number their dtypes differently; these are bytes and kind. */
enum { NUMBER_F32, NUMBER_F16, NUMBER_BF16 };

static inline uint64_t number_size(int kind)
{
    return kind == NUMBER_F32 ? 4 : 2;
}

static inline double number_get(const void *data, int kind, int64_t k)
{
    if (kind == NUMBER_F32)
        return (double)((const float *)data)[k];
    const uint16_t bits = ((const uint16_t *)data)[k];
    return (double)(kind == NUMBER_BF16 ? half_from_bf16(bits) : half_from_f16(bits));
}

static inline void number_set(void *data, int kind, int64_t k, double x)
{
    const float f = (float)x;
    if (kind == NUMBER_F32)
        ((float *)data)[k] = f;
    else
        ((uint16_t *)data)[k] = kind == NUMBER_BF16 ? half_to_bf16(f) : half_to_f16(f);
}

#endif
