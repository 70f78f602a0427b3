/* reduce.c - sums, means, extremes and products over ranks: F32 in F64, integers modulo 2^32 or 2^64. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "train/ranks/reduce.h"

#include "tutti/tensor.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

static const char *const names[] = {[TUTTI_RANKS_SUM] = "sum",
                                    [TUTTI_RANKS_MEAN] = "mean",
                                    [TUTTI_RANKS_MIN] = "min",
                                    [TUTTI_RANKS_MAX] = "max",
                                    [TUTTI_RANKS_PRODUCT] = "product"};

const char *reduce_name(int32_t op)
{
    const bool known = op >= 0 && op < (int32_t)(sizeof names / sizeof *names);
    return known ? names[op] : "unknown operation";
}

tutti_status reduce_check(int32_t dtype, int32_t op, tutti_error *err)
{
    const bool real = dtype == TUTTI_F32 || dtype == TUTTI_F64;
    if (!real && dtype != TUTTI_I32 && dtype != TUTTI_I64)
        return tutti_fail(err, TUTTI_E_ARG,
                          "all_reduce: numbers are %s, want F32, F64, I32 or I64",
                          tutti_dtype_name(dtype));
    if (op < 0 || op >= (int32_t)(sizeof names / sizeof *names))
        return tutti_fail(err, TUTTI_E_ARG, "all_reduce: %d is no TUTTI_RANKS_*", (int)op);
    if (op == TUTTI_RANKS_MEAN && !real)
        return tutti_fail(err, TUTTI_E_ARG, "all_reduce: a mean of %s, want F32 or F64",
                          tutti_dtype_name(dtype));
    return TUTTI_OK;
}

static double join_reals(double a, double b, int32_t op)
{
    switch (op) {
    case TUTTI_RANKS_MIN:
        return isnan(a) || a < b ? a : b;
    case TUTTI_RANKS_MAX:
        return isnan(a) || a > b ? a : b;
    case TUTTI_RANKS_PRODUCT:
        return a * b;
    default:
        return a + b;
    }
}

static int64_t join_integers(int64_t a, int64_t b, int32_t op)
{
    switch (op) {
    case TUTTI_RANKS_MIN:
        return a < b ? a : b;
    case TUTTI_RANKS_MAX:
        return a > b ? a : b;
    case TUTTI_RANKS_PRODUCT:
        return (int64_t)((uint64_t)a * (uint64_t)b);
    default:
        return (int64_t)((uint64_t)a + (uint64_t)b);
    }
}

static double read_real(const char *at, int32_t dtype)
{
    float small;
    double large;
    if (dtype == TUTTI_F32) {
        memcpy(&small, at, sizeof small);
        return (double)small;
    }
    memcpy(&large, at, sizeof large);
    return large;
}

static void write_real(char *at, int32_t dtype, double value)
{
    const float small = (float)value;
    if (dtype == TUTTI_F32)
        memcpy(at, &small, sizeof small);
    else
        memcpy(at, &value, sizeof value);
}

static int64_t read_integer(const char *at, int32_t dtype)
{
    int32_t small;
    int64_t large;
    if (dtype == TUTTI_I32) {
        memcpy(&small, at, sizeof small);
        return small;
    }
    memcpy(&large, at, sizeof large);
    return large;
}

static void write_integer(char *at, int32_t dtype, int64_t value)
{
    const uint32_t small = (uint32_t)(uint64_t)value;
    if (dtype == TUTTI_I32)
        memcpy(at, &small, sizeof small);
    else
        memcpy(at, &value, sizeof value);
}

static double reduce_real(const char *at, const reduce_input *from, int32_t dtype, int32_t op)
{
    double value = read_real(at, dtype);
    for (int32_t r = 1; r < from->ranks; r++)
        value = join_reals(value, read_real(at + (uint64_t)r * from->stride, dtype), op);
    return op == TUTTI_RANKS_MEAN ? value / from->ranks : value;
}

static int64_t reduce_integer(const char *at, const reduce_input *from, int32_t dtype,
                              int32_t op)
{
    int64_t value = read_integer(at, dtype);
    for (int32_t r = 1; r < from->ranks; r++)
        value = join_integers(value, read_integer(at + (uint64_t)r * from->stride, dtype), op);
    return value;
}

void reduce_numbers(void *to, const reduce_input *from, uint64_t n, int32_t dtype, int32_t op)
{
    const uint64_t size = tutti_dtype_size(dtype);
    const bool real = dtype == TUTTI_F32 || dtype == TUTTI_F64;
    for (uint64_t k = 0; k < n; k++) {
        const char *at = (const char *)from->data + k * size;
        char *out = (char *)to + k * size;
        if (real)
            write_real(out, dtype, reduce_real(at, from, dtype, op));
        else
            write_integer(out, dtype, reduce_integer(at, from, dtype, op));
    }
}
