/* tensor.h - dtypes, shapes and the view of a dense tensor that crosses the ABI. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TUTTI_TENSOR_H
#define TUTTI_TENSOR_H

#include "base.h"

/* name, bytes, safetensors' word */
#define TUTTI_DTYPES(X)                                                                        \
    X(F32, 4, "F32")                                                                           \
    X(F64, 8, "F64")                                                                           \
    X(F16, 2, "F16")                                                                           \
    X(BF16, 2, "BF16")                                                                         \
    X(I8, 1, "I8")                                                                             \
    X(U8, 1, "U8")                                                                             \
    X(I16, 2, "I16")                                                                           \
    X(U16, 2, "U16")                                                                           \
    X(I32, 4, "I32")                                                                           \
    X(I64, 8, "I64")                                                                           \
    X(U64, 8, "U64")                                                                           \
    X(BOOL, 1, "BOOL")                                                                         \
    X(F8_E4M3, 1, "F8_E4M3")                                                                   \
    X(F8_E5M2, 1, "F8_E5M2")

enum {
    TUTTI_DTYPE_NONE,
#define TUTTI_X(name, bytes, word) TUTTI_##name,
    TUTTI_DTYPES(TUTTI_X)
#undef TUTTI_X
};

#define TUTTI_MAX_RANK 6
#define TUTTI_DEVICE_CPU (-1) /* 0 and up: a GPU's index */

/* Shape and dtype.  Dense, row-major; images are NHWC.  Dimensions may be 0, rank 0 is a scalar.
 * No struct_size: it lies in arrays and within other structs, so it never grows; a later minor may bring
 * dtypes, which code that was compiled before refuses by tutti_desc_check. */
typedef struct tutti_desc {
    int64_t dim[TUTTI_MAX_RANK]; /* dims from `rank` up are 0 */
    int32_t rank;
    int32_t dtype;
} tutti_desc;

/* A view: whoever hands it out says who owns `data` and for how long it is valid.  It never grows, as
 * tutti_desc. */
typedef struct tutti_tensor {
    void *data;
    tutti_desc desc;
    int32_t device; /* TUTTI_DEVICE_CPU or a GPU's index */
    int32_t reserved;
} tutti_tensor;

/* Bytes of a number; 0 for NONE and for what these headers do not know.  Who gets a description from
 * elsewhere calls tutti_desc_check before; tutti_nbytes tells nothing at all from a number of unknown size.
 * [any] */
static inline uint64_t tutti_dtype_size(int32_t dtype)
{
    switch (dtype) {
#define TUTTI_X(name, bytes, word)                                                             \
    case TUTTI_##name:                                                                         \
        return bytes;
        TUTTI_DTYPES(TUTTI_X)
#undef TUTTI_X
    default:
        return 0;
    }
}

static inline const char *tutti_dtype_name(int32_t dtype)
{
    switch (dtype) {
#define TUTTI_X(name, bytes, word)                                                             \
    case TUTTI_##name:                                                                         \
        return word;
        TUTTI_DTYPES(TUTTI_X)
#undef TUTTI_X
    default:
        return "NONE";
    }
}

/* Whether a description that came from elsewhere can be worked with.  Errors: E_ARG names the dtype that is
 * unknown or the rank; E_SHAPE a dimension below `least` (-1 where one may be open, else 0); E_RANGE the bytes
 * of its known dimensions are more than an int64_t counts.  [any] */
static inline tutti_status tutti_desc_check(const tutti_desc *d, int64_t least,
                                            tutti_error *err)
{
    int64_t nbytes = (int64_t)tutti_dtype_size(d->dtype);
    if (!nbytes)
        return tutti_fail(err, TUTTI_E_ARG, "dtype %d is none of this ABI", (int)d->dtype);
    if (d->rank < 0 || d->rank > TUTTI_MAX_RANK)
        return tutti_fail(err, TUTTI_E_ARG, "rank %d, want 0 to %d", (int)d->rank,
                          TUTTI_MAX_RANK);
    for (int32_t k = 0; k < d->rank; k++)
        if (d->dim[k] < least)
            return tutti_fail(err, TUTTI_E_SHAPE, "dimension %d is %lld, want at least %lld",
                              (int)k, (long long)d->dim[k], (long long)least);
    for (int32_t k = 0; k < d->rank; k++)
        if (d->dim[k] > 0 && __builtin_mul_overflow(nbytes, d->dim[k], &nbytes))
            return tutti_fail(err, TUTTI_E_RANGE, "more than 2^63 bytes");
    return TUTTI_OK;
}

/* Number of elements; 1 for a scalar. */
static inline int64_t tutti_numel(const tutti_desc *d)
{
    int64_t n = 1;
    for (int32_t k = 0; k < d->rank; k++)
        n *= d->dim[k];
    return n;
}

/* Bytes of a dense tensor, every dimension known; 0 for dtype NONE.  UINT64_MAX, for which nothing has room,
 * where these headers do not know the dtype.  [any] */
static inline uint64_t tutti_nbytes(const tutti_desc *d)
{
    const uint64_t size = tutti_dtype_size(d->dtype);
    if (!size && d->dtype != TUTTI_DTYPE_NONE)
        return UINT64_MAX;
    return (uint64_t)tutti_numel(d) * size;
}

static inline int32_t tutti_same_shape(const tutti_desc *a, const tutti_desc *b)
{
    if (a->rank != b->rank)
        return 0;
    for (int32_t k = 0; k < a->rank; k++)
        if (a->dim[k] != b->dim[k])
            return 0;
    return 1;
}

/* Writes "f32 (128, 32, 32, 3)" style text: dtype word, then the shape.  Returns `text`. */
static inline const char *tutti_desc_text(const tutti_desc *d, char *text, size_t size)
{
    int used = __builtin_snprintf(text, size, "%s (", tutti_dtype_name(d->dtype));
    for (int32_t k = 0; k < d->rank && used > 0 && (size_t)used < size; k++)
        used += __builtin_snprintf(text + used, size - (size_t)used, k ? ", %lld" : "%lld",
                                   (long long)d->dim[k]);
    if (used > 0 && (size_t)used < size)
        (void)__builtin_snprintf(text + used, size - (size_t)used, ")");
    return text;
}

#endif
