/* conv2d_cuda.c - convolutions on the GPU: by cuDNN, or by our own kernels where it does not serve. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "common/cuda/convert.h"
#include "common/cuda/libraries/choice.h"
#include "conv2d/conv2d.h"
#include "conv2d/conv2d_cudnn.h"

#include <stdio.h>
#include <stdlib.h>

enum {
    X = CONV2D_X,
    W = CONV2D_W,
    Y = CONV2D_Y,
    BIAS = CONV2D_BIAS,
    OPERANDS = CONV2D_OPERANDS
};

static const cuda_tensor no_tensor = {NULL, TUTTI_F32, 0};

typedef struct state {
    conv2d_cudnn call;                     /* with the dtype that the library gets */
    cdnn_plan *plan;                       /* NULL: our own kernels */
    int32_t adds;                          /* to the third input, by the library or behind it */
    uint64_t copy[OPERANDS];               /* in the scratch, or CUDA_DIRECT */
    uint64_t part_at;                      /* in the scratch: workspace, or parts of sums */
    int64_t splits, part;                  /* of our own sums for dw */
    void *own, *convert, *sum_parts, *add; /* device functions */
} state;

static void destroy(void *self)
{
    state *s = self;
    if (s)
        cdnn_plan_destroy(s->plan);
    free(s);
}

/* x, w and y of a call: two of its inputs and its output; the bias or NULL. */
static void operands_of(const tutti_op_call *c, int kind, const tutti_desc *d[OPERANDS])
{
    d[X] = kind == CONV2D_GRAD_INPUT ? &c->out[0] : &c->in[0];
    d[BIAS] = c->nin > 2 && kind == CONV2D_FORWARD ? &c->in[2] : NULL;
    d[W] = kind == CONV2D_GRAD_WEIGHT ? &c->out[0] : &c->in[1];
    d[Y] = kind == CONV2D_FORWARD      ? &c->out[0]
           : kind == CONV2D_GRAD_INPUT ? &c->in[0]
                                       : &c->in[1];
}

static int result_of(int kind)
{
    return kind == CONV2D_FORWARD ? Y : kind == CONV2D_GRAD_INPUT ? X : W;
}

static void tell(const state *s, const tutti_op_call *c, uint64_t version)
{
    char text[TUTTI_CHOICE_TEXT];
    (void)snprintf(text, sizeof text, "engine %s%s", cdnn_plan_name(s->plan),
                   s->call.dtype != TUTTI_F32 ? ""
                   : s->call.tf32             ? ", TF32"
                                              : ", no TF32");
    cuda_tell_library(c, "cuDNN", version, text);
}

/* Everything in the dtype of the factors: no engine of cuDNN 9.19 for compute capability 9.0 writes F32
 * from 16-bit factors. */
static tutti_status plan(state *s, const tutti_op_call *c, tutti_error *err)
{
    const cdnn *lib = NULL;
    const int32_t first = c->in[0].dtype, second = c->in[1].dtype;
    tutti_status status = cdnn_of(c->cuda, &lib, err);
    if (status)
        return status;
    s->call.dtype = first == second ? first : TUTTI_F32;
    s->call.tf32 = cuda_tf32(c->cuda) || ((const conv2d_attr *)c->attr)->fast == 1;
    s->call.bias = c->nin > 2 && !s->adds;
    s->call.added = s->adds && s->call.dtype == TUTTI_F32 && c->in[2].dtype == TUTTI_F32 &&
                    c->out[0].dtype == TUTTI_F32;
    const conv2d_cudnn_by by = {.cuda = c->cuda};
    if (!s->call.added || conv2d_cudnn_plan(&s->call, lib, &by, &s->plan, NULL)) {
        s->call.added = 0; /* in 16 bits each microbatch would round the sum */
        status = conv2d_cudnn_plan(&s->call, lib, &by, &s->plan, err);
    }
    if (!status)
        tell(s, c, lib->version);
    return status;
}

/* As the library gets it. */
static int32_t dtype_of(const state *s, int operand)
{
    return operand == BIAS ? TUTTI_F32 : s->call.dtype;
}

