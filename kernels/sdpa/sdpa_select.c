/* sdpa_select.c - selects cuDNN or our own kernels for attention on the GPU; autotuning decides where both serve. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "common/cuda/convert.h"
#include "common/cuda/libraries/autotune.h"
#include "common/cuda/libraries/choice.h"
#include "sdpa/sdpa_cuda.h"
#include "sdpa/sdpa_cudnn.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* cuDNN compiles a plan in a second or so: below this length our own kernels are near enough. */
enum { LENGTH_LEAST = 256, DEPTH_MOST = 128 };

/* Plans belong to the device; layers of one shape share one. */
typedef struct kept_plan {
    struct kept_plan *next;
    sdpa_cudnn call;
    cdnn_plan *plan; /* NULL: there is none */
    tutti_error why; /* then */
} kept_plan;

typedef struct state {
    const tutti_kernel *own; /* and its state, where it could be prepared */
    void *own_state;
    bool has_own;
    sdpa_cudnn call;
    cdnn_plan *plan;                                     /* NULL: our own */
    uint64_t delta_at, dq_sum_at, mask_at, workspace_at; /* in the scratch */
    uint64_t dq_sum_bytes;
    void *mask; /* the device function that draws it; NULL: without dropout */
    int (*fill)(void *memory, int byte, size_t bytes, void *stream); /* cudaMemsetAsync */
} state;

/* ---- plans of the device ---- */

static void drop_plans(void *object)
{
    kept_plan *k = *(kept_plan **)object;
    while (k) {
        kept_plan *next = k->next;
        cdnn_plan_destroy(k->plan);
        free(k);
        k = next;
    }
    free(object);
}

/* The library is opened first, so that it is closed last. */
static tutti_status make_plans(const tutti_cuda_v1 *cuda, void **ret_object, tutti_error *err)
{
    const cdnn *lib;
    const tutti_status s = cdnn_of(cuda, &lib, err);
    if (s)
        return s;
    *ret_object = calloc(1, sizeof(kept_plan *));
    return *ret_object ? TUTTI_OK : tutti_fail(err, TUTTI_E_NOMEM, "sdpa: no memory for plans");
}

static bool same_stride(const sdpa_stride *a, const sdpa_stride *b)
{
    return a->b == b->b && a->h == b->h && a->t == b->t;
}

static bool same_call(const sdpa_cudnn *a, const sdpa_cudnn *b)
{
    const sdpa_shape *x = &a->s, *y = &b->s;
    return a->dtype == b->dtype && a->grad == b->grad && x->batch == y->batch &&
           a->part == b->part && a->any_order == b->any_order &&
           (x->drop > 0.0f) == (y->drop > 0.0f) && x->heads == y->heads && x->tq == y->tq &&
           x->tk == y->tk && x->d == y->d && !x->causal == !y->causal && a->bias == b->bias &&
           same_stride(&x->bias, &y->bias) && x->bias_key == y->bias_key &&
           same_stride(&x->q, &y->q) && same_stride(&x->k, &y->k) &&
           same_stride(&x->v, &y->v) && same_stride(&x->y, &y->y);
}

static cdnn_plan *plan_of(const tutti_cuda_v1 *cuda, const sdpa_cudnn *call, tutti_error *err)
{
    static const char key = 0;
    void *object = NULL;
    const cdnn *lib = NULL;
    if (cuda->object(cuda->ctx, &key, make_plans, drop_plans, &object, err) ||
        cdnn_of(cuda, &lib, err))
        return NULL;
    kept_plan **first = object;
    kept_plan *k = *first;
    while (k && !same_call(&k->call, call))
        k = k->next;
    if (!k) {
        k = calloc(1, sizeof *k);
        if (!k) {
            (void)tutti_fail(err, TUTTI_E_NOMEM, "sdpa: no memory for a plan");
            return NULL;
        }
        k->call = *call;
        if (sdpa_cudnn_plan(call, lib, NULL, &k->plan, &k->why))
            k->plan = NULL;
        k->next = *first;
        *first = k;
    }
    if (!k->plan)
        (void)tutti_fail(err, k->why.status, "%s", k->why.text);
    return k->plan;
}

/* ---- what cuDNN serves ---- */

