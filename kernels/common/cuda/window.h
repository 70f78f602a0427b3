/* window.h - a tensor put into a larger one that is one number elsewhere: what descriptors call. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KERNELS_COMMON_CUDA_WINDOW_H
#define KERNELS_COMMON_CUDA_WINDOW_H

#include "common/cuda/index_iter.h"
#include "common/cuda/vector_copy.h"

/* Element i of x along dimension k is at before[k] + i step[k] of the result, i < inside[k]. */
typedef struct cuda_window {
    cuda_index_iter result; /* operand 0: x, if step and inside were those of the result */
    int64_t before[TUTTI_MAX_RANK];
    int64_t step[TUTTI_MAX_RANK];
    int64_t inside[TUTTI_MAX_RANK];
    uint32_t fill[4]; /* the number elsewhere, repeated in the result's dtype */
    float fill_f32;   /* the same, where dtypes are converted */
    int32_t unit;
} cuda_window;

#ifndef __cplusplus

#include "common/cuda/launch.h"
#include "common/half.h"

static inline tutti_status cuda_window_prepare(const tutti_op_call *c, const char *entry,
                                               void **ret_state, tutti_error *err)
{
    return CUDA_FUNCTION(c, entry, ret_state, err, sizeof(cuda_window), sizeof(cuda_tensor),
                         sizeof(cuda_tensor));
}

static inline void cuda_window_fill(cuda_window *w, double value, int32_t dtype)
{
    uint32_t bits = fast_bits((float)value);
    w->fill_f32 = (float)value;
    if (dtype == TUTTI_BF16 || dtype == TUTTI_F16)
        bits = (dtype == TUTTI_BF16 ? half_to_bf16(w->fill_f32) : half_to_f16(w->fill_f32)) *
               0x00010001u;
    for (int k = 0; k < 4; k++)
        w->fill[k] = bits;
    if (dtype == TUTTI_F64)
        for (int k = 0; k < 2; k++)
            memcpy(w->fill + 2 * k, &value, sizeof value);
}

/* x of c->in[0] into c->out[0], with steps (NULL: all 1); `value` is not 0 only for floats. */
static inline cuda_window cuda_window_of(const tutti_op_call *c, const int64_t *before,
                                         const int64_t *step, double value)
{
    const tutti_desc *x = &c->in[0], *y = &c->out[0];
    cuda_window w = {.unit = 0};
    int32_t n = 0;
    for (int32_t k = 0; k < y->rank; k++) {
        const int64_t s = step ? step[k] : 1;
        const int whole = before[k] == 0 && x->dim[k] == y->dim[k];
        const int merge = n > 0 && whole && w.step[n - 1] == 1;
        const int64_t times = merge ? y->dim[k] : 1, at = merge ? n - 1 : n++;
        w.result.dim[at].d = merge ? w.result.dim[at].d * times : y->dim[k];
        w.before[at] = merge ? w.before[at] * times : before[k];
        w.inside[at] = merge ? w.inside[at] * times : x->dim[k];
        w.step[at] = merge ? 1 : s;
    }
    if (n == 0) {
        w.result.dim[0].d = w.inside[0] = w.step[0] = 1;
        n = 1;
    }
    int64_t multiple = 1; /* of the last dimension's three numbers; of x's rows with them */
    for (int64_t m = 16; w.step[n - 1] == 1 && m > multiple; m /= 2)
        if (w.result.dim[n - 1].d % m == 0 && w.before[n - 1] % m == 0 &&
            w.inside[n - 1] % m == 0)
            multiple = m;
    const cuda_vector_copy u = cuda_vector_copy_of(x->dtype, y->dtype, multiple);
    w.unit = u.kind;
    w.result.dim[n - 1].d /= u.elements;
    w.before[n - 1] /= u.elements;
    w.inside[n - 1] /= u.elements;
    int64_t stride = 1;
    for (int32_t k = n - 1; k >= 0; k--) {
        w.result.stride[0][k] = stride;
        stride *= w.inside[k];
    }
    w.result.rank = n;
    cuda_index_iter_end(&w.result);
    cuda_window_fill(&w, value, y->dtype);
    return w;
}

static inline tutti_status cuda_window_run(void *function, const tutti_op_call *c,
                                           cuda_window *w, const void *const *in,
                                           void *const *out)
{
    cuda_tensor x = cuda_in(c, in, 0), y = cuda_out(c, out, 0);
    void *const args[] = {w, &x, &y};
    if (w->result.n == 0)
        return TUTTI_OK;
    return cuda_launch(c->cuda, function, cuda_blocks(c->cuda, w->result.n), CUDA_BLOCK, 0,
                       args);
}

#endif
#endif
