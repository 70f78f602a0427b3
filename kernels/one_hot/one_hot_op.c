/* one_hot_op.c - classes as rows of zeros with a single one. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "common/cuda/index_iter.h"
#include "common/cuda/launch.h"
#include "common/onnx.h"
#include "common/op_util.h"

#include <string.h>

/* x (...) of I32 or I64 -> (..., classes) f32.  A class outside [0, classes) is E_RANGE. */
typedef struct one_hot_attr {
    int64_t classes;
} one_hot_attr;

static const tutti_attr_field fields[] = {OP_FIELD_I64(one_hot_attr, classes, 0)};

static tutti_status infer(const tutti_op_call *c, tutti_desc *out, tutti_error *err)
{
    const one_hot_attr *a = c->attr;
    char text[96];
    if (a->classes < 1)
        return tutti_fail(err, TUTTI_E_RANGE, "one_hot: classes is %lld, want 1 or more",
                          (long long)a->classes);
    if (c->in[0].rank == TUTTI_MAX_RANK)
        return tutti_fail(err, TUTTI_E_SHAPE, "one_hot: x is %s, want rank %d at most",
                          tutti_desc_text(&c->in[0], text, sizeof text), TUTTI_MAX_RANK - 1);
    *out = c->in[0];
    out->dim[out->rank++] = a->classes;
    out->dtype = TUTTI_F32;
    return op_want_index("one_hot", "x", &c->in[0], err);
}

static tutti_status reference(const tutti_op_call *c, const double *const *in,
                              double *const *out)
{
    const int64_t classes = ((const one_hot_attr *)c->attr)->classes;
    for (int64_t i = 0, n = tutti_numel(&c->in[0]); i < n; i++) {
        if (in[0][i] < 0 || in[0][i] >= (double)classes)
            return TUTTI_E_RANGE;
        for (int64_t k = 0; k < classes; k++)
            out[0][i * classes + k] = in[0][i] == (double)k;
    }
    return TUTTI_OK;
}

static tutti_status run(void *state, const tutti_op_call *c, const void *const *in,
                        void *const *out, void *scratch)
{
    (void)state, (void)scratch;
    const int64_t classes = ((const one_hot_attr *)c->attr)->classes;
    float *y = out[0];
    memset(y, 0, tutti_nbytes(&c->out[0]));
    for (int64_t i = 0, n = tutti_numel(&c->in[0]); i < n; i++) {
        const int64_t k = op_index_at(in[0], c->in[0].dtype, i);
        if (k < 0 || k >= classes)
            return TUTTI_E_RANGE;
        y[i * classes + k] = 1.0f;
    }
    return TUTTI_OK;
}

static const tutti_kernel cpu = {sizeof(tutti_kernel), 0, NULL, run, NULL};

static tutti_status cuda_prepare(const tutti_op_call *c, void **ret_state,
                                 uint64_t *ret_scratch, tutti_error *err)
{
    (void)ret_scratch;
    return CUDA_FUNCTION(c, "one_hot_cuda", ret_state, err, sizeof(cuda_tensor),
                         sizeof(cuda_tensor), sizeof(cuda_index_iter), sizeof(int64_t),
                         sizeof(void *), sizeof(uint32_t));
}

static tutti_status cuda_run(void *state, const tutti_op_call *c, const void *const *in,
                             void *const *out, void *scratch)
{
    int64_t classes = ((const one_hot_attr *)c->attr)->classes;
    cuda_tensor x = cuda_in(c, in, 0), y = cuda_out(c, out, 0);
    cuda_index_iter w = {.rank = 0}; /* operand 0: the class; operand 1: the element of x */
    cuda_index_iter_add(&w, tutti_numel(&c->in[0]), (const int64_t[CUDA_ITER_OPERANDS]){0, 1});
    cuda_index_iter_add(&w, classes, (const int64_t[CUDA_ITER_OPERANDS]){1, 0});
    cuda_index_iter_end(&w);
    uint32_t *fault = c->cuda->fault, mark = c->cuda->mark;
    void *const args[] = {&x, &y, &w, &classes, &fault, &mark};
    (void)scratch;
    if (w.n == 0)
        return TUTTI_OK;
    return cuda_launch(c->cuda, state, cuda_blocks(c->cuda, w.n), CUDA_BLOCK, 0, args);
}

static const tutti_kernel cuda = {sizeof(tutti_kernel), 0, cuda_prepare, cuda_run, NULL};

static tutti_value one_hot_onnx(const tutti_onnx *o)
{
    float off_on[2] = {0.0f, 1.0f};
    const tutti_tensor values = {off_on, {{2}, 1, TUTTI_F32}, TUTTI_DEVICE_CPU, 0};
    const tutti_value in[3] = {o->in[0],
                               onnx_whole(o, ((const one_hot_attr *)o->call->attr)->classes),
                               o->graph->constant(o->graph, &values)};
    return onnx_op(o, "OneHot", in, 3, NULL, 0);
}

OP_PLAIN(one_hot, .onnx = one_hot_onnx);
OP_DEFINE(one_hot, .flags = TUTTI_OP_REPRODUCIBLE, .nin_min = 1, .nin_max = 1,
          OP_ATTR(one_hot_attr, fields), .infer = infer, .vjp = op_no_gradient,
          .reference = reference, .cpu = &cpu, .cuda = &cuda);
