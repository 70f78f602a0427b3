/* ctc_op.c - connectionist temporal classification: the loss of sequences whose places are not known, and its
 * gradient. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "common/cuda/launch.h"
#include "common/op_util.h"
#include "ctc/ctc_cpu.h"
#include "ctc/ctc_cuda.h"

#include <stdlib.h>

/* ctc: logits, targets [, lengths]; ctc_grad: logits, targets, dloss [, lengths]. */
typedef struct ctc_attr {
    int64_t blank;
    int64_t zero_infinity; /* 1: a sample that no path gives has neither loss nor gradient */
} ctc_attr;

static const tutti_attr_field fields[] = {OP_FIELD_I64(ctc_attr, blank, 0),
                                          OP_FIELD_I64(ctc_attr, zero_infinity, 0)};

static ctc_shape shape_of(const tutti_op_call *c)
{
    const ctc_attr *a = c->attr;
    return (ctc_shape){.batch = c->in[0].dim[0],
                       .steps = c->in[0].dim[1],
                       .classes = c->in[0].dim[2],
                       .longest = c->in[1].dim[1],
                       .blank = a->blank,
                       .zero_infinity = a->zero_infinity};
}

static tutti_status check(const char *op, const tutti_op_call *c, uint32_t lengths,
                          tutti_error *err)
{
    const tutti_desc *z = &c->in[0], *y = &c->in[1];
    const ctc_attr *a = c->attr;
    char tz[96], ty[96];
    tutti_status s;
    if ((s = op_want_f32(op, "logits", z, err)) ||
        (s = op_want_rank(op, "logits", z, 3, err)) ||
        (s = op_want_index(op, "target", y, err)))
        return s;
    if (y->rank != 2 || y->dim[0] != z->dim[0])
        return tutti_fail(err, TUTTI_E_SHAPE,
                          "%s: logits are %s and the target is %s, want (B, T, N) and (B, S)",
                          op, tutti_desc_text(z, tz, sizeof tz),
                          tutti_desc_text(y, ty, sizeof ty));
    if (a->blank < 0 || a->blank >= z->dim[2])
        return tutti_fail(err, TUTTI_E_RANGE, "%s: blank is %lld, and there are %lld classes",
                          op, (long long)a->blank, (long long)z->dim[2]);
    if (c->nin <= lengths)
        return TUTTI_OK;
    const tutti_desc *n = &c->in[lengths];
    if ((s = op_want_index(op, "lengths", n, err)))
        return s;
    return n->rank == 1 && n->dim[0] == z->dim[0]
               ? TUTTI_OK
               : tutti_fail(err, TUTTI_E_SHAPE, "%s: lengths is %s, want (%lld)", op,
                            tutti_desc_text(n, ty, sizeof ty), (long long)z->dim[0]);
}

static tutti_status infer(const tutti_op_call *c, tutti_desc *out, tutti_error *err)
{
    const tutti_status s = check("ctc", c, 2, err);
    if (!s)
        *out = (tutti_desc){{c->in[0].dim[0]}, 1, TUTTI_F32};
    return s;
}

static tutti_status grad_infer(const tutti_op_call *c, tutti_desc *out, tutti_error *err)
{
    const tutti_status s = check("ctc_grad", c, 3, err);
    if (s)
        return s;
    const tutti_desc loss = {{c->in[0].dim[0]}, 1, TUTTI_F32};
    *out = c->in[0];
    return op_want_same("ctc_grad", "dloss", &c->in[2], "the loss", &loss, err);
}

/* How many classes the target y (S) has before its first negative number; -1 where one is not below N, is the blank,
 * or comes behind the end. */
static int64_t target_length(const ctc_shape *s, const int64_t *y)
{
    int64_t n = 0;
    while (n < s->longest && y[n] >= 0) {
        if (y[n] >= s->classes || y[n] == s->blank)
            return -1;
        n++;
    }
    for (int64_t k = n; k < s->longest; k++)
        if (y[k] >= 0)
            return -1;
    return n;
}

/* ---- reference ---- */

/* Sample b of f64 operands; `y` has S numbers. */
static tutti_status sample_of(const tutti_op_call *c, const double *const *in, uint32_t lengths,
                              int64_t b, int64_t *y, ctc_sample *ret)
{
    const ctc_shape s = shape_of(c);
    for (int64_t k = 0; k < s.longest; k++)
        y[k] = (int64_t)in[1][b * s.longest + k];
    *ret = (ctc_sample){NULL, in[0] + b * s.steps * s.classes, y, target_length(&s, y),
                        c->nin > lengths ? (int64_t)in[lengths][b] : s.steps};
    return ret->length >= 0 && ret->steps >= 0 && ret->steps <= s.steps ? TUTTI_OK
                                                                        : TUTTI_E_RANGE;
}

