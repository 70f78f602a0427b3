/* cast_op.c - the same numbers in another dtype. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "cast/cast.h"
#include "common/cuda/launch.h"
#include "common/half_rows.h"
#include "common/onnx.h"
#include "common/op_util.h"
#include "tutti/float8.h"

#include <string.h>

/* dtype: a TUTTI_* dtype among F32 F64 BF16 F16 F8_E4M3 F8_E5M2 I32 I64 U8 BOOL.  To a float: the nearest, ties to
 * even.  To an integer: towards zero, kept within the dtype's range, NaN gives 0.  To BOOL: 1 unless
 * the number is 0.  Integers to integers are kept within range too. */
typedef struct cast_attr {
    int64_t dtype;
} cast_attr;

static const tutti_attr_field fields[] = {OP_FIELD_I64(cast_attr, dtype, TUTTI_F32)};

enum { BLOCK = 256, AHEAD = 8192, LINE = 64 }; /* elements; bytes */

static int is_f8(int64_t dtype)
{
    return dtype == TUTTI_F8_E4M3 || dtype == TUTTI_F8_E5M2;
}

static int is_float(int64_t dtype)
{
    return dtype == TUTTI_F32 || dtype == TUTTI_F64 || dtype == TUTTI_BF16 ||
           dtype == TUTTI_F16 || is_f8(dtype);
}

static int known(int64_t dtype)
{
    return is_float(dtype) || dtype == TUTTI_I32 || dtype == TUTTI_I64 || dtype == TUTTI_U8 ||
           dtype == TUTTI_BOOL;
}

static tutti_status infer(const tutti_op_call *c, tutti_desc *out, tutti_error *err)
{
    const cast_attr *a = c->attr;
    char text[96];
    if (!known(c->in[0].dtype))
        return tutti_fail(
            err, TUTTI_E_ARG,
            "cast: x is %s, want F32, F64, BF16, F16, F8_E4M3, F8_E5M2, I32, I64, U8 or BOOL",
            tutti_desc_text(&c->in[0], text, sizeof text));
    if (!known(a->dtype))
        return tutti_fail(err, TUTTI_E_ARG,
                          "cast: dtype is %s, want F32, F64, BF16, F16, F8_E4M3, F8_E5M2, I32, "
                          "I64, U8 or BOOL",
                          tutti_dtype_size((int32_t)a->dtype)
                              ? tutti_dtype_name((int32_t)a->dtype)
                              : "unknown");
    *out = c->in[0];
    out->dtype = (int32_t)a->dtype;
    return TUTTI_OK;
}

/* A block passes through f32, i64 or f64, whichever holds every value of both dtypes that matters:
 * so each element is rounded once (f64 to 16 or 8 bits: twice). */
typedef union block {
    float f32[BLOCK];
    double f64[BLOCK];
    int64_t i64[BLOCK];
} block;

#define EACH(lhs, rhs)                                                                         \
    do {                                                                                       \
        OP_LOOP for (int64_t i = 0; i < n; i++)(lhs) = (rhs);                                  \
    } while (0)
#define FROM(type) ((const type *)from)[i]
#define TO(type) ((type *)to)[i]

static void load_f32(const void *from, int32_t dtype, float *to, int64_t n)
{
    if (dtype == TUTTI_F32)
        EACH(to[i], FROM(float));
    else if (dtype == TUTTI_BF16)
        EACH(to[i], half_from_bf16(FROM(uint16_t)));
    else if (dtype == TUTTI_F16)
        EACH(to[i], half_from_f16(FROM(uint16_t)));
    else if (dtype == TUTTI_F8_E4M3)
        EACH(to[i], tutti_from_f8_e4m3(FROM(uint8_t)));
    else if (dtype == TUTTI_F8_E5M2)
        EACH(to[i], tutti_from_f8_e5m2(FROM(uint8_t)));
    else
        EACH(to[i], (float)FROM(uint8_t));
}