/* Where the operands of one of the four operations are. */
typedef struct layout {
    const tutti_kernel *own;
    uint32_t bias; /* its place among the inputs */
    int32_t packed, grad;
    int32_t y, lse, dy; /* inputs; forward: y and lse are results 0 and 1 */
} layout;

static const layout layouts[] = {
    {&sdpa_cuda, 3, 0, 0, 0, 1, 0},
    {&sdpa_grad_cuda, 6, 0, 1, 3, 4, 5},
    {&sdpa_packed_cuda, 1, 1, 0, 0, 1, 0},
    {&sdpa_packed_grad_cuda, 4, 1, 1, 1, 2, 3},
};

/* One dtype of 16 bits for all but the logarithms of sums. */
static bool right_dtypes(const layout *l, const tutti_op_call *c)
{
    const int32_t dtype = c->in[0].dtype;
    bool right = dtype == TUTTI_BF16 || dtype == TUTTI_F16;
    for (uint32_t k = 0; k < c->nin; k++) {
        const bool wide =
            (l->grad && (int32_t)k == l->lse) || (k == l->bias && c->in[k].dtype == TUTTI_F32);
        right = right && c->in[k].dtype == (wide ? TUTTI_F32 : dtype);
    }
    for (uint32_t k = 0; k < c->nout; k++)
        right = right && c->out[k].dtype == (!l->grad && k == 1 ? TUTTI_F32 : dtype);
    return right;
}

/* Why cuDNN is not meant for this call; NULL: it is. */
static const char *unsuited(const layout *l, const tutti_op_call *c, const sdpa_shape *s)
{
    if (!right_dtypes(l, c))
        return "cuDNN's attention is for operands of one dtype of 16 bits";
    if (s->causal && s->tq != s->tk)
        return "cuDNN's causal mask is for as many queries as keys";
    if (s->tq < LENGTH_LEAST || s->tk < LENGTH_LEAST)
        return "below 256 tokens cuDNN is not asked";
    if (s->d % 8 != 0 || s->d > DEPTH_MOST)
        return "cuDNN's attention is for heads of 8, 16 ... 128 numbers";
    if (s->batch * s->heads <= 0)
        return "there is nothing to attend to";
    return s->drop == 0.0f || s->tk % 8 == 0 ? NULL
                                             : "dropout takes a multiple of 8 keys for cuDNN";
}

static bool any_order(const tutti_cuda_v1 *cuda)
{
    return TUTTI_HAS(cuda, tutti_cuda_v1, allow) && cuda->allow & TUTTI_CUDA_UNORDERED;
}

/* Where the plan's own memory lies in the scratch. */
static void lay_out(state *s, uint64_t *ret_scratch)
{
    const sdpa_shape *shape = &s->call.s;
    const uint64_t rows = (uint64_t)(s->call.part * shape->heads * shape->tq);
    uint64_t bytes = CUDA_PART;
    s->workspace_at = cuda_part(&bytes, cdnn_plan_workspace(s->plan));
    s->delta_at = cuda_part(&bytes, s->call.grad ? rows * sizeof(float) : 0);
    if (s->call.any_order)
        s->dq_sum_bytes = rows * (uint64_t)shape->d * sizeof(float);
    s->dq_sum_at = cuda_part(&bytes, s->dq_sum_bytes);
    s->mask_at = cuda_part(&bytes, (uint64_t)s->call.part * sdpa_cudnn_mask_bytes(&s->call));
    *ret_scratch = bytes;
}

/* By all of the device's memory, not by what is free, which may be another each time. */
static tutti_status find_workspace(state *s, const tutti_cuda_v1 *cuda, tutti_error *err)
{
    int (*ask)(size_t *, size_t *) = NULL;
    void *symbol = NULL;
    size_t unused = 0, total = 0;
    const tutti_status status =
        cuda->symbol(cuda->ctx, "cudart", "cudaMemGetInfo", &symbol, err);
    if (status)
        return status;
    memcpy(&ask, &symbol, sizeof ask);
    if (ask(&unused, &total))
        return tutti_fail(err, TUTTI_E_FAIL, "the device does not say how much memory it has");
    s->call.workspace = sdpa_cudnn_workspace(total);
    return TUTTI_OK;
}