static tutti_status reference_of(const tutti_op_call *c, const double *const *in, double *out,
                                 int gradient)
{
    const ctc_shape s = shape_of(c);
    int64_t *y = calloc((size_t)s.longest + 1, sizeof *y);
    double *workspace = calloc((size_t)ctc_workspace(&s), sizeof *workspace);
    tutti_status status = y && workspace ? TUTTI_OK : TUTTI_E_NOMEM;
    for (int64_t b = 0; b < s.batch && !status; b++) {
        ctc_sample x;
        status = sample_of(c, in, gradient ? 3 : 2, b, y, &x);
        if (status)
            break;
        if (gradient)
            ctc_sample_grad(&s, &x, in[2][b], workspace, NULL, out + b * s.steps * s.classes);
        else
            out[b] = ctc_sample_loss(&s, &x, workspace);
    }
    free(workspace);
    free(y);
    return status;
}

static tutti_status reference(const tutti_op_call *c, const double *const *in,
                              double *const *out)
{
    return reference_of(c, in, out[0], 0);
}

static tutti_status grad_reference(const tutti_op_call *c, const double *const *in,
                                   double *const *out)
{
    return reference_of(c, in, out[0], 1);
}

/* ---- CPU ---- */

/* Each thread has workspace for a sample and its classes. */
static int64_t thread_workspace(const ctc_shape *s)
{
    return (ctc_workspace(s) + s->longest + 7) / 8 * 8;
}

static int threads_of(const tutti_op_call *c, const ctc_shape *s)
{
    const int threads =
        op_threads(c, 16 * s->batch * s->steps * (s->classes + 4 * ctc_states(s->longest)));
    return s->batch < threads ? (int)(s->batch > 0 ? s->batch : 1) : threads;
}

static tutti_status prepare(const tutti_op_call *c, void **ret_state, uint64_t *ret_scratch,
                            tutti_error *err)
{
    const ctc_shape s = shape_of(c);
    (void)ret_state, (void)err;
    *ret_scratch =
        (uint64_t)threads_of(c, &s) * (uint64_t)thread_workspace(&s) * sizeof(double);
    return TUTTI_OK;
}

/* Sample b with `workspace` of thread_workspace numbers; 0 where its target or length is out of range. */
static int take_sample(const tutti_op_call *c, const void *const *in, uint32_t lengths,
                       int64_t b, double *workspace, ctc_sample *ret)
{
    const ctc_shape s = shape_of(c);
    int64_t *y = (int64_t *)(void *)(workspace + ctc_workspace(&s));
    for (int64_t k = 0; k < s.longest; k++)
        y[k] = op_index_at(in[1], c->in[1].dtype, b * s.longest + k);
    *ret = (ctc_sample){
        (const float *)in[0] + b * s.steps * s.classes, NULL, y, target_length(&s, y),
        c->nin > lengths ? op_index_at(in[lengths], c->in[lengths].dtype, b) : s.steps};
    return ret->length >= 0 && ret->steps >= 0 && ret->steps <= s.steps;
}

static tutti_status run_of(const tutti_op_call *c, const void *const *in, float *out,
                           double *scratch, int gradient)
{
    const ctc_shape s = shape_of(c);
    const int threads = threads_of(c, &s);
    int bad = 0;
#pragma omp parallel for schedule(static) num_threads(threads) if (threads > 1)                \
    reduction(|                                                                                \
              : bad)
    for (int part = 0; part < threads; part++)
        for (int64_t b = part * s.batch / threads; b < (part + 1) * s.batch / threads; b++) {
            double *workspace = scratch + part * thread_workspace(&s);
            ctc_sample x;
            if (!take_sample(c, in, gradient ? 3 : 2, b, workspace, &x))
                bad |= 1;
            else if (gradient)
                ctc_sample_grad(&s, &x, (double)((const float *)in[2])[b], workspace,
                                out + b * s.steps * s.classes, NULL);
            else
                out[b] = (float)ctc_sample_loss(&s, &x, workspace);
        }
    return bad ? TUTTI_E_RANGE : TUTTI_OK;
}

static tutti_status run(void *state, const tutti_op_call *c, const void *const *in,
                        void *const *out, void *scratch)
{
    (void)state;
    return run_of(c, in, out[0], scratch, 0);
}