static tutti_status prepare_library(state *s, const tutti_op_call *c,
                                    const tutti_desc *const d[OPERANDS], uint64_t *ret_scratch,
                                    tutti_error *err)
{
    uint64_t bytes = CUDA_PART;
    for (int k = 0; k < OPERANDS; k++)
        s->copy[k] = d[k] ? cuda_copy_part(&bytes, d[k], dtype_of(s, k)) : CUDA_DIRECT;
    if (s->adds && !s->call.added && s->copy[W] == CUDA_DIRECT)
        s->copy[W] = cuda_part(&bytes, tutti_nbytes(d[W]));
    s->part_at = cuda_part(&bytes, cdnn_plan_workspace(s->plan));
    *ret_scratch = bytes;
    const tutti_status status = CUDA_CONVERT_FUNCTION(c, "conv2d", &s->convert, err);
    return status || !s->adds
               ? status
               : CUDA_FUNCTION(c, "conv2d_add_cuda", &s->add, err, sizeof(cuda_tensor),
                               sizeof(cuda_tensor), sizeof(cuda_tensor), sizeof(int64_t));
}

static int64_t tiles_of(int64_t rows, int64_t columns)
{
    return ((rows + 63) / 64) * ((columns + 63) / 64);
}

/* dw has few elements and long sums: they are cut until the device has enough blocks. */
static tutti_status prepare_own_weight(state *s, const tutti_op_call *c, uint64_t *ret_scratch,
                                       tutti_error *err)
{
    const conv2d_geometry *g = &s->call.g;
    const int64_t columns = g->kh * g->kw * (g->c / g->g), pixels = g->b * g->oh * g->ow;
    const int64_t tiles = g->g * tiles_of(g->o / g->g, columns);
    const int64_t want = 4 * (int64_t)c->cuda->multiprocessors / (tiles ? tiles : 1) + 1;
    const int64_t most = (pixels + 255) / 256;
    uint64_t bytes = CUDA_PART;
    s->splits = want < most ? want : most < 1 ? 1 : most;
    s->part = (pixels + s->splits - 1) / s->splits;
    s->part_at = cuda_part(&bytes, (uint64_t)(s->splits * g->o * columns) * sizeof(float));
    *ret_scratch = bytes;
    const tutti_status status = CUDA_FUNCTION(
        c, "conv2d_grad_weight_cuda", &s->own, err, sizeof(cuda_tensor), sizeof(cuda_tensor),
        sizeof(float *), sizeof(int64_t), sizeof(int64_t), sizeof(conv2d_geometry));
    return status ? status
                  : CUDA_FUNCTION(c, "conv2d_sum_parts_cuda", &s->sum_parts, err,
                                  sizeof(float *), sizeof(cuda_tensor), sizeof(cuda_tensor),
                                  sizeof(int64_t), sizeof(int64_t));
}

static tutti_status prepare_own(state *s, const tutti_op_call *c, uint64_t *ret_scratch,
                                tutti_error *err)
{
    const conv2d_geometry *g = &s->call.g;
    const int64_t most = INT32_MAX;
    if (g->b * g->h * g->w > most || g->b * g->oh * g->ow > most ||
        g->kh * g->kw * g->c > most || g->kh * g->kw * g->o > most)
        return tutti_fail(err, TUTTI_E_UNSUPPORTED,
                          "conv2d: images of 2147483648 pixels and more want cuDNN");
    if (s->call.kind == CONV2D_GRAD_WEIGHT)
        return prepare_own_weight(s, c, ret_scratch, err);
    if (s->call.kind == CONV2D_GRAD_INPUT)
        return CUDA_FUNCTION(c, "conv2d_grad_input_cuda", &s->own, err, sizeof(cuda_tensor),
                             sizeof(cuda_tensor), sizeof(cuda_tensor), sizeof(conv2d_geometry));
    return CUDA_FUNCTION(c, "conv2d_cuda", &s->own, err, sizeof(cuda_tensor),
                         sizeof(cuda_tensor), sizeof(cuda_tensor), sizeof(cuda_tensor),
                         sizeof(conv2d_geometry));
}