/* The plan and what goes with it; s->plan stays NULL where there is none. */
static void find_plan(state *s, const tutti_op_call *c, tutti_error *err)
{
    void *fill = NULL;
    const cdnn *lib = NULL;
    char version[CUDA_VERSION_TEXT];
    if (find_workspace(s, c->cuda, err))
        return;
    s->call.part = sdpa_cudnn_part(&s->call);
    if (!s->call.part) {
        (void)tutti_fail(err, TUTTI_E_UNSUPPORTED,
                         "cuDNN keeps more than %llu MiB for a sample of this attention",
                         (unsigned long long)(s->call.workspace >> 20));
        return;
    }
    if (cdnn_of(c->cuda, &lib, err))
        return;
    if (!sdpa_cudnn_allows(&s->call, lib->version)) {
        (void)tutti_fail(err, TUTTI_E_VERSION, "cuDNN %s computes this attention wrongly",
                         cuda_version_text(lib->version, version));
        return;
    }
    if (c->cuda->symbol(c->cuda->ctx, "cudart", "cudaMemsetAsync", &fill, err) ||
        (s->call.s.drop > 0.0f &&
         CUDA_FUNCTION(c, "sdpa_mask", &s->mask, err, sizeof(sdpa_mask_args))))
        return;
    memcpy(&s->fill, &fill, sizeof fill);
    s->plan = plan_of(c->cuda, &s->call, err);
}

/* The engine of the plan, or why our own kernel runs although cuDNN could. */
static void tell(const state *s, const tutti_op_call *c)
{
    const cdnn *lib = NULL;
    char text[TUTTI_CHOICE_TEXT], version[CUDA_VERSION_TEXT];
    if (cdnn_of(c->cuda, &lib, NULL))
        return;
    if (s->plan)
        (void)snprintf(text, sizeof text, "engine %s%s", cdnn_plan_name(s->plan),
                       s->call.any_order ? ", unordered" : "");
    else
        (void)snprintf(text, sizeof text, "measured to be faster than cuDNN %s",
                       cuda_version_text(lib->version, version));
    if (s->plan)
        cuda_tell_library(c, "cuDNN", lib->version, text);
    else
        cuda_tell_own(c, text);
}

/* ---- running ---- */

/* q, k and v, or their gradients: three tensors, or one with all of them. */
static void three(const state *s, const layout *l, void *const *t, void **ret)
{
    const uint64_t next = (uint64_t)(s->call.s.heads * s->call.s.d) * sizeof(uint16_t);
    for (int k = 0; k < 3; k++)
        ret[k] = l->packed ? (char *)t[0] + (uint64_t)k * next : t[k];
}

static tutti_status draw_mask(const state *s, const tutti_op_call *c, void *mask, int64_t first)
{
    sdpa_mask_args a = {.step = c->cuda->step,
                        .mask = mask,
                        .s = s->call.s,
                        .first = first,
                        .samples = s->call.part,
                        .one = s->call.dtype == TUTTI_BF16 ? 0x3F80 : 0x3C00};
    void *const args[] = {&a};
    const int64_t n = a.samples * a.s.heads * a.s.tq * a.s.tk;
    return cuda_launch(c->cuda, s->mask, cuda_blocks(c->cuda, n / 8), CUDA_BLOCK, 0, args);
}

static tutti_status run_part(const state *s, const tutti_op_call *c,
                             void *const data[SDPA_OPERANDS], void *workspace, int64_t first)
{
    void *stream = c->cuda->stream(c->cuda->ctx);
    if (s->dq_sum_bytes && s->fill(data[SDPA_DQ_SUM], 0, s->dq_sum_bytes, stream))
        return TUTTI_E_FAIL;
    const tutti_status status = s->mask ? draw_mask(s, c, data[SDPA_MASK], first) : TUTTI_OK;
    return status ? status : sdpa_cudnn_run(&s->call, s->plan, stream, data, workspace, first);
}