static void store_f32(const float *x, void *to, int32_t dtype, int64_t n)
{
    if (dtype == TUTTI_F32)
        EACH(TO(float), x[i]);
    else if (dtype == TUTTI_BF16)
        half_downcast(x, to, TUTTI_BF16, n);
    else if (dtype == TUTTI_F16)
        EACH(TO(uint16_t), half_to_f16(x[i]));
    else if (dtype == TUTTI_F8_E4M3)
        EACH(TO(uint8_t), tutti_to_f8_e4m3(x[i]));
    else if (dtype == TUTTI_F8_E5M2)
        EACH(TO(uint8_t), tutti_to_f8_e5m2(x[i]));
    else if (dtype == TUTTI_BOOL)
        EACH(TO(uint8_t), x[i] != 0.0f);
    else
        EACH(TO(uint8_t),
             (uint8_t)(int32_t)(x[i] > 0.0f ? x[i] < 255.0f ? x[i] : 255.0f : 0.0f));
}

static void load_f64(const void *from, int32_t dtype, double *to, int64_t n)
{
    if (dtype == TUTTI_F64)
        EACH(to[i], FROM(double));
    else {
        float x[BLOCK];
        load_f32(from, dtype, x, n);
        EACH(to[i], (double)x[i]);
    }
}

static void store_f64(const double *x, void *to, int32_t dtype, int64_t n)
{
    if (dtype == TUTTI_F64)
        EACH(TO(double), x[i]);
    else if (dtype == TUTTI_I64)
        EACH(TO(int64_t), cast_whole(x[i], -9223372036854775808.0, 9223372036854775808.0));
    else if (dtype == TUTTI_I32)
        EACH(TO(int32_t), (int32_t)cast_whole(x[i], -2147483648.0, 2147483647.0));
    else if (dtype == TUTTI_U8)
        EACH(TO(uint8_t), (uint8_t)cast_whole(x[i], 0.0, 255.0));
    else if (dtype == TUTTI_BOOL)
        EACH(TO(uint8_t), x[i] != 0.0);
    else {
        float y[BLOCK];
        EACH(y[i], (float)x[i]);
        store_f32(y, to, dtype, n);
    }
}

static void load_i64(const void *from, int32_t dtype, int64_t *to, int64_t n)
{
    if (dtype == TUTTI_I64)
        EACH(to[i], FROM(int64_t));
    else if (dtype == TUTTI_I32)
        EACH(to[i], FROM(int32_t));
    else
        EACH(to[i], FROM(uint8_t));
}

static void store_i64(const int64_t *x, void *to, int32_t dtype, int64_t n)
{
    if (dtype == TUTTI_I64)
        EACH(TO(int64_t), x[i]);
    else if (dtype == TUTTI_I32)
        EACH(TO(int32_t), (int32_t)cast_within(x[i], INT32_MIN, INT32_MAX));
    else if (dtype == TUTTI_U8)
        EACH(TO(uint8_t), (uint8_t)cast_within(x[i], 0, 255));
    else if (dtype == TUTTI_BOOL)
        EACH(TO(uint8_t), x[i] != 0);
    else if (dtype == TUTTI_F64)
        EACH(TO(double), (double)x[i]);
    else {
        float y[BLOCK];
        EACH(y[i], (float)x[i]);
        store_f32(y, to, dtype, n);
    }
}

static int through_f32(int32_t dtype)
{
    return (is_float(dtype) && dtype != TUTTI_F64) || dtype == TUTTI_U8 || dtype == TUTTI_BOOL;
}

static void convert(const void *x, int32_t from, void *y, int32_t to, int64_t n)
{
    block b;
    if (from == TUTTI_F32 && through_f32(to))
        store_f32(x, y, to, n);
    else if (to == TUTTI_F32 && through_f32(from))
        load_f32(x, from, y, n);
    else if (through_f32(from) && through_f32(to)) {
        load_f32(x, from, b.f32, n);
        store_f32(b.f32, y, to, n);
    } else if (is_float(from)) {
        load_f64(x, from, b.f64, n);
        store_f64(b.f64, y, to, n);
    } else {
        load_i64(x, from, b.i64, n);
        store_i64(b.i64, y, to, n);
    }
}

/* Elements [first, first + n).  What is asked for ahead: a tile of a fused group comes back for the next one. */
static void convert_blocks(const void *x, int32_t from, void *y, int32_t to, int64_t first,
                           int64_t n)
{
    const int64_t x_size = (int64_t)tutti_dtype_size(from);
    const int64_t y_size = (int64_t)tutti_dtype_size(to);
    for (int64_t i = first; i < first + n; i += BLOCK) {
        const int64_t some = first + n - i < BLOCK ? first + n - i : BLOCK;
        const char *at = (const char *)x + i * x_size;
        for (int64_t k = 0; k < some * x_size; k += LINE)
            __builtin_prefetch(at + AHEAD + k);
        convert(at, from, (char *)y + i * y_size, to, some);
    }
}