static tutti_status prepare(const tutti_op_call *c, int kind, int32_t adds, void **ret_state,
                            uint64_t *ret_scratch, tutti_error *err)
{
    const tutti_desc *d[OPERANDS];
    state *s = calloc(1, sizeof *s);
    if (!s)
        return tutti_fail(err, TUTTI_E_NOMEM, "conv2d: no memory for its state");
    operands_of(c, kind, d);
    s->call.g = conv2d_geometry_of(c->attr, d[X], d[W], d[Y]);
    s->call.kind = kind;
    s->adds = adds;
    const conv2d_geometry *g = &s->call.g;
    tutti_error why = TUTTI_ERROR_INIT;
    tutti_status status = TUTTI_E_UNSUPPORTED;
    *ret_scratch = 0;
    if (g->b * g->h * g->w * g->c * g->o > 0) /* the library takes no empty images */
        status = plan(s, c, &why);
    if (why.status)
        cuda_tell_refused(c, &why);
    if (!status)
        status = prepare_library(s, c, d, ret_scratch, err);
    else
        status = prepare_own(s, c, ret_scratch, err);
    if (status) {
        destroy(s);
        return status;
    }
    *ret_state = s;
    return TUTTI_OK;
}

/* `added`: what the result is added to, if anything. */
static tutti_status run_plan(const state *s, const tutti_op_call *c,
                             const cuda_tensor own[OPERANDS], cuda_tensor added, void *scratch)
{
    const int result = result_of(s->call.kind);
    const conv2d_geometry *g = &s->call.g;
    const int64_t n[OPERANDS] = {g->b * g->h * g->w * g->c,
                                 g->o * g->kh * g->kw * (g->c / g->g),
                                 g->b * g->oh * g->ow * g->o, g->o};
    void *data[OPERANDS];
    tutti_status status = TUTTI_OK;
    for (int k = 0; k < OPERANDS; k++) {
        data[k] = own[k].data;
        if (s->copy[k] == CUDA_DIRECT)
            continue;
        data[k] = cuda_part_at(scratch, s->copy[k]);
        const cuda_tensor copy = {data[k], dtype_of(s, k), 0};
        if (k != result && !status)
            status = cuda_convert(c->cuda, s->convert, own[k], copy, n[k]);
    }
    if (!status && s->call.added && added.data != data[result])
        status = cuda_convert(c->cuda, s->convert, added, own[result], n[result]);
    if (!status)
        status = conv2d_cudnn_run(&s->call, s->plan, c->cuda->stream(c->cuda->ctx), data,
                                  cuda_part_at(scratch, s->part_at));
    if (status || s->copy[result] == CUDA_DIRECT)
        return status;
    cuda_tensor copy = {data[result], s->call.dtype, 0}, y = own[result];
    int64_t count = n[result];
    void *const args[] = {&copy, &added, &y, &count};
    return s->adds
               ? cuda_launch(c->cuda, s->add, cuda_blocks(c->cuda, count), CUDA_BLOCK, 0, args)
               : cuda_convert(c->cuda, s->convert, copy, y, count);
}

static tutti_status launch_tiles(const state *s, const tutti_op_call *c, int64_t rows,
                                 int64_t columns, void *const *args)
{
    const int64_t tiles = s->call.g.g * tiles_of(rows, columns) * (s->splits ? s->splits : 1);
    return cuda_launch(c->cuda, s->own, cuda_blocks(c->cuda, tiles * CUDA_BLOCK), CUDA_BLOCK, 0,
                       args);
}

static tutti_status run_own_weight(const state *s, const tutti_op_call *c,
                                   const cuda_tensor own[OPERANDS], cuda_tensor added,
                                   void *scratch)
{
    cuda_tensor x = own[X], dy = own[Y], dw = own[W];
    conv2d_geometry g = s->call.g;
    float *sums = cuda_part_at(scratch, s->part_at);
    int64_t splits = s->splits, part = s->part, columns = g.kh * g.kw * (g.c / g.g);
    int64_t n = g.o * columns;
    void *const args[] = {&x, &dy, &sums, &splits, &part, &g};
    void *const sum_args[] = {&sums, &added, &dw, &splits, &n};
    const tutti_status status = launch_tiles(s, c, g.o / g.g, columns, args);
    return status ? status
                  : cuda_launch(c->cuda, s->sum_parts, cuda_blocks(c->cuda, n), CUDA_BLOCK, 0,
                                sum_args);
}