static tutti_status run_plan(const layout *l, const state *s, const tutti_op_call *c,
                             const void *const *in, void *const *out, void *scratch)
{
    void *data[SDPA_OPERANDS] = {0};
    void *own_in[TUTTI_OP_MAX_IN] = {0};
    for (uint32_t k = 0; k < c->nin; k++)
        own_in[k] = (void *)(uintptr_t)in[k];
    three(s, l, own_in, &data[SDPA_Q]);
    data[SDPA_BIAS] = c->nin > l->bias ? own_in[l->bias] : NULL;
    data[SDPA_Y] = l->grad ? own_in[l->y] : out[l->y];
    data[SDPA_LSE] = l->grad ? own_in[l->lse] : out[l->lse];
    if (l->grad) {
        data[SDPA_DY] = own_in[l->dy];
        three(s, l, out, &data[SDPA_DQ]);
        data[SDPA_DELTA] = cuda_part_at(scratch, s->delta_at);
        data[SDPA_DQ_SUM] = cuda_part_at(scratch, s->dq_sum_at);
    }
    data[SDPA_MASK] = cuda_part_at(scratch, s->mask_at);
    tutti_status status = TUTTI_OK;
    for (int64_t first = 0; first < s->call.s.batch && !status; first += s->call.part)
        status = run_part(s, c, data, cuda_part_at(scratch, s->workspace_at), first);
    return status;
}

static tutti_status run_own(const state *s, const tutti_op_call *c, const void *const *in,
                            void *const *out, void *scratch)
{
    return s->own->run(s->own_state, c, in, out, scratch);
}

static tutti_status run(const layout *l, const state *s, const tutti_op_call *c,
                        const void *const *in, void *const *out, void *scratch)
{
    return s->plan ? run_plan(l, s, c, in, out, scratch) : run_own(s, c, in, out, scratch);
}

/* ---- choosing ---- */

enum { BY_CUDNN, BY_OWN, ALGORITHMS };
static const char *const algorithms[ALGORITHMS] = {"cudnn", "own"};

typedef struct tuning {
    const layout *l;
    const state *s;
    const tutti_op_call *c;
} tuning;

/* Operands lie one behind the other in the first buffer, the scratch is the second. */
static bool run_algorithm(void *self, uint32_t algorithm, void *const *buffers, void *stream)
{
    const tuning *t = self;
    const tutti_op_call *c = t->c;
    const void *in[TUTTI_OP_MAX_IN];
    void *out[TUTTI_OP_MAX_OUT];
    uint64_t bytes = 0;
    (void)stream; /* it is the device's, on which both work */
    for (uint32_t k = 0; k < c->nin; k++)
        in[k] = (char *)buffers[0] + cuda_part(&bytes, tutti_nbytes(&c->in[k]));
    for (uint32_t k = 0; k < c->nout; k++)
        out[k] = (char *)buffers[0] + cuda_part(&bytes, tutti_nbytes(&c->out[k]));
    return algorithm == BY_CUDNN ? !run_plan(t->l, t->s, c, in, out, buffers[1])
                                 : !run_own(t->s, c, in, out, buffers[1]);
}

static void write_key(const state *s, uint64_t version, char *key, size_t size)
{
    const sdpa_shape *x = &s->call.s;
    (void)snprintf(key, size,
                   "sdpa %s cudnn %" PRIu64 " %d by %d of %" PRId64 " x %" PRId64 " x %" PRId64
                   " x %" PRId64 " x %" PRId64 "%s%s%s, bias %d %" PRId64 " %" PRId64
                   " %" PRId64 ", rows %" PRId64 " %" PRId64,
                   s->call.grad ? "gradient" : "forward", version, (int)s->call.dtype,
                   (int)s->call.part, x->batch, x->heads, x->tq, x->tk, x->d,
                   x->causal ? " causal" : "", x->drop > 0.0f ? " dropout" : "",
                   s->call.any_order ? " unordered" : "", (int)s->call.bias, x->bias.b,
                   x->bias.h, x->bias.t, x->q.t, x->y.t);
}