static tutti_status grad_run(void *state, const tutti_op_call *c, const void *const *in,
                             void *const *out, void *scratch)
{
    (void)state;
    return run_of(c, in, out[0], scratch, 1);
}

static const tutti_kernel cpu = {
    .struct_size = sizeof(tutti_kernel), .prepare = prepare, .run = run};
static const tutti_kernel grad_cpu = {
    .struct_size = sizeof(tutti_kernel), .prepare = prepare, .run = grad_run};

/* ---- CUDA: a block for each sample ---- */

static tutti_status cuda_prepare_of(const tutti_op_call *c, const char *entry, void **ret_state,
                                    uint64_t *ret_scratch, tutti_error *err)
{
    const ctc_shape s = shape_of(c);
    *ret_scratch = (uint64_t)s.batch * (uint64_t)ctc_workspace(&s) * sizeof(double);
    return CUDA_FUNCTION(c, entry, ret_state, err, sizeof(ctc_cuda_args));
}

static tutti_status cuda_prepare(const tutti_op_call *c, void **ret_state,
                                 uint64_t *ret_scratch, tutti_error *err)
{
    return cuda_prepare_of(c, "ctc_cuda", ret_state, ret_scratch, err);
}

static tutti_status grad_cuda_prepare(const tutti_op_call *c, void **ret_state,
                                      uint64_t *ret_scratch, tutti_error *err)
{
    return cuda_prepare_of(c, "ctc_grad_cuda", ret_state, ret_scratch, err);
}

static tutti_status cuda_run_of(void *function, const tutti_op_call *c, const void *const *in,
                                void *const *out, void *scratch, uint32_t lengths)
{
    ctc_cuda_args a = {.s = shape_of(c),
                       .logits = cuda_in(c, in, 0),
                       .target = cuda_in(c, in, 1),
                       .out = cuda_out(c, out, 0),
                       .workspace = scratch,
                       .fault = c->cuda->fault,
                       .mark = c->cuda->mark};
    if (lengths > 2)
        a.dloss = cuda_in(c, in, 2);
    if (c->nin > lengths)
        a.lengths = cuda_in(c, in, lengths);
    if (a.s.batch == 0)
        return TUTTI_OK;
    return cuda_launch(c->cuda, function, cuda_blocks(c->cuda, CUDA_BLOCK * a.s.batch),
                       CUDA_BLOCK, 0, (void *const[]){&a});
}

static tutti_status cuda_run(void *state, const tutti_op_call *c, const void *const *in,
                             void *const *out, void *scratch)
{
    return cuda_run_of(state, c, in, out, scratch, 2);
}

static tutti_status grad_cuda_run(void *state, const tutti_op_call *c, const void *const *in,
                                  void *const *out, void *scratch)
{
    return cuda_run_of(state, c, in, out, scratch, 3);
}

static const tutti_kernel cuda = {
    .struct_size = sizeof(tutti_kernel), .prepare = cuda_prepare, .run = cuda_run};
static const tutti_kernel grad_cuda = {
    .struct_size = sizeof(tutti_kernel), .prepare = grad_cuda_prepare, .run = grad_cuda_run};

/* ---- the operations ---- */

static tutti_status vjp(tutti_graph *g, const tutti_node *n, const tutti_value *dy,
                        tutti_value *dx)
{
    const ctc_attr *a = n->attr;
    const tutti_attr attr[2] = {tutti_attr_i("blank", a->blank),
                                tutti_attr_i("zero_infinity", a->zero_infinity)};
    const tutti_value in[4] = {n->in[0], n->in[1], dy[0], n->nin > 2 ? n->in[2] : 0};
    if (n->need & 1)
        dx[0] = g->emit(g, "ctc_grad", in, n->nin > 2 ? 4 : 3, attr, 2, NULL, 0);
    return TUTTI_OK;
}

OP_PLAIN(ctc);
OP_DEFINE(ctc, .nin_min = 2, .nin_max = 3, OP_ATTR(ctc_attr, fields), .infer = infer,
          .vjp = vjp, .reference = reference, .cpu = &cpu, .cuda = &cuda);
OP_PLAIN(ctc_grad);
OP_DEFINE(ctc_grad, .nin_min = 3, .nin_max = 4, OP_ATTR(ctc_attr, fields), .infer = grad_infer,
          .reference = grad_reference, .cpu = &grad_cpu, .cuda = &grad_cuda);