static tutti_status run(void *state, const tutti_op_call *c, const void *const *in,
                        void *const *out, void *scratch)
{
    (void)state, (void)scratch;
    const int32_t from = c->in[0].dtype, to = c->out[0].dtype;
    const int64_t n = tutti_numel(&c->in[0]);
    const int threads = op_threads(c, n);
    if (threads == 1) { /* as elementwise_run */
        convert_blocks(in[0], from, out[0], to, 0, n);
        return TUTTI_OK;
    }
#pragma omp parallel for schedule(static) num_threads(threads)
    for (int t = 0; t < threads; t++) {
        int64_t first;
        const int64_t count = op_chunk(n, t, threads, &first);
        convert_blocks(in[0], from, out[0], to, first, count);
    }
    return TUTTI_OK;
}

/* Floats stay as they are in f64: what rounding does is the kernel's. */
static tutti_status reference(const tutti_op_call *c, const double *const *in,
                              double *const *out)
{
    const int32_t to = c->out[0].dtype;
    for (int64_t i = 0, n = tutti_numel(&c->in[0]); i < n; i++) {
        const double x = in[0][i];
        out[0][i] = is_float(to)       ? x
                    : to == TUTTI_BOOL ? x != 0.0
                    : to == TUTTI_U8   ? (double)cast_whole(x, 0.0, 255.0)
                    : to == TUTTI_I32  ? (double)cast_whole(x, -2147483648.0, 2147483647.0)
                                       : trunc(x);
    }
    return TUTTI_OK;
}

/* Between floats the gradient is cast back; whole numbers pass none. */
static tutti_status vjp(tutti_graph *g, const tutti_node *n, const tutti_value *dy,
                        tutti_value *dx)
{
    const int32_t from = g->desc(g, n->in[0])->dtype, to = g->desc(g, n->out[0])->dtype;
    const tutti_attr dtype = tutti_attr_i("dtype", from);
    if (n->need & 1)
        dx[0] = is_float(from) && is_float(to)
                    ? g->emit(g, "cast", &dy[0], 1, &dtype, 1, NULL, 0)
                    : 0;
    return TUTTI_OK;
}

static const tutti_kernel cpu = {sizeof(tutti_kernel), 0, NULL, run, NULL};

static tutti_status cuda_prepare(const tutti_op_call *c, void **ret_state,
                                 uint64_t *ret_scratch, tutti_error *err)
{
    (void)ret_scratch;
    return CUDA_FUNCTION(c, "cast_cuda", ret_state, err, sizeof(cuda_tensor),
                         sizeof(cuda_tensor), sizeof(int64_t));
}

static tutti_status cuda_run(void *state, const tutti_op_call *c, const void *const *in,
                             void *const *out, void *scratch)
{
    cuda_tensor x = cuda_in(c, in, 0), y = cuda_out(c, out, 0);
    int64_t n = tutti_numel(&c->in[0]);
    void *const args[] = {&x, &y, &n};
    (void)scratch;
    if (n == 0)
        return TUTTI_OK;
    return cuda_launch(c->cuda, state, cuda_blocks(c->cuda, (n + 7) / 8), CUDA_BLOCK, 0, args);
}

static const tutti_kernel cuda = {sizeof(tutti_kernel), 0, cuda_prepare, cuda_run, NULL};

static tutti_value cast_onnx(const tutti_onnx *o)
{
    return onnx_cast(o, o->in[0], ((const cast_attr *)o->call->attr)->dtype);
}

OP_TRAITS(cast, WIDEST, WHOLE, IDENTITY, SAME, UNCOUNTED, CODE, CAST, .identity = op_same,
          .onnx = cast_onnx);
OP_DEFINE(cast, .flags = TUTTI_OP_ELEMENTWISE | TUTTI_OP_REPRODUCIBLE, .nin_min = 1,
          .nin_max = 1, OP_ATTR(cast_attr, fields), .infer = infer, .vjp = vjp,
          .reference = reference, .cpu = &cpu, .cuda = &cuda);