/* The faster algorithm, or the one that was. */
static int choose(const layout *l, const state *s, const tutti_op_call *c, uint64_t scratch)
{
    const tutti_cuda_v1 *cuda = c->cuda;
    const cdnn *lib = NULL;
    char key[384], text[16];
    tuning self = {l, s, c};
    cuda_autotune t = {.algorithms = ALGORITHMS,
                       .buffers = 2,
                       .bytes = {0, scratch},
                       .self = &self,
                       .run = run_algorithm};
    uint32_t algorithm = BY_CUDNN;
    if (!TUTTI_HAS(cuda, tutti_cuda_v1, keep) || cdnn_of(cuda, &lib, NULL))
        return BY_CUDNN;
    write_key(s, lib->version, key, sizeof key);
    tutti_status status = cuda->recall(cuda->ctx, key, text, sizeof text);
    if (status == TUTTI_E_NOTFOUND) {
        for (uint32_t k = 0; k < c->nin; k++)
            (void)cuda_part(&t.bytes[0], tutti_nbytes(&c->in[k]));
        for (uint32_t k = 0; k < c->nout; k++)
            (void)cuda_part(&t.bytes[0], tutti_nbytes(&c->out[k]));
        if (cuda_autotune_run(cuda, &t, &algorithm))
            return BY_CUDNN;
        (void)snprintf(text, sizeof text, "%s", algorithms[algorithm]);
        status = cuda->keep(cuda->ctx, key, text, sizeof text, NULL);
    }
    return !status && strcmp(text, algorithms[BY_OWN]) == 0 ? BY_OWN : BY_CUDNN;
}

/* ---- prepare and destroy ---- */

static tutti_status prepare(const layout *l, const tutti_op_call *c, void **ret_state,
                            uint64_t *ret_scratch, tutti_error *err)
{
    uint64_t own_scratch = 0, plan_scratch = 0;
    state *s = calloc(1, sizeof *s);
    if (!s)
        return tutti_fail(err, TUTTI_E_NOMEM, "sdpa: no memory for its state");
    s->own = l->own;
    s->call = (sdpa_cudnn){.s = sdpa_shape_known(c, l->packed, l->bias),
                           .dtype = c->in[0].dtype,
                           .grad = l->grad,
                           .any_order = l->grad && any_order(c->cuda),
                           .bias = c->nin > l->bias ? c->in[l->bias].dtype : TUTTI_DTYPE_NONE};
    tutti_error why = TUTTI_ERROR_INIT;
    const char *own = unsuited(l, c, &s->call.s);
    if (own)
        cuda_tell_own(c, own);
    else
        find_plan(s, c, &why);
    if (why.status)
        cuda_tell_refused(c, &why);
    const tutti_status status =
        s->own->prepare(c, &s->own_state, &own_scratch, s->plan ? NULL : err);
    s->has_own = !status;
    if (!s->has_own && !s->plan) {
        free(s);
        return status;
    }
    if (s->plan)
        lay_out(s, &plan_scratch);
    if (s->plan && s->has_own &&
        choose(l, s, c, own_scratch > plan_scratch ? own_scratch : plan_scratch) == BY_OWN)
        s->plan = NULL; /* the device keeps it */
    if (!own && !why.status)
        tell(s, c);
    *ret_scratch = s->plan ? plan_scratch : own_scratch;
    *ret_state = s;
    return TUTTI_OK;
}

static void destroy(void *self)
{
    state *s = self;
    if (s && s->has_own && s->own->destroy)
        s->own->destroy(s->own_state);
    free(s);
}

/* ---- the four operations ---- */

#define SELECT(name, at)                                                                       \
    static tutti_status name##_select_prepare(const tutti_op_call *c, void **ret_state,        \
                                              uint64_t *ret_scratch, tutti_error *err)         \
    {                                                                                          \
        return prepare(&layouts[at], c, ret_state, ret_scratch, err);                          \
    }                                                                                          \
    static tutti_status name##_select_run(void *self, const tutti_op_call *c,                  \
                                          const void *const *in, void *const *out,             \
                                          void *scratch)                                       \
    {                                                                                          \
        return run(&layouts[at], self, c, in, out, scratch);                                   \
    }                                                                                          \
    const tutti_kernel name##_select = {sizeof(tutti_kernel), 0, name##_select_prepare,        \
                                        name##_select_run, destroy}

SELECT(sdpa, 0);
SELECT(sdpa_grad, 1);
SELECT(sdpa_packed, 2);
SELECT(sdpa_packed_grad, 3);
