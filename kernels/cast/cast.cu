/* cast.cu - the same numbers in another dtype, on the GPU. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "cast/cast.h"
#include "common/cuda/vector.cuh"
#include "tutti/float8.h"

__device__ static bool is_short_float(int32_t dtype)
{
    return dtype == TUTTI_F32 || dtype == TUTTI_BF16 || dtype == TUTTI_F16;
}

__device__ static bool is_f8(int32_t dtype)
{
    return dtype == TUTTI_F8_E4M3 || dtype == TUTTI_F8_E5M2;
}

__device__ static bool is_float(int32_t dtype)
{
    return is_short_float(dtype) || is_f8(dtype);
}

__device__ static float load_float(const cuda_tensor &x, int64_t k)
{
    return is_f8(x.dtype) ? tutti_from_f8(static_cast<const uint8_t *>(x.data)[k], x.dtype)
                          : cuda_get(x, k);
}

__device__ static void store_float(const cuda_tensor &y, int64_t k, float x)
{
    if (is_f8(y.dtype))
        static_cast<uint8_t *>(y.data)[k] = tutti_to_f8(x, y.dtype);
    else
        cuda_set(y, k, x);
}

__device__ static int64_t load_whole(const cuda_tensor &x, int64_t k)
{
    if (x.dtype == TUTTI_I64)
        return static_cast<const int64_t *>(x.data)[k];
    if (x.dtype == TUTTI_I32)
        return static_cast<const int32_t *>(x.data)[k];
    return static_cast<const uint8_t *>(x.data)[k];
}

/* A whole number, rounded once. */
__device__ static void store(const cuda_tensor &y, int64_t k, int64_t x)
{
    if (is_float(y.dtype))
        store_float(y, k, (float)x);
    else if (y.dtype == TUTTI_F64)
        static_cast<double *>(y.data)[k] = (double)x;
    else if (y.dtype == TUTTI_I64)
        static_cast<int64_t *>(y.data)[k] = x;
    else if (y.dtype == TUTTI_I32)
        static_cast<int32_t *>(y.data)[k] = (int32_t)cast_within(x, INT32_MIN, INT32_MAX);
    else
        static_cast<uint8_t *>(y.data)[k] =
            y.dtype == TUTTI_BOOL ? x != 0 : (uint8_t)cast_within(x, 0, 255);
}

__device__ static void store(const cuda_tensor &y, int64_t k, double x)
{
    if (is_float(y.dtype))
        store_float(y, k, (float)x);
    else if (y.dtype == TUTTI_F64)
        static_cast<double *>(y.data)[k] = x;
    else if (y.dtype == TUTTI_I64)
        static_cast<int64_t *>(y.data)[k] =
            cast_whole(x, -9223372036854775808.0, 9223372036854775808.0);
    else if (y.dtype == TUTTI_I32)
        static_cast<int32_t *>(y.data)[k] = (int32_t)cast_whole(x, -2147483648.0, 2147483647.0);
    else
        static_cast<uint8_t *>(y.data)[k] =
            y.dtype == TUTTI_BOOL ? x != 0.0 : (uint8_t)cast_whole(x, 0.0, 255.0);
}

CUDA_KERNEL(cast_cuda)(cuda_tensor x, cuda_tensor y, int64_t n)
{
    const bool floats = is_short_float(x.dtype) && is_short_float(y.dtype);
    const int64_t groups = floats ? n / 8 : 0;
    CUDA_EACH(k, groups)
    {
        float some[8];
        cuda_load<8>(x, 8 * k, some);
        cuda_store<8>(y, 8 * k, some);
    }
    CUDA_EACH(r, n - 8 * groups)
    {
        const int64_t k = 8 * groups + r;
        if (is_float(x.dtype) && is_float(y.dtype))
            store_float(y, k, load_float(x, k));
        else if (is_float(x.dtype))
            store(y, k, (double)load_float(x, k));
        else if (x.dtype == TUTTI_F64)
            store(y, k, static_cast<const double *>(x.data)[k]);
        else
            store(y, k, load_whole(x, k));
    }
}
CUDA_ENTRY(cast_cuda);
