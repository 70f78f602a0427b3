/* strided.h - copies between dense tensors and strided views on the GPU: what descriptors call. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KERNELS_COMMON_CUDA_STRIDED_H
#define KERNELS_COMMON_CUDA_STRIDED_H

#include "common/cuda/index_iter.h"
#include "common/cuda/launch.h"
#include "common/cuda/vector_copy.h"
#include "common/strided.h"

static inline tutti_status cuda_strided_prepare(const tutti_op_call *c, const char *entry,
                                                void **ret_state, tutti_error *err)
{
    return CUDA_FUNCTION(c, entry, ret_state, err, sizeof(cuda_index_iter), sizeof(cuda_tensor),
                         sizeof(cuda_tensor), sizeof(int32_t), sizeof(int32_t));
}

/* The largest number that all places of a view's rows, and their lengths, are multiples of. */
static inline int64_t cuda_strided_multiple(const strided *v)
{
    int64_t m = v->offset < 0 ? -v->offset : v->offset;
    if (v->stride[v->rank - 1] != 1)
        return 1;
    for (int32_t k = 0; k < v->rank; k++) {
        int64_t other = k + 1 < v->rank ? v->stride[k] : v->dim[k];
        other = other < 0 ? -other : other;
        while (other) {
            const int64_t rest = m % other;
            m = other;
            other = rest;
        }
    }
    return m;
}

/* Copies the dense tensor of the view's shape out of the view or, with `scatter`, into it. */
static inline tutti_status cuda_strided_copy(void *function, const tutti_op_call *c,
                                             const strided *view, cuda_tensor from,
                                             cuda_tensor to, int32_t scatter)
{
    strided v = strided_merged(view);
    cuda_vector_copy u = cuda_vector_copy_of(from.dtype, to.dtype, cuda_strided_multiple(&v));
    cuda_tensor *const viewed = scatter ? &to : &from;
    cuda_index_iter w = {.rank = 0};
    for (int32_t k = 0; k < v.rank; k++) {
        const int last = k + 1 == v.rank;
        cuda_index_iter_add(
            &w, last ? v.dim[k] / u.elements : v.dim[k],
            (const int64_t[CUDA_ITER_OPERANDS]){last ? v.stride[k] : v.stride[k] / u.elements});
    }
    cuda_index_iter_end(&w);
    if (w.n == 0)
        return TUTTI_OK;
    viewed->data = (char *)viewed->data + v.offset * (int64_t)tutti_dtype_size(viewed->dtype);
    void *const args[] = {&w, &from, &to, &u.kind, &scatter};
    return cuda_launch(c->cuda, function, cuda_blocks(c->cuda, w.n), CUDA_BLOCK, 0, args);
}

/* Defines `cuda` of an operation whose only input is copied out of view(c). */
#define CUDA_STRIDED_KERNEL(op, view)                                                          \
    static tutti_status cuda_prepare(const tutti_op_call *c, void **ret_state,                 \
                                     uint64_t *ret_scratch, tutti_error *err)                  \
    {                                                                                          \
        (void)ret_scratch;                                                                     \
        return cuda_strided_prepare(c, #op "_cuda", ret_state, err);                           \
    }                                                                                          \
    static tutti_status cuda_run(void *state, const tutti_op_call *c, const void *const *in,   \
                                 void *const *out, void *scratch)                              \
    {                                                                                          \
        (void)scratch;                                                                         \
        const strided v = view(c);                                                             \
        return cuda_strided_copy(state, c, &v, cuda_in(c, in, 0), cuda_out(c, out, 0), 0);     \
    }                                                                                          \
    static const tutti_kernel cuda = {sizeof(tutti_kernel), 0, cuda_prepare, cuda_run, NULL};

#endif