static tutti_status forward_prepare(const tutti_op_call *c, void **ret_state,
                                    uint64_t *ret_scratch, tutti_error *err)
{
    return prepare(c, CONV2D_FORWARD, 0, ret_state, ret_scratch, err);
}

static tutti_status forward_run(void *self, const tutti_op_call *c, const void *const *in,
                                void *const *out, void *scratch)
{
    const state *s = self;
    cuda_tensor t[OPERANDS] = {cuda_in(c, in, 0), cuda_in(c, in, 1), cuda_out(c, out, 0)};
    if (c->nin > 2)
        t[BIAS] = cuda_in(c, in, 2);
    if (tutti_numel(&c->out[0]) == 0)
        return TUTTI_OK;
    if (s->plan)
        return run_plan(s, c, t, no_tensor, scratch);
    conv2d_geometry g = s->call.g;
    void *const args[] = {&t[X], &t[W], &t[BIAS], &t[Y], &g};
    return launch_tiles(s, c, g.b * g.oh * g.ow, g.o / g.g, args);
}

static tutti_status input_prepare(const tutti_op_call *c, void **ret_state,
                                  uint64_t *ret_scratch, tutti_error *err)
{
    return prepare(c, CONV2D_GRAD_INPUT, 0, ret_state, ret_scratch, err);
}

static tutti_status input_run(void *self, const tutti_op_call *c, const void *const *in,
                              void *const *out, void *scratch)
{
    const state *s = self;
    cuda_tensor t[OPERANDS] = {cuda_out(c, out, 0), cuda_in(c, in, 1), cuda_in(c, in, 0)};
    if (tutti_numel(&c->out[0]) == 0)
        return TUTTI_OK;
    if (s->plan)
        return run_plan(s, c, t, no_tensor, scratch);
    conv2d_geometry g = s->call.g;
    void *const args[] = {&t[Y], &t[W], &t[X], &g};
    return launch_tiles(s, c, g.b * g.h * g.w, g.c / g.g, args);
}

static tutti_status weight_prepare(const tutti_op_call *c, void **ret_state,
                                   uint64_t *ret_scratch, tutti_error *err)
{
    return prepare(c, CONV2D_GRAD_WEIGHT, 0, ret_state, ret_scratch, err);
}

static tutti_status add_prepare(const tutti_op_call *c, void **ret_state, uint64_t *ret_scratch,
                                tutti_error *err)
{
    return prepare(c, CONV2D_GRAD_WEIGHT, 1, ret_state, ret_scratch, err);
}

static tutti_status weight_run(void *self, const tutti_op_call *c, const void *const *in,
                               void *const *out, void *scratch)
{
    const state *s = self;
    const cuda_tensor t[OPERANDS] = {cuda_in(c, in, 0), cuda_out(c, out, 0), cuda_in(c, in, 1)};
    const cuda_tensor added = s->adds ? cuda_in(c, in, 2) : no_tensor;
    if (tutti_numel(&c->out[0]) == 0)
        return TUTTI_OK;
    return s->plan ? run_plan(s, c, t, added, scratch)
                   : run_own_weight(s, c, t, added, scratch);
}

const tutti_kernel conv2d_cuda = {sizeof(tutti_kernel), 0, forward_prepare, forward_run,
                                  destroy};
const tutti_kernel conv2d_grad_input_cuda = {sizeof(tutti_kernel), 0, input_prepare, input_run,
                                             destroy};
const tutti_kernel conv2d_grad_weight_cuda = {sizeof(tutti_kernel), 0, weight_prepare,
                                              weight_run, destroy};
const tutti_kernel conv2d_grad_weight_add_cuda = {sizeof(tutti_kernel), 4, add_prepare,
                                                  weight_run, destroy};
